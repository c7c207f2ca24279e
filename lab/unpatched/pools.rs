//! The pools of debugobjects, with those of Long's 2019 patches that `LOCKWRIGHT_POOL_SWITCHES`
//! names: a sum of [`Switches`], in digits. `guest/preload/src/debugobjects/mod.rs` compiles this
//! file instead of `pools.rs` if the preload library has the feature `pool-switches`.

use core::ffi::CStr;

use lockwright_engines::debugobjects::Switches;

pub use self::shipped::{SOURCE, map, unmap};

#[path = "../../guest/preload/src/debugobjects/pools.rs"]
mod shipped;

/// The patches that the pools have.
pub fn patches() -> Switches {
    // SAFETY: getenv returns null or a NUL-terminated string; no other thread sets the environment
    // yet.
    let digits = unsafe {
        let value = libc::getenv(c"LOCKWRIGHT_POOL_SWITCHES".as_ptr());
        (!value.is_null()).then(|| CStr::from_ptr(value).to_bytes())
    };
    digits.map_or(shipped::patches(), |digits| Switches(number(digits)))
}

fn number(digits: &[u8]) -> u32 {
    digits
        .iter()
        .fold(0, |n, digit| n.wrapping_mul(10).wrapping_add(u32::from(digit.wrapping_sub(b'0'))))
}
