//! The description of a type of objects: the kernel's `debug_obj_descr`.

use core::ffi::{c_char, c_void};
use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;

use super::table::{Rules, State};

/// Repairs an object with a fault, in the given state; true: it is repaired. The function may
/// report operations on the object.
pub type Fixup = unsafe extern "C" fn(addr: *mut c_void, state: u32) -> bool;

/// An object that is not known is one that was initialised statically.
pub type IsStaticObject = unsafe extern "C" fn(addr: *mut c_void) -> bool;

/// A type of objects. Lives as long as the engine knows an object of the type.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Descr {
    /// The type's number: objects of one address and two types are two objects.
    pub type_id: u32,
    /// What its rules say beyond the kernel's.
    pub rules: Rules,
    /// Name, NUL terminated; null: the type is known by its number.
    pub name: *const c_char,
    /// Asked under [`Rules::STATIC`].
    pub is_static_object: Option<IsStaticObject>,
    /// After an init of an active object.
    pub fixup_init: Option<Fixup>,
    /// After an activation of an active or unknown object.
    pub fixup_activate: Option<Fixup>,
    /// After a destroy of an active object.
    pub fixup_destroy: Option<Fixup>,
    /// After a free of an active object, or when its memory goes.
    pub fixup_free: Option<Fixup>,
    /// After the use of an unknown object.
    pub fixup_assert_init: Option<Fixup>,
    /// Set once the functions are not there any more: they were a module's that was unloaded, and
    /// objects are left.
    pub gone: Option<&'static AtomicBool>,
}

// SAFETY: the name is never written, and the functions are called from whatever thread meets a
// fault.
unsafe impl Sync for Descr {}
// SAFETY: the name is never written, and any thread may call the functions.
unsafe impl Send for Descr {}

impl Descr {
    /// A type with the kernel's rules and nothing that repairs.
    pub const fn new(type_id: u32, rules: Rules) -> Self {
        Self {
            type_id,
            rules,
            name: core::ptr::null(),
            is_static_object: None,
            fixup_init: None,
            fixup_activate: None,
            fixup_destroy: None,
            fixup_free: None,
            fixup_assert_init: None,
            gone: None,
        }
    }

    /// The object at `addr`, of which nothing is known, was initialised statically.
    pub(super) fn is_static(&self, addr: u64) -> bool {
        match self.is_static_object {
            // SAFETY: the type's own function, asked of an object of the type that is in use now.
            Some(ask) if self.rules.has(Rules::STATIC) => unsafe { ask(addr as *mut c_void) },
            _ => false,
        }
    }

    /// What to call when the memory of an active object goes: nobody who has the type at hand says
    /// so.
    pub(super) fn fixup_at_end(&self) -> Option<Fixup> {
        // Relaxed: a thread that frees the memory while the module is unloaded comes too late, or
        // too early.
        let is_gone = self.gone.is_some_and(|gone| gone.load(Relaxed));
        self.fixup_free.filter(|_| !is_gone)
    }

    /// Calls a fixup; true: the state is repaired.
    pub(super) fn fix(fixup: Option<Fixup>, addr: u64, state: State) -> bool {
        // SAFETY: the type's own function, called with no lock held of an object that is reported
        // now.
        fixup.is_some_and(|fixup| unsafe { fixup(addr as *mut c_void, state as u32) })
    }
}
