//! What a row of the table of libraries' functions becomes: the stub in front of the function, and
//! the function itself for wrappers to call.

/// `LIBRARY { name(argument: type, ...) -> result, passed arity: wrapper; }`. What is passed beside
/// the arguments is as in `interpose!`.
macro_rules! libraries {
    ($($library:ident { $(
        $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty, $pass:ident $arity:tt: $to:path;
    )* })*) => {
        /// Where the functions are.
        mod slot {
            use super::*;
            $($(
                #[allow(non_upper_case_globals, reason = "named as the function is")]
                pub static $name: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());
            )*)*
        }

        /// The functions, which are there once somebody calls their stubs.
        pub mod next {
            use super::*;
            $($(
                #[doc = concat!("The library's `", stringify!($name), "`.")]
                /// # Safety
                /// As the function itself, from its wrapper.
                pub unsafe fn $name($($arg: $ty),*) -> $ret {
                    type Function = unsafe extern "C-unwind" fn($($ty),*) -> $ret;
                    // SAFETY: set before the stub is called; the function of that name has this
                    // type.
                    unsafe {
                        let at: Function = core::mem::transmute(slot::$name.load(Relaxed));
                        at($($arg),*)
                    }
                }
            )*)*
        }

        mod stub {
            use super::*;
            $($(
                #[unsafe(naked)]
                pub unsafe extern "C" fn $name() {
                    core::arch::naked_asm!(pass!($pass $arity), "jmp {to}", to = sym $to)
                }
            )*)*
        }

        /// All functions.
        pub static ROWS: &[Row] = &[$($(
            Row {
                library: $library,
                name: literal(concat!(stringify!($name), "\0")),
                stub: stub::$name,
                next: &slot::$name,
            },
        )*)*];
    };
}
