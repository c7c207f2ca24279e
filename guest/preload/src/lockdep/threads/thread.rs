//! Threads: their creators, their joiners and their names.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};

use libc::{clockid_t, pthread_attr_t, pthread_t, timespec};
use lockwright_engines::lockdep::{Acquire as Acquisition, Core, Ident};
use lockwright_ledger::rows::meter::blocking_call;
use lockwright_ledger::rows::mode;

use crate::libc::real::{self, Start, StartC11};
use crate::lock_id::side_table::SideTable;
use crate::lockdep::watch::{self, Blocking};
use crate::lockdep::{atomic_sleep, attached_threads};
use crate::os::{sys, time};
use crate::recorder::{cond_signals, state};
use crate::stack::python;

/// What a new thread must know, from its creator. The start routine is what the thread's first
/// function, one of the below, takes it for.
#[derive(Clone, Copy)]
struct Passage {
    start: *const (),
    argument: *mut c_void,
    segment: u32,
    stack: u32,
}

struct Slot {
    taken: AtomicBool,
    passage: UnsafeCell<Passage>,
}

// SAFETY: the passage belongs to the thread that set `taken`, then to the thread it is handed to.
unsafe impl Sync for Slot {}

/// Passages under way at once. With more, a thread starts without its creator's order.
static SLOTS: [Slot; 512] = [const {
    let nothing = Passage { start: ptr::null(), argument: ptr::null_mut(), segment: 0, stack: 0 };
    Slot { taken: AtomicBool::new(false), passage: UnsafeCell::new(nothing) }
}; 512];

impl Slot {
    /// As what a thread is given.
    fn address(&'static self) -> *mut c_void {
        core::ptr::from_ref(self).cast_mut().cast()
    }

    /// The creation that it was taken for ended with `result`; 0 if there is a thread to give it
    /// back.
    fn settle(&self, result: c_int) -> c_int {
        if result != 0 {
            // SAFETY: there is no thread that it would have been handed to, so it is ours again.
            let segment = unsafe { (*self.passage.get()).segment };
            state::with_core(|core| core.creation_is_over(segment));
            self.taken.store(false, Release);
        }
        result
    }
}

fn take_slot(passage: Passage) -> Option<&'static Slot> {
    // Acquire pairs with the Release in `arrive`: its reader is done with the slot.
    let slot = SLOTS.iter().find(|slot| {
        !slot.taken.load(Relaxed)
            && slot.taken.compare_exchange(false, true, Acquire, Relaxed).is_ok()
    })?;
    // SAFETY: the exchange above gave this slot to us alone, and its new thread does not exist yet.
    unsafe { *slot.passage.get() = passage };
    Some(slot)
}

/// Which thread row a `pthread_t` means: `inst` is the row.
static THREADS: SideTable = SideTable::new();

/// `pthread_create`.
///
/// # Safety
/// The arguments keep the contract of `pthread_create`.
pub unsafe fn create(
    t: *mut pthread_t,
    attr: *const pthread_attr_t,
    start: Start,
    argument: *mut c_void,
) -> c_int {
    let handed = match announce(start as *const (), argument) {
        Some(slot) => slot,
        // SAFETY: the next `pthread_create` gets the program's own arguments unchanged, as without
        // us.
        None => return unsafe { real::pthread_create(t, attr, start, argument) },
    };
    // SAFETY: the program's `t` and `attr` go on unchanged; our start routine gets the slot taken
    // for this thread.
    let result =
        unsafe { real::pthread_create(t, attr, lockwright_thread_begin, handed.address()) };
    handed.settle(result)
}

/// `thrd_create`.
///
/// # Safety
/// The arguments keep the contract of `thrd_create`.
pub unsafe fn create_c11(t: *mut pthread_t, start: StartC11, argument: *mut c_void) -> c_int {
    let handed = match announce(start as *const (), argument) {
        Some(slot) => slot,
        // SAFETY: the next `thrd_create` gets the program's own arguments unchanged, as without us.
        None => return unsafe { real::thrd_create(t, start, argument) },
    };
    // SAFETY: the program's `t` goes on unchanged; our start routine gets the slot taken for this
    // thread.
    let result = unsafe { real::thrd_create(t, begin_of_c11(), handed.address()) };
    handed.settle(result)
}

/// The calling thread is about to create one that is to call `start`. What that is to be given to
/// begin with; `None` if it goes unwatched.
fn announce(start: *const (), argument: *mut c_void) -> Option<&'static Slot> {
    // The last moment at which a forked child has one thread, which its new start rests on.
    if state::status() == state::FORKED {
        state::begin_child();
    }
    let thread = watch::thread()?;
    let (segment, stack) =
        state::with_core(|core| core.thread_creates(thread, &mut python::capture))?;
    cond_signals::matter();
    let slot = take_slot(Passage { start, argument, segment, stack });
    if slot.is_none() {
        state::with_core(|core| core.creation_is_over(segment));
    }
    slot
}

// The first function of every thread created through us, by `pthread_create` or `thrd_create`. It
// ends in a jump: of the thread's call stack, which is the program's, it is no part.
framed_code!(thread_begin, arrive = sym arrive);

unsafe extern "C-unwind" {
    /// As said above, with the address of a slot. Returns what the start routine does.
    fn lockwright_thread_begin(slot: *mut c_void) -> *mut c_void;
}

/// As [`lockwright_thread_begin`], which the routine's answer passes by.
fn begin_of_c11() -> StartC11 {
    // SAFETY: it has one argument alike, and returns only what the start routine does, of that
    // type.
    unsafe { core::mem::transmute::<Start, StartC11>(lockwright_thread_begin) }
}

/// A start routine and its argument.
#[repr(C)]
struct Work {
    start: *const (),
    argument: *mut c_void,
}

/// A thread created through us begins: what it is to call.
///
/// # Safety
/// `slot` is the address of the one that was taken for it; `work` has room.
unsafe extern "C" fn arrive(slot: *mut c_void, work: *mut Work) {
    // SAFETY: the caller promises the address of the slot that was taken for this thread, which is
    // one of the static `SLOTS`.
    let slot = unsafe { &*slot.cast::<Slot>() };
    // SAFETY: the passage was stored before the thread began, and nobody writes it until we give
    // the slot back.
    let Passage { start, argument, segment, stack } = unsafe { *slot.passage.get() };
    // SAFETY: the caller promises that `work` has room for a `Work`.
    unsafe { work.write(Work { start, argument }) };
    // SAFETY: `pthread_self` takes no arguments and only reads the thread's own descriptor.
    let own = unsafe { libc::pthread_self() };
    let mut is_found = false;
    let thread = attached_threads::attach_created(segment, stack, |core, id| {
        is_found = true;
        can_be_found(core, own, id);
    });
    // A signal handler may have attached the thread before us.
    if !is_found {
        let id = thread.map(|thread| thread.id());
        state::with_core(|core| {
            core.creation_is_over(segment);
            if let Some(id) = id {
                can_be_found(core, own, id);
                core.thread_name(id, &sys::thread_name());
            }
        });
    }
    slot.taken.store(false, Release);
    tell_of_arrival();
}

/// From now on the thread of row `id` is found by its handle `own`.
fn can_be_found(core: &mut Core, own: pthread_t, id: u32) {
    // A handle is given again once nobody can join the thread that had it.
    if let Some(before) = THREADS.get(own) {
        core.thread_settled(before.inst());
    }
    THREADS.insert(own, Ident::new(id, 1));
}

/// Counts the threads that have arrived: a futex.
static ARRIVALS: AtomicU32 = AtomicU32::new(0);
/// Threads that wait for one to arrive.
static AWAITING: AtomicU32 = AtomicU32::new(0);

fn tell_of_arrival() {
    // SeqCst, both, pairs with `row_of`: either this sees that somebody waits, or that one sees the new count and does not
    // wait.
    ARRIVALS.fetch_add(1, SeqCst);
    if AWAITING.load(SeqCst) != 0 {
        sys::futex_wake(&ARRIVALS, i32::MAX);
    }
}

/// The row of a thread that is about to be joined. If a created thread has not begun, this waits
/// until it has: the joiner waits longer anyway.
fn row_of(t: pthread_t) -> Option<Ident> {
    /// Enough for a thread to be scheduled on a loaded machine; then it goes unwatched.
    const PATIENCE_NS: u64 = 500_000_000;
    /// A wait is over when any thread arrives, and after this at the latest.
    const ROUND_NS: i64 = 10_000_000;
    let mut begun_ns = None;
    loop {
        let arrivals = ARRIVALS.load(SeqCst);
        let row = THREADS.get(t);
        // Acquire pairs with the Release in `arrive`: the row is there.
        if row.is_some() || SLOTS.iter().all(|slot| !slot.taken.load(Acquire)) {
            return row.or_else(|| THREADS.get(t));
        }
        let now_ns = time::now_ns();
        if now_ns - *begun_ns.get_or_insert(now_ns) > PATIENCE_NS {
            return None;
        }
        // SeqCst: as in `tell_of_arrival`.
        AWAITING.fetch_add(1, SeqCst);
        sys::futex_wait(&ARRIVALS, arrivals, ROUND_NS);
        AWAITING.fetch_sub(1, SeqCst);
    }
}

/// Waits for a thread's end as for a lock that the thread holds.
fn joining(t: pthread_t, site: u64, mode: u16, join: impl FnOnce() -> c_int) -> c_int {
    let (Some(thread), Some(target)) = (watch::thread(), row_of(t)) else { return join() };
    let target = target.inst();
    let lock = Acquisition {
        addr: u64::from(target),
        ident: Ident::new(0, 0),
        mode: mode::JOIN | mode,
        site,
    };
    state::with_core(|core| core.thread_joins(target, thread.id()));
    let holds = thread.is_obstacle(0);
    // With nothing held, too: a joiner of this thread may hold something. Trying is no wait.
    let (node, _) = match mode & mode::TRY {
        0 => watch::wait_context(thread, &lock),
        _ => (0, false),
    };
    let kind = Blocking { relock_fails: true, owner: 0 };
    let result = watch::wait(thread, &lock, node, holds, kind, join);
    if result == 0 {
        attached_threads::joined(target);
        state::with_core(|core| {
            core.thread_joined(thread, target);
            THREADS.remove(t);
        });
    } else {
        not_joined(target);
    }
    result
}

/// Nobody waits any more for the end of the thread of row `target`.
pub fn not_joined(target: u32) {
    state::with_core(|core| core.thread_joins(target, 0));
}

/// Waits for a thread's end, which may take time. (Trying does not.)
fn sleeping_join(t: pthread_t, site: u64, mode: u16, join: impl FnOnce() -> c_int) -> c_int {
    atomic_sleep::check(const { blocking_call("pthread_join") }, site);
    joining(t, site, mode, join)
}

/// # Safety
/// The arguments keep the contract of `pthread_join`; the stub passes `site`.
pub unsafe extern "C-unwind" fn join(t: pthread_t, value: *mut *mut c_void, site: u64) -> c_int {
    // SAFETY: the next `pthread_join` gets the program's own `t` and `value` unchanged, as without
    // us.
    sleeping_join(t, site, 0, || unsafe { real::pthread_join(t, value) })
}

/// `thrd_join`.
///
/// # Safety
/// The arguments keep the contract of `thrd_join`; the stub passes `site`.
pub unsafe extern "C-unwind" fn join_c11(t: pthread_t, value: *mut c_int, site: u64) -> c_int {
    // SAFETY: the next `thrd_join` gets the program's own `t` and `value` unchanged, as without us.
    sleeping_join(t, site, 0, || unsafe { real::thrd_join(t, value) })
}

/// # Safety
/// The arguments keep the contract of `pthread_timedjoin_np`; the stub passes `site`.
pub unsafe extern "C-unwind" fn timedjoin(
    t: pthread_t,
    value: *mut *mut c_void,
    timeout: *const timespec,
    site: u64,
) -> c_int {
    // SAFETY: the next `pthread_timedjoin_np` gets the program's own arguments unchanged, as
    // without us.
    sleeping_join(t, site, mode::TIMED, || unsafe { real::pthread_timedjoin_np(t, value, timeout) })
}

/// # Safety
/// The arguments keep the contract of `pthread_tryjoin_np`; the stub passes `site`.
pub unsafe extern "C-unwind" fn tryjoin(t: pthread_t, value: *mut *mut c_void, site: u64) -> c_int {
    // SAFETY: the next `pthread_tryjoin_np` gets the program's own `t` and `value` unchanged, as
    // without us.
    joining(t, site, mode::TIMED | mode::TRY, || unsafe { real::pthread_tryjoin_np(t, value) })
}

/// # Safety
/// The arguments keep the contract of `pthread_clockjoin_np`; the stub passes `site`.
pub unsafe extern "C-unwind" fn clockjoin(
    t: pthread_t,
    value: *mut *mut c_void,
    clock: clockid_t,
    timeout: *const timespec,
    site: u64,
) -> c_int {
    // SAFETY: the next `pthread_clockjoin_np` gets the program's own arguments unchanged, as
    // without us.
    sleeping_join(t, site, mode::TIMED, || unsafe {
        real::pthread_clockjoin_np(t, value, clock, timeout)
    })
}

/// `pthread_cancel`: records which thread cancels which, as that may end a wait.
///
/// # Safety
/// The arguments keep the contract of `pthread_cancel`.
pub unsafe extern "C-unwind" fn cancel(t: pthread_t, _site: u64) -> c_int {
    if let Some(thread) = watch::thread() {
        let by = thread.id();
        // SAFETY: `pthread_self` takes no arguments and only reads the thread's own descriptor.
        let id = match t == unsafe { libc::pthread_self() } {
            true => Some(by),
            false => THREADS.get(t).map(Ident::inst),
        };
        if let Some(id) = id {
            state::with_core(|core| core.thread_cancelled(id, by));
        }
    }
    // SAFETY: the next `pthread_cancel` gets the program's own `t` unchanged, as without us.
    unsafe { real::pthread_cancel(t) }
}

/// # Safety
/// The arguments keep the contract of `pthread_setname_np`.
pub unsafe extern "C-unwind" fn setname(t: pthread_t, name: *const c_char, _site: u64) -> c_int {
    // SAFETY: the next `pthread_setname_np` gets the program's own `t` and `name` unchanged, as
    // without us.
    let result = unsafe { real::pthread_setname_np(t, name) };
    if result == 0 {
        // SAFETY: `pthread_self` takes no arguments and only reads the thread's own descriptor.
        let id = match t == unsafe { libc::pthread_self() } {
            true => watch::thread().map(|thread| thread.id()),
            false => THREADS.get(t).map(Ident::inst),
        };
        if let Some(id) = id {
            // SAFETY: `pthread_setname_np` accepted the name, so it is NUL terminated.
            let name = unsafe { CStr::from_ptr(name) }.to_bytes();
            state::with_core(|core| core.thread_name(id, name));
        }
    }
    result
}
