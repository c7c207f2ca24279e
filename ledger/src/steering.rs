//! What `lockwright confirm`, `--perturb` and `--avoid` ask of the watched program: a file among the ledgers, which all processes
//! of the run map shared. The command writes the plan before the program starts; the processes count in it what came of it,
//! and the threads that are paused are entered in it. All fields are atomic, and a file of zeros asks for nothing.

use core::sync::atomic::{AtomicU32, AtomicU64};

/// The file's name in the run's directory.
pub const FILE_NAME: &str = "steering";

/// First word of the file. Its last byte is the version of the layout.
pub const MAGIC: u64 = u64::from_le_bytes(*b"lwsteer\x03");

/// Paths that can be steered at a time.
pub const MOST_PATHS: usize = 16;
/// Frames of a path's stack that are compared.
pub const MOST_FRAMES: usize = 8;
/// Threads that are paused at a time.
pub const MOST_PAUSED: usize = 32;
/// Locks held by a paused thread that are looked at.
pub const MOST_HELD: usize = 16;
/// Threads that are kept apart from others at a time.
pub const MOST_INSIDE: usize = 64;
/// Counters of visits, by thread and place.
pub const MOST_VISITS: usize = 4096;

/// Values of [`Pause::state`].
pub mod pause_state {
    /// Nobody's.
    pub const FREE: u32 = 0;
    /// A thread is paused, or about to be.
    pub const PAUSED: u32 = 1;
    /// The threads that it waited for are at their places.
    pub const MET: u32 = 2;
    /// Somebody waits for a lock that it holds.
    pub const IN_THE_WAY: u32 = 3;
}

/// The whole file.
#[repr(C)]
pub struct Steering {
    /// [`MAGIC`].
    pub magic: AtomicU64,
    /// How long one pause may last, ns.
    pub longest_ns: AtomicU64,
    /// How long all pauses and delays of the run may yet take together, ns.
    pub left_ns: AtomicU64,
    /// What random delays are drawn from; 0: none are wanted.
    pub seed: AtomicU64,
    /// Random delays that were taken.
    pub delays: AtomicU64,
    /// 1 while a thread changes the list of paused threads, 0 otherwise.
    pub lock: AtomicU32,
    /// How many of [`Steering::paths`] there are.
    pub path_count: AtomicU32,
    /// Processes that have found the plan, a program that another executes counted again.
    pub processes: AtomicU32,
    /// Threads that went by unpaused since [`Steering::lock`], or a row, could not be had.
    pub shut_out: AtomicU32,
    /// Counts threads that have left what they are kept apart in; others wait for it to change.
    pub changes: AtomicU32,
    /// Counts threads that came to a place of those that are kept apart.
    pub orders: AtomicU32,
    /// What is steered.
    pub paths: [Path; MOST_PATHS],
    /// The paused threads.
    pub paused: [Pause; MOST_PAUSED],
    /// The threads that are between the places of a finding that is avoided.
    pub inside: [Inside; MOST_INSIDE],
    /// How often threads have come to places, by a hash of both.
    pub visits: [AtomicU32; MOST_VISITS],
}

/// A place where a thread of a finding is paused: just before the call that would close the cycle; or, where it is
/// avoided, before the first one of its part.
#[repr(C)]
pub struct Path {
    /// Return addresses within their modules (ELF addresses), innermost first.
    pub offsets: [AtomicU64; MOST_FRAMES],
    /// How many there are.
    pub offset_count: AtomicU32,
    /// 1: only a thread that holds a lock is meant.
    pub needs_held: AtomicU32,
    /// Threads that came here.
    pub arrivals: AtomicU32,
    /// How many were paused.
    pub pauses: AtomicU32,
    /// How many met all others of their cycle.
    pub met: AtomicU32,
    /// How many went on since their time was up.
    pub timed_out: AtomicU32,
    /// How many went on since somebody waited for what they held.
    pub in_the_way: AtomicU32,
    /// How many arrivals are yet to go by unpaused.
    pub skip: AtomicU32,
    /// How many came while threads of other paths were paused with other locks.
    pub elsewhere: AtomicU32,
    /// Process of [`Path::waiter_node`].
    pub waiter_pid: AtomicU32,
    /// The acquisition ([`crate::rows::Node`]) that last waited for what a thread held that was paused here; 0: none is known.
    pub waiter_node: AtomicU32,
    /// 0: threads are to meet. Otherwise those of one finding, by its number, are to be kept apart.
    pub apart: AtomicU32,
    /// 1: also threads that come to this same place are kept apart.
    pub alone: AtomicU32,
    /// 1: threads are paused here, before the first lock of their part, until another is at the last one of its.
    pub first: AtomicU32,
    /// Makes the length a multiple of 8.
    pub filler: AtomicU32,
    /// Not 0: this signal comes while a thread has the lock that it takes here.
    pub signal: AtomicU32,
    /// How long threads were paused here, ns.
    pub waited_ns: AtomicU64,
}

/// A thread that has the first lock of its part of a finding that is avoided, or the lock during which a signal is to come, or
/// is about to take it.
#[repr(C)]
pub struct Inside {
    /// The thread; 0: nobody.
    pub tid: AtomicU32,
    /// Its process.
    pub pid: AtomicU32,
    /// Index of its path.
    pub path: AtomicU32,
    /// Makes the length a multiple of 8.
    pub filler: AtomicU32,
    /// Address of that lock.
    pub lock: AtomicU64,
}

/// A paused thread.
#[repr(C)]
pub struct Pause {
    /// [`pause_state`].
    pub state: AtomicU32,
    /// Index of its path.
    pub path: AtomicU32,
    /// Its process.
    pub pid: AtomicU32,
    /// How many of [`Pause::held`] there are.
    pub held_count: AtomicU32,
    /// Address of the lock that it is about to take, or the thread that it is about to join.
    pub wanted: AtomicU64,
    /// Itself, as `pthread_self` says: another may join it.
    pub thread: AtomicU64,
    /// [`Steering::orders`] when it came.
    pub order: AtomicU64,
    /// Addresses of locks that it holds.
    pub held: [AtomicU64; MOST_HELD],
}

/// Bytes of the file.
pub const BYTES: usize = size_of::<Steering>();

// The guest maps whole pages.
const _: () = assert!(BYTES < 1 << 16);

#[cfg(feature = "reader")]
impl Steering {
    /// One that asks for nothing.
    pub fn new() -> Box<Self> {
        let mut words = vec![0u8; BYTES];
        words[..8].copy_from_slice(&MAGIC.to_le_bytes());
        Self::from_bytes(&words).expect("as long as it has to be")
    }

    /// The bytes of a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        // SAFETY: it is made of atomics alone, which have no padding between them (the sizes below), and nobody writes to it
        // while it is borrowed: only the guest's mapping is shared, and this is none.
        unsafe { core::slice::from_raw_parts((&raw const *self).cast::<u8>(), BYTES) }.to_vec()
    }

    /// What a file says; `None`: it is not one of this version.
    pub fn from_bytes(bytes: &[u8]) -> Option<Box<Self>> {
        if bytes.len() < BYTES || bytes[..8] != MAGIC.to_le_bytes() {
            return None;
        }
        let mut made = Box::<Self>::new_uninit();
        // SAFETY: as many bytes are copied as the box has; every bit pattern is a valid atomic.
        unsafe {
            made.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), BYTES);
            Some(made.assume_init())
        }
    }
}

// No padding: what is written of it is initialised.
const _: () = assert!(size_of::<Path>() == 8 * MOST_FRAMES + 4 * 16 + 8);
const _: () = assert!(size_of::<Pause>() == 4 * 4 + 8 * 3 + 8 * MOST_HELD);
const _: () = assert!(size_of::<Inside>() == 4 * 4 + 8);
const _: () = assert!(
    BYTES
        == 8 * 5
            + 4 * 6
            + size_of::<Path>() * MOST_PATHS
            + size_of::<Pause>() * MOST_PAUSED
            + size_of::<Inside>() * MOST_INSIDE
            + 4 * MOST_VISITS
);

#[cfg(all(test, feature = "reader"))]
mod tests {
    use super::*;
    use core::sync::atomic::Ordering::Relaxed;

    #[test]
    fn what_is_written_is_read() {
        let plan = Steering::new();
        plan.seed.store(7, Relaxed);
        plan.paths[15].arrivals.store(3, Relaxed);
        plan.visits[MOST_VISITS - 1].store(9, Relaxed);
        let mut bytes = plan.to_bytes();
        let again = Steering::from_bytes(&bytes).unwrap();
        assert_eq!(again.seed.load(Relaxed), 7);
        assert_eq!(again.paths[15].arrivals.load(Relaxed), 3);
        assert_eq!(again.visits[MOST_VISITS - 1].load(Relaxed), 9);
        assert!(Steering::from_bytes(&bytes[1..]).is_none());
        bytes[7] += 1;
        assert!(Steering::from_bytes(&bytes).is_none());
    }
}
