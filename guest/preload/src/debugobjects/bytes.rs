//! The meaning of an object's bytes, in the layouts of [`lockwright_glibc`]: whether it can have
//! been initialised at all, whether it is for other processes too, and whether it is still what it
//! was when it was destroyed.

use lockwright_engines::index::hash;
use lockwright_glibc::table::{FUTEX_SHARED, barrier, mutex, once, rwlock, semaphore, spin, wrefs};

use crate::layouts::{self, offset};
use crate::lock_id::identity;

/// How to read the bytes of a type whose layout holds. All functions are given the address of an
/// object that is in use.
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
///
/// # Safety
/// At `addr + offset` is a readable word, aligned to 4.
pub(super) unsafe fn word(addr: u64, offset: u64) -> u32 {
    // SAFETY: the caller vouches for the object, and for the offset in it.
    unsafe { ((addr + offset) as *const u32).read_volatile() }
}

/// Hash of the words of an object from which `skip` does not leave any out.
///
/// # Safety
/// At `addr` is an object of `size` bytes, aligned to 4.
pub(super) unsafe fn hash_of(addr: u64, size: u64, skip: &[u64]) -> u64 {
    let mut words = [0; 14];
    let offsets = (0..size).step_by(4).filter(|offset| !skip.contains(offset));
    for (into, offset) in words.iter_mut().zip(offsets) {
        // SAFETY: the caller promises an object of `size` bytes at `addr`, and `offset` is below
        // that.
        *into = u64::from(unsafe { word(addr, offset) });
    }
    // 0 stands for none.
    hash(&words) | 1
}

/// The most threads that a system can have (PID_MAX_LIMIT): no counter of waiters is higher.
const MOST_THREADS: u32 = 1 << 22;

/// A mutex: by its `__kind`. The stamp is in its `__list`.
pub const MUTEX: Bytes = Bytes {
    // SAFETY: a mutex, whose fields lie in it.
    is_possible: |addr| unsafe {
        let (lock, kind) = (word(addr, const { offset(&mutex::LOCK) }), word(addr, KIND));
        // Robust, or priority-inheriting: then the lock's word has an owner's thread id in it.
        let has_owner = kind & 0x30 != 0;
        // Type, robust, protocol, shared, elision, and the priority ceiling above them.
        kind & !(3 | 0x10 | 0x20 | 0x40 | 0x80 | 0x300 | 0xfff8_0000) == 0
            && (has_owner || ceiling(kind) || lock <= 2)
    },
    // SAFETY: callers pass the address of an object of this type, and all these fields lie in it.
    is_shared: |addr| unsafe { word(addr, KIND) & 0x80 != 0 && (MUTEX.is_possible)(addr) },
    // SAFETY: callers pass the address of an object of this type, and all these fields lie in it.
    is_used: |addr| unsafe { identity::known(addr as *const libc::pthread_mutex_t).is_some() },
    // SAFETY: the words of a mutex lie in it. A destroyed one does not change.
    fingerprint: |addr| unsafe { hash_of_mutex(addr) },
};

/// Hash of all words of a mutex.
///
/// # Safety
/// At `addr` is a mutex, aligned to 4.
#[inline]
unsafe fn hash_of_mutex(addr: u64) -> u64 {
    const PAIRS: usize = mutex::OBJECT.size / 8;
    let pair = |i: usize| {
        let at = addr + 8 * i as u64;
        match addr % 8 {
            // SAFETY: the caller promises a mutex, of which these are two words, and this is aligned to both.
            0 => unsafe { (at as *const u64).read_volatile() },
            // SAFETY: the caller promises a mutex, of which these are two words.
            _ => unsafe { u64::from(word(at, 4)) << 32 | u64::from(word(at, 0)) },
        }
    };
    // Fibonacci hashing: the bytes are no adversary's.
    let mix = |hash: u64, i| (hash.rotate_left(23) ^ pair(i)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    // 0 stands for none.
    (0..PAIRS).fold(0, mix) | 1
}

const KIND: u64 = offset(&mutex::KIND);

/// The mutex has a priority ceiling: its lock's word has it, too.
const fn ceiling(kind: u32) -> bool {
    kind & 0x40 != 0
}

/// A reader-writer lock: by its `__shared` and `__flags`. The stamp is in its pads.
pub const RWLOCK: Bytes = Bytes {
    // SAFETY: a reader-writer lock, whose fields lie in it.
    is_possible: |addr| unsafe {
        word(addr, RWLOCK_SHARED) <= 1 && word(addr, const { offset(&rwlock::FLAGS) }) <= 3
    },
    // SAFETY: callers pass the address of an object of this type, and all these fields lie in it.
    is_shared: |addr| unsafe { word(addr, RWLOCK_SHARED) == 1 },
    // SAFETY: callers pass the address of an object of this type, and all these fields lie in it.
    is_used: |addr| unsafe { identity::known(addr as *const libc::pthread_rwlock_t).is_some() },
    // SAFETY: the words of the lock lie in it. What an acquisition would change is left out.
    fingerprint: |addr| unsafe { hash_of(addr, rwlock::OBJECT.size as u64, &RWLOCK_CHANGES) },
};

const RWLOCK_SHARED: u64 = offset(&rwlock::SHARED);
const RWLOCK_CHANGES: [u64; 5] = [
    offset(&rwlock::READERS),
    offset(&rwlock::WRITERS),
    offset(&rwlock::WRITE_PHASE_FUTEX),
    offset(&rwlock::WRITERS_FUTEX),
    offset(&rwlock::CUR_WRITER),
];

/// A condition variable: by its `__wrefs`, which is elsewhere since glibc 2.41.
pub const COND: Bytes = Bytes {
    // SAFETY: a condition variable, whose fields lie in it. (Its groups' sizes are no help: a waiter
    // that gives up may take them below zero.)
    is_possible: |addr| unsafe { word(addr, layouts::cond_wrefs()) & COND_IMPOSSIBLE == 0 },
    // SAFETY: callers pass the address of an object of this type, and all these fields lie in it.
    is_shared: |addr| unsafe {
        let wrefs = word(addr, layouts::cond_wrefs());
        wrefs & wrefs::SHARED != 0 && wrefs & COND_IMPOSSIBLE & !wrefs::DESTROYED == 0
    },
    // SAFETY: the words that the C library uses lie in it. The rest may hold anything.
    is_used: |addr| unsafe {
        (0..layouts::cond_bytes()).step_by(4).any(|offset| word(addr, offset) != 0)
    },
    // SAFETY: the word lies in it. Destroying a destroyed one changes nothing; a use changes most
    // of the rest.
    fingerprint: |addr| unsafe {
        u64::from(word(addr, layouts::cond_wrefs()) & wrefs::DESTROYED) | 1
    },
};

/// Bits of `__wrefs` that no condition variable has that may be used: the mark of a destroyed one,
/// and more waiters than there can be threads.
pub const COND_IMPOSSIBLE: u32 = wrefs::DESTROYED | !(MOST_THREADS * wrefs::WAITER - 1);

/// A semaphore: by all its words. The stamp is behind them.
pub const SEMAPHORE: Bytes = Bytes {
    // SAFETY: a semaphore, whose fields lie in it.
    is_possible: |addr| unsafe {
        word(addr, VALUE) <= i32::MAX as u32
            && word(addr, WAITERS) <= MOST_THREADS
            && matches!(word(addr, const { offset(&semaphore::PRIVATE) }), 0 | FUTEX_SHARED)
    },
    // SAFETY: callers pass the address of an object of this type, and all these fields lie in it.
    is_shared: |addr| unsafe { word(addr, const { offset(&semaphore::PRIVATE) }) == FUTEX_SHARED },
    // SAFETY: callers pass the address of an object of this type, and all these fields lie in it.
    is_used: |addr| unsafe {
        identity::stamped(addr as *const libc::sem_t).is_some() || word(addr, VALUE) != 0
    },
    // SAFETY: the words of a semaphore lie in it. What a post or a wait would change is left out.
    fingerprint: |addr| unsafe { hash_of(addr, semaphore::OBJECT.size as u64, &[VALUE, WAITERS]) },
};

const VALUE: u64 = offset(&semaphore::VALUE);
const WAITERS: u64 = offset(&semaphore::WAITERS);

/// A barrier: by its `count` and `shared`.
pub const BARRIER: Bytes = Bytes {
    // SAFETY: a barrier, whose fields lie in it.
    is_possible: |addr| unsafe {
        (1..=i32::MAX as u32).contains(&word(addr, COUNT))
            && matches!(word(addr, const { offset(&barrier::SHARED) }), 0 | FUTEX_SHARED)
    },
    // SAFETY: callers pass the address of an object of this type, and all these fields lie in it.
    is_shared: |addr| unsafe { word(addr, const { offset(&barrier::SHARED) }) == FUTEX_SHARED },
    // SAFETY: callers pass the address of an object of this type, and all these fields lie in it.
    is_used: |addr| unsafe { word(addr, COUNT) != 0 },
    // SAFETY: the words of a barrier lie in it. What threads change that come and leave is left
    // out.
    fingerprint: |addr| unsafe {
        let changes = [offset(&barrier::IN), offset(&barrier::CURRENT_ROUND)];
        hash_of(addr, const { offset(&barrier::OUT) }, &changes)
    },
};

const COUNT: u64 = offset(&barrier::COUNT);

/// 1: free, or taken, as the machine has it; of the other, 0, memory is full.
pub const SPIN: Bytes = Bytes {
    // SAFETY: a spinlock, which is a word.
    is_possible: |addr| unsafe { word(addr, const { offset(&spin::WORD) }) as i32 <= 1 },
    is_shared: |_| false,
    // SAFETY: callers pass the address of an object of this type, and all these fields lie in it.
    is_used: |addr| unsafe { word(addr, const { offset(&spin::WORD) }) == 1 },
    // SAFETY: a spinlock is one word. It may have been taken since, and given up.
    fingerprint: |addr| unsafe { u64::from((SPIN.is_possible)(addr)) },
};

/// A once control whose routine has run.
pub const ONCE_DONE: u32 = 2;
/// Its routine runs.
const ONCE_RUNS: u32 = 1;

/// The two bits; above, the fork generation that the routine runs in.
pub const ONCE: Bytes = Bytes {
    // SAFETY: an once control, which is a word.
    is_possible: |addr| unsafe {
        let control = word(addr, const { offset(&once::WORD) });
        matches!(control & 3, ONCE_RUNS | ONCE_DONE) || control == 0
    },
    is_shared: |_| false,
    // SAFETY: callers pass the address of an object of this type, and all these fields lie in it.
    is_used: |addr| unsafe { word(addr, const { offset(&once::WORD) }) & 3 == ONCE_RUNS },
    fingerprint: |_| 0,
};
