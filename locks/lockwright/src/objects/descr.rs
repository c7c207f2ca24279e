//! A type of objects, as it is annotated.

use core::ffi::{CStr, c_char, c_void};

/// The state that an object is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct State(u32);

impl State {
    /// Not tracked.
    pub const NONE: Self = Self(0);
    /// Initialised, has done nothing yet.
    pub const INIT: Self = Self(1);
    /// Not in use.
    pub const INACTIVE: Self = Self(2);
    /// In use: armed, queued, running.
    pub const ACTIVE: Self = Self(3);
    /// Destroyed.
    pub const DESTROYED: Self = Self(4);
    /// Never initialised, and [`Descr::is_static_object`] has said no, or is not there.
    pub const NOT_AVAILABLE: Self = Self(5);
}

/// Puts right what was wrong with the object at this address, which was in this state, and returns
/// whether it has.
///
/// It is called after the operation has been reported, by the thread that is in the operation, with
/// none of the tool's locks held, and may call any function of [`super`]. It must not panic.
pub type Fixup = extern "C" fn(*mut c_void, State) -> bool;

/// Maps an object's address to one that tells such objects apart.
pub type Hint = extern "C" fn(*mut c_void) -> *mut c_void;

/// Whether the object at an address need not be initialised.
pub type IsStatic = extern "C" fn(*mut c_void) -> bool;

/// Rules beyond the kernel's: the values of `LW_OBJECT_INIT_ONCE` and its siblings in
/// lockwright/objects.h.
mod rule {
    pub const INIT_ONCE: u32 = 1;
    pub const REINIT: u32 = 2;
    pub const MUST_DESTROY: u32 = 4;
}

/// A type of objects: `struct lw_object_descr`. The functions that it is given get addresses that
/// the program itself has annotated.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Descr {
    name: *const c_char,
    debug_hint: Option<Hint>,
    is_static_object: Option<IsStatic>,
    fixup_init: Option<Fixup>,
    fixup_activate: Option<Fixup>,
    fixup_destroy: Option<Fixup>,
    fixup_free: Option<Fixup>,
    fixup_assert_init: Option<Fixup>,
    flags: u32,
}

// SAFETY: never written to, and so is the name.
unsafe impl Sync for Descr {}
// SAFETY: neither the value nor the name that it points to is ever written.
unsafe impl Send for Descr {}

impl Descr {
    /// A type that has only a name, which reports call it by.
    pub const fn new(name: &'static CStr) -> Self {
        Self {
            name: name.as_ptr(),
            debug_hint: None,
            is_static_object: None,
            fixup_init: None,
            fixup_activate: None,
            fixup_destroy: None,
            fixup_free: None,
            fixup_assert_init: None,
            flags: 0,
        }
    }

    /// Reports name the address that this gives, as that of a timer's function.
    #[must_use]
    pub const fn debug_hint(mut self, hint: Hint) -> Self {
        self.debug_hint = Some(hint);
        self
    }

    /// Asked of objects that the tool has not met.
    #[must_use]
    pub const fn is_static_object(mut self, is_static: IsStatic) -> Self {
        self.is_static_object = Some(is_static);
        self
    }

    /// For an active object that is initialised.
    #[must_use]
    pub const fn fixup_init(mut self, fixup: Fixup) -> Self {
        self.fixup_init = Some(fixup);
        self
    }

    /// For an active object that is activated, or an unknown one that is not static.
    #[must_use]
    pub const fn fixup_activate(mut self, fixup: Fixup) -> Self {
        self.fixup_activate = Some(fixup);
        self
    }

    /// For an active object that is destroyed.
    #[must_use]
    pub const fn fixup_destroy(mut self, fixup: Fixup) -> Self {
        self.fixup_destroy = Some(fixup);
        self
    }

    /// For an active object whose memory goes: [`super::free`], `free`, `munmap` and their like.
    #[must_use]
    pub const fn fixup_free(mut self, fixup: Fixup) -> Self {
        self.fixup_free = Some(fixup);
        self
    }

    /// For an unknown object that is not static, and asserted to be initialised.
    #[must_use]
    pub const fn fixup_assert_init(mut self, fixup: Fixup) -> Self {
        self.fixup_assert_init = Some(fixup);
        self
    }

    /// Initialising what is initialised and not in use is an error, too.
    #[must_use]
    pub const fn init_once(mut self) -> Self {
        self.flags |= rule::INIT_ONCE;
        self
    }

    /// A destroyed object may be initialised again.
    #[must_use]
    pub const fn reinit(mut self) -> Self {
        self.flags |= rule::REINIT;
        self
    }

    /// Memory must not go with an object in it that was not destroyed.
    #[must_use]
    pub const fn must_destroy(mut self) -> Self {
        self.flags |= rule::MUST_DESTROY;
        self
    }
}
