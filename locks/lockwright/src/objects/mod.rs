//! Annotations of the lives of a program's objects; as `lockwright/objects.h` for C
//! and C++. After the Linux kernel's debugobjects, and by its rules.
//!
//! Under `lockwright check` what is done to an object in the wrong state is reported, with where it
//! was initialised, last used and destroyed. Without the tool each function costs a load and a
//! branch, and does nothing.
//!
//! An object is its address. [`Tracked`] gives a value an address of its own, and reports its
//! beginning and end. A value that has its address already reports itself by functions:
//!
//! ```
//! use lockwright::objects::{self, Descr, Tracked};
//!
//! static TIMER: Descr = Descr::new(c"timer");
//! static REQUEST: Descr = Descr::new(c"request").must_destroy();
//!
//! // A timer with 50 ms left: initialised here.
//! let timer = Tracked::new(&TIMER, 50);
//! timer.activate();
//! assert_eq!(*timer, 50);
//! timer.deactivate();
//! // Dropped while it is active it would be found.
//! drop(timer);
//!
//! // Part of something else: an object is its address.
//! let request = Box::new([0u8; 64]);
//! objects::init(&*request, &REQUEST);
//! objects::activate(&*request, &REQUEST);
//! objects::deactivate(&*request, &REQUEST);
//! objects::destroy(&*request, &REQUEST);
//! ```
//!
//! A descriptor may have fixups, which put right what was wrong:
//!
//! ```
//! use std::ffi::c_void;
//!
//! use lockwright::objects::{self, Descr, State};
//!
//! static REQUEST: Descr = Descr::new(c"request").fixup_activate(begin);
//!
//! /// Requests are made of zeroed memory: the first use may be the first that is heard of one.
//! extern "C" fn begin(request: *mut c_void, state: State) -> bool {
//!     if state != State::NOT_AVAILABLE {
//!         return false;
//!     }
//!     objects::init(request, &REQUEST);
//!     objects::activate(request, &REQUEST)
//! }
//!
//! let request = [0u8; 64];
//! assert!(objects::activate(&request, &REQUEST));
//! objects::deactivate(&request, &REQUEST);
//! objects::free(&request, &REQUEST);
//! ```

mod descr;
mod tracked;

pub use descr::{Descr, Fixup, Hint, IsStatic, State};
pub use tracked::Tracked;

use core::ffi::{c_int, c_void};

use crate::annotate::tool;

/// The operation on an object: the values of `LW_OBJECT_DO_INIT_` and its siblings in
/// lockwright/objects.h.
#[derive(Clone, Copy)]
#[repr(u32)]
enum Operation {
    Init = 1,
    InitOnStack = 2,
    Activate = 3,
    Deactivate = 4,
    Destroy = 5,
    Free = 6,
    AssertInit = 7,
    ActiveState = 8,
    CheckFreed = 9,
}

/// Tells the tool, if it is there.
#[inline(always)]
fn tell<T: ?Sized>(
    object: *const T,
    descr: Option<&'static Descr>,
    what: Operation,
    values: [usize; 2],
) -> c_int {
    if tool::is_off() { 0 } else { told(object.cast(), descr, what, values) }
}

#[cold]
fn told(
    object: *const c_void,
    descr: Option<&'static Descr>,
    what: Operation,
    values: [usize; 2],
) -> c_int {
    let Some(tell) = tool::object() else { return 0 };
    let descr = descr.map_or(core::ptr::null(), core::ptr::from_ref);
    // How large a descriptor is lies above what is done: a later one may be larger.
    let what = what as u32 | (size_of::<Descr>() as u32) << 8;
    // SAFETY: the tool's function; a descriptor of that size or none, and of the object only the
    // address is used.
    unsafe { tell(object, descr.cast(), what, values[0], values[1]) }
}

/// The object was initialised.
#[inline(always)]
pub fn init<T: ?Sized>(object: *const T, descr: &'static Descr) {
    tell(object, Some(descr), Operation::Init, [0; 2]);
}

/// The same of one on the calling thread's stack. It must not be in use when its function returns.
#[inline(always)]
pub fn init_on_stack<T: ?Sized>(object: *const T, descr: &'static Descr) {
    tell(object, Some(descr), Operation::InitOnStack, [0; 2]);
}

/// It comes into use. To be called before it does: returns whether it is in a state for that, or a
/// fixup has helped; always so without the tool.
#[inline(always)]
pub fn activate<T: ?Sized>(object: *const T, descr: &'static Descr) -> bool {
    tell(object, Some(descr), Operation::Activate, [0; 2]) == 0
}

/// It is in use no more.
#[inline(always)]
pub fn deactivate<T: ?Sized>(object: *const T, descr: &'static Descr) {
    tell(object, Some(descr), Operation::Deactivate, [0; 2]);
}

/// It must not be used again. Its memory stays, and with it what is known of it: later uses are
/// found.
#[inline(always)]
pub fn destroy<T: ?Sized>(object: *const T, descr: &'static Descr) {
    tell(object, Some(descr), Operation::Destroy, [0; 2]);
}

/// Its life is over, and its memory is used for something else.
#[inline(always)]
pub fn free<T: ?Sized>(object: *const T, descr: &'static Descr) {
    tell(object, Some(descr), Operation::Free, [0; 2]);
}

/// It must be initialised here, in whatever state.
#[inline(always)]
pub fn assert_init<T: ?Sized>(object: *const T, descr: &'static Descr) {
    tell(object, Some(descr), Operation::AssertInit, [0; 2]);
}

/// While an object is active, its user may count states of his own. They begin with 0, and an
/// object that is deactivated must be in that. Here it must be in `expect`, and `next` comes after
/// it.
#[inline(always)]
pub fn active_state<T: ?Sized>(object: *const T, descr: &'static Descr, expect: u32, next: u32) {
    let states = [expect as usize, next as usize];
    tell(object, Some(descr), Operation::ActiveState, states);
}

/// For allocators: the memory goes back to the program's own pool. The tool itself sees memory that
/// `free`, `realloc` and `munmap` give back.
#[inline(always)]
pub fn check_no_obj_freed(memory: *const u8, len: usize) {
    tell(memory, None, Operation::CheckFreed, [len, 0]);
}
