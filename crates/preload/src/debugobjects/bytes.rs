//! What the bytes of an object tell, in glibc's x86-64 layouts: whether it can have been
//! initialised at all, whether it is for other processes too, and whether it is still what it was
//! when it was destroyed.

use lockwright_engines::index::hash;

use crate::lock_id::identity;

/// How to read the bytes of a type. All functions are given the address of an object that is in
/// use.
pub struct Bytes {
    /// An object that was initialised may have such bytes. Where nothing tells: true.
    pub is_possible: unsafe fn(u64) -> bool,
    /// It is shared with other processes, which may do to it what is not seen here.
    pub is_shared: unsafe fn(u64) -> bool,
    /// It is still what its init function, or its use since then, left there: no allocator gives
    /// out memory like that.
    pub is_used: unsafe fn(u64) -> bool,
    /// Stands for its bytes once it is destroyed: those that destroying it again, or using it,
    /// would not change.
    pub fingerprint: unsafe fn(u64) -> u64,
}

/// Reads a word of an object that another thread may be writing.
pub(super) unsafe fn word(addr: u64, offset: u64) -> u32 {
    // SAFETY: the caller vouches for the object, and for the offset in it.
    unsafe { ((addr + offset) as *const u32).read_volatile() }
}

/// Hash of the words of an object from which `skip` does not leave any out.
pub(super) unsafe fn hash_of(addr: u64, size: u64, skip: &[u64]) -> u64 {
    let mut words = [0; 14];
    let offsets = (0..size).step_by(4).filter(|offset| !skip.contains(offset));
    for (into, offset) in words.iter_mut().zip(offsets) {
        // SAFETY: within the object.
        *into = u64::from(unsafe { word(addr, offset) });
    }
    // 0 stands for none.
    hash(&words) | 1
}

/// The most threads that a system can have (PID_MAX_LIMIT): no counter of waiters is higher.
const MOST_THREADS: u32 = 1 << 22;

/// `__lock`, `__count`, `__owner`, `__nusers`, `__kind` (at 16), `__spins`, `__elision`, `__list`
/// (where the stamp is).
pub const MUTEX: Bytes = Bytes {
    // SAFETY: a mutex, of 40 bytes.
    is_possible: |addr| unsafe {
        let (lock, kind) = (word(addr, 0), word(addr, 16));
        // Robust, or priority-inheriting: then the lock's word has an owner's thread id in it.
        let has_owner = kind & 0x30 != 0;
        // Type, robust, protocol, shared, elision, and the priority ceiling above them.
        kind & !(3 | 0x10 | 0x20 | 0x40 | 0x80 | 0x300 | 0xfff8_0000) == 0
            && (has_owner || ceiling(kind) || lock <= 2)
    },
    // SAFETY: as above.
    is_shared: |addr| unsafe { word(addr, 16) & 0x80 != 0 && (MUTEX.is_possible)(addr) },
    // SAFETY: as above.
    is_used: |addr| unsafe { identity::known(addr as *const libc::pthread_mutex_t).is_some() },
    // SAFETY: as above. Of a destroyed one nothing changes.
    fingerprint: |addr| unsafe { hash_of(addr, 40, &[]) },
};

/// The mutex has a priority ceiling: its lock's word has it, too.
const fn ceiling(kind: u32) -> bool {
    kind & 0x40 != 0
}

/// `__readers`, `__writers`, `__wrphase_futex`, `__writers_futex`, two pads (the stamp),
/// `__cur_writer`, `__shared` (at 28), `__rwelision`, pads, `__flags` (at 48).
pub const RWLOCK: Bytes = Bytes {
    // SAFETY: a reader-writer lock, of 56 bytes.
    is_possible: |addr| unsafe { word(addr, 28) <= 1 && word(addr, 48) <= 3 },
    // SAFETY: as above.
    is_shared: |addr| unsafe { word(addr, 28) == 1 },
    // SAFETY: as above.
    is_used: |addr| unsafe { identity::known(addr as *const libc::pthread_rwlock_t).is_some() },
    // SAFETY: as above. What an acquisition would change is left out.
    fingerprint: |addr| unsafe { hash_of(addr, 56, &[0, 4, 8, 12, 24]) },
};

/// `__wseq`, `__g1_start`, `__g_refs`, `__g_size`, `__g1_orig_size`, `__wrefs` (at 36),
/// `__g_signals`.
pub const COND: Bytes = Bytes {
    // SAFETY: a condition variable, of 48 bytes. (Its groups' sizes are no help: who gives up
    // waiting may take them below zero.)
    is_possible: |addr| unsafe { word(addr, 36) & COND_IMPOSSIBLE == 0 },
    // SAFETY: as above.
    is_shared: |addr| unsafe {
        word(addr, 36) & 1 != 0 && word(addr, 36) & COND_IMPOSSIBLE & !COND_DESTROYED == 0
    },
    // SAFETY: as above.
    is_used: |addr| unsafe { (0..48).step_by(4).any(|offset| word(addr, offset) != 0) },
    // SAFETY: as above. Destroying it changes nothing of a destroyed one; a use changes most of the
    // rest.
    fingerprint: |addr| unsafe { u64::from(word(addr, 36) & COND_DESTROYED) | 1 },
};

/// `__wrefs`: it is being destroyed, or was.
pub const COND_DESTROYED: u32 = 4;
/// Bits of `__wrefs` that no condition variable has that may be used: that mark, and more waiters,
/// which are counted from bit 3, than there can be threads.
pub const COND_IMPOSSIBLE: u32 = COND_DESTROYED | !(MOST_THREADS * 8 - 1);
/// Where `__wrefs` is.
pub const COND_WREFS: usize = 36;

/// Value, waiters (at 4), `private` (at 8), pad; the rest is not used (the stamp).
pub const SEMAPHORE: Bytes = Bytes {
    // SAFETY: a semaphore, of 32 bytes.
    is_possible: |addr| unsafe {
        word(addr, 0) <= i32::MAX as u32
            && word(addr, 4) <= MOST_THREADS
            && matches!(word(addr, 8), 0 | FUTEX_SHARED)
    },
    // SAFETY: as above.
    is_shared: |addr| unsafe { word(addr, 8) == FUTEX_SHARED },
    // SAFETY: as above.
    is_used: |addr| unsafe {
        identity::stamped(addr as *const libc::sem_t).is_some() || word(addr, 0) != 0
    },
    // SAFETY: as above. What a post or a wait would change is left out.
    fingerprint: |addr| unsafe { hash_of(addr, 32, &[0, 4]) },
};

/// What glibc's semaphores and barriers have that are shared with other processes.
const FUTEX_SHARED: u32 = 128;

/// `in`, `current_round`, `count` (at 8), `shared` (at 12), `out` (at 16).
pub const BARRIER: Bytes = Bytes {
    // SAFETY: a barrier, of 32 bytes.
    is_possible: |addr| unsafe {
        (1..=i32::MAX as u32).contains(&word(addr, 8)) && matches!(word(addr, 12), 0 | FUTEX_SHARED)
    },
    // SAFETY: as above.
    is_shared: |addr| unsafe { word(addr, 12) == FUTEX_SHARED },
    // SAFETY: as above.
    is_used: |addr| unsafe { word(addr, 8) != 0 },
    // SAFETY: as above.
    fingerprint: |addr| unsafe { hash_of(addr, 16, &[0, 4]) },
};

/// 1: free; 0 and less: taken.
pub const SPIN: Bytes = Bytes {
    // SAFETY: a spinlock, of 4 bytes.
    is_possible: |addr| unsafe { word(addr, 0) as i32 <= 1 },
    is_shared: |_| false,
    // SAFETY: as above.
    is_used: |addr| unsafe { word(addr, 0) == 1 },
    // SAFETY: as above. It may have been taken since, and given up.
    fingerprint: |addr| unsafe { u64::from((SPIN.is_possible)(addr)) },
};

/// Of a once control: its routine has run.
pub const ONCE_DONE: u32 = 2;
/// Its routine runs.
const ONCE_RUNS: u32 = 1;

/// The two bits; above, the fork generation that the routine runs in.
pub const ONCE: Bytes = Bytes {
    // SAFETY: an once control, of 4 bytes.
    is_possible: |addr| unsafe {
        matches!(word(addr, 0) & 3, ONCE_RUNS | ONCE_DONE) || word(addr, 0) == 0
    },
    is_shared: |_| false,
    // SAFETY: as above.
    is_used: |addr| unsafe { word(addr, 0) & 3 == ONCE_RUNS },
    fingerprint: |_| 0,
};
