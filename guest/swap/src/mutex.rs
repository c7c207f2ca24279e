//! Mutexes: a lock's word, and what POSIX wants of mutexes beyond exclusion, in the C library's
//! 40 bytes, or 48 on 64-bit Arm.
//!
//! ```text
//!    0  the lock's word; of a lock that has an owner itself its list of waiters
//!    4  how often a recursive one is taken
//!    8  the owner's thread id, 0: none; of a lock that has an owner itself that one's word
//!   12  the number of users: its holder, and waiters for a condition with it; modulo 2^16
//!   14  of a lock that has an owner itself its spinners
//!   16  the kind, as the C library's initialisers have it
//!   20  the mark of a mutex that has been met in this era
//!   24  nothing of ours: a tool that watches locks notes there which one this is
//! ```
//!
//! Where patterns choose the locks that are replaced, a mutex that they do not choose gets a bit in
//! its kind when it is initialised or first taken. To the C library the bit means that the mutex is
//! not to be elided, as it does in those of the type `PTHREAD_MUTEX_NORMAL`.
//!
//! Count, owner, number of users and kind lie where the C library has them, so debuggers and tools
//! that look into a mutex see what they know. A mutex that nobody has initialised by a call is
//! counted, and marked, when it is first taken. One compare sees that a mutex is of the plain kind,
//! that it is marked, and that this process was not forked since.

use core::ffi::{c_int, c_void};
use core::mem::offset_of;
use core::ptr;
use core::sync::atomic::Ordering::{self, Relaxed, Release};
use core::sync::atomic::{AtomicU16, AtomicU32, AtomicU64};

use libc::{EAGAIN, EBUSY, EDEADLK, EINVAL, EPERM, ETIMEDOUT};
use lockwright_glibc::table::mutex as glibc;

use crate::bad_unlock::write_as_found;
use crate::counts::{Count, count};
use crate::deadline::{self, Deadline};
use crate::selection::{self, Verdict};
use crate::{era, next, os, platform};

/// Words after those that are ours.
const OTHERS: usize = (glibc::OBJECT.size - 24) / size_of::<u64>();

/// A mutex in the program's memory.
#[repr(C)]
pub struct Mutex {
    /// The lock, or, of one that has an owner itself, its waiters.
    pub word: AtomicU32,
    count: AtomicU32,
    /// Only the lock's holder changes it.
    owner: AtomicU32,
    /// Under the lock.
    users: AtomicU16,
    tail: AtomicU16,
    /// The kind, and in the upper half the mark.
    shape: AtomicU64,
    others: [AtomicU64; OTHERS],
}

const _: () = assert!(size_of::<Mutex>() == size_of::<libc::pthread_mutex_t>());

/// `PTHREAD_MUTEX_RECURSIVE`.
const RECURSIVE: i32 = 1;
/// `PTHREAD_MUTEX_ERRORCHECK`.
const ERRORCHECK: i32 = 2;
/// `PTHREAD_MUTEX_ADAPTIVE_NP`, the last of the kinds that are replaced. The others have a bit
/// above these: robust, priority-inheriting, priority-protected, process-shared, or destroyed.
const ADAPTIVE: i32 = 3;

/// `PTHREAD_MUTEX_NO_ELISION_NP`: of a mutex that no pattern chooses.
const LEFT: u64 = 1 << 9;

/// The kind of a destroyed mutex.
const DESTROYED: i32 = -1;

/// The bits of an owner's id. The others are an owner word's flags (`owner.rs`).
const THREAD: u32 = u32::MAX >> platform::OWNER_FLAGS;

/// The shape of a mutex of a kind that has been met in this era.
#[inline(always)]
const fn shape(kind: i32, era: u32) -> u64 {
    ((era::met(era) as u64) << 32) | kind as u32 as u64
}

/// Whether this is the shape of a mutex that has been met in this era and that is just taken and
/// released: of the normal kind, or the adaptive.
#[inline(always)]
const fn is_plain(seen: u64, era: u32) -> bool {
    let difference = seen ^ shape(0, era);
    difference == 0 || difference == ADAPTIVE as u64
}

/// Whether a mutex of the kind is replaced.
const fn is_replaced(kind: i32) -> bool {
    0 <= kind && kind <= ADAPTIVE
}

/// The lock that mutexes run on: it keeps the word, the owner and the tail of one, 0 of a free one.
pub trait OfMutex {
    /// Takes the lock.
    ///
    /// # Safety
    /// `m` is a mutex on this sort of locks, which stays.
    unsafe fn lock(m: *const Mutex);
    /// Takes the lock if it is free.
    ///
    /// # Safety
    /// As for [`OfMutex::lock`].
    unsafe fn try_lock(m: *const Mutex) -> bool;
    /// Takes the lock, or gives up at `deadline`, in nanoseconds of CLOCK_MONOTONIC. True if it is
    /// taken.
    ///
    /// # Safety
    /// As for [`OfMutex::lock`].
    unsafe fn lock_until(m: *const Mutex, deadline: u64) -> bool;
    /// Releases the lock. The mutex may be gone before this returns.
    ///
    /// # Safety
    /// The caller holds it.
    unsafe fn unlock(m: *const Mutex);
}

/// The sort of mutex that a thread finds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Marking {
    /// Ours, and marked.
    Ours,
    /// Ours, and held since before a fork, so nobody may queue for it yet.
    Inherited,
    /// The C library's: no pattern chooses it.
    Left,
}

/// How a thread wants a mutex.
#[derive(Clone, Copy)]
enum Want<'a> {
    Always,
    Now,
    Until(&'a Deadline),
}

impl Mutex {
    /// Where word, owner and tail are.
    pub const OFFSETS: [usize; 3] =
        [offset_of!(Self, word), offset_of!(Self, owner), offset_of!(Self, tail)];

    fn kind(&self) -> i32 {
        self.shape.load(Relaxed) as i32
    }

    /// Whether it is replaced: the C library's functions must not see it then.
    pub fn is_replaced(&self) -> bool {
        is_replaced(self.kind())
    }

    /// The id of the owner, 0 if there is none.
    pub fn owner(&self) -> u32 {
        // Relaxed: a thread that checks whether it is the owner sees its own stores.
        self.owner.load(Relaxed) & THREAD
    }

    /// The caller has taken the lock, which does not know its owner.
    #[inline(always)]
    pub fn set_owner(&self) {
        // Relaxed: as above.
        self.owner.store(era::thread(), Relaxed);
    }

    /// The caller is about to release such a lock.
    #[inline(always)]
    pub fn clear_owner(&self) {
        // Relaxed: as above.
        self.owner.store(0, Relaxed);
    }

    /// The caller, which has the mutex, is its user once more.
    #[inline(always)]
    fn begin_user(&self) {
        // Relaxed: under the lock.
        self.users.store(self.users.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// The caller, which has the mutex, is its user once less.
    #[inline(always)]
    pub fn end_user(&self) {
        // Relaxed: under the lock.
        self.users.store(self.users.load(Relaxed).wrapping_sub(1), Relaxed);
    }

    /// The caller, if it is the owner, remains a user when it has released the mutex. True: it does.
    /// The C library's mutexes have owner and users in the same places.
    pub fn keep_user(&self) -> bool {
        let is_owner = self.owner() == era::thread();
        if is_owner {
            self.begin_user();
        }
        is_owner
    }

    /// Nobody has it, waits for it or uses it. The caller alone sees to that.
    fn forget(&self, order: Ordering) {
        self.owner.store(0, Relaxed);
        self.users.store(0, Relaxed);
        self.tail.store(0, Relaxed);
        self.word.store(0, order);
    }

    /// Makes sure that the mutex is marked, if it is ours.
    #[cold]
    fn mark_slow(&self, era: u32, site: usize) -> Marking {
        let seen = self.shape.load(Relaxed);
        let (kind, mark) = (seen as i32, (seen >> 32) as u32);
        let new = shape(kind, era);
        if seen == new {
            return Marking::Ours;
        }
        if !is_replaced(kind) {
            return Marking::Left;
        }
        if !era::is_mark(mark) {
            let verdict = selection::verdict(ptr::from_ref(self).addr(), site);
            let new = if verdict.is_chosen { new } else { seen | LEFT };
            // If several threads come here first, one decides for all.
            return match self.shape.compare_exchange(seen, new, Relaxed, Relaxed) {
                Ok(_) => {
                    count_made(&verdict);
                    if verdict.is_chosen { Marking::Ours } else { Marking::Left }
                }
                Err(_) if self.is_replaced() => Marking::Ours,
                Err(_) => Marking::Left,
            };
        }
        // Its word may have marks of waiters in the parent process, which do not exist here.
        era::alone(|| {
            if self.shape.load(Relaxed) == new {
                return Marking::Ours;
            }
            if self.owner() != 0 {
                return Marking::Inherited;
            }
            self.forget(Relaxed);
            self.shape.store(new, Relaxed);
            Marking::Ours
        })
    }

    /// Takes the mutex, whichever kind it is of. None: it is the C library's from now on.
    ///
    /// # Safety
    /// The mutex is of a kind that is replaced, and it stays for this call.
    #[cold]
    unsafe fn acquire_slow<L: OfMutex>(&self, want: Want<'_>, site: usize) -> Option<c_int> {
        let era = era::current();
        let me = era::thread();
        let kind = self.kind();
        if self.owner() == me {
            match kind {
                RECURSIVE => return Some(self.again()),
                ERRORCHECK if matches!(want, Want::Now) => return Some(EBUSY),
                ERRORCHECK => return Some(EDEADLK),
                _ => {}
            }
        }
        // SAFETY: marked, so it is a lock of this sort.
        let taken = unsafe { self.enter::<L>(era, want, site) };
        if taken == Some(0) {
            if kind == RECURSIVE {
                self.count.store(1, Relaxed);
            }
            self.begin_user();
        }
        taken
    }

    /// Takes the mutex, whichever kind it is of, if that can be done by the deadline, if there is
    /// one. None: it is the C library's from now on.
    ///
    /// # Safety
    /// As for `acquire_slow`.
    unsafe fn acquire_until<L: OfMutex>(
        &self,
        deadline: Option<Deadline>,
        site: usize,
    ) -> Option<c_int> {
        // SAFETY: the caller promises a mutex of a kind that is replaced, as `acquire_slow` asks.
        unsafe { self.acquire_slow::<L>(deadline.as_ref().map_or(Want::Always, Want::Until), site) }
    }

    /// Takes the lock in the word. None: it is not ours.
    ///
    /// # Safety
    /// The mutex is of a kind that is replaced, and it stays for this call.
    unsafe fn enter<L: OfMutex>(&self, era: u32, want: Want<'_>, site: usize) -> Option<c_int> {
        loop {
            match self.mark_slow(era, site) {
                Marking::Ours => break,
                Marking::Left => return None,
                Marking::Inherited => {}
            }
            // The thread that forked holds it; who it keeps waiting queues where nobody else is.
            match want {
                Want::Now => return Some(EBUSY),
                Want::Until(deadline) if !deadline.is_valid() => return Some(EINVAL),
                Want::Until(deadline) if !deadline.attempt(|at| os::now() < at) => {
                    return Some(ETIMEDOUT);
                }
                _ => os::nap(),
            }
        }
        // SAFETY: `mark_slow` found the mutex to be ours and marked, so it is a lock of this sort.
        let taken = unsafe {
            match want {
                Want::Always => {
                    L::lock(self);
                    0
                }
                _ if L::try_lock(self) => 0,
                Want::Now => EBUSY,
                Want::Until(deadline) if !deadline.is_valid() => EINVAL,
                Want::Until(deadline) if deadline.attempt(|at| L::lock_until(self, at)) => 0,
                Want::Until(_) => ETIMEDOUT,
            }
        };
        Some(taken)
    }

    /// Takes a recursive mutex once more.
    fn again(&self) -> c_int {
        match self.count.load(Relaxed).checked_add(1) {
            Some(count) => {
                self.count.store(count, Relaxed);
                0
            }
            None => EAGAIN,
        }
    }

    /// Releases the mutex, whichever kind it is of.
    ///
    /// # Safety
    /// The mutex is of a kind that is replaced.
    #[cold]
    unsafe fn release_slow<L: OfMutex>(&self) -> c_int {
        let era = era::current();
        let kind = self.kind();
        if matches!(kind, RECURSIVE | ERRORCHECK) && self.owner() != era::thread() {
            return EPERM;
        }
        if kind == RECURSIVE {
            let count = self.count.load(Relaxed).saturating_sub(1);
            self.count.store(count, Relaxed);
            if count > 0 {
                return 0;
            }
        }
        if self.owner() == 0 {
            // A fault of the program's that the C library lets pass, too.
            write_as_found(&self.owner);
            return 0;
        }
        if self.shape.load(Relaxed) == shape(kind, era) {
            self.end_user();
            // SAFETY: marked, so it is a lock of this sort; and held.
            unsafe { L::unlock(self) };
        } else {
            // Held since before a fork. Nobody of this process waits in its word.
            era::alone(|| {
                self.forget(Release);
                self.shape.store(shape(kind, era), Relaxed);
            });
        }
        0
    }
}

/// `pthread_mutex_lock`.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn lock<L: OfMutex>(m: *mut Mutex, site: usize) -> c_int {
    // SAFETY: `m` points to the caller's mutex, which is made of atomics and stays for this call.
    let mutex = unsafe { &*m };
    let era = era::glance();
    if is_plain(mutex.shape.load(Relaxed), era) {
        // SAFETY: marked, so it is a lock of this sort.
        unsafe { L::lock(m) };
        mutex.begin_user();
        return 0;
    }
    let taken = if mutex.is_replaced() {
        // SAFETY: `is_replaced` found a mutex of a kind that is replaced, as `acquire_slow` asks.
        unsafe { mutex.acquire_slow::<L>(Want::Always, site) }
    } else {
        None
    };
    // SAFETY: the mutex is the C library's, whose function gets the program's own `m` unchanged.
    taken.unwrap_or_else(|| unsafe { next::pthread_mutex_lock(m.cast()) })
}

/// `pthread_mutex_trylock`.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn trylock<L: OfMutex>(m: *mut Mutex, site: usize) -> c_int {
    // SAFETY: `m` points to the caller's mutex, which is made of atomics and stays for this call.
    let mutex = unsafe { &*m };
    let era = era::glance();
    if is_plain(mutex.shape.load(Relaxed), era) {
        // SAFETY: marked, so it is a lock of this sort.
        if !unsafe { L::try_lock(m) } {
            return EBUSY;
        }
        mutex.begin_user();
        return 0;
    }
    let taken = if mutex.is_replaced() {
        // SAFETY: `is_replaced` found a mutex of a kind that is replaced, as `acquire_slow` asks.
        unsafe { mutex.acquire_slow::<L>(Want::Now, site) }
    } else {
        None
    };
    // SAFETY: the mutex is the C library's, whose function gets the program's own `m` unchanged.
    taken.unwrap_or_else(|| unsafe { next::pthread_mutex_trylock(m.cast()) })
}

/// Takes the mutex by the deadline, if there is one. None: it is the C library's.
///
/// # Safety
/// `m` points to a mutex.
pub unsafe fn lock_until<L: OfMutex>(
    m: *mut Mutex,
    deadline: Option<Deadline>,
    site: usize,
) -> Option<c_int> {
    // SAFETY: `m` points to the caller's mutex, which is made of atomics and stays for this call.
    let mutex = unsafe { &*m };
    match &deadline {
        _ if !mutex.is_replaced() => None,
        Some(deadline) if !deadline.has_clock() => Some(EINVAL),
        // SAFETY: a mutex of a kind that is replaced.
        _ => unsafe { mutex.acquire_until::<L>(deadline, site) },
    }
}

/// As [`lock_until`], with a look at the time only if the mutex is not free: there may be none.
///
/// # Safety
/// `m` points to a mutex. If that is not free, `time` points to a time or is null.
unsafe fn lock_by<L: OfMutex>(
    m: *mut Mutex,
    clock: c_int,
    time: *const libc::timespec,
    site: usize,
) -> Option<c_int> {
    // SAFETY: `m` points to the caller's mutex, which is made of atomics and stays for this call.
    let mutex = unsafe { &*m };
    if !mutex.is_replaced() {
        return None;
    }
    // SAFETY: a mutex of a kind that is replaced; the caller's time.
    unsafe {
        match mutex.acquire_slow::<L>(Want::Now, site) {
            Some(EBUSY) => lock_until::<L>(m, Deadline::given(clock, time), site),
            taken => taken,
        }
    }
}

/// `pthread_mutex_timedlock`.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn timedlock<L: OfMutex>(
    m: *mut Mutex,
    time: *const libc::timespec,
    site: usize,
) -> c_int {
    // SAFETY: `m` is the program's own mutex, and `time` its deadline.
    let taken = unsafe { lock_by::<L>(m, libc::CLOCK_REALTIME, time, site) };
    // SAFETY: the mutex is the C library's, whose function gets the program's own arguments
    // unchanged.
    taken.unwrap_or_else(|| unsafe { next::pthread_mutex_timedlock(m.cast(), time) })
}

/// `pthread_mutex_clocklock`.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn clocklock<L: OfMutex>(
    m: *mut Mutex,
    clock: c_int,
    time: *const libc::timespec,
    site: usize,
) -> c_int {
    // As the C library, before a look at the mutex.
    if !deadline::is_known(clock) {
        return EINVAL;
    }
    // SAFETY: `m` is the program's own mutex, and `time` its deadline.
    let taken = unsafe { lock_by::<L>(m, clock, time, site) };
    // SAFETY: the mutex is the C library's, whose function gets the program's own arguments
    // unchanged.
    taken.unwrap_or_else(|| unsafe { next::pthread_mutex_clocklock(m.cast(), clock, time) })
}

/// `pthread_mutex_unlock`.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn unlock<L: OfMutex>(m: *mut Mutex) -> c_int {
    // SAFETY: `m` points to the caller's mutex, which is made of atomics and stays for this call.
    let mutex = unsafe { &*m };
    if is_plain(mutex.shape.load(Relaxed), era::glance()) && mutex.owner() != 0 {
        mutex.end_user();
        // SAFETY: marked, so it is a lock of this sort; and held.
        unsafe { L::unlock(m) };
        return 0;
    }
    if !mutex.is_replaced() {
        // SAFETY: the next `pthread_mutex_unlock` gets the program's own arguments unchanged, as
        // without us.
        return unsafe { next::pthread_mutex_unlock(m.cast()) };
    }
    // SAFETY: a mutex of a kind that is replaced.
    unsafe { mutex.release_slow::<L>() }
}

unsafe extern "C" {
    fn pthread_mutexattr_gettype(attr: *const c_void, kind: *mut c_int) -> c_int;
    fn pthread_mutexattr_getpshared(attr: *const c_void, pshared: *mut c_int) -> c_int;
    fn pthread_mutexattr_getprotocol(attr: *const c_void, protocol: *mut c_int) -> c_int;
    fn pthread_mutexattr_getrobust(attr: *const c_void, robust: *mut c_int) -> c_int;
}

/// Why a mutex of these attributes is not replaced; none: it is.
///
/// # Safety
/// `attr` points to the caller's initialised attributes.
unsafe fn obstacle(attr: *const c_void) -> Option<Count> {
    const ASKED: [(unsafe extern "C" fn(*const c_void, *mut c_int) -> c_int, c_int, Count); 4] = [
        (pthread_mutexattr_getpshared, libc::PTHREAD_PROCESS_SHARED, Count::SharedMutexes),
        (pthread_mutexattr_getrobust, libc::PTHREAD_MUTEX_ROBUST, Count::RobustMutexes),
        (pthread_mutexattr_getprotocol, libc::PTHREAD_PRIO_INHERIT, Count::InheritMutexes),
        (pthread_mutexattr_getprotocol, libc::PTHREAD_PRIO_PROTECT, Count::ProtectMutexes),
    ];
    ASKED.iter().find_map(|(ask, wanted, why)| {
        let mut value = 0;
        // SAFETY: the caller's attributes; writes one number.
        let answer = unsafe { ask(attr, &raw mut value) };
        (answer == 0 && value == *wanted).then_some(*why)
    })
}

/// Counts a new mutex.
fn count_made(verdict: &Verdict) {
    verdict.count();
    count(if verdict.is_chosen { Count::Mutexes } else { Count::LeftMutexes });
}

/// Makes a mutex of the kind, which is one that is replaced, unless no pattern chooses it.
///
/// # Safety
/// `m` points to memory of that size that nobody else uses.
pub unsafe fn make(m: *mut Mutex, kind: i32, site: usize) {
    // SAFETY: the caller promises memory of that size that nobody else uses; any bytes are valid
    // atomics.
    let mutex = unsafe { &*m };
    // Relaxed: the program orders this with other threads' use when it shares the object.
    mutex.forget(Relaxed);
    mutex.count.store(0, Relaxed);
    mutex.others.iter().for_each(|other| other.store(0, Relaxed));
    let verdict = selection::verdict(m.addr(), site);
    // So it is the C library's just as its own function would have made it.
    let left = kind as u64 | LEFT;
    mutex.shape.store(if verdict.is_chosen { shape(kind, era::current()) } else { left }, Relaxed);
    count_made(&verdict);
}

/// `pthread_mutex_init`.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn init(m: *mut Mutex, attr: *const c_void, site: usize) -> c_int {
    let mut kind = 0;
    if !attr.is_null() {
        // SAFETY: `attr` is not null, so it is the program's own initialised attributes.
        if let Some(why) = unsafe { obstacle(attr) } {
            // SAFETY: the next `pthread_mutex_init` gets the program's own arguments unchanged, as
            // without us.
            let made = unsafe { next::pthread_mutex_init(m.cast(), attr) };
            if made == 0 {
                count(why);
            }
            return made;
        }
        // SAFETY: `attr` is not null, so it is the program's own initialised attributes; one number
        // is written.
        unsafe { pthread_mutexattr_gettype(attr, &raw mut kind) };
    }
    // SAFETY: `m` is the memory that the program initialises as a mutex, which nobody else uses
    // yet.
    unsafe { make(m, kind & ADAPTIVE, site) };
    0
}

/// `pthread_mutex_destroy`.
///
/// # Safety
/// As the function itself.
pub unsafe extern "C-unwind" fn destroy(m: *mut Mutex) -> c_int {
    // SAFETY: `m` points to the caller's mutex, which is made of atomics and stays for this call.
    let mutex = unsafe { &*m };
    if !mutex.is_replaced() {
        // SAFETY: the next `pthread_mutex_destroy` gets the program's own arguments unchanged, as
        // without us.
        return unsafe { next::pthread_mutex_destroy(m.cast()) };
    }
    // Relaxed: a thread that destroys it knows that no thread uses it any more.
    if mutex.owner() != 0 || mutex.users.load(Relaxed) != 0 {
        return EBUSY;
    }
    mutex.shape.store(u64::from(DESTROYED as u32), Relaxed);
    0
}
