//! The meaning of the bytes of attributes. Destroying one does not change it. Most are alike and
//! lie on stacks, where the next function's attributes may lie, which may be copies. So a destroyed
//! one is known by its bytes and by the call whose variable it is.

use lockwright_glibc::table::{attr, barrier_attr, cond_attr, mutex_attr, rwlock_attr};

use crate::debugobjects::bytes::{Bytes, hash_of, word};
use crate::layouts::offset;
use crate::stack::unwind::Frame;

/// Policy and flags are small numbers. Sizes, the stack's address and the extension are 64 bits
/// wide, and use 47 of them at most.
pub const ATTR: Bytes = Bytes {
    // SAFETY: attributes of a thread, whose fields lie in them.
    is_possible: |addr| unsafe {
        let wide = [attr::GUARD_SIZE, attr::STACK_ADDRESS, attr::STACK_SIZE, attr::EXTENSION];
        word(addr, offset(&attr::POLICY)) <= 7
            && word(addr, offset(&attr::FLAGS)) <= 0xffff
            && wide.iter().all(|field| word(addr, offset(field) + 4) < 1 << 15)
            && word(addr, offset(&attr::EXTENSION)).is_multiple_of(8)
    },
    // SAFETY: callers pass the address of attributes of this type, and only its own size is hashed.
    fingerprint: |addr| unsafe { hash_of(addr, attr::OBJECT.size as u64, &[]) ^ call_of(addr) },
    ..ANY
};

/// The type in the low bits, with two for elision above; protocol from bit 28 on; the highest two
/// are flags.
pub const MUTEXATTR: Bytes = Bytes {
    // SAFETY: attributes of a mutex, which are a word.
    is_possible: |addr| unsafe {
        let bits = word(addr, offset(&mutex_attr::BITS));
        bits & 0xfff & !0x300 <= 3 && bits >> 28 & 3 != 3
    },
    // SAFETY: callers pass the address of attributes of this type, and only its own size is hashed.
    fingerprint: |addr| unsafe {
        hash_of(addr, mutex_attr::OBJECT.size as u64, &[]) ^ call_of(addr)
    },
    ..ANY
};

/// Kind, and whether it is shared.
pub const RWLOCKATTR: Bytes = Bytes {
    // SAFETY: attributes of a reader-writer lock, which are two words.
    is_possible: |addr| unsafe {
        word(addr, offset(&rwlock_attr::KIND)) <= 2 && word(addr, offset(&rwlock_attr::SHARED)) <= 1
    },
    // SAFETY: callers pass the address of attributes of this type, and only its own size is hashed.
    fingerprint: |addr| unsafe {
        hash_of(addr, rwlock_attr::OBJECT.size as u64, &[]) ^ call_of(addr)
    },
    ..ANY
};

/// Bit 0: shared; above it the clock, realtime or monotonic.
pub const CONDATTR: Bytes = Bytes {
    // SAFETY: attributes of a condition variable, which are a word.
    is_possible: |addr| unsafe { word(addr, offset(&cond_attr::BITS)) <= 3 },
    // SAFETY: callers pass the address of attributes of this type, and only its own size is hashed.
    fingerprint: |addr| unsafe {
        hash_of(addr, cond_attr::OBJECT.size as u64, &[]) ^ call_of(addr)
    },
    ..ANY
};

/// Whether it is shared.
pub const BARRIERATTR: Bytes = Bytes {
    // SAFETY: attributes of a barrier, which are a word.
    is_possible: |addr| unsafe { word(addr, offset(&barrier_attr::SHARED)) <= 1 },
    // SAFETY: callers pass the address of attributes of this type, and only its own size is hashed.
    fingerprint: |addr| unsafe {
        hash_of(addr, barrier_attr::OBJECT.size as u64, &[]) ^ call_of(addr)
    },
    ..ANY
};

/// The bytes say nothing. An attribute itself is not shared, even if the objects made with it are.
pub const ANY: Bytes =
    Bytes { is_possible: |_| true, is_shared: |_| false, is_used: |_| false, fingerprint: |_| 0 };

/// The call whose variable the object at `addr` is, if it is one on the calling thread's stack: by
/// where that was called, and the end of its frame. 0 of others.
fn call_of(addr: u64) -> u64 {
    /// Frames of functions that only pass the object on, and how large they are at most.
    const PASSED_ON: usize = 64;
    const NEAR: u64 = 1 << 20;
    let Some(mut frame) = Frame::outside() else { return 0 };
    if !(frame.sp..frame.sp + NEAR).contains(&addr) {
        return 0;
    }
    for _ in 0..PASSED_ON {
        let Some(caller) = frame.caller() else { return 0 };
        if addr < caller.sp {
            return caller.sp.rotate_left(20) ^ caller.pc;
        }
        frame = caller;
    }
    0
}
