//! Locks: their classes, names and annotations, and the orders that a program declares.

use lockwright_ledger::Header;

use super::Core;
use crate::lockdep::acquire::Ident;
use crate::lockdep::recorder::{self, Makers, Origin, Sharing};

impl Core {
    /// A lock begins its life: finds its class and gives it a number.
    pub fn new_lock(&mut self, kind: u8, origin: Origin<'_>) -> Option<Ident> {
        self.recorder.new_lock(kind, origin)
    }

    /// Another lock of a known class begins its life: gives it a number.
    pub fn another_lock(&mut self, class: u32) -> Ident {
        self.recorder.another_lock(class)
    }

    /// Asks `sharing` from now on where locks lie that get rows.
    pub fn shared_by(&mut self, sharing: Sharing) {
        self.recorder.shared_by(sharing);
    }

    /// Asks `makers` from now on which threads made the locks that get rows.
    pub fn made_by(&mut self, makers: Makers) {
        self.recorder.made_by(makers);
    }

    /// The first of `n` numbers for locks that begin their lives, of classes that are known. The locks are to be counted by
    /// [`Core::count_locks`], but not at once.
    pub fn next_instances(header: &Header, n: u32) -> u32 {
        recorder::next_instances(header, n)
    }

    /// Counts `locks` more of a class. How many it has then.
    pub fn count_locks(&mut self, class: u32, locks: u32) -> u32 {
        self.recorder.count_locks(class, locks)
    }

    /// A lock that a forked child's thread holds from its parent: `class` is the parent's.
    pub fn inherited_lock(&mut self, kind: u8, class: u32) -> Option<Ident> {
        self.recorder.new_lock(kind, Origin::Inherited(class))
    }

    /// The kind of a lock that was met before.
    pub fn kind_of(&self, ident: Ident) -> u8 {
        self.recorder.kind_of_class(ident.class())
    }

    /// Whether the calling thread, which is at `frames`, is in the very call of the function that
    /// began the life of class `class`'s locks: at another place of it. Another call of the same
    /// function comes to the same place, or by another way.
    pub fn is_same_call(&self, class: u32, frames: &[u64]) -> bool {
        self.recorder.is_same_call(class, frames)
    }

    /// Names a class (annotation).
    pub fn name_class(&mut self, class: u32, name: &[u8]) {
        self.recorder.name_class(class, name);
    }

    /// A lock that is `ident` so far, if it was met before, is given a name. `kind` is what it is.
    pub fn name_lock(
        &mut self,
        ident: Option<Ident>,
        kind: u8,
        name: &[u8],
        frames: &[u64],
    ) -> Option<Ident> {
        self.recorder.name_lock(ident, kind, name, frames)
    }

    /// A lock is put into a subclass of its class; 0 is the class itself.
    pub fn subclass_lock(&mut self, ident: Ident, subclass: u16, frames: &[u64]) -> Option<Ident> {
        self.recorder.subclass_lock(ident, subclass, frames)
    }

    /// Several locks of the class of `lock` may be taken in any order while one of the class of
    /// `nest` is held.
    pub fn nest_lock(&mut self, lock: Ident, nest: Ident) {
        self.recorder.nest_lock(lock, nest);
    }

    /// Says what a thread does that waits for a lock of the class: one of
    /// [`lockwright_ledger::rows::wait_type`].
    pub fn set_wait_type(&mut self, lock: Ident, wait_type: u32) {
        self.wait_contexts.set_wait_type(&mut self.recorder, lock, wait_type);
    }

    /// The program declares that locks named `before` are taken before those named `after`.
    pub fn declare_order(&mut self, before: &[u8], after: &[u8], frames: &[u64]) {
        self.declared_orders.declare(&mut self.recorder, before, after, frames);
    }
}
