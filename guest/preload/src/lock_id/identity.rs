//! Which lock is this? The answer is stamped into the lock itself, in bytes that glibc does not
//! use: one load and a compare. That is also more right than a table by address: a `std::mutex` is
//! neither initialised nor destroyed by a call, so reused memory that begins zeroed is unknown,
//! hence a new lock, as it should be.
//!
//! A stamp is two words: magic (nonce ^ address) and instance | class << 32. A copied lock carries
//! another address' magic, so it is a new lock too.

use core::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicU64, Ordering::*};

use libc::{pthread_mutex_t, pthread_rwlock_t, sem_t};
use lockwright_engines::lockdep::{Core, Ident, Origin, Stretch};
use lockwright_glibc::table::{mutex, rwlock, semaphore};
use lockwright_ledger::rows::{Class, class_origin, lock_kind};

use super::side_table::SideTable;
use super::unstamped::UNSTAMPED;
use super::{allocations, inherited, known_births, lock_pages, makers, numbers, spinning};
use crate::callsite::current_stack;
use crate::libc::real;
use crate::os::{sys, tls};
use crate::recorder::state;
use crate::stack::edges::Edge;
use crate::stack::memo::{self, About, Noted};
use crate::stack::unwind::Frame;
use crate::stack::{cpython, modules, python};

/// Random per ledger, never 0; what a stamp's magic is made of.
#[unsafe(link_section = "lockwright_forked")]
static NONCE: AtomicU64 = AtomicU64::new(0);
/// The nonce of the process we were forked from, 0 if none.
#[unsafe(link_section = "lockwright_forked")]
static PARENT_NONCE: AtomicU64 = AtomicU64::new(0);
/// The C library's layout is the one we know.
static STAMPS: AtomicBool = AtomicBool::new(false);
/// Those without a stamp of the process we were forked from: the classes in there are of its ledger.
#[unsafe(link_section = "lockwright_forked")]
static PARENTS: SideTable = SideTable::new();

/// An object that can tell which lock it is.
pub trait Identify {
    /// Offset of the stamp's magic in the object.
    const MAGIC: usize;
    /// Offset of the stamp's identity in the object.
    const IDENT: usize;
    /// The object has room for a stamp at all.
    const STAMPABLE: bool = true;
    /// Offset of 32 bits that are free once the object is destroyed.
    const DESTROYED_STACK: usize;
    /// Offset of 16 bits that are free once the object is destroyed.
    const DESTROYED_THREAD: usize;
    /// One of [`lock_kind`], from the object's own memory.
    ///
    /// # Safety
    /// `this` points to such an object.
    unsafe fn kind(this: *const Self) -> u8;
    /// It is one that the fast path knows how to take.
    ///
    /// # Safety
    /// `this` points to such an object.
    unsafe fn is_plain(_this: *const Self) -> bool {
        true
    }
    /// The bytes of the stamp are free in this object.
    ///
    /// # Safety
    /// `this` points to such an object.
    unsafe fn can_stamp(this: *const Self) -> bool;
}

/// glibc's `__kind` of a mutex: the type in the low bits.
pub mod mutex_kind {
    /// PTHREAD_MUTEX_RECURSIVE.
    pub const RECURSIVE: i32 = 1;
    /// PTHREAD_MUTEX_ERRORCHECK.
    pub const ERRORCHECK: i32 = 2;
    /// Bits of the type.
    pub const TYPE: i32 = 3;
    /// Robust; uses the list that the stamp would lie in.
    pub const ROBUST: i32 = 16;
    /// Process-shared.
    pub const PSHARED: i32 = 128;
    /// Robust, priority-inheriting, priority-protected: lock and trylock differ in more than
    /// waiting.
    pub const SPECIAL: i32 = ROBUST | 32 | PROTECT;
    /// With a priority ceiling.
    pub const PROTECT: i32 = 64;
}

/// `__kind` of a mutex.
///
/// # Safety
/// `m` points to a mutex.
#[inline(always)]
pub unsafe fn kind_of(m: *const pthread_mutex_t) -> i32 {
    // SAFETY: the caller promises a mutex, and at start this was found to be a field of glibc's.
    unsafe { m.cast::<i32>().byte_add(const { mutex::KIND.always() }).read_volatile() }
}

/// Somebody holds the mutex, by its own word.
///
/// # Safety
/// `m` points to a mutex, or to memory that is large enough for one.
pub unsafe fn is_locked(m: *const pthread_mutex_t) -> bool {
    // SAFETY: the caller promises a mutex's memory, of which this is a field of glibc's.
    unsafe { m.cast::<u32>().byte_add(const { mutex::LOCK.always() }).read_volatile() != 0 }
}

impl Identify for pthread_mutex_t {
    // __list, used for robust mutexes only.
    const MAGIC: usize = mutex::LIST_PREV.always();
    const IDENT: usize = mutex::LIST_NEXT.always();
    // __count, and __spins. glibc marks a destroyed mutex in __kind and looks at nothing else,
    // except at __nusers when it is destroyed again.
    const DESTROYED_STACK: usize = mutex::COUNT.always();
    const DESTROYED_THREAD: usize = mutex::SPINS.always();

    unsafe fn kind(this: *const Self) -> u8 {
        // SAFETY: the caller promises that `this` points to an object of its type, as `kind_of`
        // asks.
        match unsafe { kind_of(this) } & mutex_kind::TYPE {
            mutex_kind::RECURSIVE => lock_kind::RECURSIVE,
            mutex_kind::ERRORCHECK => lock_kind::ERRORCHECK,
            _ => lock_kind::MUTEX,
        }
    }

    unsafe fn is_plain(this: *const Self) -> bool {
        // SAFETY: the caller promises that `this` points to an object of its type, as `kind_of`
        // asks.
        let kind = unsafe { kind_of(this) };
        // A recursive one too: taking it again is counted and makes no chain, so a chain that is
        // known never has it twice. An error-checking one can: the attempt is recorded before it
        // fails.
        kind & mutex_kind::SPECIAL == 0 && kind & mutex_kind::TYPE != mutex_kind::ERRORCHECK
    }

    unsafe fn can_stamp(this: *const Self) -> bool {
        // SAFETY: the caller promises that `this` points to an object of its type, as `kind_of`
        // asks.
        unsafe { kind_of(this) & (mutex_kind::ROBUST | mutex_kind::PSHARED) == 0 }
    }
}

impl Identify for sem_t {
    // Beyond what glibc's `struct new_sem` takes of it.
    const MAGIC: usize = semaphore::PAD.always() + semaphore::PAD.size;
    const IDENT: usize = Self::MAGIC + size_of::<u64>();
    // A destroyed one is not told from any other: these are not used.
    const DESTROYED_STACK: usize = 0;
    const DESTROYED_THREAD: usize = 0;

    unsafe fn kind(this: *const Self) -> u8 {
        // SAFETY: the caller promises that `this` points to an object of its type.
        match unsafe { value_of(this) } {
            0 | 1 => lock_kind::SEMAPHORE,
            _ => lock_kind::COUNTING,
        }
    }

    unsafe fn is_plain(this: *const Self) -> bool {
        // SAFETY: the caller promises that `this` points to an object of its type.
        unsafe { Self::kind(this) == lock_kind::SEMAPHORE }
    }

    unsafe fn can_stamp(_: *const Self) -> bool {
        true
    }
}

/// Whether the semaphore is taken: a wait would not return at once.
///
/// # Safety
/// `s` points to a semaphore.
pub unsafe fn is_taken(s: *const sem_t) -> bool {
    // SAFETY: the caller promises a semaphore.
    unsafe { value_of(s) == 0 }
}

/// Whether a thread waits for the semaphore.
///
/// # Safety
/// `s` points to a semaphore.
pub unsafe fn has_waiters(s: *const sem_t) -> bool {
    // SAFETY: the caller promises a semaphore, and at start this was found to be a field of
    // glibc's.
    unsafe { s.cast::<u32>().byte_add(const { semaphore::WAITERS.always() }).read_volatile() != 0 }
}

/// The value of a semaphore.
///
/// # Safety
/// `s` points to a semaphore.
unsafe fn value_of(s: *const sem_t) -> u32 {
    // SAFETY: the caller promises a semaphore, and at start this was found to be a field of
    // glibc's.
    unsafe { s.cast::<u32>().byte_add(const { semaphore::VALUE.always() }).read_volatile() }
}

/// Locks can carry stamps.
pub fn can_stamp() -> bool {
    STAMPS.load(Relaxed)
}

impl Identify for pthread_rwlock_t {
    const MAGIC: usize = rwlock::PAD2.always();
    // And __pad4.
    const IDENT: usize = rwlock::PAD3.always();
    // Behind its first byte, which lock elision has.
    const DESTROYED_STACK: usize = rwlock::PAD1.always() + 4;
    const DESTROYED_THREAD: usize = rwlock::PAD1.always() + 2;

    unsafe fn kind(this: *const Self) -> u8 {
        // SAFETY: the caller promises a reader-writer lock, of which glibc has this as a field.
        match unsafe {
            this.cast::<i32>().byte_add(const { rwlock::FLAGS.always() }).read_volatile()
        } {
            // PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP; glibc treats plain PREFER_WRITER (1) as
            // preferring readers.
            2 => lock_kind::RWLOCK_WRITER,
            _ => lock_kind::RWLOCK,
        }
    }

    unsafe fn can_stamp(this: *const Self) -> bool {
        // SAFETY: the caller promises a reader-writer lock, of which glibc has this as a field.
        unsafe {
            this.cast::<i32>().byte_add(const { rwlock::SHARED.always() }).read_volatile() == 0
        }
    }
}

/// # Safety
/// `this` points to an object that has 8 bytes at `offset`, 8-aligned and used atomically.
#[inline(always)]
unsafe fn word<T>(this: *const T, offset: usize) -> &'static AtomicU64 {
    // SAFETY: the caller vouches for the object; the offsets of `Identify` are 8-aligned in it.
    unsafe { AtomicU64::from_ptr(this.cast_mut().byte_add(offset).cast()) }
}

/// The identity stamped into the lock, if it has one of ours.
///
/// # Safety
/// `this` points to such an object.
#[inline(always)]
pub unsafe fn stamped<T: Identify>(this: *const T) -> Option<Ident> {
    if !T::STAMPABLE {
        return UNSTAMPED.get(this as u64);
    }
    // SAFETY: the caller promises that `this` points to an object of its type, as `word` asks.
    let (magic, ident) = unsafe { (word(this, T::MAGIC), word(this, T::IDENT)) };
    // Acquire pairs with the Release in `stamp`: the identity was there first.
    let magic = magic.load(Acquire) ^ NONCE.load(Relaxed) ^ this as u64;
    (magic == 0 || magic == NOT_PLAIN).then(|| Ident(ident.load(Relaxed)))
}

/// What the magic of a lock that is not for the fast path differs by.
const NOT_PLAIN: u64 = 0x3c3c_0000_0000_0000;

/// The identity stamped into the lock, if it has one of ours and is one for the fast path.
///
/// # Safety
/// `this` points to such an object.
#[inline(always)]
pub unsafe fn stamped_plain<T: Identify>(this: *const T) -> Option<Ident> {
    // SAFETY: the caller promises that `this` points to an object of its type, as `word` asks.
    let (magic, ident) = unsafe { (word(this, T::MAGIC), word(this, T::IDENT)) };
    // Acquire pairs with the Release in `stamp`: the identity was there first.
    (magic.load(Acquire) ^ this as u64 == NONCE.load(Relaxed)).then(|| Ident(ident.load(Relaxed)))
}

/// The identity of a lock that was met before, stamped or not.
///
/// # Safety
/// `this` points to such an object.
pub unsafe fn known<T: Identify>(this: *const T) -> Option<Ident> {
    // SAFETY: the caller promises that `this` points to an object of its type, as `stamped` asks.
    unsafe { stamped(this) }.or_else(|| UNSTAMPED.get(this as u64))
}

/// Whether the mutex, which is one that the fast path knows how to take, takes the slow one.
///
/// # Safety
/// `m` points to a mutex.
#[inline(always)]
pub unsafe fn is_for_slow_path(m: *const pthread_mutex_t) -> bool {
    // SAFETY: the caller promises a mutex, which may have a stamp.
    unsafe {
        let magic = word(m, <pthread_mutex_t as Identify>::MAGIC).load(Relaxed);
        magic ^ NONCE.load(Relaxed) ^ m as u64 == NOT_PLAIN && Identify::is_plain(m)
    }
}

/// Has the mutex `ident` take the slow path from now on, or the fast one again, if it is one for that.
///
/// # Safety
/// `m` points to a mutex that the calling thread holds, and that can carry a stamp.
#[cold]
pub unsafe fn for_slow_path(m: *const pthread_mutex_t, ident: Ident, is_slow: bool) {
    // SAFETY: the caller promises such a mutex.
    unsafe {
        if stamped(m) == Some(ident) && Identify::is_plain(m) {
            let differs = if is_slow { NOT_PLAIN } else { 0 };
            let magic = NONCE.load(Relaxed) ^ m as u64 ^ differs;
            // Relaxed: the identity is what it was.
            word(m, <pthread_mutex_t as Identify>::MAGIC).store(magic, Relaxed);
        }
    }
}

/// # Safety
/// `this` points to an object of its type, in which nothing else uses the stamp's bytes.
unsafe fn stamp<T: Identify>(this: *const T, ident: Ident) {
    // SAFETY: the caller vouches for an object that can carry a stamp.
    unsafe {
        word(this, T::IDENT).store(ident.0, Relaxed);
        let plain = if T::is_plain(this) { 0 } else { NOT_PLAIN };
        word(this, T::MAGIC).store(NONCE.load(Relaxed) ^ this as u64 ^ plain, Release);
    }
}

/// Where a lock's life was noticed to begin.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Birth {
    /// In its init function.
    Init,
    /// At its first acquisition.
    FirstAcquire,
}

impl Birth {
    fn about(self, kind: u8) -> About {
        match self {
            Self::Init => About::Initialised(kind),
            Self::FirstAcquire => About::FirstAcquired(kind),
        }
    }
}

/// The identity of a lock without a stamp: from the side table, or a new one.
///
/// # Safety
/// `this` points to such an object.
#[cold]
pub unsafe fn identify<T: Identify>(this: *const T, birth: Birth) -> Option<Ident> {
    // SAFETY: the caller promises that `this` points to an object of type `T`, as `can_stamp` asks.
    let can_stamp = STAMPS.load(Relaxed) && unsafe { T::can_stamp(this) };
    if !can_stamp
        && birth != Birth::Init
        && let Some(ident) = UNSTAMPED.get(this as u64)
    {
        return Some(ident);
    }
    // SAFETY: the caller promises that `this` points to an object of its type, as `identify_in`
    // asks.
    state::with_core(|core| unsafe { identify_in(core, this, birth) })?
}

/// The identity of a lock without a stamp that the call `call` is given, if its class is known by that. `tell` is called
/// before the lock is stamped.
///
/// # Safety
/// `this` points to such an object. The call has not returned. Its frame pointer may be anything.
#[cold]
pub unsafe fn newborn<T: Identify>(
    this: *const T,
    call: Frame,
    tell: impl FnOnce(),
) -> Option<Ident> {
    // SAFETY: the caller promises for `this` and `call` what `known_birth` asks.
    unsafe { known_birth(this, Birth::FirstAcquire, call, None, tell) }.map(|(ident, _)| ident)
}

/// The identity of a lock without a stamp, if its class is known by where its life begins, and where others were initialised
/// there. [`Ident::NONE`]: what was initialised is taken for no lock. No lock of ours is taken, and no system call made. `last`
/// is the lock that was destroyed here last, if the memory says so.
///
/// # Safety
/// As for [`newborn`].
#[inline(always)]
unsafe fn known_birth<T: Identify>(
    this: *const T,
    birth: Birth,
    call: Frame,
    last: Option<Ident>,
    tell: impl FnOnce(),
) -> Option<(Ident, u32)> {
    // SAFETY: the caller promises that `this` points to an object of its type.
    let (can_stamp, kind) = unsafe { (STAMPS.load(Relaxed) && T::can_stamp(this), T::kind(this)) };
    let is_first = birth == Birth::FirstAcquire;
    // SAFETY: the caller promises such an object.
    let was_met = || unsafe {
        stamped(this).is_some()
            || destroyed(this).is_some()
            || is_parents(this as u64, word(this, T::MAGIC).load(Relaxed))
    };
    if !can_stamp
        || is_first && (was_met() || allocations::are_recorded())
        || inherited::is_inherited(this as u64)
    {
        return None;
    }
    let about = birth.about(kind);
    // SAFETY: the caller promises a call that has not returned.
    let place = unsafe { known_births::place(about, call) }?;
    // Locks of modules are of other classes than this. So where one of this class was there is no module, and it was noted.
    let is_noted = last.is_some_and(|last| last.class() == known_births::class(place));
    if !is_noted && modules::locate(this as u64).is_some() {
        return None;
    }
    if known_births::is_withdrawn(place) {
        let stack = if is_first { None } else { known_births::begin_none(place) };
        return Some((Ident::NONE, stack?));
    }
    tell();
    // SAFETY: the caller promises such an object, whose stamp's bytes are ours.
    unsafe {
        if is_first && !matches!(try_claim(this), Claim::Made(_)) {
            return None;
        }
        let (ident, stack) = known_births::begin(place);
        stamp(this, ident);
        if !is_noted {
            lock_pages::note_lock(this as u64, true);
        }
        if !is_first {
            born(ident, None);
        }
        known_births::count(place);
        Some((ident, stack))
    }
}

/// The process that this one was forked from has stamped the lock at `addr` with this magic.
fn is_parents(addr: u64, magic: u64) -> bool {
    let parent = PARENT_NONCE.load(Relaxed);
    let differs = magic ^ parent ^ addr;
    parent != 0 && (differs == 0 || differs == NOT_PLAIN)
}

/// What the magic differs by of a lock that a thread is about to stamp.
const CLAIMED: u64 = 0x6b6b_0000_0000_0000;

/// Looks at a lock that another thread is about to stamp, and then pauses, before its stamp is taken for lost. The thread
/// stores two words, but it can lose the processor, or be this one, interrupted by a signal.
const LOOKS: u32 = 2000;
const PAUSES: u32 = 100;
const PAUSE_NS: i64 = 1_000_000;

/// Whether the calling thread is the one that stamps a lock: several may come to it for the first time at once.
enum Claim {
    /// It is. That word was there, for [`give_back`].
    Made(u64),
    /// It was stamped already.
    Stamped(Ident),
    /// Another thread is about to.
    Others,
}

/// # Safety
/// `this` points to an object of its type, in which nothing else uses the stamp's bytes.
unsafe fn try_claim<T: Identify>(this: *const T) -> Claim {
    // SAFETY: the caller promises such an object.
    let magic = unsafe { word(this, T::MAGIC) };
    let claimed = NONCE.load(Relaxed) ^ this as u64 ^ CLAIMED;
    // Relaxed: the stamp that follows is published by its own Release. Read before the stamp is looked for: the exchange
    // fails if there has been one since.
    let before = magic.load(Relaxed);
    // SAFETY: the caller promises that `this` points to an object of its type, as `stamped` asks.
    match unsafe { stamped(this) } {
        Some(ident) => Claim::Stamped(ident),
        None if before == claimed => Claim::Others,
        None => match magic.compare_exchange(before, claimed, Relaxed, Relaxed) {
            Ok(_) => Claim::Made(before),
            Err(_) => Claim::Others,
        },
    }
}

/// Has the calling thread stamp the lock, unless another has. The word that was there, for [`give_back`]; or the stamp. The
/// caller has the core's lock.
///
/// # Safety
/// As for [`try_claim`].
unsafe fn claim<T: Identify>(this: *const T) -> Result<u64, Ident> {
    for look in 0..LOOKS + PAUSES {
        // SAFETY: the caller promises such an object.
        match unsafe { try_claim(this) } {
            Claim::Made(before) => return Ok(before),
            Claim::Stamped(ident) => return Err(ident),
            Claim::Others if look < LOOKS => core::hint::spin_loop(),
            Claim::Others => sys::sleep_ns(PAUSE_NS),
        }
    }
    // A thread was killed, or left the call by a long jump from a handler.
    // SAFETY: the caller promises such an object.
    Ok(unsafe { word(this, T::MAGIC) }.load(Relaxed))
}

/// The calling thread does not stamp the lock that it has claimed.
///
/// # Safety
/// As for [`try_claim`].
unsafe fn give_back<T: Identify>(this: *const T, before: u64) {
    // SAFETY: the caller promises such an object. Relaxed: nothing is published.
    unsafe { word(this, T::MAGIC) }.store(before, Relaxed);
}

/// # Safety
/// `this` points to an object of its type.
unsafe fn identify_in<T: Identify>(core: &mut Core, this: *const T, birth: Birth) -> Option<Ident> {
    // SAFETY: the caller promises that `this` points to an object of type `T`, as `can_stamp` asks.
    let can_stamp = STAMPS.load(Relaxed) && unsafe { T::can_stamp(this) };
    let is_first = birth == Birth::FirstAcquire;
    // Another thread may have been here since.
    let claimed = match can_stamp {
        // SAFETY: the caller promises such an object, and `can_stamp` says that nothing else uses the stamp's bytes.
        true if is_first => match unsafe { claim(this) } {
            Ok(before) => Some(before),
            Err(ident) => return Some(ident),
        },
        false if is_first && let Some(ident) = UNSTAMPED.get(this as u64) => return Some(ident),
        _ => None,
    };
    // SAFETY: the caller promises that `this` points to an object of its type, as `new_lock` asks.
    let ident = unsafe { new_lock(core, this, birth, can_stamp, claimed) };
    let Some(ident) = ident else {
        if let Some(before) = claimed {
            // SAFETY: this thread has claimed it above, and found `before` there.
            unsafe { give_back(this, before) };
        }
        return None;
    };
    makers::note_alone(ident.inst());
    spinning::note(core, ident);
    inherited::met(core, this as u64, ident);
    lock_pages::note_lock(this as u64, can_stamp);
    match can_stamp {
        // SAFETY: the caller promises such an object, and `can_stamp` says that nothing else uses
        // the stamp's bytes.
        true => unsafe { stamp(this, ident) },
        false => UNSTAMPED.insert(this as u64, ident),
    }
    Some(ident)
}

/// The lock has been initialised: it is a new one. Where that was, if others of its class began there. Otherwise nothing is
/// done: then [`begin`] does it. `last` is the lock that was [destroyed](destroyed_last) here before.
///
/// # Safety
/// `this` points to such an object. `call`, if it is known, has not returned; its frame pointer may be anything.
#[inline(always)]
pub unsafe fn begin_as_known<T: Identify>(
    this: *const T,
    call: Option<Frame>,
    last: Option<Ident>,
) -> Option<u32> {
    // SAFETY: the caller promises such an object, and a call that has not returned.
    let (_, stack) = unsafe { known_birth(this, Birth::Init, call?, last, || {}) }?;
    Some(stack)
}

/// The lock has been initialised: it is a new one. Where that was, if its class is made of that.
///
/// # Safety
/// `this` points to such an object.
pub unsafe fn begin<T: Identify>(this: *const T) -> Option<u32> {
    // SAFETY: the caller promises such an object, and it is taken for a lock.
    unsafe { begin_unless(this, |_, _| false) }
}

/// As [`begin`], of what may be no lock: `is_none` says so of what it would be, and then it is not taken for one.
///
/// # Safety
/// `this` points to such an object. If `is_none` may say so, no other thread uses it yet.
pub unsafe fn begin_unless<T: Identify>(
    this: *const T,
    is_none: impl FnOnce(&mut Core, Ident) -> bool,
) -> Option<u32> {
    state::with_core(|core| {
        // SAFETY: the caller promises that `this` points to an object of its type, as `identify_in` asks.
        let ident = unsafe { identify_in(core, this, Birth::Init) }?;
        let class = core.ledger().get::<Class>(ident.class());
        let by_init = class.filter(|class| class.origin == class_origin::INIT);
        let stack = by_init.map(|class| class.stack);
        if is_none(core, ident) {
            // SAFETY: the caller promises such an object, which was given its identity just now.
            unsafe {
                withdraw(core, this);
                if let Some(place) = known_place(Birth::Init, T::kind(this), Frame::outside()) {
                    known_births::allow_nones(core, place);
                }
            }
        }
        stack
    })?
}

/// Gives a lock the identity that `make` answers, from the lock's kind and the identity that it
/// has, if it was met before.
///
/// # Safety
/// `this` points to such an object.
#[cold]
pub unsafe fn rename<T: Identify>(
    this: *const T,
    make: impl FnOnce(&mut Core, u8, Option<Ident>) -> Option<Ident>,
) -> Option<Ident> {
    state::with_core(|core| {
        // SAFETY: the caller promises that `this` points to an object of type `T`, as `kind` asks.
        let (known, kind) = unsafe { (known(this), T::kind(this)) };
        let ident = make(core, kind, known)?;
        if known == Some(ident) {
            return known;
        }
        spinning::note(core, ident);
        // SAFETY: the caller promises that `this` points to an object of type `T`, as `can_stamp`
        // asks.
        let can_stamp = STAMPS.load(Relaxed) && unsafe { T::can_stamp(this) };
        lock_pages::note_lock(this as u64, can_stamp);
        match can_stamp {
            // SAFETY: the caller promises such an object, and `can_stamp` says that nothing else
            // uses the stamp's bytes.
            true => unsafe { stamp(this, ident) },
            false => UNSTAMPED.insert(this as u64, ident),
        }
        Some(ident)
    })?
}

/// `before`: what the calling thread has found where the stamp's magic is to be, if it has claimed the lock.
///
/// # Safety
/// `this` points to an object of its type.
unsafe fn new_lock<T: Identify>(
    core: &mut Core,
    this: *const T,
    birth: Birth,
    can_stamp: bool,
    before: Option<u64>,
) -> Option<Ident> {
    // SAFETY: the caller promises that `this` points to an object of type `T`, as `kind` asks.
    let kind = unsafe { T::kind(this) };
    if let Some(before) = before
        && is_parents(this as u64, before)
    {
        // SAFETY: the caller promises that `this` points to an object of its type, as `word` asks.
        let ident = unsafe { word(this, T::IDENT) };
        return inherited(core, this as u64, kind, Ident(ident.load(Relaxed)));
    }
    if !can_stamp
        && birth == Birth::FirstAcquire
        && let Some(ident) = PARENTS.get(this as u64)
    {
        return inherited(core, this as u64, kind, ident);
    }
    if let Some((module, offset)) = modules::locate(this as u64) {
        return core.new_lock(kind, Origin::Static { module, offset });
    }
    if birth == Birth::FirstAcquire
        && let Some(home) = allocations::find(this as u64)
    {
        let origin = Origin::Allocation { frames: home.frames, offset: home.offset };
        let ident = core.new_lock(kind, origin)?;
        // Made with its block, then.
        born(ident, Some(home.stretch));
        return Some(ident);
    }
    let call = Frame::outside();
    // One that begins its life without a stamp, or at a place that was withdrawn.
    // SAFETY: `call` is the way out of our own frames, so it has not returned.
    if let Some(place) = unsafe { known_place(birth, kind, call) } {
        let ident = core.another_lock(known_births::class(place));
        born(ident, None);
        return Some(ident);
    }
    let mut frames = [0; CLASS_FRAMES + cpython::MOST];
    let mut noted = Noted::new();
    let mut capture = |frames: &mut [u64]| {
        call.map_or(0, |call| python::capture_noting_at(frames, call, &mut noted))
    };
    let mut n = capture(&mut frames[..CLASS_FRAMES]);
    // The first lock of a module loaded since: its own code takes it, which is how we hear of the
    // module.
    if modules::cover(core, &frames[..n]) {
        if let Some((module, offset)) = modules::locate(this as u64) {
            return core.new_lock(kind, Origin::Static { module, offset });
        }
        // Through the module the stack goes on.
        n = capture(&mut frames[..CLASS_FRAMES]);
    }
    let n = core.with_interpreted(&mut frames, n);
    let frames = &frames[..n];
    let ident = match birth {
        Birth::Init => {
            let ident = core.new_lock(kind, Origin::Init(frames))?;
            born(ident, None);
            ident
        }
        Birth::FirstAcquire => core.new_lock(kind, Origin::FirstAcquire(frames))?,
    };
    if can_stamp || birth == Birth::Init {
        known_births::keep(core, birth.about(kind), &noted, ident.class());
    }
    Some(ident)
}

/// Where locks of this kind begin their lives in the call `call`, if they are initialised there, and others were.
///
/// # Safety
/// The call has not returned.
unsafe fn known_place(birth: Birth, kind: u8, call: Option<Frame>) -> Option<&'static Edge> {
    // SAFETY: the caller promises a call that has not returned.
    let find = |call| unsafe { known_births::place(birth.about(kind), call) };
    call.filter(|_| birth == Birth::Init).and_then(find)
}

/// The lock at `addr` of the process that we were forked from, which called it `parents`.
fn inherited(core: &mut Core, addr: u64, kind: u8, parents: Ident) -> Option<Ident> {
    inherited::known(addr, parents)
        .or_else(|| core.new_lock(kind, Origin::Inherited(parents.class())))
}

/// The calling thread has made a lock: now, or in a stretch of its time that may be over.
fn born(ident: Ident, then: Option<Stretch>) {
    // SAFETY: the calling thread's own state, or null; no other reference to it is in use here.
    if let Some(thread) = unsafe { tls::get().as_mut() }
        && then.is_none_or(|then| then == thread.stretch())
    {
        thread.born(ident.inst());
    }
}

/// Frames that make a class: enough to get past wrappers; the reader merges what they tell apart
/// needlessly.
const CLASS_FRAMES: usize = 12;

/// What a destroyed lock's magic differs by, so that its use is noticed.
const DESTROYED: u64 = 0x5a5a_0000_0000_0000;

/// What is left of a destroyed lock.
#[derive(Clone, Copy)]
pub struct Destroyed {
    /// The identity that it had.
    pub ident: Ident,
    /// Row of the thread that destroyed it, 0 if not known.
    pub thread: u32,
    /// Where, 0 if not known.
    pub stack: u32,
}

/// The lock that was destroyed here, if nothing has been written there since.
///
/// # Safety
/// `this` points to such an object.
pub unsafe fn destroyed<T: Identify>(this: *const T) -> Option<Destroyed> {
    // SAFETY: the caller promises such an object.
    let ident = unsafe { destroyed_last(this) }?;
    // SAFETY: the caller promises that `this` points to an object of its type, as `destroyed_by`
    // asks.
    let (stack, thread) = unsafe { destroyed_by(this) };
    let (stack, thread) = (stack.load(Relaxed), thread.load(Relaxed).into());
    Some(Destroyed { ident, thread, stack })
}

/// As [`destroyed`]: which lock it was.
///
/// # Safety
/// `this` points to such an object, or to memory that is large enough for one.
#[inline(always)]
pub unsafe fn destroyed_last<T: Identify>(this: *const T) -> Option<Ident> {
    if !T::STAMPABLE {
        return None;
    }
    // SAFETY: the caller promises memory of such an object, as `word` asks.
    let (magic, ident) = unsafe { (word(this, T::MAGIC), word(this, T::IDENT)) };
    // Acquire pairs with the Release in `forget`: the rest was there first.
    let is_destroyed = magic.load(Acquire) == NONCE.load(Relaxed) ^ this as u64 ^ DESTROYED;
    is_destroyed.then(|| Ident(ident.load(Relaxed)))
}

/// Where a destroyed lock keeps the stack of its end, and the thread.
///
/// # Safety
/// `this` points to an object of its type that is destroyed.
unsafe fn destroyed_by<T: Identify>(this: *const T) -> (&'static AtomicU32, &'static AtomicU16) {
    let at = this.cast_mut();
    // SAFETY: the caller vouches for the object; the offsets of `Identify` are aligned in it.
    unsafe {
        (
            AtomicU32::from_ptr(at.byte_add(T::DESTROYED_STACK).cast()),
            AtomicU16::from_ptr(at.byte_add(T::DESTROYED_THREAD).cast()),
        )
    }
}

/// Takes all stamps out of a part of a block that is about to be freed. Says whether one was a
/// lock's that is taken, by its own word.
///
/// # Safety
/// `part` of the caller's block, 8-aligned.
pub unsafe fn unstamp(block: *mut u8, part: core::ops::Range<usize>) -> bool {
    let nonce = NONCE.load(Relaxed);
    let mut taken = false;
    for offset in (part.start..part.end.saturating_sub(7)).step_by(8) {
        // SAFETY: `offset` is in `part`, which the caller promises to be within the block.
        let at = unsafe { block.add(offset) };
        // SAFETY: the word is in the block and 8-aligned. Another thread may write there, rightly
        // or wrongly: atomic.
        let word = unsafe { AtomicU64::from_ptr(at.cast()) };
        let found = word.load(Relaxed) ^ nonce;
        // An address has no high bits; the magic of a special lock differs by some.
        let lock = match found >> 48 {
            0 => found,
            high if high == NOT_PLAIN >> 48 => found ^ NOT_PLAIN,
            _ => continue,
        };
        let magic = (at as u64).wrapping_sub(lock);
        let is_mutex = magic == pthread_mutex_t::MAGIC as u64;
        if (is_mutex || magic == pthread_rwlock_t::MAGIC as u64) && magic <= offset as u64 {
            // SAFETY: the lock begins within the block.
            let state = unsafe { (lock as *const u32).read_volatile() };
            taken |= if is_mutex { state != 0 } else { state >> 1 != 0 };
            word.store(0, Relaxed);
        }
    }
    taken
}

/// The lock's life is over; its memory keeps where, and by which thread. Says where, if it was
/// looked for.
///
/// # Safety
/// `this` points to such an object, or what is left of it after its destroy function. `call`, if it is known, has not
/// returned; its frame pointer may be anything.
#[inline(always)]
pub unsafe fn forget<T: Identify>(this: *const T, call: Option<Frame>) -> Option<u32> {
    // SAFETY: the caller promises that `this` points to an object of its type, as `stamped` asks.
    if T::STAMPABLE && unsafe { stamped(this) }.is_some() {
        // SAFETY: the calling thread's state, or null.
        let own = unsafe { crate::os::tls::get().as_ref() }.map_or(0, |thread| thread.id());
        // SAFETY: the caller promises what is left of the object; the bytes of the stamp are ours,
        // and these are free now.
        unsafe {
            let place = current_stack::record_at(call);
            let (stack, thread) = destroyed_by(this);
            stack.store(place, Relaxed);
            // For a thread beyond the 65,535th only the place is known.
            thread.store(own.try_into().unwrap_or(0), Relaxed);
            // Pairs with the Acquire in `destroyed`.
            word(this, T::MAGIC).store(NONCE.load(Relaxed) ^ this as u64 ^ DESTROYED, Release);
            return Some(place);
        }
    }
    if UNSTAMPED.get(this as u64).is_some() {
        state::with_core(|_| UNSTAMPED.remove(this as u64));
    }
    None
}

/// The object, which may have an identity, is no lock any more.
///
/// # Safety
/// `this` points to such an object.
pub unsafe fn withdraw<T: Identify>(_core: &mut Core, this: *const T) {
    if !T::STAMPABLE {
        return forget_unstamped(this as u64);
    }
    // SAFETY: the caller promises such an object, whose stamp's bytes are ours if it has one.
    unsafe {
        if stamped(this).is_some() {
            take_stamp(this);
        }
    }
}

/// The identity of a lock without a stamp that was initialised in this process, or in one that it was forked from.
///
/// # Safety
/// `this` points to such an object.
pub unsafe fn unstamped_or_inherited<T: Identify>(this: *const T) -> Option<Ident> {
    let at = this as u64;
    UNSTAMPED.get(at).or_else(|| {
        PARENTS.get(at)?;
        // SAFETY: the caller promises such an object.
        unsafe { identify(this, Birth::FirstAcquire) }
    })
}

/// The lock is known by its address, or was in the process that this one was forked from.
pub fn is_known_by_address(addr: u64) -> bool {
    UNSTAMPED.get(addr).is_some() || PARENTS.get(addr).is_some()
}

/// Forgets the lock without a stamp at `addr`, of the parent process, too. To be called under the core's lock.
pub fn forget_unstamped(addr: u64) {
    UNSTAMPED.remove(addr);
    PARENTS.remove(addr);
}

/// Takes the stamp away: the object is no lock, or no lock any more.
///
/// # Safety
/// `this` points to such an object, which has a stamp.
pub unsafe fn take_stamp<T: Identify>(this: *const T) {
    // SAFETY: the stamp's bytes are ours as long as it is there.
    unsafe { word(this, T::MAGIC) }.store(0, Relaxed);
}

/// Begins a ledger's identities. In a forked child the parent's remain recognisable as such.
pub fn start(nonce: u64) {
    let parent = NONCE.swap(nonce, Relaxed);
    PARENT_NONCE.store(parent, Relaxed);
    UNSTAMPED.move_to(&PARENTS);
    numbers::start();
    makers::start();
    spinning::forget();
    memo::begin();
    // A child has its parent's C library.
    if parent == 0 {
        // SAFETY: this is start, and the function works on its own locks.
        STAMPS.store(unsafe { layout_holds() }, Relaxed);
    }
}

/// Checks on a lock of each sort that glibc lays it out as we think and leaves the stamp alone.
///
/// # Safety
/// None: it works on its own locks.
unsafe fn layout_holds() -> bool {
    // SAFETY: all objects are local, initialised before use; attributes are of the libc crate's
    // types, which are large enough.
    unsafe {
        let mut attr: libc::pthread_mutexattr_t = core::mem::zeroed();
        let a = (&raw mut attr).cast();
        real::pthread_mutexattr_init(a, 0, 0);
        real::pthread_mutexattr_settype(a, libc::PTHREAD_MUTEX_RECURSIVE as usize, 0);
        let mut mutex: pthread_mutex_t = core::mem::zeroed();
        let m = &raw mut mutex;
        real::pthread_mutex_init(m, &raw const attr);
        real::pthread_mutexattr_destroy(a, 0, 0);
        let ident = Ident::new(0x1234_5678, 0x9abc_def0);
        let blank = |at: &AtomicU64| at.load(Relaxed) == 0;
        let mut good = kind_of(m) == mutex_kind::RECURSIVE
            && blank(word(m, pthread_mutex_t::MAGIC))
            && blank(word(m, pthread_mutex_t::IDENT));
        let (count, spins) = destroyed_by(m);
        stamp(m, ident);
        good &= real::pthread_mutex_lock(m) == 0
            && real::pthread_mutex_trylock(m) == 0
            && count.load(Relaxed) == 2
            && real::pthread_mutex_unlock(m) == 0
            && real::pthread_mutex_unlock(m) == 0
            && stamped(m) == Some(ident)
            && real::pthread_mutex_destroy(m) == 0;
        // Written to, it is as destroyed as before.
        count.store(7, Relaxed);
        spins.store(7, Relaxed);
        good &=
            real::pthread_mutex_trylock(m) == libc::EINVAL && real::pthread_mutex_destroy(m) == 0;

        let mut rwlock: pthread_rwlock_t = core::mem::zeroed();
        let l = &raw mut rwlock;
        let mut attr: libc::pthread_rwlockattr_t = core::mem::zeroed();
        let a = (&raw mut attr).cast();
        real::pthread_rwlockattr_init(a, 0, 0);
        good &= real::pthread_rwlockattr_setkind_np(a, 2, 0) == 0;
        real::pthread_rwlock_init(l, &raw const attr);
        good &= pthread_rwlock_t::kind(l) == lock_kind::RWLOCK_WRITER
            && blank(word(l, pthread_rwlock_t::MAGIC))
            && blank(word(l, pthread_rwlock_t::IDENT));
        let (stack, thread) = destroyed_by(l);
        good &= stack.swap(7, Relaxed) == 0 && thread.swap(7, Relaxed) == 0;
        stamp(l, ident);
        good &= real::pthread_rwlock_rdlock(l) == 0
            && real::pthread_rwlock_unlock(l) == 0
            && real::pthread_rwlock_wrlock(l) == 0
            && real::pthread_rwlock_unlock(l) == 0
            && stamped(l) == Some(ident);
        real::pthread_rwlock_destroy(l);

        let mut semaphore: sem_t = core::mem::zeroed();
        let s = &raw mut semaphore;
        good &= real::sem_init(s, 0, 1) == 0
            && blank(word(s, sem_t::MAGIC))
            && blank(word(s, sem_t::IDENT));
        stamp(s, ident);
        good &= !is_taken(s)
            && real::sem_trywait(s) == 0
            && is_taken(s)
            && real::sem_post(s) == 0
            && !is_taken(s)
            && stamped(s) == Some(ident);
        real::sem_destroy(s);
        good
    }
}
