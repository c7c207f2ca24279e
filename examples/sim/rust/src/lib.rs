//! Locks of a crate that is not lockwright's, in `lockwright-lab sim` and its explorer.
//!
//! ```text
//! cargo build --release
//! lockwright-lab sim --lock-library target/release/libsimulated_locks.so --sweep cpus=1..36
//! lockwright-lab sim --explore --lock-library target/release/libsimulated_locks.so --lock anderson
//! ```
//!
//! They are written over `Platform` as lockwright's own are: [`Anderson`] runs on Linux, too, with
//! `Anderson<Linux>`.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use lockwright::exclusive::Exclusive;
use lockwright::lock_library;
use lockwright::lock_library::{Hosted, Lock};
use lockwright::platform::{Atomic, Platform, await_until};
use lockwright::ticket::RawTicket;

/// As many threads as can wait.
const SLOTS: u32 = 64;

/// A place to wait at, on a cache line of its own.
#[repr(align(64))]
struct Slot<P: Platform>(P::Word);

/// Anderson's array lock (*The performance of spin lock alternatives for shared-memory
/// multiprocessors*, 1990): tickets, but each waiter looks at a word of its own.
///
/// If not `WAITS`, a thread that finds others before it takes the first slot's turn for its own: the
/// planted fault.
pub struct Anderson<P: Platform, const WAITS: bool> {
    next: P::Word,
    /// The slot of the holder, who alone uses it.
    held: P::Word,
    /// 1: it is this slot's turn.
    slots: [Slot<P>; SLOTS as usize],
}

impl<P: Platform, const WAITS: bool> Anderson<P, WAITS> {
    fn slot(&self, ticket: u32) -> &P::Word {
        &self.slots[(ticket % SLOTS) as usize].0
    }

    fn has(&self, ticket: u32) {
        // Relaxed: only holders look at it. The turn is the next one's once this one has passed it.
        self.slot(ticket).store(0, Relaxed);
        self.held.store(ticket, Relaxed);
    }
}

// SAFETY: the explorer says so of it if it `WAITS`, and what is wrong with it otherwise.
unsafe impl<P: Platform, const WAITS: bool> Exclusive for Anderson<P, WAITS> {
    const SPINS: bool = true;

    fn new() -> Self {
        let slot = |number| Slot(P::Word::new(u32::from(number == 0)));
        Self {
            next: P::Word::new(0),
            held: P::Word::new(0),
            slots: std::array::from_fn(slot),
        }
    }

    fn lock(&self) {
        let ticket = self.next.fetch_add(1, Relaxed);
        if WAITS {
            // Acquire: pairs with the Release in `unlock`.
            await_until::<P>(|| self.slot(ticket).load(Acquire) == 1);
        }
        self.has(ticket);
    }

    fn try_lock(&self) -> bool {
        let ticket = self.next.load(Relaxed);
        // Acquire: pairs with the Release in `unlock`.
        let is_free = self.slot(ticket).load(Acquire) == 1
            && self.next.compare_exchange(ticket, ticket.wrapping_add(1), Relaxed, Relaxed).is_ok();
        if is_free {
            self.has(ticket);
        }
        is_free
    }

    unsafe fn unlock(&self) {
        let ticket = self.held.load(Relaxed);
        // Release: pairs with the Acquires in `lock` and `try_lock`.
        self.slot(ticket.wrapping_add(1)).store(1, Release);
    }

    fn is_locked(&self) -> bool {
        let ticket = self.next.load(Relaxed);
        self.slot(ticket).load(Relaxed) == 0
    }
}

lock_library! {
    Lock::exclusive::<Anderson<Hosted, true>>(c"anderson", c"Anderson's array lock").overtakes(0),
    Lock::exclusive::<Anderson<Hosted, false>>(c"anderson_busted", c"one that does not wait"),
    // One of lockwright's own: the simulator's figures for it are those for its `ticket`.
    Lock::exclusive::<RawTicket<Hosted>>(c"my_ticket", c"lockwright's ticket lock, from here")
        .overtakes(0),
}
