//! The calling thread's meter, in initial-exec TLS, as [`crate::os::tls`]. A thread that has none
//! (yet) has the detached one: its index is empty and it holds nothing, so that the fast paths fail
//! on it.

use core::arch::global_asm;
use core::mem::{offset_of, size_of};

use lockwright_engines::lockmeter::MeterThread;
use lockwright_ledger::rows::meter::{Meter, Metered};

const _: () = assert!(offset_of!(Meter, held.top) == 8);
const _: () = assert!(offset_of!(Meter, held.limit) == 16);
const _: () = assert!(offset_of!(Meter, held.base) == 24);
const _: () = assert!(offset_of!(Meter, held.offset) == 32);
const _: () = assert!(offset_of!(Meter, index) == 48);
const _: () = assert!(offset_of!(Meter, shift) == 56);

global_asm!(
    ".section .tdata,\"awT\",@progbits",
    ".balign 8",
    ".globl lockwright_meter",
    ".hidden lockwright_meter",
    ".globl lockwright_unmetered",
    ".hidden lockwright_unmetered",
    ".type lockwright_meter, @object",
    ".size lockwright_meter, 16",
    "lockwright_meter:",
    ".quad lockwright_unmetered",
    ".quad 0",
    ".data",
    ".balign 64",
    "lockwright_unmetered:",
    ".zero 8",
    ".quad lockwright_no_metered", // top
    ".quad 0",                     // limit
    ".quad lockwright_no_metered", // base
    ".zero 16",                    // offset and what follows it
    ".quad lockwright_no_cells",   // index
    ".quad 63",                    // shift
    ".zero {rest}",
    ".balign 16",
    "lockwright_no_metered:",
    ".zero {held}",
    "lockwright_no_cells:",
    ".zero 32",
    ".text",
    rest = const size_of::<Meter>() - 64,
    held = const size_of::<Metered>(),
);

/// The meter of the calling thread, or the detached one, which is never written to.
#[inline(always)]
pub fn raw() -> *mut MeterThread {
    // SAFETY: reads this thread's word of the symbol above.
    (unsafe { own_word!("lockwright_meter", 0) }) as *mut MeterThread
}

fn detached() -> *mut MeterThread {
    // SAFETY: the address of the object above.
    (unsafe { address_of!("lockwright_unmetered") }) as *mut MeterThread
}

/// The meter of the calling thread, null if it has none.
pub fn get() -> *mut MeterThread {
    let meter = raw();
    if meter == detached() { core::ptr::null_mut() } else { meter }
}

/// The meter of the calling thread, if `holds` finds there what only a thread's own meter has: a
/// cell, or an entry of a held lock.
#[inline(always)]
pub fn own_with<T>(
    holds: impl FnOnce(&MeterThread) -> Option<T>,
) -> Option<(&'static mut MeterThread, T)> {
    let meter = raw();
    // SAFETY: the thread's own meter, or the detached one. All threads read that, and none writes.
    let found = holds(unsafe { &*meter })?;
    // SAFETY: the detached meter has no cell and no entry. So the meter is the thread's own, and a
    // wrapper uses one reference to it at a time.
    Some((unsafe { &mut *meter }, found))
}

/// Sets it; null detaches.
pub fn set(meter: *mut MeterThread) {
    let meter = if meter.is_null() { detached() } else { meter };
    // SAFETY: writes this thread's word of the symbol above.
    unsafe { set_own_word!("lockwright_meter", 0, meter) };
}

/// The thread has ended for us, or could not be given a meter.
pub fn is_closed() -> bool {
    // SAFETY: it reads this thread's own word of the symbol, 8 bytes from its start.
    (unsafe { own_word!("lockwright_meter", 8) }) != 0
}

/// Sets what [`is_closed`] says.
pub fn set_closed(closed: bool) {
    // SAFETY: it writes this thread's own word of the symbol, 8 bytes from its start.
    unsafe { set_own_word!("lockwright_meter", 8, u64::from(closed)) };
}
