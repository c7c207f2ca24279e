//! One object of each type of our own, initialised, used and destroyed by the C library: do its
//! bytes say what the table makes of them?
//!
//! Nothing here waits, needs a second thread, or allocates.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use lockwright_glibc::table::{
    FUTEX_SHARED, SPIN_FREE, attr, barrier, barrier_attr, cond, cond_attr, mutex, mutex_attr,
    rwlock, rwlock_attr, semaphore, spin, wrefs,
};
use lockwright_glibc::{Field, Version};
use lockwright_ledger::rows::object::object_type;

use crate::libc::real;
use crate::os::sys;

/// Room for an object of any type.
#[repr(C, align(16))]
struct Room([u32; 16]);

impl Room {
    /// Bytes such as an object does not begin with: what an init function leaves alone shows.
    const fn new() -> Self {
        Self([0x5a5a_5a5a; 16])
    }

    fn at(&mut self) -> *mut c_void {
        (&raw mut self.0).cast()
    }

    fn object<T>(&mut self) -> *mut T {
        const { assert!(size_of::<T>() <= size_of::<Self>() && align_of::<T>() <= 16) };
        self.at().cast()
    }

    /// A word of the object, whichever code wrote it.
    fn word(&self, offset: usize) -> u32 {
        // SAFETY: within the room; the C library may have written it since.
        unsafe { (&raw const self.0).cast::<u32>().byte_add(offset).read_volatile() }
    }

    fn is(&self, field: &Field, value: u32) -> bool {
        self.word(field.always()) == value
    }

    /// The words of the first `bytes` are 0 except these.
    fn is_blank(&self, bytes: usize, except: &[usize]) -> bool {
        (0..bytes).step_by(4).all(|at| except.contains(&at) || self.word(at) == 0)
    }
}

/// A trial of one type: whether its layout holds.
type Trial = fn(Version) -> bool;

/// Types, with what tries them.
const TRIALS: [(u32, Trial); 12] = [
    (object_type::MUTEX, try_mutex),
    (object_type::RWLOCK, try_rwlock),
    (object_type::COND, try_cond),
    (object_type::SEMAPHORE, try_semaphore),
    (object_type::BARRIER, try_barrier),
    (object_type::SPIN, try_spin),
    (object_type::ONCE, try_once),
    (object_type::ATTR, try_attr),
    (object_type::MUTEXATTR, try_mutex_attr),
    (object_type::RWLOCKATTR, try_rwlock_attr),
    (object_type::CONDATTR, try_cond_attr),
    (object_type::BARRIERATTR, try_barrier_attr),
];

/// The types that are tried, a bit for each.
pub const TRIED: u32 = {
    let (mut types, mut at) = (0, 0);
    while at < TRIALS.len() {
        types |= 1 << TRIALS[at].0;
        at += 1;
    }
    types
};

/// Those of them whose layout holds.
pub fn holding(version: Version) -> u32 {
    let holding = TRIALS.iter().filter(|(_, holds)| holds(version));
    holding.fold(0, |types, (object_type, _)| types | 1 << object_type)
}

const PRIVATE: usize = libc::PTHREAD_PROCESS_PRIVATE as usize;
const SHARED: usize = libc::PTHREAD_PROCESS_SHARED as usize;
/// PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP.
const WRITERS_FIRST: usize = 2;

/// A recursive mutex, for other processes too or not.
///
/// # Safety
/// `m` points to room for a mutex that nobody uses.
unsafe fn make_mutex(m: *mut libc::pthread_mutex_t, shared: usize) -> c_int {
    let mut room = Room::new();
    let a = room.at();
    // SAFETY: `a` is room for the attributes, initialised first; the caller promises room for a
    // mutex at `m`.
    unsafe {
        real::pthread_mutexattr_init(a, 0, 0)
            | real::pthread_mutexattr_settype(a, libc::PTHREAD_MUTEX_RECURSIVE as usize, 0)
            | real::pthread_mutexattr_setpshared(a, shared, 0)
            | real::pthread_mutex_init(m, room.object())
            | real::pthread_mutexattr_destroy(a, 0, 0)
    }
}

fn try_mutex(_: Version) -> bool {
    const KIND: usize = mutex::KIND.always();
    const RECURSIVE: u32 = libc::PTHREAD_MUTEX_RECURSIVE as u32;
    const SHARED_BIT: u32 = 0x80;
    let mut room = Room::new();
    let m = room.object();
    let own = sys::gettid();
    // SAFETY: a mutex of our own, used between its init and its end; the C library's functions.
    unsafe {
        let mut holds = make_mutex(m, SHARED) == 0
            && room.is_blank(mutex::OBJECT.size, &[KIND])
            && room.is(&mutex::KIND, RECURSIVE | SHARED_BIT);
        real::pthread_mutex_destroy(m);
        holds &= make_mutex(m, PRIVATE) == 0 && room.is(&mutex::KIND, RECURSIVE);
        holds &= real::pthread_mutex_lock(m) == 0
            && room.is(&mutex::LOCK, 1)
            && room.is(&mutex::OWNER, own)
            && room.is(&mutex::USERS, 1)
            && real::pthread_mutex_trylock(m) == 0
            && room.is(&mutex::COUNT, 2)
            && real::pthread_mutex_unlock(m) == 0
            && real::pthread_mutex_unlock(m) == 0
            && room.is_blank(mutex::OBJECT.size, &[KIND]);
        holds && real::pthread_mutex_destroy(m) == 0 && room.is(&mutex::KIND, u32::MAX)
    }
}

fn try_rwlock(_: Version) -> bool {
    const FIRST_READER: u32 = 1 << 3;
    let (mut attr, mut room) = (Room::new(), Room::new());
    let (a, l) = (attr.at(), room.object());
    // SAFETY: objects of our own, used between their init and their end.
    unsafe {
        let made = real::pthread_rwlockattr_init(a, 0, 0)
            | real::pthread_rwlockattr_setkind_np(a, WRITERS_FIRST, 0)
            | real::pthread_rwlockattr_setpshared(a, SHARED, 0)
            | real::pthread_rwlock_init(l, attr.object());
        let set = [rwlock::FLAGS.always(), rwlock::SHARED.always()];
        made == 0
            && room.is_blank(rwlock::OBJECT.size, &set)
            && room.is(&rwlock::FLAGS, WRITERS_FIRST as u32)
            && room.is(&rwlock::SHARED, 1)
            && real::pthread_rwlock_rdlock(l) == 0
            && room.word(rwlock::READERS.always()) & FIRST_READER != 0
            && real::pthread_rwlock_unlock(l) == 0
            && real::pthread_rwlock_wrlock(l) == 0
            && room.is(&rwlock::CUR_WRITER, sys::gettid())
            && real::pthread_rwlock_unlock(l) == 0
            && room.is(&rwlock::CUR_WRITER, 0)
            && real::pthread_rwlock_destroy(l) == 0
    }
}

/// Shared, with the other clock, and destroyed: three bits that no other word has show where
/// `__wrefs` is.
fn try_cond(version: Version) -> bool {
    let Some(at) = cond::WREFS.at(version) else { return false };
    let (mut attr, mut room) = (Room::new(), Room::new());
    let (a, c) = (attr.at(), room.object());
    const SET: u32 = wrefs::SHARED | wrefs::MONOTONIC;
    // SAFETY: objects of our own, used between their init and their end; nobody waits.
    unsafe {
        let made = real::pthread_condattr_init(a, 0, 0)
            | real::pthread_condattr_setpshared(a, SHARED, 0)
            | real::pthread_condattr_setclock(a, libc::CLOCK_MONOTONIC as usize, 0)
            | real::pthread_cond_init(c, attr.object());
        made == 0
            && room.is_blank(cond::OBJECT.size, &[at])
            && room.word(at) == SET
            && real::pthread_cond_destroy(c) == 0
            && room.is_blank(cond::OBJECT.size, &[at])
            && room.word(at) == SET | wrefs::DESTROYED
    }
}

fn try_semaphore(_: Version) -> bool {
    let mut room = Room::new();
    let s = room.object();
    // SAFETY: a semaphore of our own, used between its init and its end; its value allows a wait.
    unsafe {
        real::sem_init(s, 1, 5) == 0
            && room.is(&semaphore::VALUE, 5)
            && room.is(&semaphore::WAITERS, 0)
            && room.is(&semaphore::PRIVATE, FUTEX_SHARED)
            && real::sem_trywait(s) == 0
            && room.is(&semaphore::VALUE, 4)
            && real::sem_post(s) == 0
            && room.is(&semaphore::VALUE, 5)
            && real::sem_destroy(s) == 0
    }
}

fn try_barrier(_: Version) -> bool {
    let (mut attr, mut room) = (Room::new(), Room::new());
    let (a, b) = (attr.at(), room.object());
    // SAFETY: objects of our own, used between their init and their end; nobody waits.
    unsafe {
        let made = real::pthread_barrierattr_init(a, 0, 0)
            | real::pthread_barrierattr_setpshared(a, SHARED, 0)
            | real::pthread_barrier_init(b, attr.object(), 3);
        made == 0
            && room.is(&barrier::IN, 0)
            && room.is(&barrier::COUNT, 3)
            && room.is(&barrier::SHARED, FUTEX_SHARED)
            && real::pthread_barrier_destroy(b) == 0
    }
}

fn try_spin(_: Version) -> bool {
    let mut room = Room::new();
    let l = room.object();
    let is_taken = |room: &Room| {
        let word = room.word(spin::WORD.always()).cast_signed();
        if SPIN_FREE == 1 { word <= 0 } else { word == 1 }
    };
    // SAFETY: a spinlock of our own, used between its init and its end.
    unsafe {
        real::pthread_spin_init(l, libc::PTHREAD_PROCESS_PRIVATE) == 0
            && room.is(&spin::WORD, SPIN_FREE)
            && real::pthread_spin_lock(l) == 0
            && is_taken(&room)
            && real::pthread_spin_trylock(l) == libc::EBUSY
            && real::pthread_spin_unlock(l) == 0
            && room.is(&spin::WORD, SPIN_FREE)
            && real::pthread_spin_destroy(l) == 0
    }
}

fn try_once(_: Version) -> bool {
    const RUNS: u32 = 1;
    const DONE: u32 = 2;
    /// The control of the trial, which its routine looks at.
    static CONTROL: AtomicU32 = AtomicU32::new(0);
    static SEEN: AtomicU32 = AtomicU32::new(0);
    /// # Safety
    /// None: it uses statics alone.
    unsafe extern "C-unwind" fn routine() {
        SEEN.store(CONTROL.load(Relaxed), Relaxed);
    }
    // A control begins with 0; only this thread is here.
    CONTROL.store(0, Relaxed);
    // SAFETY: the control is a static of our own, and the routine uses statics alone.
    let result = unsafe { real::pthread_once(CONTROL.as_ptr().cast(), routine) };
    result == 0 && SEEN.load(Relaxed) & 3 == RUNS && CONTROL.load(Relaxed) & 3 == DONE
}

/// Not destroyed afterwards: before 2.32 that calls `free`, and there is nothing to give back.
fn try_attr(_: Version) -> bool {
    const DETACHED: u32 = 1;
    const BYTES: u32 = 0x10_0000;
    let mut room = Room::new();
    let a = room.at();
    // SAFETY: attributes of our own, initialised first.
    unsafe {
        real::pthread_attr_init(a, 0, 0) == 0
            && room.word(attr::FLAGS.always()) & DETACHED == 0
            && real::pthread_attr_setdetachstate(a, libc::PTHREAD_CREATE_DETACHED as usize, 0) == 0
            && real::pthread_attr_setguardsize(a, BYTES as usize, 0) == 0
            && real::pthread_attr_setstacksize(a, 2 * BYTES as usize, 0) == 0
            && real::pthread_attr_setschedpolicy(a, libc::SCHED_RR as usize, 0) == 0
            && room.word(attr::FLAGS.always()) & DETACHED != 0
            && room.is(&attr::GUARD_SIZE, BYTES)
            && room.is(&attr::STACK_SIZE, 2 * BYTES)
            && room.is(&attr::POLICY, libc::SCHED_RR as u32)
            && room.is(&attr::EXTENSION, 0)
    }
}

fn try_mutex_attr(_: Version) -> bool {
    const PROTOCOL: u32 = 1 << 28;
    const ROBUST: u32 = 1 << 30;
    const SHARED_BIT: u32 = 1 << 31;
    let mut room = Room::new();
    let a = room.at();
    // SAFETY: attributes of our own, used between their init and their end.
    unsafe {
        real::pthread_mutexattr_init(a, 0, 0) == 0
            && real::pthread_mutexattr_settype(a, libc::PTHREAD_MUTEX_RECURSIVE as usize, 0) == 0
            && real::pthread_mutexattr_setpshared(a, SHARED, 0) == 0
            && real::pthread_mutexattr_setrobust(a, libc::PTHREAD_MUTEX_ROBUST as usize, 0) == 0
            && real::pthread_mutexattr_setprotocol(a, libc::PTHREAD_PRIO_INHERIT as usize, 0) == 0
            && room.is(
                &mutex_attr::BITS,
                libc::PTHREAD_MUTEX_RECURSIVE as u32 | PROTOCOL | ROBUST | SHARED_BIT,
            )
            && real::pthread_mutexattr_destroy(a, 0, 0) == 0
    }
}

fn try_rwlock_attr(_: Version) -> bool {
    let mut room = Room::new();
    let a = room.at();
    // SAFETY: attributes of our own, used between their init and their end.
    unsafe {
        real::pthread_rwlockattr_init(a, 0, 0) == 0
            && room.is_blank(rwlock_attr::OBJECT.size, &[])
            && real::pthread_rwlockattr_setkind_np(a, WRITERS_FIRST, 0) == 0
            && real::pthread_rwlockattr_setpshared(a, SHARED, 0) == 0
            && room.is(&rwlock_attr::KIND, WRITERS_FIRST as u32)
            && room.is(&rwlock_attr::SHARED, 1)
            && real::pthread_rwlockattr_destroy(a, 0, 0) == 0
    }
}

fn try_cond_attr(_: Version) -> bool {
    let mut room = Room::new();
    let a = room.at();
    // SAFETY: attributes of our own, used between their init and their end.
    unsafe {
        real::pthread_condattr_init(a, 0, 0) == 0
            && room.is(&cond_attr::BITS, 0)
            && real::pthread_condattr_setpshared(a, SHARED, 0) == 0
            && real::pthread_condattr_setclock(a, libc::CLOCK_MONOTONIC as usize, 0) == 0
            && room.is(&cond_attr::BITS, 3)
            && real::pthread_condattr_destroy(a, 0, 0) == 0
    }
}

fn try_barrier_attr(_: Version) -> bool {
    let mut room = Room::new();
    let a = room.at();
    // SAFETY: attributes of our own, used between their init and their end.
    unsafe {
        real::pthread_barrierattr_init(a, 0, 0) == 0
            && room.is(&barrier_attr::SHARED, 0)
            && real::pthread_barrierattr_setpshared(a, SHARED, 0) == 0
            && room.is(&barrier_attr::SHARED, 1)
            && real::pthread_barrierattr_destroy(a, 0, 0) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockwright_ledger::rows::object::object_type::COND;

    fn here() -> Version {
        crate::layouts::version().expect("a glibc")
    }

    #[test]
    fn this_systems_objects_are_laid_out_as_the_table_says() {
        assert_eq!(holding(here()), TRIED, "glibc {}", here());
    }

    #[test]
    fn another_versions_condition_variables_are_noticed() {
        let other = Version::new(2, if here() < Version::new(2, 41) { 41 } else { 40 });
        assert_eq!(holding(other), TRIED & !(1 << COND));
    }
}
