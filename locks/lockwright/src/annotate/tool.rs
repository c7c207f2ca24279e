//! The tool's functions, looked up by name at first use: they are there if the tool has loaded its
//! library into the process.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicPtr, AtomicU8, Ordering::Relaxed};

/// Text as the tool takes it in lists.
#[repr(C)]
pub struct Name {
    text: *const c_char,
    len: usize,
}

impl Name {
    pub fn new(name: &str) -> Self {
        Self { text: name.as_ptr().cast(), len: name.len() }
    }
}

/// Whether there is a tool: once known, that does not change.
static TOOL: AtomicU8 = AtomicU8::new(MAYBE);
const MAYBE: u8 = 0;
const NONE: u8 = 1;
const THERE: u8 = 2;

/// There is no tool to tell anything, for as long as the process lives. One load and one branch.
#[inline(always)]
pub fn is_off() -> bool {
    is_known_off() || is_off_after_all()
}

/// The same, where it has been asked before: false also says that nobody has. For a path that goes out
/// of line, and asks [`is_off`] there: a call less saves registers there where locks are taken.
#[inline(always)]
pub fn is_known_off() -> bool {
    // Relaxed: says nothing of other memory.
    TOOL.load(Relaxed) == NONE
}

#[cold]
#[inline(never)]
fn is_off_after_all() -> bool {
    if TOOL.load(Relaxed) == MAYBE {
        TOOL.store(if acquire().is_some() { THERE } else { NONE }, Relaxed);
    }
    TOOL.load(Relaxed) == NONE
}

/// In a slot: not looked up yet. Null: not there.
const UNKNOWN: *mut c_void = core::ptr::without_provenance_mut(1);

#[cold]
#[inline(never)]
fn look_up(slot: &AtomicPtr<c_void>, name: &CStr) -> *mut c_void {
    // SAFETY: `name` is a C string, so it ends with a NUL, and it lives during the call.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    // Relaxed: the function was there before us; two threads that look it up find the same.
    slot.store(found, Relaxed);
    found
}

macro_rules! tool {
    ($($name:ident = $symbol:literal ($($ty:ty),*);)*) => { $(
        #[inline(always)]
        pub fn $name() -> Option<unsafe extern "C" fn($($ty),*) -> c_int> {
            static SLOT: AtomicPtr<c_void> = AtomicPtr::new(UNKNOWN);
            let mut at = SLOT.load(Relaxed);
            if at == UNKNOWN {
                at = look_up(&SLOT, $symbol);
            }
            // SAFETY: null or the tool's function of this name, which has this type; a null pointer
            // is None.
            unsafe {
                core::mem::transmute::<*mut c_void, Option<unsafe extern "C" fn($($ty),*) -> c_int>>(at)
            }
        }
    )* };
}

tool! {
    set_name = c"lockwright_set_name" (*const c_void, u32, *const c_char, usize);
    set_subclass = c"lockwright_set_subclass" (*const c_void, u32, u32);
    set_nest_lock = c"lockwright_set_nest_lock" (*const c_void, u32, *const c_void, u32);
    set_wait_type = c"lockwright_set_wait_type" (*const c_void, u32, u32);
    lock_order = c"lockwright_lock_order" (*const Name, usize);
    assert_held = c"lockwright_assert_held" (*const c_void, u32, u32);
    pin = c"lockwright_pin" (*const c_void, u32);
    unpin = c"lockwright_unpin" (*const c_void, u32, u32);
    lock_init = c"lockwright_lock_init" (*const c_void, *const c_char, usize);
    lock_destroy = c"lockwright_lock_destroy" (*const c_void);
    acquire = c"lockwright_acquire" (*const c_void, u32);
    contended = c"lockwright_contended" (*const c_void);
    acquired = c"lockwright_acquired" (*const c_void);
    abandoned = c"lockwright_abandoned" (*const c_void);
    release = c"lockwright_release" (*const c_void);
    resource_acquire = c"lockwright_resource_acquire" (*const c_char, usize);
    resource_release = c"lockwright_resource_release" (*const c_char, usize);
    wait_begin = c"lockwright_wait_begin" (*const c_void);
    wait_end = c"lockwright_wait_end" (*const c_void);
    complete = c"lockwright_complete" (*const c_void);
    object = c"lockwright_object" (*const c_void, *const c_void, u32, usize, usize);
}
