//! The environment, read without a call: before constructors have run, too.

use core::ffi::{CStr, c_char};

unsafe extern "C" {
    static environ: *const *const c_char;
}

/// The value of a variable, by its name and `=`.
pub fn variable(name: &[u8]) -> Option<&'static CStr> {
    // SAFETY: the C library has set it before anybody calls us.
    let mut at = unsafe { environ };
    if at.is_null() {
        return None;
    }
    loop {
        // SAFETY: a list of terminated texts that null ends, which is not behind us.
        let text = unsafe { at.read() };
        if text.is_null() {
            return None;
        }
        // SAFETY: `text` is not null, so it is one of the environment's NUL-terminated texts.
        let text = unsafe { CStr::from_ptr(text) };
        if let Some(value) = text.to_bytes_with_nul().strip_prefix(name) {
            return CStr::from_bytes_with_nul(value).ok();
        }
        // SAFETY: the entry is not the null that ends the list, so another one follows.
        at = unsafe { at.add(1) };
    }
}
