//! How the process ends, for its ledger: by `exit`, `_exit`, `quick_exit` or exec, and with which
//! code. A death by a signal does not show here.
//!
//! `_exit` may be called in a signal's handler, and in a vforked child, which is a process of its
//! own in its parent's memory: so there are but stores to the header here, by the process whose
//! header it is.

use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering::*;

use lockwright_ledger::Header;
use lockwright_ledger::layout::{EXIT_CODE_KNOWN, process_state};

use crate::libc::real;
use crate::lockdep::left_held;
use crate::lockmeter;
use crate::os::{sys, time, tls};
use crate::recorder::state;

unsafe extern "C" {
    /// glibc's: has `handler` called at exit, with the code. The first handlers need no memory.
    fn on_exit(handler: unsafe extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// The header, if the calling thread is one that the ledger knows: a vforked child has its parent's
/// memory, but an id of its own. (Asked by a call that sandboxes must allow anyway.)
fn own_header() -> Option<&'static Header> {
    let header = state::header()?;
    let own = sys::gettid();
    // SAFETY: null or this thread's own live state; no outer reference to it is used meanwhile.
    let checked = unsafe { tls::get().as_ref() }.map(|thread| thread.tid());
    let is_known = header.pid.load(Relaxed) == own
        || checked == Some(own)
        || lockmeter::own_tid() == Some(own);
    is_known.then_some(header)
}

/// Asks for the code that the process exits with. To be called before the program's main: the
/// handler is the last.
pub fn start() {
    // SAFETY: the handler stays loaded, as the library is never unloaded; it gets null, which it
    // ignores.
    unsafe { on_exit(exits, core::ptr::null_mut()) };
}

/// # Safety
/// The C library calls it at exit, in the thread that exits.
unsafe extern "C" fn exits(code: c_int, _argument: *mut c_void) {
    if let Some(header) = state::header() {
        left_held::exits();
        store_code(header, code);
    }
}

fn store_code(header: &Header, code: c_int) {
    header.exit_code.store(EXIT_CODE_KNOWN | code as u32 & 0xff, Relaxed);
}

/// The process ends by a call that runs no handlers, or only those of `quick_exit`.
#[cold]
fn ends(state: u32, code: c_int) {
    let Some(header) = own_header() else { return };
    // A handler of quick_exit may call _exit: what was called first counts.
    let running = process_state::RUNNING;
    if header.state.compare_exchange(running, state, Relaxed, Relaxed).is_ok() {
        store_code(header, code);
        header.end_ns.store(time::now_ns(), Relaxed);
        lockmeter::finish();
    }
}

/// # Safety
/// The arguments keep the contract of `_exit`.
pub unsafe extern "C-unwind" fn exit_at_once(code: c_int, _site: u64) -> c_int {
    ends(process_state::EXITED_AT_ONCE, code);
    // SAFETY: the next `_exit` gets the program's own `code` unchanged, as without us.
    unsafe { real::_exit(code) }
}

/// # Safety
/// The arguments keep the contract of `quick_exit`.
pub unsafe extern "C-unwind" fn quick_exit(code: c_int, _site: u64) -> c_int {
    ends(process_state::QUICK_EXITED, code);
    // SAFETY: the next `quick_exit` gets the program's own `code` unchanged, as without us.
    unsafe { real::quick_exit(code) }
}

/// The process is about to call exec. To be followed by [`stays`], if that fails.
pub fn executes() -> Option<&'static Header> {
    let header = own_header()?;
    header.end_ns.store(time::now_ns(), Relaxed);
    lockmeter::finish();
    header.state.store(process_state::EXECUTED, Relaxed);
    Some(header)
}

/// The call has failed.
pub fn stays(header: Option<&'static Header>) {
    if let Some(header) = header {
        header.state.store(process_state::RUNNING, Relaxed);
        header.end_ns.store(0, Relaxed);
    }
}
