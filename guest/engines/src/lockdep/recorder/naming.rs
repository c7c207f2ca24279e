//! Names and subclasses that a program gives its locks: each makes a class of its own.

use lockwright_ledger::rows::Class;

use super::Recorder;
use super::classes::Origin;
use crate::lockdep::acquire::Ident;

/// Longest name that is kept.
pub const MAX_NAME: usize = 255;

impl Recorder {
    /// A lock that is `ident` so far, if it was met before, is given a name. `kind` is what it is.
    pub(crate) fn name_lock(
        &mut self,
        ident: Option<Ident>,
        kind: u8,
        name: &[u8],
        frames: &[u64],
    ) -> Option<Ident> {
        let origin = Origin::Annotated { name, base: 0, subclass: 0, frames };
        match ident {
            Some(ident) => self.reclass(ident, origin),
            None => self.new_lock(kind, origin),
        }
    }

    /// A lock is put into a subclass of its class; 0 is the class itself.
    pub(crate) fn subclass_lock(
        &mut self,
        ident: Ident,
        subclass: u16,
        frames: &[u64],
    ) -> Option<Ident> {
        let class = *self.writer.get::<Class>(ident.class())?;
        if class.subclass == subclass {
            return Some(ident);
        }
        if class.name.len == 0 {
            let base = if class.parent != 0 { class.parent } else { ident.class() };
            return match subclass {
                0 => self.put_into(ident, base),
                _ => self.reclass(ident, Origin::Annotated { name: &[], base, subclass, frames }),
            };
        }
        let mut name = [0; MAX_NAME];
        let name = self.writer.read_text(class.name, &mut name);
        self.reclass(ident, Origin::Annotated { name, base: 0, subclass, frames })
    }

    /// Moves a lock to another class.
    fn reclass(&mut self, ident: Ident, origin: Origin<'_>) -> Option<Ident> {
        let kind = self.kind_of_class(ident.class());
        let class = self.class(kind, origin)?;
        self.put_into(ident, class)
    }

    fn put_into(&mut self, ident: Ident, class: u32) -> Option<Ident> {
        if class == ident.class() {
            return Some(ident);
        }
        self.writer.update::<Class>(ident.class(), |row| row.locks = row.locks.saturating_sub(1));
        self.writer.update::<Class>(class, |row| row.locks = row.locks.saturating_add(1));
        // The instance may have records, and they name its old class: then it gets a new instance
        // number.
        let is_on_record = self.recorded_lock(ident.inst()).is_some();
        let inst = match is_on_record {
            true => super::next_instances(self.writer.header(), 1),
            false => ident.inst(),
        };
        Some(Ident::new(inst, class))
    }

    /// Several locks of the class of `lock` may be taken in any order while one of the class of
    /// `nest` is held.
    pub(crate) fn nest_lock(&mut self, lock: Ident, nest: Ident) {
        self.writer.update::<Class>(lock.class(), |row| row.nest = nest.class());
    }
}
