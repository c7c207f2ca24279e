//! The functions of a library that a file of wrappers interposes, for the wrappers to call.

/// Declares them: `name(argument: type, ...) -> result;`.
macro_rules! next_functions {
    ($($name:ident($($arg:ident: $ty:ty),*) -> $ret:ty;)*) => {
        /// Where the functions are.
        pub mod slot {
            use core::ffi::c_void;
            use core::sync::atomic::AtomicPtr;
            $(
                #[allow(non_upper_case_globals, reason = "named as the function is")]
                pub static $name: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
            )*
        }

        /// The functions, which are there once somebody calls their stubs.
        mod next {
            use super::*;
            $(
                #[doc = concat!("The library's `", stringify!($name), "`.")]
                /// # Safety
                /// As the function itself, from its wrapper.
                #[allow(non_snake_case, reason = "named as the function is")]
                #[allow(dead_code, reason = "some are only forwarded to, by their stubs")]
                pub unsafe fn $name($($arg: $ty),*) -> $ret {
                    type Function = unsafe extern "C-unwind" fn($($ty),*) -> $ret;
                    // SAFETY: set before the stub is called; the function of that name has this
                    // type.
                    unsafe {
                        let at: Function = core::mem::transmute(slot::$name.load(core::sync::atomic::Ordering::Relaxed));
                        at($($arg),*)
                    }
                }
            )*
        }
    };
}
