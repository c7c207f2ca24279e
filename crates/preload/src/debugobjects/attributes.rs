//! What the bytes of attributes tell. A function that has destroyed one leaves it as it is, and
//! most are alike and lie on stacks, where the next function's attributes come to lie, which may be
//! copies. So one that was destroyed is known by its bytes and by the call whose variable it is.

use super::bytes::{Bytes, hash_of, word};
use crate::stack::unwind::Frame;

/// `schedpolicy` (at 4), `flags` (at 8); then size of the guard (at 16), address and size of the
/// stack, and an extension (at 40), none of which has as many bits as there is room for.
pub const ATTR: Bytes = Bytes {
    // SAFETY: attributes of a thread, of 56 bytes.
    is_possible: |addr| unsafe {
        let is_small = |high| word(addr, high) < 1 << 15;
        word(addr, 4) <= 7
            && word(addr, 8) <= 0xffff
            && [20, 28, 36, 44].into_iter().all(is_small)
            && word(addr, 40).is_multiple_of(8)
    },
    // SAFETY: as above.
    fingerprint: |addr| unsafe { hash_of(addr, 56, &[]) ^ call_of(addr) },
    ..ANY
};

/// The type in the low bits, with two for elision above; protocol from bit 28 on; the highest two
/// are flags.
pub const MUTEXATTR: Bytes = Bytes {
    // SAFETY: attributes of a mutex, of 4 bytes.
    is_possible: |addr| unsafe {
        let bits = word(addr, 0);
        bits & 0xfff & !0x300 <= 3 && bits >> 28 & 3 != 3
    },
    // SAFETY: as above.
    fingerprint: |addr| unsafe { hash_of(addr, 4, &[]) ^ call_of(addr) },
    ..ANY
};

/// Kind, and whether it is shared.
pub const RWLOCKATTR: Bytes = Bytes {
    // SAFETY: attributes of a reader-writer lock, of 8 bytes.
    is_possible: |addr| unsafe { word(addr, 0) <= 2 && word(addr, 4) <= 1 },
    // SAFETY: as above.
    fingerprint: |addr| unsafe { hash_of(addr, 8, &[]) ^ call_of(addr) },
    ..ANY
};

/// Bit 0: shared; above it the clock, realtime or monotonic.
pub const CONDATTR: Bytes = Bytes {
    // SAFETY: attributes of a condition variable, of 4 bytes.
    is_possible: |addr| unsafe { word(addr, 0) <= 3 },
    // SAFETY: as above.
    fingerprint: |addr| unsafe { hash_of(addr, 4, &[]) ^ call_of(addr) },
    ..ANY
};

/// Whether it is shared.
pub const BARRIERATTR: Bytes = Bytes {
    // SAFETY: attributes of a barrier, of 4 bytes.
    is_possible: |addr| unsafe { word(addr, 0) <= 1 },
    // SAFETY: as above.
    fingerprint: |addr| unsafe { hash_of(addr, 4, &[]) ^ call_of(addr) },
    ..ANY
};

/// Nothing tells. Attributes are not shared, whatever they say of what is made by them.
pub const ANY: Bytes =
    Bytes { is_possible: |_| true, is_shared: |_| false, is_used: |_| false, fingerprint: |_| 0 };

/// The call whose variable the object at `addr` is, if it is one on the calling thread's stack: by
/// where that was called, and the end of its frame. 0 of others.
fn call_of(addr: u64) -> u64 {
    /// Frames of functions that only pass the object on, and how large they are at most.
    const PASSED_ON: usize = 64;
    const NEAR: u64 = 1 << 20;
    let Some(mut frame) = Frame::outside() else { return 0 };
    if !(frame.rsp..frame.rsp + NEAR).contains(&addr) {
        return 0;
    }
    for _ in 0..PASSED_ON {
        let Some(caller) = frame.caller() else { return 0 };
        if addr < caller.rsp {
            return caller.rsp.rotate_left(20) ^ caller.pc;
        }
        frame = caller;
    }
    0
}
