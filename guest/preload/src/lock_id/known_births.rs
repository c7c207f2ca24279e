//! Locks whose life begins where others' lives began: their class is known, so nothing is written down but how many
//! they are. This takes no lock of ours and no system call.

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::Relaxed;

use lockwright_engines::lockdep::{Core, Ident};
use lockwright_ledger::rows::Class;

use super::numbers;
use crate::os::tls;
use crate::recorder::state;
use crate::stack::edges::Edge;
use crate::stack::memo::{self, About, Noted};
use crate::stack::unwind::Frame;

/// The row of a class may lack this part of its locks, as it is written to under the core's lock. So the ledger of a
/// running or killed process may have fewer by that part. Of few locks the row lacks none.
const UNTOLD_PART: u32 = 64;

/// Threads count apart, so that those which make locks at one place do not write to one line: by their rows' numbers, in so
/// many groups.
const GROUPS: usize = 8;

/// The group of the first thread: a forked child's only one writes to no page but the edge's.
const FIRST: usize = 0;

/// Places where the groups count apart. What they take is part of the program's address space.
const PLACES: usize = 1024;

/// Locks that the class's row has not, by the group of the thread and the place's number.
static UNTOLD: [[AtomicU32; PLACES]; GROUPS - 1] =
    [const { [const { AtomicU32::new(0) }; PLACES] }; GROUPS - 1];

/// Numbers that were given to places, from 1. A forked child goes on with them: its parent's counts stay where they are.
static NUMBERS: AtomicU32 = AtomicU32::new(0);

/// Those that threads of a group have counted: in the edge, for the first one and where the place has no number.
#[inline]
fn untold(place: &Edge, group: usize) -> &AtomicU32 {
    // Relaxed: a thread that does not see the number counts in the edge.
    match (group, place.number.load(Relaxed) as usize) {
        (FIRST, _) | (_, 0) => &place.count,
        (group, number) => &UNTOLD[group - 1][number - 1],
    }
}

/// A bit of [`Edge::limit`]: no more locks begin their lives so. What begins its life there is a semaphore that may be taken for
/// no lock: of so many this need not be asked, and so many of those have begun their lives.
const WITHDRAWN: u32 = 1 << 31;
const ALLOWED: u32 = 15;
const BEGUN: u32 = (1 << ALLOWED) - 1;

/// Where the lives of locks begin, if their class is known.
///
/// # Safety
/// The call `call` has not returned. Its frame pointer may be anything.
#[inline(always)]
pub unsafe fn place(about: About, call: Frame) -> Option<&'static Edge> {
    if !state::is_active_here() {
        return None;
    }
    // SAFETY: the caller promises a call that has not returned.
    unsafe { memo::find(about, call) }
}

/// No lock begins its life there without the core's lock.
#[inline(always)]
pub fn is_withdrawn(place: &Edge) -> bool {
    // Relaxed: a lock that begins its life at this moment may do so either way.
    place.limit.load(Relaxed) & WITHDRAWN != 0
}

/// A semaphore begins its life at a place that is withdrawn. If it is taken for no lock: where semaphores of its class are
/// initialised.
#[cold]
#[inline(never)]
pub fn begin_none(place: &Edge) -> Option<u32> {
    let begin = |limit: u32| {
        let is_allowed = limit & BEGUN < (limit & !WITHDRAWN) >> ALLOWED;
        (limit & WITHDRAWN != 0 && is_allowed).then_some(limit + 1)
    };
    // Relaxed: a count, which publishes nothing else.
    place.limit.fetch_update(Relaxed, Relaxed, begin).ok()?;
    let [_, stack] = place.values();
    Some(stack)
}

/// A semaphore whose life began there was taken for no lock: so will others be, as many as the row of its class may lack.
pub fn allow_nones(core: &mut Core, place: &Edge) {
    if !is_withdrawn(place) {
        return;
    }
    tell(core, place);
    let class = self::class(place);
    let locks = core.ledger().get::<Class>(class).map_or(0, |class| class.locks);
    let allowed = core.nones_to_come(class).min(locks / UNTOLD_PART).min(BEGUN);
    // Relaxed: as in `begin_none`. Since `tell` none is allowed, and only who has the core's lock allows any.
    place.limit.store(WITHDRAWN | allowed << ALLOWED, Relaxed);
}

/// The class of locks whose lives begin there.
#[inline(always)]
pub fn class(place: &Edge) -> u32 {
    place.values()[0]
}

/// A lock begins its life there: it is in no module's data and in no recorded block, and is not inherited. Its identity, and
/// where locks of its class are initialised. To be counted by [`count`].
#[inline]
pub fn begin(place: &Edge) -> (Ident, u32) {
    let [class, stack] = place.values();
    let inst = state::header().map_or(1, numbers::next);
    (Ident::new(inst, class), stack)
}

/// Counts the lock.
#[inline]
pub fn count(place: &'static Edge) {
    // SAFETY: the calling thread's state, or that of all detached ones.
    let thread = unsafe { &*tls::raw() }.id();
    // Relaxed: counts, which publish nothing else.
    let untold = untold(place, thread.wrapping_sub(1) as usize % GROUPS).fetch_add(1, Relaxed) + 1;
    if untold >= place.limit.load(Relaxed) {
        state::with_core(|core| tell(core, place));
    }
}

/// The first lock of a class has begun its life by the call that `noted` is of. The caller has the core's lock.
pub fn keep(core: &mut Core, about: About, noted: &Noted, class: u32) {
    let Some(&Class { stack, handed_over, .. }) = core.ledger().get(class) else { return };
    let Some(place) = memo::keep(about, noted, [class, stack]) else { return };
    if place.limit.load(Relaxed) == 0 && handed_over != 0 {
        place.limit.store(WITHDRAWN, Relaxed);
    }
    if place.limit.load(Relaxed) == 0 {
        let number = NUMBERS.load(Relaxed) + 1;
        // Relaxed: the caller has the core's lock.
        if number as usize <= PLACES {
            NUMBERS.store(number, Relaxed);
            place.number.store(number, Relaxed);
        }
        tell(core, place);
    }
}

/// Has the class's row have all of its locks.
fn tell(core: &mut Core, place: &Edge) {
    let (mut locks, mut groups) = (0, 0);
    for count in (0..GROUPS).map(|group| untold(place, group)) {
        // Relaxed: as in `count`. Looked at first: a store would take the line from the threads of its group.
        if count.load(Relaxed) != 0 {
            locks += count.swap(0, Relaxed);
            groups += 1;
        }
    }
    let locks = core.count_locks(class(place), locks);
    if !is_withdrawn(place) {
        place.limit.store((locks / UNTOLD_PART / groups.max(1)).max(1), Relaxed);
        return;
    }
    let nones = place.limit.swap(WITHDRAWN, Relaxed) & BEGUN;
    if nones != 0 {
        core.count_new_nones(class(place), nones);
    }
}

/// A semaphore of `class` is about to prove that it is no lock: from now on the lives of others begin under the core's lock,
/// where their row has all of them.
pub fn withdraw(core: &mut Core, class: u32) {
    if core.ledger().get::<Class>(class).is_none_or(|class| class.handed_over != 0) {
        return;
    }
    for place in places().filter(|place| self::class(place) == class) {
        if !is_withdrawn(place) {
            // Relaxed: as there. The caller has the core's lock.
            place.limit.store(WITHDRAWN, Relaxed);
            tell(core, place);
        }
    }
}

/// Where the lives of locks begin. Other paths lead to stacks, and have no locks.
fn places() -> impl Iterator<Item = &'static Edge> {
    memo::all().filter(|place| place.limit.load(Relaxed) != 0)
}

/// Has the rows of all classes have all of their locks. The process ends.
pub fn tell_all(core: &mut Core) {
    places().for_each(|place| tell(core, place));
}
