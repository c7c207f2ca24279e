//! Random delays before locks are taken, drawn from a seed: what plain runs seldom show comes up. Places that a thread has
//! seldom come to are delayed most, and so are threads that hold a lock.

use core::sync::atomic::Ordering::Relaxed;

use lockwright_engines::lockdep::ThreadState;
use lockwright_ledger::steering::Steering;

use super::meeting;
use super::paths::IN_PAGE;
use crate::os::sys;

/// The longest delay is 2^this ns.
const LONGEST_LOG2: u64 = 23;
/// The shortest is 2^this ns.
const SHORTEST_LOG2: u64 = 12;
/// The shortest of a thread that holds a lock: another thread has to come to its own second lock meanwhile.
const SHORTEST_HELD_LOG2: u64 = 19;

/// Of threads that hold no lock, one in so many is delayed: they only have to come in another order.
const ONE_IN_IDLE: u64 = 8;

/// Up to this many visits of a place by one thread each may be delayed; later ones less and less often.
const YOUNG: u64 = 16;
/// The same of all threads together.
const YOUNG_TO_ALL: u64 = 256;

/// Delays the thread, whose call returns to `site`, or not.
pub fn delay(plan: &Steering, thread: Option<&ThreadState>, site: u64) {
    if plan.left_ns.load(Relaxed) == 0 {
        return;
    }
    // Bits of the address that are the same in each run.
    let place = site & IN_PAGE;
    let number = thread.map_or(0, |thread| u64::from(thread.id()));
    let holds = thread.is_some_and(|thread| !thread.is_idle());
    let hash = mix(number << 12 | place);
    let visit = count(plan, hash);
    // The same thread's same visit of the same place is delayed alike in each run with the seed.
    let drawn = mix(plan.seed.load(Relaxed) ^ hash.wrapping_add(visit << 32));
    let age = (visit / YOUNG).max(count(plan, mix(!place)) / YOUNG_TO_ALL).max(1);
    let one_in = if holds { age } else { age * ONE_IN_IDLE };
    if !(drawn >> 32).is_multiple_of(one_in) {
        return;
    }
    let shortest = if holds { SHORTEST_HELD_LOG2 } else { SHORTEST_LOG2 };
    let log2 = shortest + drawn % (LONGEST_LOG2 - shortest + 1);
    // Not only powers of two: threads that are delayed alike would stay in step.
    let ns = (1 << log2) + (drawn >> 8) % (1 << log2);
    sys::sleep_ns(ns as i64);
    meeting::spend(plan, ns);
    plan.delays.fetch_add(1, Relaxed);
}

/// How often this was counted before.
fn count(plan: &Steering, hash: u64) -> u64 {
    plan.visits[hash as usize % plan.visits.len()].fetch_add(1, Relaxed).into()
}

/// Spreads the bits of a number (the finalizer of SplitMix64, Steele, Lea and Flood, 2014).
fn mix(mut x: u64) -> u64 {
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}
