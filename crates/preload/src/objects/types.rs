//! The types that the C library has, in one table.

use core::ffi::c_void;

use lockwright_engines::debugobjects::{Descr, Rules};
use lockwright_ledger::rows::object::object_type;

use super::bytes::{self, Bytes};

/// A type of objects: what the engine has to know of it, and what only its bytes tell.
pub struct Type {
    /// For the engine.
    pub descr: Descr,
    /// How large an object is; 0: it is no memory.
    pub size: u64,
    /// How to read one.
    pub bytes: Bytes,
}

/// What holds of all types of the C library's: an object may be initialised again only once it was destroyed, must be
/// destroyed before its memory goes, and is still destroyed only as long as its memory is as it was then.
const ALL: Rules = Rules::INIT_ONCE
    .or(Rules::REINIT)
    .or(Rules::MUST_DESTROY)
    .or(Rules::DESTROY_KNOWN)
    .or(Rules::ASSERT_ALIVE)
    .or(Rules::FINGERPRINT)
    .or(Rules::ACTIVATE_ACTIVE_OK);

/// `name: number, size, may be static, how to read one`
macro_rules! types {
    ($($name:ident: $number:expr, $size:expr, $is_static:ident, $bytes:expr;)*) => { $(
        #[doc = concat!("The type of that name in `object_type`.")]
        pub static $name: Type = Type {
            descr: types!(@descr $number, $is_static, {
                unsafe extern "C" fn is_static(addr: *mut c_void) -> bool {
                    // SAFETY: the engine asks of an object of this type that is in use.
                    unsafe { ($name.bytes.is_possible)(addr as u64) }
                }
                is_static
            }),
            size: $size,
            bytes: $bytes,
        };
    )* };
    (@descr $number:expr, is_static, $ask:expr) => {
        Descr { is_static_object: Some($ask), ..Descr::new($number, ALL.or(Rules::STATIC)) }
    };
    (@descr $number:expr, no_static, $ask:expr) => { Descr::new($number, ALL) };
}

types! {
    MUTEX: object_type::MUTEX, 40, is_static, bytes::MUTEX;
    RWLOCK: object_type::RWLOCK, 56, is_static, bytes::RWLOCK;
    COND: object_type::COND, 48, is_static, bytes::COND;
    SEMAPHORE: object_type::SEMAPHORE, 32, no_static, bytes::SEMAPHORE;
    BARRIER: object_type::BARRIER, 32, no_static, bytes::BARRIER;
    SPIN: object_type::SPIN, 4, no_static, bytes::SPIN;
}

/// `pthread_once_t`: tracked only while its routine runs, so there is nothing that must be done to it.
pub static ONCE: Type = Type {
    descr: Descr {
        is_static_object: Some(once_is_static),
        ..Descr::new(object_type::ONCE, Rules::STATIC.or(Rules::ACTIVATE_ACTIVE_OK))
    },
    size: 4,
    bytes: bytes::ONCE,
};

unsafe extern "C" fn once_is_static(addr: *mut c_void) -> bool {
    // SAFETY: as in `types!`.
    unsafe { (bytes::ONCE.is_possible)(addr as u64) }
}
