//! Posts of semaphores that threads wait for, and the ends of other waits that are for no lock: which thread ended each, for the
//! timeline.
//!
//! A thread that posts a semaphore notes that before, and the waiter takes a note of the time in which it waited. If several wait,
//! the C library decides which one goes on: which of two posts ended which wait may be exchanged. There is room for a few notes:
//! a newer one takes the place of the oldest.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};

use libc::sem_t;
use lockwright_engines::lockmeter::For;
use lockwright_glibc::table::thread as descriptor;
use lockwright_ledger::rows::meter::wait_kind;
use lockwright_ledger::rows::object::object_type;
use lockwright_ledger::timeline::event_flag;

use super::attached::thread;
use super::{clock, timeline};
use crate::layouts;
use crate::lock_id::identity;

/// Sets of notes, by a hash of the semaphore's address, and notes of a set.
const SETS: usize = 64;
const EACH: usize = 8;

/// A post.
struct Post {
    /// Address of the semaphore; 0: none, or one that is being written.
    addr: AtomicU64,
    /// When.
    at: AtomicU64,
    /// The thread.
    tid: AtomicU32,
}

struct Set {
    /// The place of the next note.
    next: AtomicU32,
    posts: [Post; EACH],
}

static POSTS: [Set; SETS] = [const {
    Set {
        next: AtomicU32::new(0),
        posts: [const { Post { addr: AtomicU64::new(0), at: AtomicU64::new(0), tid: AtomicU32::new(0) } };
            EACH],
    }
}; SETS];

fn set_of(addr: u64) -> &'static Set {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    &POSTS[(addr.wrapping_mul(ODD) >> 58) as usize % SETS]
}

/// The thread is about to post a semaphore that is no lock.
///
/// # Safety
/// The caller's semaphore.
#[cold]
pub unsafe fn note(s: *mut sem_t) {
    // SAFETY: the caller promises its semaphore, whose layout is known to hold.
    let is_waited_for =
        layouts::holds(object_type::SEMAPHORE) && unsafe { identity::has_waiters(s) };
    if !is_waited_for {
        return;
    }
    if let Some(thread) = thread() {
        put(s as u64, clock::now(), thread.tid());
    }
}

fn put(addr: u64, at: u64, tid: u32) {
    let set = set_of(addr);
    let post = &set.posts[set.next.fetch_add(1, Relaxed) as usize % EACH];
    post.addr.store(0, Relaxed);
    // Not before nobody takes it for the old one; two that write here at once leave one of the two, or a mixture that is no worse
    // than a post that was exchanged.
    post.at.store(at, Release);
    post.tid.store(tid, Relaxed);
    // Pairs with the Acquire in `take`.
    post.addr.store(addr, Release);
}

/// Takes the first note of a post of the semaphore at `addr` from a moment to another: when, and the thread.
fn take(addr: u64, from: u64, to: u64) -> Option<(u64, u32)> {
    let posts = set_of(addr).posts.iter().filter(|post| post.addr.load(Acquire) == addr);
    let of = |post: &'static Post| (post.at.load(Relaxed), post.tid.load(Relaxed), post);
    let within = posts.map(of).filter(|(at, ..)| (from..=to).contains(at));
    let (at, tid, post) = within.min_by_key(|(at, ..)| *at)?;
    // Another waiter may take it first.
    post.addr.compare_exchange(addr, 0, Relaxed, Relaxed).ok().map(|_| (at, tid))
}

/// What is known of a wait for a semaphore that ended at `ended` after `ticks`.
#[cold]
pub fn of_wait(what: For, ticks: u64, ended: u64) -> For {
    match take(what.addr, ended.saturating_sub(ticks), ended) {
        Some((when, by)) => For { when, by, ..what },
        None => what,
    }
}

/// The kernel's id of a thread that is about to be joined, if the timeline is to have it; 0: not known.
pub fn joined(kind: u32, t: u64) -> u32 {
    let is_known = kind == wait_kind::JOIN && timeline::is_wanted() && layouts::version_word() != 0;
    if !is_known || t == 0 {
        return 0;
    }
    let word = |offset: usize| t as usize + offset;
    // SAFETY: the program's own thread, which is not joined yet: the C library reads its descriptor next, too. It is one of glibc's,
    // which holds its own address in two places.
    unsafe {
        let is_own = |offset: usize| (word(offset) as *const u64).read_volatile() == t;
        match is_own(descriptor::TCB.always()) && is_own(descriptor::SELF.always()) {
            true => (word(descriptor::TID.always()) as *const u32).read_volatile(),
            false => 0,
        }
    }
}

/// What is known of a wait of `kind` that ended at `ended` with `result`: for the end of thread `joined`, or at a barrier.
#[cold]
pub fn of_whole(what: For, kind: u32, result: i32, joined: u32, ended: u64) -> For {
    match kind {
        // A thread's end is what wakes who joins it.
        wait_kind::JOIN if result == 0 && joined != 0 => For { when: ended, by: joined, ..what },
        // The C library says so to one of those that meet: the one that came last.
        wait_kind::BARRIER if result == libc::PTHREAD_BARRIER_SERIAL_THREAD => {
            For { flags: what.flags | event_flag::CAME_LAST, ..what }
        }
        _ => what,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_takes_the_first_post_within_it_and_no_other_wait_takes_that() {
        let addr = 0x7000_1000;
        for at in [5, 20, 30, 90] {
            put(addr, at, at as u32 + 1);
        }
        put(addr + 8, 15, 1);
        assert_eq!(take(addr, 10, 50), Some((20, 21)));
        assert_eq!(take(addr, 10, 50), Some((30, 31)));
        assert_eq!(take(addr, 10, 50), None);
        assert_eq!(take(addr, 0, 100), Some((5, 6)));
    }

    #[test]
    fn old_posts_make_room() {
        let addr = 0x7000_2000;
        for at in 1..=EACH as u64 + 2 {
            put(addr, at, 7);
        }
        assert_eq!(take(addr, 0, 100), Some((3, 7)));
    }
}
