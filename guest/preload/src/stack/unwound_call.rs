//! Calls that an exception, or the end of the thread, may leave past us: made in a function with a
//! personality routine of its own, which tells so.

use core::ffi::c_int;

/// `_UA_CLEANUP_PHASE`: frames are being left, not just looked at.
pub const CLEANUP_PHASE: c_int = 2;
/// `_URC_CONTINUE_UNWIND`: nothing to do in this frame.
pub const CONTINUE_UNWIND: c_int = 8;

/// Defines `$name(first, second, function)`, which calls `function(first, second)`, and `$unwound` if
/// that does not return. `$symbol` is its name for the linker.
macro_rules! unwound_call {
    ($symbol:literal, $name:ident, $unwound:expr) => {
        framed_code!(unwound_call $symbol, personality = sym personality);

        unsafe extern "C-unwind" {
            #[link_name = $symbol]
            fn $name(
                first: *mut core::ffi::c_void,
                second: *mut core::ffi::c_void,
                function: *mut core::ffi::c_void,
            ) -> core::ffi::c_int;
        }

        /// What the unwinder calls for the frame of the function above.
        ///
        /// # Safety
        /// The unwinder calls it, for the frame of the function above.
        unsafe extern "C" fn personality(
            _version: core::ffi::c_int,
            actions: core::ffi::c_int,
            _class: u64,
            _exception: *mut core::ffi::c_void,
            _context: *mut core::ffi::c_void,
        ) -> core::ffi::c_int {
            if actions & $crate::stack::unwound_call::CLEANUP_PHASE != 0 {
                $unwound;
            }
            $crate::stack::unwound_call::CONTINUE_UNWIND
        }
    };
}

pub(crate) use unwound_call;
