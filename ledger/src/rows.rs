//! The rows of every table: plain integers, no padding, state first.
//!
//! A row is written once and then stands; the few fields that change later say so and are only
//! ever touched as atomics by the writer.

use crate::layout::TableId;

/// A table row.
///
/// # Safety
/// The type is `repr(C)`, consists of integers only (any bit pattern is valid), has no padding,
/// begins with `state: u32`, and is no larger than a page.
pub unsafe trait Row: Copy + 'static {
    /// The table it lives in.
    const TABLE: TableId;
    /// Rows of the table's first extent.
    const BASE_ROWS: u32;
    /// Where in the row its number lies, a u32, of a table whose rows come and go; else 0. What
    /// refers to such a row names its number, and of others their place.
    const NUMBER_AT: usize = 0;
    /// Its thread writes it without the writer's lock, while other threads look at it. So no reference to
    /// the whole row is ever made ([`crate::Writer::row_ptr`]), and what both access is accessed
    /// atomically.
    const SHARED: bool = false;
}

/// Row state of a row that was published and has nothing else to tell.
pub const WRITTEN: u32 = 1;

/// A run of [`TableId::Bytes`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Text {
    /// Index of the first byte.
    pub offset: u32,
    /// Number of bytes; 0 is the empty text.
    pub len: u32,
}

macro_rules! row {
    ($(#[$doc:meta])* $name:ident in $table:ident x $base:literal = $bytes:literal bytes $(numbered by $number:ident)? $(shared by $threads:ident)? { $($(#[$fdoc:meta])* $field:ident: $ty:ty,)* }) => {
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug)]
        pub struct $name {
            /// 0 until the row is published.
            pub state: u32,
            $($(#[$fdoc])* pub $field: $ty,)*
        }
        const _: () = assert!(core::mem::size_of::<$name>() == $bytes);
        const _: () = assert!(4 $(+ core::mem::size_of::<$ty>())* == $bytes, "padding");
        // SAFETY: repr(C) integers, state first; the two assertions above exclude padding.
        unsafe impl Row for $name {
            const TABLE: TableId = TableId::$table;
            const BASE_ROWS: u32 = $base;
            $(const NUMBER_AT: usize = core::mem::offset_of!($name, $number);)?
            $(const SHARED: bool = stringify!($threads).len() != 0;)?
        }
        impl Default for $name {
            fn default() -> Self {
                Self { state: 0, $($field: Default::default(),)* }
            }
        }
    };
}

pub mod meter;
pub mod object;

/// Values of [`Module::inlined`].
pub mod inlined_state {
    /// There was no table of locks that are inlined in it.
    pub const NONE: u32 = 0;
    /// Its inlined locks are watched.
    pub const WATCHED: u32 = 1;
    /// They are not: its code is not what the table was made of.
    pub const OTHER_CODE: u32 = 2;
    /// They are not: there was no memory near enough to it.
    pub const NO_MEMORY: u32 = 3;
    /// They are not: the system does not let code be changed.
    pub const FORBIDDEN: u32 = 4;
    /// They are not: the table is broken, or there are too many, or the processor has more state than can be kept.
    pub const REFUSED: u32 = 5;
    /// They are not: threads may have run its code already.
    pub const TOO_LATE: u32 = 6;
    /// They are not: some releases cannot be seen, so a lock would be held for ever.
    pub const INCOMPLETE: u32 = 7;
    /// Nobody has looked for any: code for its machine is not changed.
    pub const OTHER_MACHINE: u32 = 8;
}

row! {
    /// A loaded object: what turns a return address into a file and an offset.
    Module in Modules x 4 = 64 bytes {
        /// Epoch ([`crate::Header::epoch`]) at which it was first seen.
        load_epoch: u32,
        /// Load bias: run-time address minus address in the ELF file.
        bias: u64,
        /// First mapped address.
        start: u64,
        /// One past the last mapped address.
        end: u64,
        /// Path as the loader has it.
        path: Text,
        /// GNU build id, raw bytes.
        build_id: Text,
        /// Epoch from which it is gone, 0 while loaded. Changes.
        unload_epoch: u32,
        /// What came of its table of inlined locks: an [`inlined_state`]. Changes.
        inlined: u32,
        /// Acquisitions of inlined locks in it that are watched, if any are. Changes.
        inlined_watched: u32,
        /// Acquisitions of inlined locks in it, as far as can be seen. Changes.
        inlined_acquisitions: u32,
    }
}

row! {
    /// A call stack, innermost frame first; equal stacks share a row.
    Stack in Stacks x 8 = 32 bytes {
        /// Number of frames.
        len: u32,
        /// Index of the first in [`TableId::Frames`]. All are return addresses, except those of an
        /// interpreter's own functions ([`Interpreted`]), which come last.
        first: u32,
        /// Epoch of the module table when it was taken.
        epoch: u32,
        /// Hash of frames and epoch.
        hash: u64,
        /// Not used.
        reserved: u64,
    }
}

/// Values of [`Interpreted::flags`].
pub mod interpreted_flag {
    /// It was called by the interpreter's own code: with it a call of the interpreter's loop began.
    pub const ENTRY: u32 = 1;
}

row! {
    /// A place in a program that an interpreter runs, as it stood on a call stack. Equal ones share
    /// a row.
    Interpreted in Interpreted x 4 = 32 bytes {
        /// Line, from 1; 0 if not known.
        line: u32,
        /// Source file, as the interpreter has it.
        file: Text,
        /// Function.
        function: Text,
        /// [`interpreted_flag`] bits.
        flags: u32,
        /// Not used.
        reserved: u32,
    }
}

/// Values of [`Thread::state`].
pub mod thread_state {
    /// It runs.
    pub const LIVE: u32 = 1;
    /// It ended, and may be joined yet.
    pub const EXITED: u32 = 2;
    /// It ended, and nobody will join it any more.
    pub const SETTLED: u32 = 3;
}

/// Indices of [`Thread::events`].
pub mod event {
    /// It took a reader-writer lock.
    pub const RWLOCK: usize = 0;
    /// It took a semaphore that is used as a lock.
    pub const SEMAPHORE: usize = 1;
    /// It tried for such a semaphore in vain.
    pub const FAILED_TRY: usize = 2;
    /// It posted a semaphore that is no lock.
    pub const HAND_OVER: usize = 3;
    /// It waited on a condition variable with a mutex that it held.
    pub const COND_WAIT: usize = 4;
    /// It signalled a condition variable.
    pub const SIGNAL: usize = 5;
    /// How many there are.
    pub const ALL: usize = 6;
}

row! {
    /// A thread of the process. The row outlives it as long as any other row is the thread's.
    /// Its first line is the state that the thread's fast path works on; addresses there are the
    /// process's own.
    Thread in Threads x 2 = 384 bytes numbered by id shared by threads {
        /// Kernel thread id.
        tid: u32,
        /// The locks it holds, of which each is a [`Held`]. Changes.
        held: StackWords,
        /// Address of the thread's cache of validated keys; once it has ended, private to the engine.
        /// Changes.
        cache: u64,
        /// Acquisitions of any lock. Changes.
        acquisitions: u64,
        /// Not 0: keys of held locks are stale. Changes.
        dirty: u32,
        /// Current segment. Changes.
        segment: u32,
        /// The row's number: threads are numbered from 1 in the order in which they came to run.
        id: u32,
        /// Segment of the creator at creation, 0 if unknown.
        parent_segment: u32,
        /// How many of the acquisitions found the lock held. Changes.
        contended: u64,
        /// How many of the acquisitions took the engine's slow path. Changes.
        slow: u64,
        /// Stack of the `pthread_create` call, 0 if unknown.
        create_stack: u32,
        /// Counts waits; odd while one is in progress. Changes.
        wait_seq: u32,
        /// What it waits for: address of the lock, or the thread row for a join. Changes.
        wait_addr: u64,
        /// Instance waited for; of a wait at a futex, one of [`meter::futex_call`]. Changes.
        wait_inst: u32,
        /// Its class. Changes.
        wait_class: u32,
        /// [`mode`] bits of the wait. Changes.
        wait_mode: u32,
        /// Context of the acquisition it waits in ([`Node`]); its stack is where it waits. Changes.
        wait_node: u32,
        /// CLOCK_MONOTONIC at start, ns.
        start_ns: u64,
        /// CLOCK_MONOTONIC at end, ns; 0 while it runs. Changes.
        end_ns: u64,
        /// Name, NUL padded. Changes.
        name: [u8; 16],
        /// Next of the list of live threads, 0 at the end. Changes.
        next_live: u32,
        /// Previous of the list of live threads, 0 at the head. Changes.
        prev_live: u32,
        /// Signals that are open: handled by the program and not blocked in the thread. Changes.
        open_signals: u64,
        /// Signal whose handler runs in the thread, 0 for none. Changes.
        in_signal: u32,
        /// Thread that waits for this one's end, 0 if none does: its end is something it holds.
        /// Changes.
        joiner: u32,
        /// Stack pointer at that handler's entry, to notice that it was left by a long jump.
        /// Changes.
        handler_sp: u64,
        /// Signals that the thread blocks: bit `n - 1` for signal `n`. Changes.
        blocked_signals: u64,
        /// First of the list of [`Awaited`] holds, 0 if there is none. Changes.
        awaited: u32,
        /// How often more a hold of the list may keep an acquisition from being remembered.
        /// Changes.
        awaited_looks: u32,
        /// Times the thread told others of something by no release of a lock. Changes.
        shared: u64,
        /// When it made `births`: its segment, and how much it had given up, 32 bits each. Changes.
        births_in: u64,
        /// Instances of the locks that it made last and that only it can know, as long as it has
        /// given up nothing since `births_in`. Changes.
        births: [u32; 4],
        /// Semaphore that the thread's last trylock failed on, 0 if that has been followed by a
        /// wait. Bit 0: it holds that itself. Changes.
        tried: u64,
        /// Return address of that call. Changes.
        tried_site: u64,
        /// An address within the frame of the function that waits, by which a long jump out of the
        /// wait is known. Changes.
        wait_frame: u64,
        /// Locks in `held` when the wait began, the lock that is waited for
        /// included. Changes.
        wait_depth: u32,
        /// Thread that called `pthread_cancel` for this one last, 0 if none did. Changes.
        cancelled_by: u32,
        /// Position of a [`Held`] above which none is a candidate. Changes.
        last_trial: u64,
        /// Address of its [`DebugCounts`], 0 if the library does not count those.
        debug_counts: u64,
        /// Times the thread signalled a condition variable on which somebody had waited. Changes.
        signals: u64,
        /// `shared` and `signals` together when its segment began. Changes.
        told_before: u64,
        /// CLOCK_MONOTONIC at the begin of the wait, ns; of a wait with [`mode::FUTEX_WAIT`] only.
        /// Changes.
        wait_since_ns: u64,
        /// What the futex' word was when that wait began. Changes.
        wait_word: u32,
        /// Stack of that wait ([`Stack`]), which has no context. Changes.
        wait_stack: u32,
        /// What it did that costs other than a lock and unlock, by [`event`]. Changes.
        events: [u64; 6],
        /// Class of the mutex in whose section it signalled last, if that is no monitor's. Changes.
        no_monitor: u64,
        /// How often modules were unloaded while it lived. Changes.
        unloads: u64,
    }
}

row! {
    /// A futex that threads wait at, and who woke one of them last. Used for another address once
    /// nobody waits and there is need of it. A reader of a running process may find the fields of a
    /// wake that is being written down.
    Wake in Wakes x 16 = 64 bytes {
        /// Threads that wait there. Changes.
        waiters: u32,
        /// Address of the word. Changes.
        addr: u64,
        /// Somebody reads or changes the row. Changes.
        busy: u32,
        /// The last waker's site ([`meter::Site`]), 0 if nobody has woken a waiter yet, or waits are
        /// not measured. Changes.
        site: u32,
        /// Stack of its call, 0 where only waits are measured. Changes.
        stack: u32,
        /// Its kernel thread id, 0 if nobody has woken a waiter yet. Changes.
        tid: u32,
        /// CLOCK_MONOTONIC then, ns. Changes.
        when_ns: u64,
        /// Calls that have woken somebody. Changes.
        wakes: u64,
        /// Not used; rows are whole cache lines.
        reserved: [u64; 2],
    }
}

row! {
    /// What a library built with `debug-lockdep` counts of a thread, as the kernel with
    /// CONFIG_DEBUG_LOCKDEP does for each CPU. No row has it in a library without. Addresses are
    /// the process's own.
    DebugCounts in DebugCounts x 2 = 352 bytes {
        /// The thread.
        thread: u32,
        /// Calls after which a handled signal was open in the thread that had not been. Changes.
        hardirqs_on: u64,
        /// Calls after which one was open no more. Changes.
        hardirqs_off: u64,
        /// Calls to open signals that changed nothing in that. Changes.
        redundant_on: u64,
        /// Calls to block signals that changed nothing in that. Changes.
        redundant_off: u64,
        /// Times the chain key was recomputed from the held locks, to compare. Changes.
        chain_checks: u64,
        /// How often it differed. Changes.
        bad_chains: u64,
        /// Address of the header.
        header: u64,
        /// Address of the first of the list of [`ClassOps`], 0 if none. Changes.
        first_ops: u64,
        /// Addresses of those used last, by the low five bits of their number; 0 where there is
        /// none. Change.
        near: [u64; 32],
        /// Not used.
        reserved: [u64; 3],
    }
}

/// Classes that a [`ClassOps`] counts.
pub const OPS_CLASSES: usize = 16;

row! {
    /// How often a thread has acquired locks of some neighbouring classes: the kernel's
    /// `class->ops`.
    ClassOps in ClassOps x 4 = 152 bytes {
        /// The thread.
        thread: u32,
        /// The first of the classes, a multiple of their number ([`OPS_CLASSES`]).
        first: u32,
        /// Not used.
        reserved: u32,
        /// Address in the process of the next of the thread's list, 0 at its end.
        next: u64,
        /// By class: acquisitions. Change.
        ops: [u64; 16],
    }
}

const _: () = assert!(OPS_CLASSES == 16, "the length of ClassOps::ops");

const _: () = assert!(event::ALL == 6, "the length of Thread::events and Header::removed_events");

/// Elements of [`Thread::births`].
pub const BIRTHS: usize = 4;

/// Values of [`Segment::kind`].
pub mod segment_kind {
    /// The first segment of a thread; `peer` is the creator's segment.
    pub const START: u32 = 1;
    /// After the thread created another.
    pub const CREATED: u32 = 2;
    /// After the thread joined another; `peer` is the last segment of the joined thread.
    pub const JOINED: u32 = 3;
    /// After a barrier; `peer` is the barrier's meeting, a segment of kind MEETING.
    pub const BARRIER: u32 = 4;
    /// Not a thread's: all that came before a barrier was passed. Its `peer` is one of those
    /// segments, its `prev` another meeting segment of the same round with the next, and so on.
    pub const MEETING: u32 = 5;
    /// After a semaphore wait that was granted; `sync` is the semaphore ([`super::Sync`]).
    pub const POSTED: u32 = 6;
    /// After the thread posted a semaphore.
    pub const POSTS: u32 = 7;
    /// After the thread acquired a lock that, by what came before, only can have been free once
    /// another thread's hold had ended; `sync` is that [`super::Hold`]. `peer` is the last segment of
    /// the hold, or 0 as long as the reader has to find out whether the thread came after it.
    pub const PASSED: u32 = 8;
    /// After the thread ended a [`super::Hold`].
    pub const RELEASED: u32 = 9;
    /// After the thread signalled what others had waited for with a lock kept
    /// ([`super::finding_kind::SIGNALLED`]). It orders nothing.
    pub const SIGNALS: u32 = 14;
    /// After the routine of a `pthread_once` has run: of the thread that ran it, or of one that
    /// called it later; then `peer` is the segment in which it ended.
    pub const INITIALISED: u32 = 15;
    /// After the thread signalled a condition variable on which another waited, or was woken so itself
    /// ([`super::finding_kind::HANDED_ON`]). It orders nothing.
    pub const HANDED: u32 = 16;
    /// After the thread took a robust mutex with which another had died (EOWNERDEAD); `peer` is the last
    /// segment of that one.
    pub const OWNER_DIED: u32 = 17;
}

/// Whether the thread told nobody anything where a segment of this kind begins ([`segment_kind`]): it took or ended a hold, or
/// was woken. What it did before counts on.
pub const fn tells_nobody(kind: u32) -> bool {
    matches!(kind, segment_kind::PASSED | segment_kind::RELEASED | segment_kind::HANDED)
}

row! {
    /// What a thread does between two happens-before events of its own (thread creation, join). A
    /// segment without evidence is left out if the order of the others does not need it; then `prev`
    /// and `peer` name those before it.
    Segment in Segments x 8 = 48 bytes numbered by id {
        /// The thread.
        thread: u32,
        /// One of [`segment_kind`]. Changes.
        kind: u32,
        /// The thread's previous segment, 0 for the first. Changes.
        prev: u32,
        /// Another thread's segment that happens before this one, 0 if none. Changes.
        peer: u32,
        /// Stack of the event, 0 if none.
        stack: u32,
        /// POSTED: the semaphore ([`Sync`]). PASSED: the [`Hold`], which may be removed once `peer` is
        /// known.
        sync: u32,
        /// The list of the holds that were open at its end ([`Awaited`]), 0 if there were none.
        /// Changes.
        awaited: u32,
        /// The row's number: a segment's past has lower ones.
        id: u32,
        /// Creations under way that it comes before, and the like. Changes.
        pins: u32,
        /// Number of the segment that was made next, 0 for the last. Changes.
        newer: u32,
        /// Private to the engine. Changes.
        mark: u32,
    }
}

row! {
    /// A lock that was held while its holder did what orders other threads: created one, posted a
    /// semaphore, reached a barrier. A thread ordered after that event can take the lock only after
    /// the hold. The row of an ended hold is removed once nothing depends on it.
    Hold in Holds x 8 = 48 bytes numbered by id {
        /// Instance of the lock.
        inst: u32,
        /// Its class.
        class: u32,
        /// The reader's bits of its [`mode`]; 0 if it was held exclusively.
        shared: u32,
        /// Who held it.
        thread: u32,
        /// Segment that first ended while it was held.
        first: u32,
        /// Segment in which it was released, 0 as long as it was not. Changes.
        last: u32,
        /// How many releases of other holds led to this one, which was held across them.
        links: u32,
        /// The row's number.
        id: u32,
        /// Another hold of the thread that overlaps with this one, or with one that does, though
        /// neither contains the other; 0 if there is none. Changes.
        run: u32,
        /// Private to the engine. Changes.
        mark: u32,
        /// Private to the engine. Changes.
        queue: u32,
    }
}

row! {
    /// A [`Hold`] in a list. The row is removed once no thread may look at the list again.
    Awaited in Awaiting x 16 = 20 bytes numbered by id {
        /// The hold.
        hold: u32,
        /// The next of the list, 0 at its end.
        next: u32,
        /// The row's number.
        id: u32,
        /// Private to the engine. Changes.
        mark: u32,
    }
}

/// Values of [`Sync::kind`].
pub mod sync_kind {
    /// A barrier.
    pub const BARRIER: u32 = 1;
    /// A semaphore.
    pub const SEMAPHORE: u32 = 2;
}

/// Posts of a semaphore, and rounds of a barrier, whose order is recorded; what comes later is not.
pub const SYNC_ROUNDS: usize = 16;

row! {
    /// A barrier or semaphore, while it may still order threads.
    Sync in Syncs x 2 = 128 bytes {
        /// One of [`sync_kind`].
        kind: u32,
        /// Address.
        addr: u64,
        /// Barrier: threads that meet. Semaphore: its initial value.
        size: u32,
        /// Barrier: threads that have arrived in this round. Changes.
        arrived: u32,
        /// Barrier: rounds so far. Semaphore: posts so far. Changes.
        rounds: u32,
        /// Barrier: last MEETING segment of this round. Changes.
        head: u32,
        /// Semaphore: the thread that posted it last, 0 before the first. Changes.
        poster: u32,
        /// Semaphore: waits that were granted so far. Changes.
        waits: u32,
        /// Semaphore: not 0 if several threads posted it. Barrier: not 0 if other processes meet at it,
        /// too. Changes.
        shared: u32,
        /// Not used.
        reserved: [u32; 3],
        /// Barrier: last MEETING segment of each round. Semaphore: segment of each post. Changes.
        segments: [u32; 16],
        /// Not used.
        reserved2: [u32; 2],
    }
}

/// Values of [`Class::kind`] and [`Lock::kind`]: what sort of object the lock is.
pub mod lock_kind {
    /// `pthread_mutex_t` of the default or adaptive type.
    pub const MUTEX: u8 = 1;
    /// Recursive `pthread_mutex_t`.
    pub const RECURSIVE: u8 = 2;
    /// Error-checking `pthread_mutex_t`.
    pub const ERRORCHECK: u8 = 3;
    /// `pthread_rwlock_t` that prefers readers (glibc's default).
    pub const RWLOCK: u8 = 4;
    /// `pthread_rwlock_t` of a writer-preferring kind.
    pub const RWLOCK_WRITER: u8 = 5;
    /// `pthread_spinlock_t`.
    pub const SPIN: u8 = 6;
    /// A user-defined lock, annotated.
    pub const OWN: u8 = 7;
    /// No lock but a context that the program declares (as the kernel's fs_reclaim), annotated by
    /// annotations: any number of threads can be in it, and none waits for it.
    pub const RESOURCE: u8 = 8;
    /// What a wait waits for that another thread ends, annotated. The thread that ends the wait
    /// holds it.
    pub const COMPLETION: u8 = 9;
    /// `sem_t` that begins at 1, which is taken for a lock until it is posted by a thread that has
    /// not taken it.
    pub const SEMAPHORE: u8 = 10;
    /// `pthread_once_t`: held while its routine runs, once.
    pub const ONCE: u8 = 11;
    /// `sem_t` that begins above 1: so many threads at most are between their waits and their posts
    /// ([`super::Class::seats`]), until it is posted by a thread that has not taken it. It is always
    /// taken by [`super::mode::READ`] and [`super::mode::TRY`], since nobody waits for one holder.
    pub const COUNTING: u8 = 12;
    /// A monitor that the program or a library builds of a mutex, a condition variable and a flag: a thread that left a
    /// section of the mutex without a signal holds it until a section in which it signals. It is only a candidate: the
    /// reader decides, by the bits in [`super::Class::seats`] and the code.
    pub const MONITOR: u8 = 13;
}

/// Bits of [`Class::seats`] for [`lock_kind::MONITOR`].
pub mod monitor {
    /// A thread has released one that it held.
    pub const RELEASED: u32 = 1;
    /// A thread has waited without a time limit while another held it.
    pub const WAITED: u32 = 2;
    /// The same thread has taken one twice in a row: no release hands it to a certain other thread.
    pub const RETAKEN: u32 = 4;
}

/// Values of [`Class::origin`]: what the class was made from (see DESIGN, lock classes).
pub mod class_origin {
    /// A lock in a module's data: `module` and `offset` are set.
    pub const STATIC: u8 = 1;
    /// The stack of the init call.
    pub const INIT: u8 = 2;
    /// The stack of the first acquisition.
    pub const FIRST_ACQUIRE: u8 = 3;
    /// The class `parent` of the ledger this process was forked from.
    pub const INHERITED: u8 = 4;
    /// An annotation: all locks given one `name` and `subclass`, or, where there is no name, all
    /// locks of class `parent` given one `subclass`. `stack` is the annotation's.
    pub const ANNOTATED: u8 = 5;
    /// The stack that allocated the block which the lock lies in, and the lock's place there:
    /// `offset`, or [`super::ANY_OFFSET`].
    pub const ALLOCATION: u8 = 6;
    /// Monitors ([`super::lock_kind::MONITOR`]) whose mutexes are of the class `parent`.
    pub const MONITOR: u8 = 7;
}

/// Name of the class of the loader's lock, which the C library keeps to itself.
pub const LOADER_LOCK: &str = "the loader's lock (dlopen, dlclose)";
/// Name of the class of the lock that `dl_iterate_phdr` holds while its callback runs: likewise.
pub const OBJECT_LIST_LOCK: &str = "the loader's list of objects (dl_iterate_phdr)";

/// [`Class::offset`] of locks in a heap block with so many that it must be an array.
pub const ANY_OFFSET: u64 = u64::MAX;

/// Values of [`Class::wait_type`]: what a thread does that waits for the lock.
pub mod wait_type {
    /// The program did not say.
    pub const UNKNOWN: u32 = 0;
    /// It spins.
    pub const SPIN: u32 = 1;
    /// It sleeps.
    pub const SLEEP: u32 = 2;
}

row! {
    /// A lock class: all locks that one place in the program creates.
    Class in Classes x 4 = 64 bytes {
        /// One of [`lock_kind`].
        kind: u8,
        /// One of [`class_origin`].
        origin: u8,
        /// Given by annotation, else 0.
        subclass: u16,
        /// What it was found by.
        key: u64,
        /// Static lock: its address in the ELF file's address space. By allocation: its offset in
        /// the block.
        offset: u64,
        /// Static lock: its module.
        module: u32,
        /// Stack that made the class (init call, first acquisition or allocation), 0 for static
        /// locks.
        stack: u32,
        /// Name given by annotation.
        name: Text,
        /// Inherited: the class in the parent's ledger. Annotated, without a name: the class that
        /// the locks would have without. Monitors: the class of their mutexes.
        parent: u32,
        /// Locks of the class so far. Of 64 and more, a 64th may be missing until the process ends. Changes.
        locks: u32,
        /// Class of the lock under which several of this class may be taken in any order, 0 if none
        /// was declared. Changes.
        nest: u32,
        /// One of [`wait_type`]. Changes.
        wait_type: u32,
        /// Locks of the class that proved to be none ([`lock_flag::HANDED_OVER`]), or were taken for none after many that
        /// did. Monitors: not 0 if the class was used as no monitor is. Changes.
        handed_over: u32,
        /// [`lock_kind::COUNTING`]: the largest value that one of the class began with.
        /// [`lock_kind::MONITOR`]: [`monitor`] bits. Else 0. Changes.
        seats: u32,
    }
}

impl Class {
    /// What a thread does that waits for a lock of the class, one of [`wait_type`]: what the
    /// program said, else what locks of its kind do.
    pub fn waits(&self) -> u32 {
        match (self.wait_type, self.kind) {
            (wait_type::UNKNOWN, lock_kind::SPIN) => wait_type::SPIN,
            (wait_type::UNKNOWN, lock_kind::MUTEX..=lock_kind::RWLOCK_WRITER) => wait_type::SLEEP,
            // Lock or not, waiting for it sleeps.
            (wait_type::UNKNOWN, lock_kind::SEMAPHORE | lock_kind::COUNTING) => wait_type::SLEEP,
            (said, _) => said,
        }
    }
}

/// Bits of [`Lock::flags`].
pub mod lock_flag {
    /// A semaphore that was posted by a thread that had not taken it, or taken again by the one
    /// that had: it is no lock, and orders that were recorded with it mean nothing.
    pub const HANDED_OVER: u8 = 1;
    /// It was unlocked by a thread that had not taken it: any thread may let its waiters in.
    pub const UNLOCKED_BY_ANOTHER: u8 = 2;
}

row! {
    /// A lock instance that took part in nesting. (One that never did needs no row.)
    Lock in Locks x 4 = 48 bytes {
        /// Instance number: one per life of the lock, unique in the process.
        inst: u32,
        /// Its class.
        class: u32,
        /// One of [`lock_kind`].
        kind: u8,
        /// [`lock_flag`] bits. Changes.
        flags: u8,
        /// Not used.
        reserved: u16,
        /// Address.
        addr: u64,
        /// Segment that first nested it.
        segment: u32,
        /// Number of the thread that initialised it or, where none did, took it first; 0 if not known.
        maker: u32,
        /// What other processes know it by: a hash of the device, the inode and the byte that are mapped shared at its
        /// address. 0 if it is for one process only.
        shared: u64,
        /// When it was first nested, CLOCK_MONOTONIC, if processes share it. Else 0.
        nested_ns: u64,
    }
}

/// How a lock was or would be acquired, as bits.
pub mod mode {
    /// Shared with other readers.
    pub const READ: u16 = 1;
    /// A reader that a waiting writer does not hold up (kernel: recursive read).
    pub const READ_RECURSIVE: u16 = 2;
    /// A trylock: it never waits, so it adds no dependency on what is held.
    pub const TRY: u16 = 4;
    /// A timed form: it can back out.
    pub const TIMED: u16 = 8;
    /// The reacquisition inside a condition wait.
    pub const COND_REACQUIRE: u16 = 16;
    /// Not a lock but a thread: `pthread_join`.
    pub const JOIN: u16 = 32;
    /// Not a lock but a condition variable: a wait on it, which keeps what is held.
    pub const COND_WAIT: u16 = 64;
    /// A reader that may become the writer without letting another in between, and so the only one
    /// of its kind: set with [`READ`].
    pub const UPGRADABLE: u16 = 1 << 7;
    /// Not a lock but a barrier: a wait for others to come, which keeps what is held. The class and the
    /// instance of a thread that waits so are the [`super::Sync`] and the number of its round, from 1.
    pub const BARRIER: u16 = 1 << 11;
    /// The call of `pthread_once`: it acquires the control while the routine runs, and waits for that
    /// in other threads.
    pub const ONCE: u16 = 1 << 12;
    /// Not a lock but a semaphore that hands something over: a wait for a post, which keeps what is
    /// held.
    pub const SEM_WAIT: u16 = 1 << 13;
    /// Not a lock but a condition variable: it is signalled.
    pub const COND_SIGNAL: u16 = 1 << 14;
    /// Not a lock but a word of memory: a futex that the program waits at by `syscall`. What that
    /// is for only its functions' names say.
    pub const FUTEX_WAIT: u16 = 1 << 10;
}

/// Whether a [`mode`] is a reader's.
pub const fn is_read(mode: u16) -> bool {
    mode & (mode::READ | mode::READ_RECURSIVE) != 0
}

/// Whether an acquisition in [`mode`] `a` has to wait while another thread holds the lock in mode
/// `b`.
pub const fn excludes(a: u16, b: u16) -> bool {
    !(is_read(a) && is_read(b)) || a & b & mode::UPGRADABLE != 0
}

/// Whether a wait in this [`mode`] is for a lock: not for a thread, a signal, a post, a barrier or a
/// word of memory.
pub const fn waits_for_lock(mode: u16) -> bool {
    const NO_LOCK: u16 =
        mode::JOIN | mode::COND_WAIT | mode::SEM_WAIT | mode::BARRIER | mode::FUTEX_WAIT;
    mode & NO_LOCK == 0
}

row! {
    /// One acquisition context, a node of the trie of chains: the lock, taken in `mode` at `site`
    /// while exactly the locks on the path to the root were held. Root is id 0.
    ///
    /// `inst == 0` marks a node that stands for every instance of the class: the innermost context
    /// of a lock taken with nothing held (it has no dependency to record), or a folded pair.
    Node in Nodes x 8 = 48 bytes {
        /// Node of the lock taken before it and still held, 0 if none.
        parent: u32,
        /// Class of the lock.
        class: u32,
        /// Instance, or 0.
        inst: u32,
        /// [`mode`] bits.
        mode: u16,
        /// [`node_flag`] bits.
        flags: u16,
        /// Stack of the first acquisition in this context.
        stack: u32,
        /// Return address of the lock call. With bit 63 set, the call was made through wrappers,
        /// functions called for the lock that they return with, or may have been: bits 56 to 62 say
        /// how many frames at the top of `stack` are known to be wrappers', the rest is a hash of
        /// return addresses.
        site: u64,
        /// The newest [`Evidence`], 0 if none. Changes.
        evidence: u32,
        /// How many there are. Changes.
        evidence_len: u32,
        /// Row of the instance in [`TableId::Locks`], 0 if `inst` is.
        lock: u32,
        /// Segments that took this chain and are not among its evidence. Changes.
        folded: u32,
    }
}

/// Bits of [`Node::flags`].
pub mod node_flag {
    /// The path to the root names only the innermost held locks: more were held than fit.
    pub const TRUNCATED: u16 = 1;
    /// Acquired in a signal's handler.
    pub const IN_HANDLER: u16 = 2;
    /// The held lock next to it on the path was new: nobody but the thread that made and holds it
    /// could know it. The bits above say the same of the [`NEWS`] - 1 held locks further out.
    pub const NEW: u16 = 1 << 8;
    /// Held locks of which it is recorded.
    pub const NEWS: u32 = 8;
}

/// Pieces of evidence kept of one context: half of them the first, half the latest.
pub const EVIDENCE_PER_NODE: u32 = 64;

row! {
    /// A segment (hence a thread) acquired in the context `node`. Once a context has
    /// [`EVIDENCE_PER_NODE`] of them, a later one replaces the oldest of the second half.
    Evidence in Evidence x 16 = 16 bytes {
        /// The context.
        node: u32,
        /// The segment; 0 once the context has proved to be another. Changes.
        segment: u32,
        /// In the first half, the one before it, 0 if none. In the second half, the next newer one;
        /// the newest names the oldest. Changes.
        next: u32,
    }
}

row! {
    /// The program declares that locks named `before` are taken before locks named `after`.
    Order in Orders x 8 = 32 bytes {
        /// Stack of the declaration.
        stack: u32,
        /// Name of a class.
        before: Text,
        /// Name of a class.
        after: Text,
        /// Not used.
        reserved: u64,
    }
}

/// How the memory of a held lock went ([`finding_kind::HELD_FREED`]).
pub mod freed {
    /// It was freed or unmapped.
    pub const FREED: u64 = 0;
    /// It was part of a frame, whose function has returned.
    pub const FRAME: u64 = 1;
}

/// What is known of a lock that was held on after the function that took it had returned
/// ([`finding_kind::LEFT_HELD`]): the parts of the row's `detail`, from the lowest bit on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftHeld {
    /// How many of these holds have been released since: 32 bits.
    pub released: u32,
    /// Locks that the same call took, and that were released before the function returned, as far
    /// as that was looked at: 8 bits.
    pub inside: u8,
    /// Which frame of `other_stack` is the function's: those below it are wrappers'. 8 bits.
    pub level: u8,
    /// A lock that the same call took was released after the function had returned: 1 bit.
    pub outside: bool,
    /// The process exited: 1 bit.
    pub exits: bool,
    /// The function at `level` is known only to have returned with the lock, and no release is: it may be called
    /// for the lock, or have forgotten it. 1 bit.
    pub wraps: bool,
    /// So many frames below that one may have forgotten it as well: 4 bits.
    pub inner: u8,
    /// So many frames above it have returned as well: 4 bits.
    pub outer: u8,
}

impl LeftHeld {
    /// From a row's `detail`.
    pub const fn from_bits(bits: u64) -> Self {
        Self {
            released: bits as u32,
            inside: (bits >> 32) as u8,
            level: (bits >> 40) as u8,
            outside: bits >> 48 & 1 != 0,
            exits: bits >> 49 & 1 != 0,
            wraps: bits >> 50 & 1 != 0,
            inner: (bits >> 51 & 0xf) as u8,
            outer: (bits >> 55 & 0xf) as u8,
        }
    }

    /// For a row's `detail`.
    pub const fn bits(self) -> u64 {
        self.released as u64
            | (self.inside as u64) << 32
            | (self.level as u64) << 40
            | (self.outside as u64) << 48
            | (self.exits as u64) << 49
            | (self.wraps as u64) << 50
            | (self.inner as u64 & 0xf) << 51
            | (self.outer as u64 & 0xf) << 55
    }
}

/// What is not async-signal-safe ([`finding_kind::UNSAFE_CALL`]).
pub mod unsafe_call {
    /// malloc, calloc, realloc, free and their kin.
    pub const MALLOC: u64 = 1;
    /// stdio on a stream that is in use outside.
    pub const STDIO: u64 = 2;
}

/// Bits of [`Usage::bits`], the kernel's usage states with a signal in the interrupt's place.
pub mod usage {
    /// Acquired in the signal's handler.
    pub const USED_IN: u32 = 1;
    /// Read-acquired in the signal's handler.
    pub const USED_IN_READ: u32 = 2;
    /// Acquired with the signal handled and not blocked.
    pub const OPEN: u32 = 4;
    /// Read-acquired with the signal handled and not blocked.
    pub const OPEN_READ: u32 = 8;
}

row! {
    /// A lock is used in a way that matters to a signal: for each thread the first few of a class.
    Usage in Usages x 8 = 32 bytes {
        /// The class.
        class: u32,
        /// Signal number.
        signal: u32,
        /// One of [`usage`].
        bits: u32,
        /// The acquisition ([`Node`]).
        node: u32,
        /// Its segment.
        segment: u32,
        /// Instance.
        inst: u32,
        /// Not used.
        reserved: u32,
    }
}

/// What was found ([`Finding::kind`]); the report's names are in docs/report-kinds.md.
pub mod finding_kind {
    /// Threads wait for each other in a cycle, now.
    pub const DEADLOCK: u8 = 1;
    /// A thread waits for a lock that it holds itself.
    pub const SELF_DEADLOCK: u8 = 2;
    /// A lock was unlocked that the thread does not hold; `other_thread` does, if it is not 0.
    /// `detail` is the error that the call failed with: not 0 if the lock itself knows its owner.
    /// `mode` is a reader's where a read lock was released, and [`mode::COND_WAIT`] where a
    /// condition wait was to release the mutex.
    pub const BAD_UNLOCK: u8 = 3;
    /// Memory was freed or unmapped with a lock in it that `other_thread` holds: `detail` is one of
    /// [`super::freed`].
    pub const HELD_FREED: u8 = 4;
    /// A lock was destroyed that `other_thread` holds or waits for.
    pub const HELD_DESTROYED: u8 = 5;
    /// A lock was initialised again that `other_thread` holds.
    pub const HELD_INITIALISED: u8 = 6;
    /// A destroyed lock was used; `other_thread` destroyed it at `other_stack`.
    pub const USE_AFTER_DESTROY: u8 = 7;
    /// A thread ended that holds the lock, for reading if `mode` says so. `detail` is how many of
    /// these holds other threads have released since. Changes.
    pub const EXIT_HELD: u8 = 8;
    /// A forked child uses the lock, which `other_thread` (of the parent's ledger) held at the
    /// fork.
    pub const FORK_HELD: u8 = 9;
    /// A condition wait keeps another lock: `node` is what is kept, the lock is the wait's mutex,
    /// `mode` the wait's, and `detail` the address of the condition variable. With
    /// [`mode::SEM_WAIT`] the wait is for a semaphore, whose address that is, and there is no mutex;
    /// with [`mode::TRY`] a post was there already, so that the thread did not wait.
    pub const WAIT_HELD: u8 = 10;
    /// A condition variable (`addr`) is waited on with another mutex (`class`, `inst`) than that of
    /// the waits under way, which is `detail` (an address) and was given at `other_stack`.
    pub const COND_MISMATCH: u8 = 11;
    /// A robust mutex whose owner died was unlocked without having been made consistent.
    pub const UNLOCK_INCONSISTENT: u8 = 12;
    /// A signal handler called something that is not async-signal-safe while the thread, or
    /// another, uses it outside: `detail` is the signal, `class` 0, `other_stack` a use outside,
    /// and `addr` one of [`super::unsafe_call`].
    pub const UNSAFE_CALL: u8 = 13;
    /// An assertion that the thread holds the lock failed; with `detail` 1, that it does not.
    pub const NOT_HELD: u8 = 14;
    /// A lock was unlocked that had been pinned at `other_stack`.
    pub const UNPINNED: u8 = 15;
    /// A lock that may sleep was acquired with a spinning lock held (the kernel's invalid wait
    /// context): `node` is what was held.
    pub const WAIT_CONTEXT: u8 = 16;
    /// No misuse: the thread signalled the condition variable, or posted the semaphore, at `addr`,
    /// for which others had waited by then with a lock kept: `node` is what it held. Or it woke those that
    /// waited so at the futex there. `detail` is one of [`super::signalled`]. For each thread the first few
    /// times.
    pub const SIGNALLED: u8 = 17;
    /// A call that may sleep was made with a spinning lock held, which is the row's, and was taken
    /// at `other_stack`. `detail` is the call's number in [`super::meter::BLOCKING_CALLS`].
    pub const SLEEPS: u8 = 18;
    /// A thread idled, or the process exited, with a lock held that a function had taken, at
    /// `other_stack`, which had returned. `detail` is a [`super::LeftHeld`]. Changes.
    pub const LEFT_HELD: u8 = 19;
    /// The condition variable at `addr` was signalled by a thread that did not hold the mutex with
    /// which others had waited on it, which is the row's. `mode` has [`mode::TIMED`] where all of
    /// these waits could end by themselves. `other_thread` waits at that moment, if it is not 0. Not
    /// wrong by itself: the reader looks where the mutex was taken.
    pub const BARE_SIGNAL: u8 = 25;
    /// A thread was woken by a signal of the condition variable at `addr`, did nothing, told nobody
    /// anything, and waits again in the same place, while `other_thread` waits elsewhere, at
    /// `other_stack`, without a time limit. The row's lock is the mutex. Not wrong by itself: the
    /// reader checks which threads signal ([`SIGNAL_PLACE`]).
    pub const TAKEN_SIGNAL: u8 = 26;
    /// The condition variable at `addr`, on which threads have waited in several places with the
    /// row's mutex, is signalled here, for one of them.
    pub const SIGNAL_PLACE: u8 = 27;
    /// No misuse: the thread signalled the condition variable at `addr`, on which somebody may wait,
    /// with locks held: `node` is what it held. `detail` is how many acquisitions it had made by then,
    /// `repeats` 1 if it did the same again. For each thread in the first few contexts.
    pub const SIGNALLED_HOLDING: u8 = 28;
    /// No misuse: the thread signalled the condition variable at `addr`, on which another waited with the row's mutex, or
    /// posted the semaphore there, for which another waited, at the end of the row's segment. `detail` is how many such rows there were before. For each thread and object the first
    /// few times.
    pub const HANDS_ON: u8 = 29;
    /// No misuse: the thread was woken by a signal of `other_thread` ([`HANDS_ON`]), at the end of its segment `detail` and at
    /// `other_stack`, in a wait on the condition variable at `addr`. The row's segment began with that. In another run the
    /// thread may not have to wait.
    pub const HANDED_ON: u8 = 30;
    /// No misuse: the thread signalled the condition variable at `addr`, on which nobody waited. For each thread and object
    /// once.
    pub const SIGNALS_NOBODY: u8 = 31;
    /// No misuse: the thread waited at the futex at `addr`, without a time limit and with locks
    /// held: `node` is what it held, the innermost of which is the row's. `detail` is one of
    /// [`super::meter::futex_call`]. What the wait is for, the names of the functions in `stack` say.
    pub const FUTEX_HELD: u8 = 32;
    /// No misuse: the thread waited for the child whose id is `addr`, which a signal had killed. `detail` is the status, as
    /// wait(2) has it.
    pub const CHILD_KILLED: u8 = 33;
}

/// Signals of one object by one thread that are recorded ([`finding_kind::SIGNALLED`]).
pub const SIGNAL_ROUNDS: u32 = 8;

/// What is known of a thread's round up to its signal ([`finding_kind::SIGNALLED`]).
pub mod signalled {
    /// It had told others something in the same segment before, or may have: what it took in that
    /// need not have been on the way to this signal.
    pub const UNSURE: u64 = 0;
    /// It had told nobody anything since its segment began: all that it took in that it took on the
    /// way to this signal.
    pub const ROUND: u64 = 1;
    /// It was a handler that signalled: what the thread took has nothing to do with it.
    pub const IN_HANDLER: u64 = 2;
    /// As [`ROUND`], except for one thing that it had told others: for a `std::future`, which is set by way of a `pthread_once`,
    /// that is the same.
    pub const AFTER_ONE: u64 = 3;
}

row! {
    /// Something wrong that was seen while it happened.
    Finding in Findings x 2 = 96 bytes {
        /// One of [`finding_kind`].
        kind: u8,
        /// Not used.
        reserved: u8,
        /// [`mode`] bits of the acquisition, if any.
        mode: u16,
        /// Thread that met it.
        thread: u32,
        /// Its segment.
        segment: u32,
        /// Lock address.
        addr: u64,
        /// Lock class.
        class: u32,
        /// Lock instance.
        inst: u32,
        /// Stack at that moment.
        stack: u32,
        /// Context: what the thread held ([`Node`]), 0 if nothing.
        node: u32,
        /// First of its [`Step`] rows, for a deadlock.
        first_step: u32,
        /// How many.
        steps: u32,
        /// CLOCK_MONOTONIC, ns.
        time_ns: u64,
        /// Times it was met again. Changes.
        repeats: u64,
        /// The other thread that it takes, 0 if none.
        other_thread: u32,
        /// Where that was, 0 if unknown.
        other_stack: u32,
        /// See the kind.
        detail: u64,
        /// Not used.
        reserved2: [u64; 2],
    }
}

row! {
    /// One thread of a deadlock: what it waits for. The next step's thread holds that.
    Step in Steps x 4 = 48 bytes {
        /// The thread.
        thread: u32,
        /// Address of the lock it waits for; for a join, the [`Thread`] id waited for.
        addr: u64,
        /// Class of that lock.
        class: u32,
        /// Instance of that lock.
        inst: u32,
        /// [`mode`] bits.
        mode: u32,
        /// Stack at which it waits.
        stack: u32,
        /// Context: all it holds, as a chain.
        held: u32,
        /// Node, within that chain, of the lock that the previous step's thread waits for.
        wanted: u32,
        /// [`Thread::wait_seq`] in that wait: as long as it is the same, the wait has not ended.
        wait_seq: u32,
        /// Not used.
        reserved: u32,
    }
}

/// Where the locks lie that a live thread holds: part of its row. They are an array, outermost
/// first, whose first element stands for "nothing held". Addresses are the process's own.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct StackWords {
    /// Address of the innermost; equal to `base` where nothing is held.
    pub top: u64,
    /// Address of the last that fits; 0 where fast paths are to fail.
    pub limit: u64,
    /// Address of the array.
    pub base: u64,
    /// Its file offset.
    pub offset: u64,
    /// Its elements, the first included.
    pub capacity: u32,
    /// Position of the one that was last let go below the innermost.
    pub gap: u32,
}

impl StackWords {
    /// Elements above "nothing held", which are `E`s: no more than there is room for.
    pub fn depth<E>(&self) -> u64 {
        let depth = self.top.saturating_sub(self.base) / size_of::<E>() as u64;
        depth.min(self.capacity.saturating_sub(1).into())
    }
}

/// A lock held by a live thread: an element of the array of [`Thread::held`], whose first element
/// has the thread's first chain key. Not a table row; `addr` is
/// stored last and cleared first: an entry with `addr == 0` is being acquired, or was given up.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    /// Address of the lock, 0 while the entry is being written, [`GIVEN_UP`] once another thread
    /// has released it.
    pub addr: u64,
    /// Chain key of everything held up to and including this lock.
    pub key: u64,
    /// As [`Node::site`].
    pub site: u64,
    /// Instance.
    pub inst: u32,
    /// Class.
    pub class: u32,
    /// Context node, 0 where it has not been looked up since the chain below changed.
    pub node: u32,
    /// [`mode`] bits.
    pub mode: u16,
    /// [`held_flag`] bits.
    pub flags: u16,
    /// Further acquisitions of a recursive mutex on top of the first.
    pub recursion: u32,
    /// Where it was pinned ([`Stack`]), 0 if it is not.
    pub pin: u32,
    /// The writer's own, where the acquisition decides whether a call site is a wrapper's.
    pub trial: [u64; 2],
}

// One cache line.
const _: () = assert!(core::mem::size_of::<Held>() == 64);

/// [`Held::addr`] of what another thread has released: its owner drops the entry when it comes to
/// it.
pub const GIVEN_UP: u64 = 1;

impl Held {
    /// It is held, and not just about to be or given up.
    pub const fn is_held(&self) -> bool {
        self.addr > GIVEN_UP
    }
}

/// Bits of [`Held::flags`].
pub mod held_flag {
    /// Given up inside a condition wait; will be reacquired.
    pub const IN_COND_WAIT: u16 = 1;
    /// A semaphore, which may yet prove to be no lock: the tool reports nothing at once that it
    /// could not take back.
    pub const SEMAPHORE: u16 = 2;
    /// Taken in a signal's handler.
    pub const IN_HANDLER: u16 = 4;
    /// The ledger records ([`super::finding_kind::LEFT_HELD`]) that the thread idled with it after
    /// the function that took it had returned.
    pub const LEFT: u16 = 8;
    /// A monitor ([`super::lock_kind::MONITOR`]), which may prove to be none. Its address is its mutex's, plus 1.
    pub const MONITOR: u16 = 16;
}
