//! What makes locks one class, within a process and across processes.

/// The subclass of monitors, of the class of their mutexes.
pub(super) const MONITORS: u16 = u16::MAX;

/// The name of a subclass of the class `base`.
pub(super) fn subclass_name(base: &str, subclass: u16) -> String {
    match subclass {
        MONITORS => format!("monitor of {base}"),
        _ => format!("{base}/{subclass}"),
    }
}

/// What makes rows one class.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Annotated(String),
    /// A subclass of a merged class.
    Subclass(u32, u16),
    /// All of a variable, or one offset in it.
    Variable {
        module: String,
        start: u64,
        kind: u8,
        offset: Option<u64>,
    },
    /// A member of a variable by its type, at this offset in it, or in the first element if it
    /// lies in an array: all of an array's are one.
    Member {
        module: String,
        start: u64,
        kind: u8,
        offset: u64,
        is_element: bool,
    },
    Place {
        origin: u8,
        kind: u8,
        place: String,
    },
    /// Those of the locks initialised at one place that have a purpose of their own, by the first
    /// place outwards that only they come by.
    Role {
        kind: u8,
        place: String,
        by: String,
    },
    /// Where a block was allocated, and the place in it; none for an array's.
    Block {
        kind: u8,
        place: String,
        offset: Option<u64>,
    },
    Row(usize, u32),
    /// Ledger and stack at which threads were created that are waited for.
    ThreadEnd(usize, u32),
}

/// What a class is known by in other processes too.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClassKey {
    /// `None` for the class of rows that are not there.
    pub(super) base: Option<Key>,
    /// Subclasses of it, the last one first.
    pub(super) subclasses: Vec<u16>,
}

impl ClassKey {
    /// The same with its module's path replaced by what `name` makes of that.
    #[must_use]
    pub fn in_module(mut self, name: impl Fn(&str) -> String) -> Self {
        match &mut self.base {
            Some(Key::Variable { module, .. } | Key::Member { module, .. }) => {
                *module = name(module)
            }
            // Without a line, a place is a module and an offset in it.
            Some(Key::Place { place, .. } | Key::Block { place, .. }) => rename(place, name),
            Some(Key::Role { place, by, .. }) => {
                rename(place, &name);
                rename(by, &name);
            }
            _ => {}
        }
        self
    }

    /// The module of a class of variables.
    pub fn variables_module(&self) -> Option<&str> {
        match &self.base {
            Some(Key::Variable { module, .. } | Key::Member { module, .. }) => Some(module),
            _ => None,
        }
    }

    /// Whether debug information says which member of a variable it is, and that this lies in an
    /// array.
    pub fn member(&self) -> Option<bool> {
        match &self.base {
            Some(Key::Member { is_element, .. }) => Some(*is_element),
            _ => None,
        }
    }

    /// The class of all locks of the variable, of which this is one place; itself of what is none.
    #[must_use]
    pub fn whole_variable(mut self) -> Self {
        if let Some(Key::Variable { offset, .. }) = &mut self.base {
            *offset = None;
        }
        self
    }
}

fn rename(place: &mut String, name: impl Fn(&str) -> String) {
    if let Some((module, offset)) = place.split_once("\n0x") {
        *place = format!("{}\n0x{offset}", name(module));
    }
}
