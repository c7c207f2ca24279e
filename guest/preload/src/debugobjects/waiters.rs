//! The threads that wait on an object, or are within it: each notes itself, and is looked up when
//! something is done to the object.
//!
//! A thread that waits has time: it leaves its stack, unresolved. Nothing here takes a lock.

use core::ops::Range;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};

use lockwright_engines::debugobjects::Place;
use lockwright_ledger::rows::Node;

use super::engine::is_on;
use super::{Type, object_pages};
use crate::os::{sys, time, tls};
use crate::recorder::measured::measured_short;
use crate::recorder::state;
use crate::stack::{modules, unwind};

/// Waits at a time that are noted.
const MOST: usize = 1024;
/// Frames of a waiter's stack.
const FRAMES: usize = 16;

/// Objects waited for, 0 for none. Apart from the rest, since all are looked through.
static OBJECTS: [AtomicU64; MOST] = [const { AtomicU64::new(0) }; MOST];
/// One more than the last slot that was ever used.
static USED: AtomicUsize = AtomicUsize::new(0);

/// A wait.
struct Slot {
    /// What is waited on.
    kind: AtomicPtr<Type>,
    /// The thread, by its pthread_t.
    owner: AtomicU64,
    /// An address within the frame of the function that waits, and that it is a routine that runs,
    /// in bit 0.
    frame: AtomicU64,
    /// Row of the thread, 0 if it is not watched.
    thread: AtomicU32,
    /// Kernel thread id.
    tid: AtomicU32,
    /// Context of the wait; 0: the stack is in `frames`.
    node: AtomicU32,
    time_ns: AtomicU64,
    len: AtomicU32,
    frames: [AtomicU64; FRAMES],
}

static SLOTS: [Slot; MOST] = [const {
    Slot {
        kind: AtomicPtr::new(core::ptr::null_mut()),
        owner: AtomicU64::new(0),
        frame: AtomicU64::new(0),
        thread: AtomicU32::new(0),
        tid: AtomicU32::new(0),
        node: AtomicU32::new(0),
        time_ns: AtomicU64::new(0),
        len: AtomicU32::new(0),
        frames: [const { AtomicU64::new(0) }; FRAMES],
    }
}; MOST];

/// [`Slot::frame`]: not a wait but a routine that runs.
const ROUTINE: u64 = 1;

/// A wait that was noted; none is [`Wait::UNNOTED`].
#[derive(Clone, Copy)]
pub struct Wait(usize);

impl Wait {
    /// A wait that nobody shall hear of.
    pub const UNNOTED: Self = Self(MOST);
}

fn own_id() -> u64 {
    // SAFETY: `pthread_self` takes no arguments and only reads the thread's own descriptor.
    unsafe { libc::pthread_self() }
}

/// The calling thread is about to wait on the object at `addr`, in the context `node`, or in one
/// yet to be found: 0.
fn begin(kind: &'static Type, addr: u64, node: u32) -> Wait {
    note(kind, addr, node, 0)
}

/// Waits by `wait` on the object at `addr`, visibly to a thread that destroys it meanwhile; `node`
/// is as for [`begin`].
pub fn during<R>(kind: &'static Type, addr: u64, node: u32, wait: impl FnOnce() -> R) -> R {
    let noted = measured_short(|| begin(kind, addr, node));
    let result = wait();
    end(noted);
    result
}

/// The calling thread is about to run the routine of the object at `addr`.
pub fn begin_routine(kind: &'static Type, addr: u64) -> Wait {
    note(kind, addr, 0, ROUTINE)
}

fn note(kind: &'static Type, addr: u64, node: u32, routine: u64) -> Wait {
    if !is_on() {
        return Wait::UNNOTED;
    }
    // Relaxed: the slot's other words are this thread's until it lets go of it; a reader checks for
    // itself.
    let is_free = |at: &AtomicU64| {
        at.load(Relaxed) == 0 && at.compare_exchange(0, addr, Acquire, Relaxed).is_ok()
    };
    let Some(i) = OBJECTS.iter().position(is_free) else { return Wait::UNNOTED };
    object_pages::note(addr, kind.size);
    let slot = &SLOTS[i];
    let marker = 0u64;
    // SAFETY: the calling thread's state, or null.
    let thread = unsafe { tls::get().as_ref() };
    let (id, tid) = thread.map_or_else(|| (0, sys::gettid()), |thread| (thread.id(), thread.tid()));
    slot.kind.store(core::ptr::from_ref(kind).cast_mut(), Relaxed);
    slot.thread.store(id, Relaxed);
    slot.tid.store(tid, Relaxed);
    slot.frame.store((&raw const marker) as u64 | routine, Relaxed);
    slot.node.store(node, Relaxed);
    slot.time_ns.store(time::now_ns(), Relaxed);
    let mut frames = [0; FRAMES];
    let len = if node == 0 { unwind::capture(&mut frames) } else { 0 };
    slot.frames.iter().zip(&frames[..len]).for_each(|(into, &pc)| into.store(pc, Relaxed));
    slot.len.store(len as u32, Relaxed);
    // Release pairs with the Acquire in `find`: with the owner all the rest is there.
    slot.owner.store(own_id(), Release);
    USED.fetch_max(i + 1, Relaxed);
    Wait(i)
}

/// The wait is over.
pub fn end(wait: Wait) {
    if wait.0 < MOST {
        SLOTS[wait.0].owner.store(0, Relaxed);
        // Release pairs with the Acquire in `note`: the slot is the next one's.
        OBJECTS[wait.0].store(0, Release);
    }
}

/// Ends the waits of the calling thread for which `is_over` is true, by [`Slot::frame`].
fn end_those(is_over: impl Fn(u64) -> bool) {
    let own = own_id();
    for (i, slot) in SLOTS[..USED.load(Relaxed)].iter().enumerate() {
        if slot.owner.load(Relaxed) == own && is_over(slot.frame.load(Relaxed)) {
            end(Wait(i));
        }
    }
}

/// The calling thread is unwound out of whatever it waited in, or jumped out.
pub fn unwound() {
    end_those(|frame| frame & ROUTINE == 0);
}

/// The calling thread is unwound out of the innermost routine that it runs.
pub fn routine_unwound() {
    let own = own_id();
    let is_own_routine =
        |slot: &&Slot| slot.owner.load(Relaxed) == own && slot.frame.load(Relaxed) & ROUTINE != 0;
    // Stacks grow down.
    let slots = SLOTS[..USED.load(Relaxed)].iter().filter(is_own_routine);
    if let Some(innermost) = slots.map(|slot| slot.frame.load(Relaxed)).min() {
        end_those(|frame| frame == innermost);
    }
}

/// In a forked child: of all threads there is only this one, which is in no wait; but it may run
/// routines.
pub fn forked() {
    let own = own_id();
    for (i, slot) in SLOTS[..USED.load(Relaxed)].iter().enumerate() {
        let is_own = slot.owner.load(Relaxed) == own && slot.frame.load(Relaxed) & ROUTINE != 0;
        if !is_own {
            end(Wait(i));
        }
    }
}

/// Whether anybody waits on an object in `[from, to)`.
#[inline(always)]
pub fn has_any(from: u64, to: u64) -> bool {
    // Relaxed: whether it is seen is a race of the program's anyway.
    USED.load(Relaxed) != 0 && has_any_of_some(from, to)
}

#[inline(never)]
fn has_any_of_some(from: u64, to: u64) -> bool {
    // Relaxed: as in `has_any`.
    OBJECTS[..USED.load(Relaxed)].iter().any(|at| (from..to).contains(&at.load(Relaxed)))
}

/// Calls `see` with each object in `[from, to)` that somebody is blocked on or whose routine runs,
/// and where that is. Memory that is not there any more is not looked at: in there, a routine that
/// was called runs.
pub fn find(from: u64, to: u64, is_there: bool, mut see: impl FnMut(&'static Type, u64, Place)) {
    for (at, slot) in OBJECTS[..USED.load(Relaxed)].iter().zip(&SLOTS) {
        let addr = at.load(Relaxed);
        if !(from..to).contains(&addr) {
            continue;
        }
        // Acquire pairs with the Release in `note`.
        let owner = slot.owner.load(Acquire);
        // SAFETY: a slot's `kind` is null or one of the static types, which are never freed.
        let Some(kind) = (unsafe { slot.kind.load(Relaxed).as_ref() }) else { continue };
        let place = slot.place();
        let is_same = || slot.owner.load(Relaxed) == owner && at.load(Relaxed) == addr;
        let is_routine = slot.frame.load(Relaxed) & ROUTINE != 0;
        let is_active = match is_routine {
            // SAFETY: a thread runs the object's routine, so the object is in use and its memory is
            // there.
            true => !is_there || unsafe { kind.is_used(addr) },
            false => slot.is_blocked(addr..addr + kind.size, is_same),
        };
        if owner == 0 || !is_active {
            continue;
        }
        // It may be another's by now.
        if is_same() {
            see(kind, addr, place);
        }
    }
}

impl Slot {
    /// The thread is blocked on the object at `object`. Not if it was woken and is on its way out:
    /// an object that nobody is blocked on any more may be destroyed. What it does is asked of the
    /// kernel, which says so once the thread sleeps; until it does, or has left, there is nothing
    /// to be known.
    #[cold]
    fn is_blocked(&self, object: Range<u64>, is_same: impl Fn() -> bool) -> bool {
        /// Milliseconds in which a thread that can run does, on however busy a machine.
        const PATIENCE: u32 = 4000;
        for _ in 0..PATIENCE {
            if !is_same() {
                return false;
            }
            if let Some(word) = sys::futex_waited_for(self.tid.load(Relaxed)) {
                return object.contains(&word);
            }
            sys::sleep_ns(1_000_000);
        }
        false
    }

    /// The waiter, and where it waits.
    #[cold]
    fn place(&self) -> Place {
        let node = self.node.load(Relaxed);
        let mut frames = [0; FRAMES];
        let len = (self.len.load(Relaxed) as usize).min(FRAMES);
        frames.iter_mut().zip(&self.frames).for_each(|(into, pc)| *into = pc.load(Relaxed));
        let stack = state::with_core(|core| match node {
            0 => {
                modules::cover(core, &frames[..len]);
                core.stack(&frames[..len])
            }
            node => core.ledger().get::<Node>(node).map_or(0, |node| node.stack),
        });
        Place {
            thread: self.thread.load(Relaxed),
            stack: stack.unwrap_or(0),
            time_ns: self.time_ns.load(Relaxed),
        }
    }
}
