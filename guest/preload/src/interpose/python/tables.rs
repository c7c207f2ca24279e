//! Finds the tables in which CPython's `_threadmodule.c` has the methods of its lock (`PyMethodDef` in `methodobject.h`,
//! `PyType_Slot` in `object.h`). They are in no table of symbols: what they say tells which they are.

use core::ffi::{CStr, c_char};

use crate::stack::modules;

/// A row of a table of methods.
#[repr(C)]
struct MethodDef {
    name: u64,
    function: u64,
    flags: u32,
    doc: u64,
}

/// `PyMethodDef.ml_flags` (`methodobject.h`): the arguments are a tuple; a tuple, and a dict or null; there are none.
pub const TUPLE: u32 = 0x1;
pub const TUPLE_AND_DICT: u32 = 0x1 | 0x2;
pub const NONE: u32 = 0x4;

/// The same of a function without arguments, as the word that it is: what fills it up is zero.
const NONE_WORD: u64 = NONE as u64;

/// A row of what a type is made of.
#[repr(C)]
struct Slot {
    number: u64,
    value: u64,
}

/// `Py_tp_dealloc`, `Py_tp_methods` and `Py_tp_new` in `typeslots.h`, and what is above all such numbers.
const DEALLOC: u64 = 52;
const METHODS: u64 = 64;
const NEW: u64 = 65;
const ABOVE_ALL: u64 = 200;

/// Rows of a table that are looked at.
const MOST_ROWS: u64 = 64;

/// Where a function's address is.
#[derive(Clone, Copy, Default)]
pub struct Place {
    /// The word, 0 if there is none.
    pub word: u64,
    /// How the function is called: its row's `ml_flags`.
    pub flags: u32,
}

/// Methods of a lock, by their names.
pub const LOCK: [&CStr; 7] = [
    c"acquire",
    c"acquire_lock",
    c"__enter__",
    c"release",
    c"release_lock",
    c"__exit__",
    c"_at_fork_reinit",
];

/// Methods of a recursive lock.
pub const RECURSIVE: [&CStr; 7] = [
    c"acquire",
    c"_acquire_restore",
    c"__enter__",
    c"release",
    c"_release_save",
    c"__exit__",
    c"_at_fork_reinit",
];

/// Functions of the module that make a lock.
pub const MAKERS: [&CStr; 2] = [c"allocate_lock", c"allocate"];

/// Where a type's functions are.
#[derive(Clone, Copy, Default)]
pub struct Type {
    /// As [`LOCK`], or as [`RECURSIVE`].
    pub methods: [Place; 7],
    /// Where the address is of what frees an object.
    pub dealloc: u64,
    /// Where the address is of what makes one; 0 if there is nothing.
    pub new: u64,
}

/// What was found.
#[derive(Default)]
pub struct Found {
    /// The lock.
    pub lock: Type,
    /// The recursive lock.
    pub recursive: Type,
    /// As [`MAKERS`].
    pub makers: [Place; MAKERS.len()],
}

/// The parts of a module.
struct Parts {
    all: [(u64, u64); Self::MOST],
    is_written: [bool; Self::MOST],
    len: usize,
}

impl Parts {
    const MOST: usize = 8;

    fn of(address: u64) -> Self {
        let mut parts = Self { all: [(0, 0); Self::MOST], is_written: [false; Self::MOST], len: 0 };
        modules::each_segment(address, |start, bytes, flags| {
            if parts.len < Self::MOST && flags & libc::PF_R != 0 {
                parts.all[parts.len] = (start, start + bytes);
                parts.is_written[parts.len] = flags & libc::PF_W != 0;
                parts.len += 1;
            }
        });
        parts
    }

    /// The bytes from `at` on are in a part, so many of them.
    fn room(&self, at: u64) -> u64 {
        let all = &self.all[..self.len];
        all.iter().find(|&&(from, to)| (from..to).contains(&at)).map_or(0, |&(_, to)| to - at)
    }

    /// The parts that are written to.
    fn written(&self) -> impl Iterator<Item = (u64, u64)> {
        (0..self.len).filter(|&part| self.is_written[part]).map(|part| self.all[part])
    }

    /// The row at `at`, if there is one.
    fn row<T>(&self, at: u64) -> Option<&'static T> {
        let has_room = at.is_multiple_of(8) && self.room(at) >= size_of::<T>() as u64;
        // SAFETY: aligned bytes of a part of the module that is mapped and stays. `T` is one of the tables' rows, which are
        // numbers. Nobody writes them before the program's main.
        has_room.then(|| unsafe { &*(at as *const T) })
    }

    /// The text at `at` is `wanted`.
    fn says(&self, at: u64, wanted: &CStr) -> bool {
        let wanted = wanted.to_bytes_with_nul();
        if self.room(at) < wanted.len() as u64 {
            return false;
        }
        // SAFETY: so many bytes of a part of the module, which is mapped and stays.
        let text =
            unsafe { core::slice::from_raw_parts(at as *const c_char as *const u8, wanted.len()) };
        text == wanted
    }

    /// The places of the functions called `names` in the table of methods at `at`. `None`: it is none.
    fn methods<const N: usize>(&self, at: u64, names: [&CStr; N]) -> Option<[Place; N]> {
        let mut places = [Place::default(); N];
        for number in 0..MOST_ROWS {
            let at = at + number * size_of::<MethodDef>() as u64;
            let row = self.row::<MethodDef>(at)?;
            if row.name == 0 {
                return Some(places);
            }
            if self.room(row.name) == 0 || self.room(row.function) == 0 {
                return None;
            }
            if let Some(known) = names.iter().position(|name| self.says(row.name, name)) {
                places[known] = Place { word: at + 8, flags: row.flags };
            }
        }
        None
    }

    /// The value of the number `wanted` in the table of slots in which the slot at `at` is.
    fn slot(&self, at: u64, wanted: u64) -> Option<u64> {
        let is_one = |slot: &Slot| (1..ABOVE_ALL).contains(&slot.number);
        let bytes = size_of::<Slot>() as u64;
        let rows = |step: fn(u64, u64) -> u64| {
            let places = (0..MOST_ROWS).map(move |number| step(at, number * bytes));
            places.map_while(|at| Some((at, self.row::<Slot>(at).filter(|slot| is_one(slot))?)))
        };
        let mut all = rows(u64::wrapping_sub).chain(rows(u64::wrapping_add));
        all.find(|(_, slot)| slot.number == wanted).map(|(at, _)| at + 8)
    }
}

/// Looks through the module that has the function or object at `address`. What was not found has 0 for an address.
pub fn find(address: u64) -> Found {
    let parts = Parts::of(address);
    let mut found = Found::default();
    for (from, to) in parts.written() {
        let from = from.next_multiple_of(8);
        // SAFETY: aligned words of a part of the module, which is mapped and stays. Nobody writes them before the program's main.
        let words = unsafe {
            core::slice::from_raw_parts(from as *const u64, (to.saturating_sub(from) / 8) as usize)
        };
        // These are a large part of the program's data: of most words only the value is looked at.
        for (&word, at) in words.iter().zip((from..).step_by(8)) {
            match word {
                METHODS => look_at_slot(&parts, at, &mut found),
                NONE_WORD if found.makers[0].word == 0 => {
                    look_at_flags(&parts, at, &mut found);
                }
                _ => {}
            }
        }
    }
    found
}

/// The flags at `at` may be those of the first of the functions that make a lock.
fn look_at_flags(parts: &Parts, at: u64, found: &mut Found) {
    let first = at.wrapping_sub(core::mem::offset_of!(MethodDef, flags) as u64);
    if let Some(row) = parts.row::<MethodDef>(first)
        && parts.says(row.name, MAKERS[0])
    {
        // From this row on.
        found.makers = parts.methods(first, MAKERS).unwrap_or_default();
    }
}

/// The slot at `at` has the methods of a type, which may be one of the two that are looked for.
fn look_at_slot(parts: &Parts, at: u64, found: &mut Found) {
    let Some(slot) = parts.row::<Slot>(at) else { return };
    for (names, of) in [(LOCK, &mut found.lock), (RECURSIVE, &mut found.recursive)] {
        let Some(methods) = parts.methods(slot.value, names) else { return };
        if methods.iter().all(|place| place.word != 0)
            && let Some(dealloc) = parts.slot(at, DEALLOC)
        {
            *of = Type { methods, dealloc, new: parts.slot(at, NEW).unwrap_or(0) };
        }
    }
}
