//! Rows of lockmeter: where locks are taken, what each thread counted there, and which holders its
//! waits were for.
//!
//! Times are in ticks of the clock that [`crate::Header::clock`] names. A number that an interval
//! or a count is added to is only ever touched by one thread at a time, in one instruction, or
//! atomically: a reader of a running or killed process sees it old or new.

use super::{Row, StackWords, TableId};
use crate::histogram::RUN;

/// Bits of [`Site::flags`].
pub mod site_flag {
    /// The acquisition came from a condition wait, which takes its mutex back.
    pub const COND_REACQUIRE: u16 = 1;
}

row! {
    /// A call site of a lock: where locks of one class are taken in one way. For a wait that is for
    /// no lock (condition, semaphore, barrier, join) the class is 0 or the mutex', and `wait`
    /// tells.
    Site in Sites x 2 = 144 bytes {
        /// Class of the lock, 0 if it is none.
        class: u32,
        /// Instance of the lock if instances are kept apart, else 0.
        inst: u32,
        /// [`super::mode`]: READ, or one of the waits' bits.
        mode: u16,
        /// [`site_flag`] bits.
        flags: u16,
        /// One of [`wait_kind`]; 0 for a lock.
        wait: u32,
        /// Stack of the first acquisition there.
        stack: u32,
        /// Return address of the call; a hash of several, where wrappers were skipped.
        site: u64,
        /// Address of the lock that was taken there first; of the only one where `inst` is not 0.
        addr: u64,
        /// Cells that count here. Changes.
        cells: u32,
        /// Not used.
        reserved: u32,
        /// Addresses in the process of the [`Bucket`]s that these cells share: the first of each
        /// list, by the low three bits of their run's number; 0 where there is none. Change.
        shared: [u64; 8],
        /// The shortest wait, as its complement: 0 if there was none. Changes.
        wait_least: u64,
        /// The shortest hold, likewise; only where bounces are counted
        /// ([`crate::Header::bounces`]). Changes.
        hold_least: u64,
        /// Acquisitions on another CPU than that of the lock's last one, where bounces are counted.
        /// Changes.
        bounces: u64,
        /// How many of the acquisitions that had to wait began to on another CPU than that of the
        /// lock's last acquisition, where bounces are counted. Changes.
        contended_bounces: u64,
    }
}

/// Values of [`Site::wait`]: what is waited for, where that is no lock.
pub mod wait_kind {
    /// It is a lock.
    pub const LOCK: u32 = 0;
    /// A condition variable; the class is that of its mutex.
    pub const COND: u32 = 1;
    /// A semaphore.
    pub const SEMAPHORE: u32 = 2;
    /// A barrier.
    pub const BARRIER: u32 = 3;
    /// The end of a thread.
    pub const JOIN: u32 = 4;
    /// A call that may sleep (I/O, poll, sleep), made with a lock held; the instance is its number
    /// among the blocking calls.
    pub const BLOCKING_CALL: u32 = 5;
    /// A word of memory: a futex that the program waits at by `syscall`. The instance is one of
    /// [`super::futex_call`]; the address is the word's, 0 of places that waited at too many.
    pub const FUTEX: u32 = 6;
    /// No wait but a call that woke a thread at a futex: the waker that a wait of [`FUTEX`] was
    /// for. The counts are of such calls.
    pub const FUTEX_WAKE: u32 = 7;
    /// No wait but a call that signalled one of a condition variable's waiters, while there was one. The class is that of their mutex.
    pub const COND_SIGNAL: u32 = 8;
    /// The same, of a call that signalled all of them.
    pub const COND_BROADCAST: u32 = 9;
    /// A routine that another thread runs, by `pthread_once` or `call_once`. The blame of a wait is the site, of this kind, of the call
    /// that ran it.
    pub const ONCE: u32 = 10;
}

/// Values of [`Site::inst`] where [`Site::wait`] is [`wait_kind::FUTEX`]: how it waits.
pub mod futex_call {
    /// FUTEX_WAIT, FUTEX_WAIT_BITSET or `futex_wait`.
    pub const WAIT: u32 = 1;
    /// FUTEX_LOCK_PI or FUTEX_LOCK_PI2: the kernel's own mutex, whose word has its holder's thread
    /// id.
    pub const LOCK_PI: u32 = 2;
    /// FUTEX_WAIT_REQUEUE_PI: a condition, whose mutex is of the other sort.
    pub const WAIT_REQUEUE_PI: u32 = 3;
    /// `futex_waitv`: several words at once, of which the address is the first.
    pub const WAITV: u32 = 4;
}

/// Calls that may sleep, by number: those that are counted as [`wait_kind::BLOCKING_CALL`], and
/// from `pthread_cond_wait` on those that lockdep alone looks at
/// ([`super::finding_kind::SLEEPS`]).
pub const BLOCKING_CALLS: &[&str] = &[
    "read",
    "write",
    "pread",
    "pread64",
    "pwrite",
    "pwrite64",
    "readv",
    "writev",
    "preadv",
    "preadv64",
    "pwritev",
    "pwritev64",
    "fsync",
    "fdatasync",
    "msync",
    "flock",
    "poll",
    "select",
    "epoll_wait",
    "nanosleep",
    "clock_nanosleep",
    "usleep",
    "sleep",
    "recv",
    "recvmsg",
    "send",
    "sendmsg",
    "accept",
    "accept4",
    "connect",
    "waitpid",
    "pthread_cond_wait",
    "pthread_join",
    "pthread_barrier_wait",
    "sem_wait",
    "ppoll",
    "pselect",
    "epoll_pwait",
    "epoll_pwait2",
    "sigsuspend",
    "sigpause",
];

/// Number of a call in [`BLOCKING_CALLS`]. To be asked while compiling: a name that is not there
/// does not compile.
pub const fn blocking_call(name: &str) -> u32 {
    let mut i = 0;
    while i < BLOCKING_CALLS.len() {
        if equal(BLOCKING_CALLS[i].as_bytes(), name.as_bytes()) {
            return i as u32;
        }
        i += 1;
    }
    panic!("a call that BLOCKING_CALLS does not name")
}

const fn equal(a: &[u8], b: &[u8]) -> bool {
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

row! {
    /// What the threads that had one [`Meter`] counted at one [`Site`]. The state is the id of that meter. All fields but
    /// the first two change.
    Cell in Cells x 2 = 192 bytes {
        /// The site.
        site: u32,
        /// Acquisitions begun that were not given up, the one under way included. For a wait:
        /// waits.
        acquisitions: u64,
        /// Holds that were timed. For a wait at a futex: those that a signal ended.
        holds: u64,
        /// Their sum.
        hold_ticks: u64,
        /// The longest of them.
        hold_max: u64,
        /// How many of the acquisitions had to wait. For a wait: waits that were not over at once.
        contended: u64,
        /// Sum of the waits, those that were given up included.
        wait_ticks: u64,
        /// Trylocks that found the lock held. For a wait at a futex: calls that were refused at once
        /// because the word had changed, which are not among its acquisitions.
        rejects: u64,
        /// Addresses in the process of the cell's own [`Bucket`]s of holds used last, by the low
        /// three bits of their run's number; 0 where there is none.
        near: [u64; 8],
        /// The longest wait.
        wait_max: u64,
        /// The part of `wait_ticks` that was spent spinning.
        spin_ticks: u64,
        /// Timed acquisitions that were given up. For a wait at a futex: those that ran out of time.
        timeouts: u64,
        /// Most readers seen holding the lock at once by one that took it here.
        readers_max: u32,
        /// Counts that still go to [`Bucket`]s of the site before the cell may have one more of its
        /// own.
        patience: u32,
        /// First of the list of [`Blame`] rows, 0 if none.
        blame: u32,
        /// Counts that `patience` stood at since it last had one, in all.
        asked: u32,
        /// Address in the process of the first of the list of its own [`Bucket`]s, 0 if none.
        first_bucket: u64,
        /// Address in the process of the row at `blame`, 0 if none.
        first_blame: u64,
        /// Address in the process of the row at `site`.
        site_at: u64,
    }
}

row! {
    /// Some neighbouring buckets of a site's histograms (see [`crate::histogram`]): what one of its
    /// cells, or all that share it, counted there. The sum over rows of the same run is the
    /// histogram's.
    Bucket in Buckets x 2 = 88 bytes {
        /// The site.
        site: u32,
        /// Number of the run of buckets: bucket numbers divided by [`RUN`].
        run: u16,
        /// One of [`histogram_kind`].
        kind: u16,
        /// The row's own id.
        id: u32,
        /// Address in the process of the next of the same cell, or of those that the site's cells
        /// share; 0 if none.
        next_at: u64,
        /// Counts, modulo 2^16; a [`Carry`] has the rest. Change.
        counts: [u16; 32],
    }
}

const _: () = assert!(RUN == 32);

/// Values of [`Bucket::kind`].
pub mod histogram_kind {
    /// Holds.
    pub const HOLD: u16 = 0;
    /// Waits.
    pub const WAIT: u16 = 1;
}

row! {
    /// A count of a [`Bucket`] went over 2^16.
    Carry in Carries x 16 = 16 bytes {
        /// The bucket row.
        bucket: u32,
        /// Which of its counts.
        index: u32,
        /// How many times 2^16 were taken off. Changes.
        times: u32,
    }
}

row! {
    /// The holders that the waits of one cell were for; or, for `kind` NESTED, what was waited for
    /// while the cell's lock was held.
    Blame in Blames x 4 = 40 bytes {
        /// The holder's or waker's site; for NESTED, the site of the inner wait. 0: unknown.
        other: u32,
        /// Next of the same cell, 0 if none.
        next: u32,
        /// One of [`blame_kind`].
        kind: u32,
        /// Address in the process of the row at `next`, 0 if none.
        next_at: u64,
        /// Waits that it had a part in. Changes.
        count: u64,
        /// Its part of the waits. Changes.
        ticks: u64,
    }
}

/// Values of [`Blame::kind`].
pub mod blame_kind {
    /// `other` held the lock during `ticks` of the cell's waits; at a futex, or on a condition variable, it ended waits of so many.
    pub const HOLDER: u32 = 0;
    /// While the cell's lock was held, its holder waited at `other` for `ticks`.
    pub const NESTED: u32 = 1;
    /// The cell is of waits: `other` ended so many of them in vain, as the thread waited again without having done anything. `ticks` is
    /// the time from each such wait to the next. Where it is a semaphore, `other` is 0: the thread slept so many times more
    /// than once within a wait.
    pub const IN_VAIN: u32 = 2;
    /// `other` is the kernel id of a thread of another process, which held the lock that processes share when `ticks` of the cell's waits
    /// began.
    pub const OTHER_PROCESS: u32 = 3;
    /// During the cell's timed holds its thread was ready to run and had no processor for `ticks`. `other` is its own site.
    pub const LOST: u32 = 4;
}

/// Holder sites that a board tells apart; the rest are summed up under site 0.
pub const BOARD_SITES: usize = 24;

/// Exclusive holds of which a board remembers when they began.
pub const BOARD_HOLDS: usize = 16;

row! {
    /// Who held a lock that somebody waits for, as sums that only grow: a waiter's own part is the
    /// difference between the end and the beginning of its wait. Reused for another lock once
    /// nobody waits.
    Board in Boards x 2 = 552 bytes {
        /// Waiters. Changes; 0: free to be used for another lock.
        waiters: u32,
        /// Address of the lock. Changes.
        addr: u64,
        /// Address in the process of the next board of the same hash, 0 if none.
        next_at: u64,
        /// Sites in use. Changes.
        len: u32,
        /// Somebody reads or changes the sums. Changes.
        busy: u32,
        /// Holds by sites not told apart. Changes.
        others: u64,
        /// When the first waiter came, or the last holder that was seen to leave left. Changes.
        last: u64,
        /// The sites. Change.
        sites: [u32; 24],
        /// How long each has held the lock while somebody waited. Change.
        ticks: [u64; 24],
        /// Exclusive holds that have ended while somebody waited. Changes.
        holds: u64,
        /// Since when the last of them counted, each in its turn. Change.
        hold_since: [u64; 16],
        /// Their sites. Change.
        hold_sites: [u32; 16],
        /// When a holder left last while somebody waited, 0 if none has. Changes.
        left_at: u64,
        /// Its kernel thread id. Changes.
        left_tid: u32,
        /// Its site. Changes.
        left_site: u32,
    }
}

row! {
    /// How readers of one rwlock overlapped. What all of them change has a cache line of its own,
    /// the second: what they only read in the first stays in the caches of all.
    Readers in Readers x 2 = 128 bytes {
        /// Instance of the lock.
        inst: u32,
        /// Its class.
        class: u32,
        /// Most readers at once. Changes.
        max: u32,
        /// Not used.
        reserved: [u64; 6],
        /// How many readers there are now, and when the first of them came: [`crate::readers_word`].
        /// Changes.
        now_since: u64,
        /// Busy periods, from the first reader in to the last out, that are over and whose first
        /// hold was timed. Changes.
        periods: u64,
        /// Their sum. Changes.
        ticks: u64,
        /// The longest. Changes.
        max_ticks: u64,
        /// Not used.
        reserved2: [u64; 4],
    }
}

row! {
    /// What one thread at a time works on: its index of cells and the locks it holds. Handed to a
    /// later thread when the thread ends, so that cells are as many as threads that live at once.
    /// Addresses are the process's own.
    Meter in Meters x 2 = 192 bytes shared by threads {
        /// The row's own id.
        id: u32,
        /// The locks it holds, of which each is a [`Metered`]. Changes.
        held: StackWords,
        /// Address of the index. Changes.
        index: u64,
        /// 64 less the binary logarithm of the index' size. Changes.
        shift: u32,
        /// Acquisitions until the next hold is timed, where holds are sampled. Changes.
        countdown: u32,
        /// Events that found no room to be recorded. Changes.
        lost: u64,
        /// Next of the free ones, 0 if none. Changes.
        next_free: u32,
        /// Threads that have had it. Changes.
        threads: u32,
        /// Address of the memory for waits under way, 0 before the first. Changes.
        waits: u64,
        /// State of the sampling's random numbers. Changes.
        random: u64,
        /// Kernel id of the thread that has it, 0 if none. Changes.
        tid: u32,
        /// [`Site`] where the thread waits now, 0 if it does not. Changes, after the two that say
        /// for what and since when.
        waiting: u32,
        /// Address of the lock whose acquisition is under way in lockdep's wrapper, 0 if
        /// none. Changes.
        expected: u64,
        /// Address of the [`Cell`] of that acquisition. Changes.
        expected_cell: u64,
        /// Address of what it waits for: a lock, of a condition its mutex. Changes.
        waiting_for: u64,
        /// When that wait began. Changes.
        waiting_since: u64,
        /// Keys in the index. Changes.
        keys: u32,
        /// What the futex' word was when that wait began, if it is one. Changes.
        waiting_word: u32,
        /// When the thread that has it was first measured, 0 if none has it. Changes.
        born: u64,
        /// How long the threads that had it before were measured. Changes.
        lived: u64,
        /// Events that were left out of the timeline. Changes.
        left_out: u64,
        /// Not used; rows are whole cache lines.
        reserved: [u32; 6],
    }
}

/// A lock held by a live thread: an element of the array of [`Meter::held`]. Not a table row;
/// `addr` is stored last and cleared first.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Metered {
    /// Address of the lock, 0 while the entry is being written.
    pub addr: u64,
    /// When it was acquired, 0 if this hold is not timed.
    pub since: u64,
    /// Address of the [`Cell`].
    pub cell: u64,
    /// Further acquisitions of a recursive mutex on top of the first, and [`Metered::UNCOUNTED`].
    pub recursion: u32,
    /// What else its release has to do; private to the engine.
    pub flags: u32,
    /// What its release is to decide for the host, which alone knows what this means.
    pub trial: [u64; 2],
    /// Address of the [`Readers`] row that a hold for reading is counted in; 0 if there is none.
    pub readers: u64,
}

impl Metered {
    /// In [`Metered::recursion`]: the acquisition is not among those of its [`Cell`] yet. Not one
    /// of the flags, so that an entry that has nothing else to it is made and told by one word that
    /// is an instruction's operand.
    pub const UNCOUNTED: u32 = 1 << 30;

    /// The acquisition is not among those of its [`Cell`] yet.
    pub fn is_uncounted(&self) -> bool {
        self.recursion & Self::UNCOUNTED != 0
    }
}

const _: () = assert!(core::mem::size_of::<Metered>() == 56);
