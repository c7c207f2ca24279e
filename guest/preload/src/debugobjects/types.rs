//! The types that the C library has, in one table.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lockwright_engines::debugobjects::{Descr, Rules};
use lockwright_ledger::rows::object::object_type;

use lockwright_glibc::table;

use super::attributes;
use super::bytes::{self, Bytes};
use crate::layouts;
use crate::stack::modules;

/// A type of objects: what the engine has to know of it, and what only its bytes tell.
pub struct Type {
    /// For the engine.
    pub descr: Descr,
    /// How large an object is; 0: it is no memory.
    pub size: u64,
    /// How to read one.
    bytes: Bytes,
}

/// What the bytes of an object in use tell. Where the layout of its type does not hold, they tell
/// nothing: every answer is the one that no fault follows from.
impl Type {
    fn can_read(&self) -> bool {
        layouts::holds(self.descr.type_id)
    }

    /// See [`Bytes::is_possible`].
    ///
    /// # Safety
    /// An object of the type is at `addr`.
    pub unsafe fn is_possible(&self, addr: u64) -> bool {
        // SAFETY: the caller promises an object of this type at `addr`, and its layout is the one
        // that `is_possible` knows.
        !self.can_read() || unsafe { (self.bytes.is_possible)(addr) }
    }

    /// See [`Bytes::is_shared`]. Memory that other processes have may have shared objects.
    ///
    /// # Safety
    /// As for [`Type::is_possible`].
    pub unsafe fn is_shared(&self, addr: u64) -> bool {
        match self.can_read() {
            // SAFETY: the caller promises an object of this type at `addr`, and its layout is the
            // one that `is_shared` knows.
            true => unsafe { (self.bytes.is_shared)(addr) },
            false => modules::is_shared(addr),
        }
    }

    /// See [`Bytes::is_used`].
    ///
    /// # Safety
    /// As for [`Type::is_possible`].
    pub unsafe fn is_used(&self, addr: u64) -> bool {
        // SAFETY: the caller promises an object of this type at `addr`, and its layout is the one
        // that `is_used` knows.
        self.can_read() && unsafe { (self.bytes.is_used)(addr) }
    }

    /// See [`Bytes::fingerprint`]. Where nothing tells, no two are the same.
    ///
    /// # Safety
    /// As for [`Type::is_possible`].
    pub unsafe fn fingerprint(&self, addr: u64) -> u64 {
        /// Above what hashes of small numbers may be; which number does not matter.
        static NEXT: AtomicU64 = AtomicU64::new(1 << 63);
        match self.can_read() {
            // SAFETY: the caller promises an object of this type at `addr`, and its layout is the
            // one that `fingerprint` knows.
            true => unsafe { (self.bytes.fingerprint)(addr) },
            // Relaxed: a number of its own is all.
            false => NEXT.fetch_add(2, Relaxed) | 1,
        }
    }
}

/// What holds of all types of the C library's: an object may be initialised again only once it was
/// destroyed, must be destroyed before its memory goes, and is still destroyed only as long as its
/// memory is as it was then.
const ALL: Rules = Rules::INIT_ONCE
    .or(Rules::REINIT)
    .or(Rules::MUST_DESTROY)
    .or(Rules::DESTROY_KNOWN)
    .or(Rules::ASSERT_ALIVE)
    .or(Rules::FINGERPRINT)
    .or(Rules::ACTIVATE_ACTIVE_OK);

/// Attributes may be initialised again, and used as copies that nobody has initialised.
const ATTRIBUTES: Rules =
    Rules::REINIT.or(Rules::MUST_DESTROY).or(Rules::ASSERT_ALIVE).or(Rules::FINGERPRINT);

/// `name: number, layout, may be static, how to read one`
macro_rules! types {
    ($($name:ident: $number:expr, $layout:ident, $is_static:ident, $bytes:expr;)*) => { $(
        #[doc = concat!("The type of that name in `object_type`.")]
        pub static $name: Type = Type {
            descr: types!(@descr $number, $is_static, {
                /// # Safety
                /// An object of this type is at `addr`.
                unsafe extern "C" fn is_static(addr: *mut c_void) -> bool {
                    // SAFETY: the engine asks of an object of this type that is in use.
                    unsafe { $name.is_possible(addr as u64) }
                }
                is_static
            }),
            size: table::$layout::OBJECT.size as u64,
            bytes: $bytes,
        };
    )* };
    (@descr $number:expr, is_static, $ask:expr) => {
        Descr { is_static_object: Some($ask), ..Descr::new($number, ALL.or(Rules::STATIC)) }
    };
    (@descr $number:expr, no_static, $ask:expr) => { Descr::new($number, ALL) };
    (@descr $number:expr, attributes, $ask:expr) => { Descr::new($number, ATTRIBUTES) };
}

types! {
    MUTEX: object_type::MUTEX, mutex, is_static, bytes::MUTEX;
    RWLOCK: object_type::RWLOCK, rwlock, is_static, bytes::RWLOCK;
    COND: object_type::COND, cond, is_static, bytes::COND;
    SEMAPHORE: object_type::SEMAPHORE, semaphore, no_static, bytes::SEMAPHORE;
    BARRIER: object_type::BARRIER, barrier, no_static, bytes::BARRIER;
    SPIN: object_type::SPIN, spin, no_static, bytes::SPIN;
    // As what they are; what they are called says `number`.
    MTX: object_type::MUTEX, mutex, is_static, bytes::MUTEX;
    CND: object_type::COND, cond, is_static, bytes::COND;
    ATTR: object_type::ATTR, attr, attributes, attributes::ATTR;
    MUTEXATTR: object_type::MUTEXATTR, mutex_attr, attributes, attributes::MUTEXATTR;
    RWLOCKATTR: object_type::RWLOCKATTR, rwlock_attr, attributes, attributes::RWLOCKATTR;
    CONDATTR: object_type::CONDATTR, cond_attr, attributes, attributes::CONDATTR;
    BARRIERATTR: object_type::BARRIERATTR, barrier_attr, attributes, attributes::BARRIERATTR;
}

/// `timer_t`: no memory. It may be deleted while it is armed.
pub static TIMER: Type = Type {
    descr: Descr::new(
        object_type::TIMER,
        Rules::REINIT.or(Rules::MUST_DESTROY).or(Rules::ASSERT_ALIVE).or(Rules::DESTROY_ACTIVE_OK),
    ),
    size: 0,
    bytes: attributes::ANY,
};

/// What keeps numbers of timers apart from addresses, which have no such bit.
const NUMBERED: u64 = 1 << 62;

/// Where a timer of that number is, as far as the engine is concerned.
pub fn timer(number: u64) -> u64 {
    number ^ NUMBERED
}

/// The ledger's number of a type of the C library's: of those that are one to the engine it is the
/// object's init function that tells.
pub fn number(descr: &'static Descr) -> u32 {
    match descr {
        _ if core::ptr::eq(descr, &MTX.descr) => object_type::MTX,
        _ if core::ptr::eq(descr, &CND.descr) => object_type::CND,
        _ => descr.type_id,
    }
}

/// What the ledger has for an object's address: of a timer its number.
pub fn shown(descr: &'static Descr, addr: u64) -> u64 {
    if core::ptr::eq(descr, &TIMER.descr) { addr ^ NUMBERED } else { addr }
}

/// `pthread_once_t`: tracked only while its routine runs, so there is nothing that must be done to
/// it.
pub static ONCE: Type = Type {
    descr: Descr {
        is_static_object: Some(once_is_static),
        ..Descr::new(object_type::ONCE, Rules::STATIC.or(Rules::ACTIVATE_ACTIVE_OK))
    },
    size: table::once::OBJECT.size as u64,
    bytes: bytes::ONCE,
};

/// # Safety
/// A once control is at `addr`.
unsafe extern "C" fn once_is_static(addr: *mut c_void) -> bool {
    // SAFETY: the engine asks of an object of this type that is in use, so the control's word is
    // there.
    unsafe { ONCE.is_possible(addr as u64) }
}
