//! Where things lie in the file: the header, the table directory, and how an index becomes an
//! offset.

use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64};

/// The first eight bytes of a ledger, stored last of the header.
pub const MAGIC: u64 = u64::from_le_bytes(*b"LOCKWRGT");

/// Raised whenever a row or the header changes shape. A reader accepts exactly its own.
pub const FORMAT_VERSION: u32 = 28;

/// What is not small is allocated in whole pages of this size.
pub const PAGE: usize = 4096;

/// Bytes kept for the header at the start of the file. As few pages as it needs: each costs a process
/// that hardly lives a microsecond and more.
pub const HEADER_BYTES: usize = 2 * PAGE;

/// Lengths of a ledger's file, longest first: a process takes the first that its limits allow. It
/// is sparse.
pub const FILE_LENGTHS: [u64; 5] = [64 << 30, 8 << 30, 1 << 30, 256 << 20, 32 << 20];

/// A file of this length or more keeps its second half for annexes.
pub const LEAST_WITH_ANNEXES: u64 = 8 << 30;

/// Annexes that a file has room for: ledgers of processes that were forked where they could create
/// no file.
pub const ANNEXES: u32 = 64;

/// Bytes of a file of `len` bytes that are for the ledger of the process that has created it.
pub const fn own_bytes(len: u64) -> u64 {
    if len < LEAST_WITH_ANNEXES { len } else { len / 2 }
}

/// How many annexes a file of `len` bytes has room for.
pub const fn annex_room(len: u64) -> u32 {
    if own_bytes(len) < len && is_whole(len) { ANNEXES } else { 0 }
}

/// File offset and length of an annex; `None` where the file has no such.
pub const fn annex(len: u64, index: u32) -> Option<(u64, u64)> {
    if index >= annex_room(len) {
        return None;
    }
    let own = own_bytes(len);
    let each = (len - own) / ANNEXES as u64;
    Some((own + each * index as u64, each))
}

/// File offset and length of the ledger that is `part` of a file: 0 is the first, then come the
/// annexes.
pub const fn part(len: u64, part: u32) -> Option<(u64, u64)> {
    match part.checked_sub(1) {
        None => Some((0, own_bytes(len))),
        Some(index) => annex(len, index),
    }
}

/// The file has one of its first lengths: nobody has cut it.
const fn is_whole(len: u64) -> bool {
    let mut at = 0;
    while at < FILE_LENGTHS.len() {
        if FILE_LENGTHS[at] == len {
            return true;
        }
        at += 1;
    }
    false
}

/// What is mapped of a ledger at first, and in one step later: what a trivial program's ledger
/// takes, and few system calls for a large one.
pub const MAP_STEP: u64 = 1 << 20;

/// A ledger takes at most one part in so many of a limited address space (RLIMIT_AS).
pub const SPACE_PARTS: u64 = 8;

/// Most return addresses of a stack.
pub const MAX_FRAMES: usize = 48;

/// An element of [`TableId::Frames`] that is no return address but a row of
/// [`TableId::Interpreted`]: this, and the row's number. Such elements come last in a stack. No code
/// lies at these addresses: they are neither a program's nor the kernel's.
pub const INTERPRETED: u64 = 1 << 63;

/// The row of [`TableId::Interpreted`] that an element of a stack stands for; `None` for a return
/// address.
pub const fn interpreted(frame: u64) -> Option<u32> {
    if frame >> 32 == INTERPRETED >> 32 { Some(frame as u32) } else { None }
}

/// Most bytes of a text: a path has no more.
pub const MAX_TEXT: u32 = 4096;

/// Slots in the table directory; ids beyond those in use stay free for later engines.
pub const MAX_TABLES: usize = 32;

/// A table grows by extents; each holds twice the rows of the one before.
pub const MAX_EXTENTS: usize = 27;

/// Which table a row lives in. The number is its slot in the directory and never changes meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum TableId {
    /// UTF-8 (or raw) bytes that [`crate::rows::Text`] points into.
    Bytes = 0,
    /// Return addresses that [`crate::rows::Stack`] points into.
    Frames = 1,
    /// [`crate::rows::Module`]
    Modules = 2,
    /// [`crate::rows::Stack`]
    Stacks = 3,
    /// [`crate::rows::Thread`]
    Threads = 4,
    /// [`crate::rows::Segment`]
    Segments = 5,
    /// [`crate::rows::Class`]
    Classes = 6,
    /// [`crate::rows::Lock`]
    Locks = 7,
    /// [`crate::rows::Node`]
    Nodes = 8,
    /// [`crate::rows::Evidence`]
    Evidence = 9,
    /// [`crate::rows::Finding`]
    Findings = 10,
    /// [`crate::rows::Step`]
    Steps = 11,
    /// [`crate::rows::Usage`]
    Usages = 12,
    /// [`crate::rows::Sync`]
    Syncs = 13,
    /// [`crate::rows::Order`]
    Orders = 14,
    /// [`crate::rows::Hold`]
    Holds = 15,
    /// [`crate::rows::Awaited`]
    Awaiting = 16,
    /// [`crate::rows::object::ObjectType`]
    ObjectTypes = 17,
    /// [`crate::rows::object::ObjectFinding`]
    ObjectFindings = 18,
    /// [`crate::rows::object::ObjectPools`]
    ObjectPools = 19,
    /// [`crate::rows::meter::Site`]
    Sites = 20,
    /// [`crate::rows::meter::Cell`]
    Cells = 21,
    /// [`crate::rows::meter::Bucket`]
    Buckets = 22,
    /// [`crate::rows::meter::Carry`]
    Carries = 23,
    /// [`crate::rows::meter::Blame`]
    Blames = 24,
    /// [`crate::rows::meter::Board`]
    Boards = 25,
    /// [`crate::rows::meter::Readers`]
    Readers = 26,
    /// [`crate::rows::meter::Meter`]
    Meters = 27,
    /// [`crate::rows::DebugCounts`]
    DebugCounts = 28,
    /// [`crate::rows::ClassOps`]
    ClassOps = 29,
    /// [`crate::rows::Interpreted`]
    Interpreted = 30,
    /// [`crate::rows::Wake`]
    Wakes = 31,
}

/// One slot of the table directory.
///
/// Row `i` lies in extent `k = floor(log2(i / base_rows + 1))`, at row `i - base_rows * (2^k - 1)`
/// of it.
#[repr(C)]
#[derive(Debug)]
pub struct TableHeader {
    /// Bytes of one row; 0 marks an unused slot.
    pub row_bytes: AtomicU32,
    /// Rows of the first extent.
    pub base_rows: AtomicU32,
    /// Rows handed out so far, those still being written included.
    pub len: AtomicU64,
    /// File offset of each extent, 0 where there is none yet.
    pub extents: [AtomicU64; MAX_EXTENTS],
}

/// Extent and row within it of table row `index`, for a table that began with `base_rows` rows.
#[inline]
pub const fn locate(index: u64, base_rows: u64) -> (usize, u64) {
    let extent = (index / base_rows + 1).ilog2();
    (extent as usize, index - base_rows * ((1 << extent) - 1))
}

/// Rows that extent `extent` of a table holds.
#[inline]
pub const fn extent_rows(extent: usize, base_rows: u64) -> u64 {
    base_rows << extent
}

/// Kinds of records that have a bound ([`Header::bounded`]), as bits. Beyond it no more are kept.
pub mod bounded {
    /// Locks that were held while threads were created, or the like.
    pub const HOLDS: u32 = 1;
    /// Barriers and semaphores.
    pub const SYNCS: u32 = 2;
    /// Signals of condition variables at one place.
    pub const SIGNALLERS: u32 = 4;
    /// Uses of a class of locks in a signal's handler, or with the signal open.
    pub const USES: u32 = 8;
}

/// What became of the process, as far as the ledger records it ([`Header::state`]).
pub mod process_state {
    /// The process runs, or was killed by a signal, or ended by a system call of its own.
    pub const RUNNING: u32 = 1;
    /// The process ended by `exit`, or by a return from `main`.
    pub const EXITED: u32 = 2;
    /// The process ended by `_exit` or `_Exit`.
    pub const EXITED_AT_ONCE: u32 = 3;
    /// The process ended by `quick_exit`.
    pub const QUICK_EXITED: u32 = 4;
    /// The process called exec, and went on as another program.
    pub const EXECUTED: u32 = 5;
}

/// Which engines wrote this ledger ([`Header::engines`]), as bits.
pub mod engines {
    /// lockdep: lock orders and misuse.
    pub const LOCKDEP: u32 = 1;
    /// The lock statistics.
    pub const LOCKMETER: u32 = 2;
    /// The lifetime checker.
    pub const DEBUGOBJECTS: u32 = 4;
}

/// What lockmeter's times are measured with ([`Header::clock`]).
pub mod clock {
    /// Nothing is.
    pub const NONE: u32 = 0;
    /// The processor's time-stamp counter.
    pub const TSC: u32 = 1;
    /// CLOCK_MONOTONIC, in nanoseconds.
    pub const MONOTONIC: u32 = 2;
}

/// Why recording stopped before the process did ([`Header::stopped`]). The first reason stays.
pub mod stopped {
    /// It did not.
    pub const NO: u32 = 0;
    /// The file system of the ledger is full, or a quota or a control group's memory is used up.
    pub const NO_SPACE: u32 = 1;
    /// The thread that held the engine's lock has ended, or jumped out of the engine.
    pub const HOLDER_GONE: u32 = 2;
    /// The engine's lock did not change hands for half a minute though its holder lives: it was
    /// stopped, or starved.
    pub const HOLDER_STALLED: u32 = 3;
    /// The process may map no more memory (RLIMIT_AS), or may not have more mappings.
    pub const ADDRESS_SPACE: u32 = 4;
    /// The file may grow no longer (RLIMIT_FSIZE).
    pub const FILE_SIZE: u32 = 5;
    /// The ledger has its greatest length, or one of its tables has all the rows that it can have.
    pub const LEDGER_FULL: u32 = 6;
    /// A thread may not make the system calls that recording needs (SECCOMP_MODE_STRICT). Others
    /// are recorded.
    pub const SYSTEM_CALLS: u32 = 7;
    /// lockdep found its own data inconsistent: the held locks of the thread that
    /// [`super::Header::stopped_by`] names are not what its chain key is of. Only a library built
    /// with `debug-lockdep` looks.
    pub const INCONSISTENT: u32 = 8;
}

/// The reason, one of [`stopped`], is that there is no room for rows; those that are there go on
/// being counted in.
pub const fn is_for_room(reason: u32) -> bool {
    use stopped::{ADDRESS_SPACE, FILE_SIZE, LEDGER_FULL, NO_SPACE};
    matches!(reason, NO_SPACE | ADDRESS_SPACE | FILE_SIZE | LEDGER_FULL)
}

/// The first bytes of the file. All numbers are in the byte order of the machine that wrote them; a
/// foreign order shows as a foreign magic.
#[repr(C)]
#[derive(Debug)]
pub struct Header {
    /// [`MAGIC`], stored with Release once the rest of the header is valid.
    pub magic: AtomicU64,
    /// [`FORMAT_VERSION`].
    pub version: AtomicU32,
    /// [`HEADER_BYTES`].
    pub header_bytes: AtomicU32,
    /// Process id, in the pid namespace of the process.
    pub pid: AtomicU32,
    /// Process id of the parent at start.
    pub ppid: AtomicU32,
    /// [`engines`] bits.
    pub engines: AtomicU32,
    /// One of [`process_state`].
    pub state: AtomicU32,
    /// One of [`stopped`].
    pub stopped: AtomicU32,
    /// `deadlocked` findings written so far; the command-line tool polls this word.
    pub deadlocks: AtomicU32,
    /// CLOCK_REALTIME at start, nanoseconds.
    pub start_realtime_ns: AtomicU64,
    /// CLOCK_MONOTONIC at start, nanoseconds; all other times in the file are on this clock.
    pub start_ns: AtomicU64,
    /// CLOCK_MONOTONIC when the process ended or called exec, nanoseconds; 0 while running or after
    /// a crash.
    pub end_ns: AtomicU64,
    /// First byte that nothing has been set aside in yet; the file is a hole from there on.
    pub used: AtomicU64,
    /// Rows that could not be written.
    pub lost: AtomicU64,
    /// Locks seen, each life of a piece of memory counted as its own lock. It may lack what the rows of classes lack: see
    /// [`crate::rows::Class::locks`].
    pub locks_seen: AtomicU64,
    /// Instance pairs not kept because their class pair already had its fill.
    pub pairs_folded: AtomicU64,
    /// `(pid << 32 | start seconds)` style token that names this ledger to a forked child's.
    pub token: AtomicU64,
    /// Token of the ledger of the process this one was forked from, 0 if none.
    pub parent_token: AtomicU64,
    /// The token that the command gave to the processes of its run; 0 if it gave none. A file
    /// without the token was put there by another user.
    pub run: [AtomicU64; 2],
    /// Text offset and length of the executable's path, then of the command line (NUL separated).
    pub exe: [AtomicU32; 2],
    /// See `exe`.
    pub cmdline: [AtomicU32; 2],
    /// Counted when the module table changes: a stack's [`crate::rows::Stack::epoch`] refers to it.
    pub epoch: AtomicU32,
    /// One of [`clock`].
    pub clock: AtomicU32,
    /// The clock's reading at two moments, for its rate: ticks, then CLOCK_MONOTONIC in
    /// nanoseconds; first at start, then as late as possible.
    pub clock_pairs: [AtomicU64; 4],
    /// One hold in so many is timed; 1: all, 0: none.
    pub hold_sample: AtomicU32,
    /// 1 where lockmeter keeps the instances of a class apart.
    pub by_instance: AtomicU32,
    /// Processors online at start.
    pub processors: AtomicU32,
    /// 1 where the C library lays locks out as known, so that they carry their identity; else each
    /// is looked up by its address, which is slower.
    pub stamped: AtomicU32,
    /// Allocations that could not be tracked because there was no memory.
    pub allocations_lost: AtomicU64,
    /// Forked processes that could create no file for their ledgers, and so asked for an annex of
    /// this one. They count themselves; a process that finds `annex_room` of them there gets none,
    /// and is not watched.
    pub annexes: AtomicU32,
    /// How many annexes the file has room for.
    pub annex_room: AtomicU32,
    /// The table directory, indexed by [`TableId`].
    pub tables: [TableHeader; MAX_TABLES],
    /// Signals (bit `n - 1` for signal `n`) that were open while the program used, outside of
    /// handlers, what is not async-signal-safe: one word for each of [`crate::rows::unsafe_call`].
    pub unsafe_open: [AtomicU64; 3],
    /// Why the file is no longer than it is, one of [`stopped`]: a limit of the process's own.
    pub limited_by: AtomicU32,
    /// Kernel thread id of the thread that held the engine's lock, or whose data were inconsistent,
    /// when recording stopped for that; else 0.
    pub stopped_by: AtomicU32,
    /// Until when an armed timer may wake the threads of a recorded deadlock, CLOCK_MONOTONIC; 0 if
    /// none is armed.
    pub timers_until_ns: AtomicU64,
    /// The exit code, with [`EXIT_CODE_KNOWN`] set; 0 as long as the process was not heard to end.
    pub exit_code: AtomicU32,
    /// 1 where lockmeter counts bounces, and the shortest holds.
    pub bounces: AtomicU32,
    /// Version of the C library: the major number in the upper half, the minor in the lower; 0 where
    /// it is not known.
    pub libc_version: AtomicU32,
    /// Types of [`crate::rows::object::object_type`], bit `n` for type `n`, that this C library does
    /// not lay out as known for its version. Their objects' bytes were not judged.
    pub layouts_differing: AtomicU32,
    /// Bytes of `kept_records` that are taken.
    pub kept_used: AtomicU32,
    /// Records that found no room there.
    pub kept_dropped: AtomicU32,
    /// Records for the run's directory that a process could not reach: it was hidden there. Texts as
    /// in the file `executed`, each with a NUL behind it. A forked child that has no ledger yet leaves
    /// its own with its parent.
    pub kept_records: [AtomicU64; KEPT_WORDS],
    /// CPU time of the start of recording, ns.
    pub start_cpu_ns: AtomicU64,
    /// Entries into the slow path; one within another is part of it.
    pub slow_entries: AtomicU64,
    /// Entries that the timed ones stand for. Later ones are sampled.
    pub slow_timed: AtomicU64,
    /// CPU time of those, ns.
    pub slow_cpu_ns: AtomicU64,
    /// Counts removals of rows of numbered tables, twice each: odd while one is under way. A reader
    /// that copies the file meanwhile copies it again.
    pub removals: AtomicU32,
    /// What is no longer recorded since it reached its bound: [`bounded`] bits.
    pub bounded: AtomicU32,
    /// The number of the row that was published last, of `Threads`, `Segments`, `Holds` and
    /// `Awaiting`. Rows that a copy has beyond these, as read before it was made, are newer than
    /// others that it lacks.
    pub last_numbers: [AtomicU32; 4],
    /// The last segment before a kind of records that order threads reached its bound, 0 if none
    /// did: later segments may be ordered though it does not say so.
    pub orders_until: AtomicU32,
    /// Numbers of locks that are given out: each thread takes some at a time. They wrap.
    pub instances: AtomicU32,
    /// Acquisitions by threads whose rows were removed.
    pub removed_acquisitions: AtomicU64,
    /// How many of these acquisitions found the lock held.
    pub removed_contended: AtomicU64,
    /// What threads did whose rows were removed, by [`crate::rows::event`].
    pub removed_events: [AtomicU64; 6],
    /// CLOCK_MONOTONIC when the process was forked, nanoseconds: before its start, if it used no lock at first. Equal to its
    /// start if no watched process has forked it.
    pub forked_ns: AtomicU64,
    /// Bytes that a timeline was asked for with, 0 if none was.
    pub timeline_bytes: AtomicU64,
    /// File offset of the [`crate::timeline::Timeline`], 0 as long as there was nothing for it. Changes.
    pub timeline: AtomicU64,
}

/// Words of [`Header::kept_records`].
pub const KEPT_WORDS: usize = 21;

impl Header {
    /// Keeps a record, of which these are the parts. Anybody may, without a lock.
    #[cold]
    pub fn keep_record(&self, parts: &[&[u8]]) {
        let len: usize = parts.iter().map(|part| part.len()).sum();
        let room = self.kept_records.len() * size_of::<AtomicU64>();
        // Relaxed: a count, by which each writer has bytes of its own. The reader comes when the
        // process has ended.
        let take = |used: u32| (used as usize + len <= room).then(|| used + len as u32);
        let Ok(start) = self.kept_used.fetch_update(Relaxed, Relaxed, take) else {
            self.kept_dropped.fetch_add(1, Relaxed);
            return;
        };
        // SAFETY: the words are as many bytes, and shared by atomics alone; all of them from here on
        // are written as bytes.
        let bytes = unsafe {
            core::slice::from_raw_parts(self.kept_records.as_ptr().cast::<AtomicU8>(), room)
        };
        let places = bytes[start as usize..].iter();
        for (place, byte) in places.zip(parts.iter().copied().flatten()) {
            place.store(*byte, Relaxed);
        }
    }

    /// Records that recording stopped for `reason`, unless it had stopped before. Any thread may
    /// call it, without a lock.
    #[cold]
    pub fn stop(&self, reason: u32) {
        // Relaxed: it publishes nothing else.
        let _ = self.stopped.compare_exchange(stopped::NO, reason, Relaxed, Relaxed);
    }
}

/// Bit of [`Header::exit_code`].
pub const EXIT_CODE_KNOWN: u32 = 1 << 8;

const _: () = assert!(core::mem::size_of::<Header>() <= HEADER_BYTES);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annexes_fill_the_second_half() {
        for len in FILE_LENGTHS {
            let annexes: std::vec::Vec<_> = (0..=ANNEXES).map_while(|i| annex(len, i)).collect();
            if own_bytes(len) == len {
                assert!(annexes.is_empty(), "{len}");
                continue;
            }
            assert_eq!(annexes.len(), ANNEXES as usize);
            let mut end = own_bytes(len);
            for (offset, bytes) in annexes {
                assert_eq!(offset, end);
                assert!(bytes >= 64 << 20 && bytes.is_multiple_of(4 << 20), "{bytes}");
                end += bytes;
            }
            assert_eq!(end, len);
        }
        assert_eq!(annex((64 << 30) - PAGE as u64, 0), None, "cut");
    }

    #[test]
    fn rows_follow_one_another_across_extents() {
        let base = 4;
        let mut expected = (0, 0);
        for index in 0..10_000 {
            assert_eq!(locate(index, base), expected, "row {index}");
            expected.1 += 1;
            if expected.1 == extent_rows(expected.0, base) {
                expected = (expected.0 + 1, 0);
            }
        }
    }
}
