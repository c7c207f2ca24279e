//! Rows of debugobjects: types of objects, what was found about their lifetimes, and the pools'
//! statistics.

use super::{Row, TableId, Text};

/// The state that an object is in, the kernel's: [`ObjectFinding::was`].
pub mod object_state {
    /// It is not tracked.
    pub const NONE: u8 = 0;
    /// It was initialised and has done nothing yet.
    pub const INIT: u8 = 1;
    /// It is not in use.
    pub const INACTIVE: u8 = 2;
    /// It is in use: waited on, armed, running.
    pub const ACTIVE: u8 = 3;
    /// It was destroyed.
    pub const DESTROYED: u8 = 4;
    /// It was never initialised, and is none that need not be.
    pub const NOTAVAILABLE: u8 = 5;
}

/// What is done to an object, the kernel's operations: [`ObjectFinding::op`].
pub mod object_op {
    /// Its init function.
    pub const INIT: u8 = 1;
    /// Its init function, on the stack of the calling thread.
    pub const INIT_ON_STACK: u8 = 2;
    /// It comes into use.
    pub const ACTIVATE: u8 = 3;
    /// It is in use no more.
    pub const DEACTIVATE: u8 = 4;
    /// Its destroy function.
    pub const DESTROY: u8 = 5;
    /// The program says that its life is over.
    pub const FREE: u8 = 6;
    /// It is used in a way that changes no state: it must be initialised.
    pub const ASSERT_INIT: u8 = 7;
    /// The program says what it has it to be in its own count of states, and what that becomes.
    pub const ACTIVE_STATE: u8 = 8;
    /// Its memory goes.
    pub const NO_OBJ_FREED: u8 = 9;
}

/// What is wrong: [`ObjectFinding::fault`]; the report's names are in docs/report-kinds.md.
pub mod object_fault {
    /// An initialised object, not in use, was initialised again.
    pub const INIT_TWICE: u8 = 1;
    /// An object in use was initialised.
    pub const INIT_ACTIVE: u8 = 2;
    /// An object was used that was never initialised.
    pub const UNINITIALISED: u8 = 3;
    /// A destroyed object was used.
    pub const USE_AFTER_DESTROY: u8 = 4;
    /// An object in use was destroyed.
    pub const DESTROY_ACTIVE: u8 = 5;
    /// A destroyed object was destroyed.
    pub const DESTROY_TWICE: u8 = 6;
    /// The memory of an object in use went, as [`super::ObjectFinding::how`] says.
    pub const GONE_ACTIVE: u8 = 7;
    /// An object that was never destroyed went with its memory, as [`super::ObjectFinding::how`]
    /// says.
    pub const NEVER_DESTROYED: u8 = 8;
    /// An object was not in the state in which this can be done to it.
    pub const WRONG_STATE: u8 = 9;
}

/// How the memory of an object went: [`ObjectFinding::how`].
pub mod object_end {
    /// It did not.
    pub const NONE: u8 = 0;
    /// It was freed.
    pub const FREED: u8 = 1;
    /// `realloc` moved it.
    pub const MOVED: u8 = 2;
    /// It was unmapped.
    pub const UNMAPPED: u8 = 3;
    /// The function returned on whose stack frame it was.
    pub const FRAME: u8 = 4;
    /// The thread ended on whose stack, or in whose thread-local memory, it was.
    pub const THREAD: u8 = 5;
    /// Its module was unloaded.
    pub const UNLOADED: u8 = 6;
    /// The process ended.
    pub const EXIT: u8 = 7;
    /// One is initialised at its place: its function or its block had ended, a program's own
    /// allocator had given its memory out again, or it is initialised twice.
    pub const REUSED: u8 = 8;
    /// As [`REUSED`], on the stack of the thread that initialises it.
    pub const REUSED_ON_STACK: u8 = 9;
}

/// Types of the C library's: [`ObjectType::builtin`].
pub mod object_type {
    /// A type of the program's own; it has a name.
    pub const OWN: u32 = 0;
    /// `pthread_mutex_t`
    pub const MUTEX: u32 = 1;
    /// `pthread_rwlock_t`
    pub const RWLOCK: u32 = 2;
    /// `pthread_cond_t`
    pub const COND: u32 = 3;
    /// `sem_t`
    pub const SEMAPHORE: u32 = 4;
    /// `pthread_barrier_t`
    pub const BARRIER: u32 = 5;
    /// `pthread_spinlock_t`
    pub const SPIN: u32 = 6;
    /// `pthread_once_t`, `once_flag`
    pub const ONCE: u32 = 7;
    /// `mtx_t`
    pub const MTX: u32 = 8;
    /// `cnd_t`
    pub const CND: u32 = 9;
    /// `timer_t`: not memory but a number.
    pub const TIMER: u32 = 10;
    /// `pthread_attr_t`
    pub const ATTR: u32 = 11;
    /// `pthread_mutexattr_t`
    pub const MUTEXATTR: u32 = 12;
    /// `pthread_rwlockattr_t`
    pub const RWLOCKATTR: u32 = 13;
    /// `pthread_condattr_t`
    pub const CONDATTR: u32 = 14;
    /// `pthread_barrierattr_t`
    pub const BARRIERATTR: u32 = 15;
}

row! {
    /// A type of objects of which something was found.
    ObjectType in ObjectTypes x 16 = 16 bytes {
        /// One of [`object_type`].
        builtin: u32,
        /// Name that the program gave it.
        name: Text,
    }
}

row! {
    /// Something wrong with the life of an object, as it was seen; one row per fault, type and
    /// place. With what was done to it before: its initialisation, what last brought it into use or
    /// out of it, and what ended it.
    ObjectFinding in ObjectFindings x 2 = 120 bytes {
        /// One of [`object_fault`].
        fault: u8,
        /// One of [`object_op`]: what was done when it was seen.
        op: u8,
        /// One of [`object_state`]: what it was in then.
        was: u8,
        /// One of [`object_end`].
        how: u8,
        /// Its [`ObjectType`].
        type_id: u32,
        /// Thread that met it.
        thread: u32,
        /// Address of the object; of a timer its number.
        addr: u64,
        /// CLOCK_MONOTONIC, ns.
        time_ns: u64,
        /// Stack at that moment, 0 if unknown or if nobody did it (a process' end).
        stack: u32,
        /// Context: the locks that the thread held ([`super::Node`]), 0 if none.
        node: u32,
        /// Another thread that it takes, which waits on the object say; 0 if none.
        other_thread: u32,
        /// Where that is, 0 if unknown.
        other_stack: u32,
        /// Where it was initialised; 0 if it was not, or that is unknown.
        init_stack: u32,
        /// By which thread.
        init_thread: u32,
        /// CLOCK_MONOTONIC, ns; 0 if it was not.
        init_ns: u64,
        /// Where it was last activated or deactivated.
        active_stack: u32,
        /// By which thread.
        active_thread: u32,
        /// CLOCK_MONOTONIC, ns; 0 if it was not.
        active_ns: u64,
        /// Which of the two: one of [`object_op`].
        active_op: u32,
        /// Where it was destroyed.
        destroy_stack: u32,
        /// By which thread.
        destroy_thread: u32,
        /// 1: a fixup of the program's has repaired its state. Changes.
        fixed: u32,
        /// CLOCK_MONOTONIC, ns; 0 if it was not.
        destroy_ns: u64,
        /// ACTIVE_STATE: the program's state that it should have been in, in the upper 32 bits, and
        /// the one that it was in, in the lower.
        expected: u64,
        /// Stack of one frame, a function or variable of the program's that tells objects of this
        /// type apart; 0 without.
        hint: u32,
        /// Times it was met again, or 2^32 - 1 if more. Changes.
        repeats: u32,
    }
}

row! {
    /// Statistics of the pools that the objects' own records come from, under the kernel's names
    /// (/sys/kernel/debug/debug_objects/stats). One row; brought up to date up to a hundred times a
    /// second as long as there are operations, and at the process' end.
    ObjectPools in ObjectPools x 1 = 128 bytes {
        /// Not 0: tracking ended, 1: because there was no memory, 2: as a thread that tracked was
        /// gone or made no progress. Changes.
        off: u32,
        /// Longest chain of a hash bucket. Changes.
        max_chain: u64,
        /// Longest loop over several buckets for memory that was freed. Changes.
        max_checked: u64,
        /// Faults reported. Changes.
        warnings: u64,
        /// Fixups that repaired a state. Changes.
        fixups: u64,
        /// Records free in the global pool; the kernel's figure of that name has `pool_pcp_free` in
        /// it, too. Changes.
        pool_free: u64,
        /// Records free in the threads' pools. Changes.
        pool_pcp_free: u64,
        /// Fewest that were ever free in the global pool. Changes.
        pool_min_free: u64,
        /// Records in use. Changes.
        pool_used: u64,
        /// Most that ever were. Changes.
        pool_max_used: u64,
        /// Records that wait to be given back. Changes.
        on_free_list: u64,
        /// Records ever allocated. Changes.
        objs_allocated: u64,
        /// Records ever given back. Changes.
        objs_freed: u64,
        /// Times the global pool's lock was taken. Changes.
        pool_lock_acquired: u64,
        /// How often it was found taken. Changes.
        pool_lock_contended: u64,
        /// Operations that were not tracked: met in a signal's handler that had interrupted
        /// another. Changes.
        lost: u64,
    }
}
