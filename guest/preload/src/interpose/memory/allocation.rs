//! The allocating functions where allocations are tracked, or where the program has another malloc
//! than glibc's: [`crate::interpose::signal_unsafe`]'s stubs go here, and what is here calls on. Elsewhere this is
//! out of the way.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};

use crate::arch::Arrived;
use crate::interpose::guarded::Guarded;
use crate::interpose::{block_size, signal_unsafe};
use crate::lock_id::allocations;
use crate::stack::unwind::Frame;

/// Allocations are tracked.
static ARE_TRACKED: AtomicBool = AtomicBool::new(false);

/// Smaller blocks are not recorded.
static LEAST: AtomicUsize = AtomicUsize::new(0);

/// The program was given a block. Called by the functions below: `arrived` is of the call of the
/// allocating function, and `fp` its caller's frame pointer.
///
/// # Safety
/// As said, and that function has not returned.
unsafe extern "C" fn given(block: *mut c_void, size: usize, arrived: Arrived, fp: u64) {
    if ARE_TRACKED.load(Relaxed) {
        // SAFETY: the caller promises a call that has not returned.
        unsafe { allocations::record(Frame::arrived(arrived, fp), block as u64, size) };
    }
    block_size::record(block, size);
}

/// As [`given`], called by a function of ours.
fn given_here(block: *mut c_void, size: usize) {
    if ARE_TRACKED.load(Relaxed) && !block.is_null() && size >= allocations::LEAST {
        match Frame::outside() {
            // SAFETY: the program's call of ours, which has not returned.
            Some(call) => unsafe { allocations::record(call, block as u64, size) },
            None => allocations::lost(),
        }
    }
    block_size::record(block, size);
}

/// A function of the next library, and what has it.
struct Next(AtomicUsize);

impl Next {
    const fn unknown() -> Self {
        Self(AtomicUsize::new(0))
    }

    /// The function.
    ///
    /// # Safety
    /// `F` is its type.
    unsafe fn get<F: Copy>(&self) -> F {
        const { assert!(size_of::<F>() == size_of::<usize>()) };
        let at = self.0.load(Relaxed);
        // SAFETY: the caller names the function's type. Nobody comes here before `start` has stored
        // it.
        unsafe { core::mem::transmute_copy(&at) }
    }
}

/// `name: the argument that is the size of the block;`. The function calls the next, has [`given`] record what that
/// returned, and returns that. It is assembly so that it knows where on the stack its own return address is; small
/// blocks, which are not recorded, only pass by.
macro_rules! allocating {
    ($($name:ident: $size:ident;)*) => {
        mod next {
            $(
                #[allow(non_upper_case_globals, reason = "named as the function is")]
                pub static $name: super::Next = super::Next::unknown();
            )*
        }

        $(
            /// # Safety
            /// The arguments keep the contract of the function of that name; its address is known
            /// by now.
            #[unsafe(naked)]
            unsafe extern "C" fn $name() {
                code!(
                    allocates $size,
                    least = sym LEAST,
                    next = sym next::$name,
                    given = sym given,
                )
            }
        )*

        fn divert_allocating() {
            $(divert(Guarded::$name, $name as unsafe extern "C" fn() as usize, &next::$name);)*
        }
    };
}

allocating! {
    malloc: first;
    calloc: product;
    aligned_alloc: second;
    memalign: second;
}

static NEXT_REALLOC: Next = Next::unknown();
static NEXT_POSIX_MEMALIGN: Next = Next::unknown();
static NEXT_FREE: Next = Next::unknown();

type Realloc = unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void;
type PosixMemalign = unsafe extern "C" fn(*mut *mut c_void, usize, usize) -> c_int;
type Free = unsafe extern "C" fn(*mut c_void);

/// # Safety
/// `old` is null or a live block of the program's allocator, as for `realloc`.
unsafe extern "C" fn realloc(old: *mut c_void, size: usize) -> *mut c_void {
    // Before: another thread may be given the memory at once.
    let before = ARE_TRACKED.load(Relaxed).then(|| allocations::forget(old as u64)).flatten();
    // SAFETY: the next `realloc` has this type and gets the program's own `old` and `size`
    // unchanged.
    let block = unsafe { NEXT_REALLOC.get::<Realloc>()(old, size) };
    match before {
        // It failed, and the old block stays. (With size 0 it was freed.)
        Some(before) if block.is_null() && size != 0 => allocations::restore(old as u64, before),
        _ => given_here(block, size),
    }
    block
}

/// # Safety
/// The arguments keep the contract of `posix_memalign`.
unsafe extern "C" fn posix_memalign(to: *mut *mut c_void, alignment: usize, size: usize) -> c_int {
    // SAFETY: the next `posix_memalign` has this type and gets the program's own arguments
    // unchanged.
    let result = unsafe { NEXT_POSIX_MEMALIGN.get::<PosixMemalign>()(to, alignment, size) };
    if result == 0 {
        // SAFETY: the call succeeded, so it has just written the block's address to the program's
        // `to`.
        given_here(unsafe { to.read() }, size);
    }
    result
}

/// # Safety
/// `block` is null or a live block of the program's allocator, as for `free`.
unsafe extern "C" fn free(block: *mut c_void) {
    allocations::forget(block as u64);
    // SAFETY: the next `free` has this type and gets the program's own `block` unchanged.
    unsafe { NEXT_FREE.get::<Free>()(block) };
}

/// Tracks allocations from now on. To be called before the program's main.
pub fn track() {
    // Where that fails, whatever is allocated is counted as lost.
    allocations::start();
    ARE_TRACKED.store(true, Relaxed);
    LEAST.store(allocations::LEAST, Relaxed);
    divert_all();
    NEXT_FREE.0.store(signal_unsafe::next_free(), Relaxed);
    signal_unsafe::divert_free(free as Free as usize);
}

/// Has the functions come here from now on for another malloc than glibc's. To be called before the program's main.
pub fn start() {
    // `block_size` asks for all: where a small block lies, a larger one is no longer.
    LEAST.store(0, Relaxed);
    divert_all();
}

/// Has the functions come here from now on, if they do not yet.
fn divert_all() {
    // Relaxed: nobody else is here.
    if NEXT_REALLOC.0.load(Relaxed) != 0 {
        return;
    }
    divert_allocating();
    divert(Guarded::realloc, realloc as Realloc as usize, &NEXT_REALLOC);
    let to = posix_memalign as PosixMemalign as usize;
    divert(Guarded::posix_memalign, to, &NEXT_POSIX_MEMALIGN);
}

/// Has a function come to `to`, and go on from there as it did before.
fn divert(function: Guarded, to: usize, next: &Next) {
    let address = signal_unsafe::next(function);
    if address != 0 {
        next.0.store(address, Relaxed);
        signal_unsafe::divert(function, to);
    }
}
