//! Events that order threads, apart from creation and join: barriers, semaphores, routines that run once,
//! and signals. Each may begin a segment of its thread.

use lockwright_ledger::rows::{Held, segment_kind};

use super::Core;
use crate::capture::Capture;
use crate::lockdep::acquire::Ident;
use crate::lockdep::checks::semaphore_posts::{self, Tell};
use crate::lockdep::checks::{barrier_rounds, semaphore};
use crate::lockdep::recorder::Round;
use crate::lockdep::recorder::misuse::Misuse;
use crate::lockdep::thread::{Probe, ThreadState};

impl Core {
    /// A barrier or semaphore begins its life.
    pub fn sync_init(&mut self, kind: u32, addr: u64, size: u32) {
        self.recorder.sync_init(kind, addr, size);
    }

    /// Other processes meet at the barrier, too.
    pub fn barrier_is_shared(&mut self, addr: u64) {
        barrier_rounds::is_shared(&mut self.recorder, addr);
    }

    /// The thread is about to wait at a barrier. `None` if its beginning was not recorded. The
    /// first [`lockwright_ledger::rows::SYNC_ROUNDS`] rounds are recorded with what they order.
    pub fn barrier_arrives(&mut self, thread: &mut ThreadState, addr: u64) -> Option<Round> {
        let arrival = barrier_rounds::arrival(&self.recorder, addr)?;
        if arrival.is_kept() {
            self.holds.hand_on(&mut self.recorder, thread);
        }
        arrival.record(&mut self.recorder, thread)
    }

    /// The thread has passed the barrier.
    pub fn barrier_passed(&mut self, thread: &mut ThreadState, round: Round) {
        let head = barrier_rounds::meeting(&self.recorder, round);
        if head == 0 {
            return;
        }
        self.next_segment(thread, segment_kind::BARRIER, head, 0);
        let mut at = head;
        while let Some((peer, before)) = barrier_rounds::met(&self.recorder, at) {
            self.holds.comes_after(&mut self.recorder, thread, peer);
            at = before;
        }
    }

    /// The thread is about to post a semaphore. Returns which later posts need telling.
    pub fn sem_posts(&mut self, thread: &mut ThreadState, addr: u64) -> Tell {
        let Some(post) = semaphore_posts::post(&self.recorder, thread, addr) else {
            return Tell::Nothing;
        };
        if post.is_kept() {
            self.holds.hand_on(&mut self.recorder, thread);
        }
        post.record(&mut self.recorder, thread);
        if post.is_kept() {
            self.next_segment(thread, segment_kind::POSTS, 0, 0);
        }
        post.tell()
    }

    /// The thread's wait on a semaphore was granted. Returns which later waits need telling.
    pub fn sem_granted(&mut self, thread: &mut ThreadState, addr: u64) -> Tell {
        let Some(granted) = semaphore_posts::granted(&mut self.recorder, addr) else {
            return Tell::Nothing;
        };
        let Self { recorder, holds, .. } = self;
        holds.next_segment_of(recorder, thread, segment_kind::POSTED, 0, 0, granted.sync);
        for &post in granted.posts() {
            holds.comes_after(recorder, thread, post);
        }
        granted.tell()
    }

    /// The semaphore proved to be no lock: its class is marked so, and no thread holds it any more.
    pub fn hand_over(&mut self, thread: Option<&mut ThreadState>, addr: u64, ident: Ident) {
        semaphore::hand_over(&mut self.recorder, thread, addr, ident);
    }

    /// Whether the semaphore `ident`, whose life has just begun, is taken for no lock, by all that is known of its class. Then it
    /// is counted as one that has proved to be none.
    pub fn takes_for_none(&mut self, ident: Ident) -> bool {
        semaphore::takes_for_none(&mut self.recorder, ident)
    }

    /// How many of the semaphores of the class whose lives begin next are taken for no locks, if no other of the class begins
    /// its life meanwhile. They are to be counted by [`Core::count_new_nones`], but not at once.
    pub fn nones_to_come(&self, class: u32) -> u32 {
        semaphore::nones_to_come(&self.recorder, class)
    }

    /// Counts so many semaphores of the class that have begun their lives, and were taken for no locks.
    pub fn count_new_nones(&mut self, class: u32, semaphores: u32) {
        semaphore::count_new_nones(&mut self.recorder, class, semaphores);
    }

    /// A semaphore of the class begins with so many seats, more than one.
    pub fn has_seats(&mut self, class: u32, seats: u32) {
        semaphore::has_seats(&mut self.recorder, class, seats);
    }

    /// Nobody holds the semaphore at `addr` any more. Returns another thread's entry of it.
    pub fn give_up(&mut self, thread: Option<&mut ThreadState>, addr: u64) -> Option<Held> {
        semaphore::give_up(&self.recorder, thread, addr)
    }

    /// The thread has run the routine of a control. Returns the segment that comes before all of
    /// what others do after their call.
    pub fn routine_ran(&mut self, thread: &mut ThreadState) -> u32 {
        self.holds.hand_on(&mut self.recorder, thread);
        let last = thread.segment();
        // For good: any number of threads may come after it.
        self.recorder.pin_segment(last);
        self.next_segment(thread, segment_kind::INITIALISED, 0, 0);
        last
    }

    /// The thread has called `pthread_once` after the routine had run, which ended in segment `last`.
    pub fn routine_is_past(&mut self, thread: &mut ThreadState, last: u32) {
        self.next_segment(thread, segment_kind::INITIALISED, last, 0);
        self.holds.comes_after(&mut self.recorder, thread, last);
    }

    /// The thread is about to signal the object at `addr`, for which threads have waited with locks
    /// kept. `probe` is [`ThreadState::probe_signal`]'s. To be called once
    /// [`ThreadState::signals`] or [`ThreadState::shares`] has counted it.
    pub fn signalled(
        &mut self,
        thread: &mut ThreadState,
        addr: u64,
        probe: Probe,
        now_ns: u64,
        capture: Capture<'_>,
    ) {
        if self.wakeups.signalled(&mut self.recorder, thread, addr, probe, now_ns, capture) {
            self.next_segment(thread, segment_kind::SIGNALS, 0, 0);
        }
    }

    /// The thread is about to signal the condition variable at `addr` with locks held. `probe` is
    /// [`ThreadState::probe_signal_holding`]'s.
    pub fn signalled_holding(
        &mut self,
        thread: &mut ThreadState,
        addr: u64,
        probe: Probe,
        now_ns: u64,
        capture: Capture<'_>,
    ) {
        self.wakeups.signalled_holding(&mut self.recorder, thread, addr, probe, now_ns, capture);
    }

    /// The thread is about to signal the condition variable at `addr`, on which a thread waits with the mutex `ident`.
    /// `probe` is [`ThreadState::probe_hand_on`]'s.
    pub fn hands_on(
        &mut self,
        thread: &mut ThreadState,
        of: (u64, Ident),
        probe: Probe,
        now_ns: u64,
        capture: Capture<'_>,
    ) {
        if self.handed_on.signal(&mut self.recorder, thread, of, probe, now_ns, capture) {
            self.next_segment(thread, segment_kind::HANDED, 0, 0);
        }
    }

    /// The thread is about to signal the condition variable at `addr`, on which nobody waits. `probe` is
    /// [`ThreadState::probe_unheard`]'s.
    pub fn signals_nobody(&mut self, thread: &mut ThreadState, addr: u64, probe: Probe) {
        self.handed_on.signal_nobody(&mut self.recorder, thread, addr, probe);
    }

    /// The thread was woken in a wait on the condition variable at `addr`, which began when
    /// [`Core::hand_ons`] was `since`.
    pub fn handed_on(&mut self, thread: &mut ThreadState, addr: u64, since: u32, now_ns: u64) {
        if let Some(signal) = self.handed_on.waker(&self.recorder, thread, addr, since) {
            self.next_segment(thread, segment_kind::HANDED, 0, 0);
            self.handed_on.woken(&mut self.recorder, thread, &signal, now_ns);
        }
    }

    /// How many signals that threads waited for have been recorded, and whether more will be.
    pub fn hand_ons(&self) -> (u32, bool) {
        (self.handed_on.signals(), !self.handed_on.is_full())
    }

    /// What the thread does with a condition variable by a call that returns to `site`, which may
    /// be made for many callers: each of the first few is recorded. Remembered as `probe` once it
    /// need not be recorded again.
    pub fn at_call(
        &mut self,
        thread: &mut ThreadState,
        what: &Misuse,
        site: u64,
        probe: Probe,
        now_ns: u64,
        capture: Capture<'_>,
    ) {
        match self.wakeups.has_room_at_call(&mut self.recorder, what, site) {
            true => _ = self.recorder.misuse(thread, what, now_ns, capture),
            false => thread.remember(probe.key, 0),
        }
    }
}
