//! Which patches the pools of debugobjects have: what ships has all five of Long's 2019
//! debugobjects patches. With the feature `pool-switches`, which is for the benchmark alone, those
//! of `LOCKWRIGHT_POOL_SWITCHES`: a sum of [`Switches`], in digits.

use core::ffi::CStr;

use lockwright_engines::debugobjects::Switches;

/// What the pools begin with.
pub fn switches() -> Switches {
    if !cfg!(feature = "pool-switches") {
        return Switches::PATCHED;
    }
    // SAFETY: getenv returns null or a NUL-terminated string; nobody else runs yet that sets it.
    let digits = unsafe {
        let value = libc::getenv(c"LOCKWRIGHT_POOL_SWITCHES".as_ptr());
        (!value.is_null()).then(|| CStr::from_ptr(value).to_bytes())
    };
    digits.map_or(Switches::PATCHED, |digits| Switches(number(digits)))
}

fn number(digits: &[u8]) -> u32 {
    digits
        .iter()
        .fold(0, |n, digit| n.wrapping_mul(10).wrapping_add(u32::from(digit.wrapping_sub(b'0'))))
}
