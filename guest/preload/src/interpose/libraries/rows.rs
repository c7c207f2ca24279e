//! The expansion of a row of the table of libraries' functions: the stub in front of the function,
//! and the function itself for wrappers to call.

/// The method of one row, if it has one.
macro_rules! method {
    () => {
        None
    };
    ($method:literal) => {
        Some($method)
    };
}

/// The stub of one row.
macro_rules! library_stub {
    (unless_made 1 $name:ident $to:path) => {
        /// # Safety
        /// Called by the program as the function of this row, with arguments that keep its
        /// contract.
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "cmp qword ptr [rdi], 0", "jne 2f", "push rdi", "call {to}", "pop rdi",
                "2:", "jmp qword ptr [rip + {next}]",
                to = sym $to, next = sym slot::$name
            )
        }
    };
    ($pass:ident $arity:tt $name:ident $to:path) => {
        /// # Safety
        /// Called by the program as the function of this row, with arguments that keep its
        /// contract.
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            core::arch::naked_asm!(pass!($pass $arity), "jmp {to}", to = sym $to)
        }
    };
}

/// `LIBRARY { name(argument: type, ...) -> result = method, kind what the kind needs; }`. The
/// method is that of [`Row`]. The kinds:
/// `site 1: wrapper`, with the arity, and what is passed after the arguments as in `interpose!`;
/// `unless_made 1: function`: forwarded, after a call of the function while the object that the only
/// argument points to begins with a null pointer.
macro_rules! libraries {
    ($($library:ident { $(
        $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty $(= $method:literal)?, $kind:ident $arity:tt: $to:path;
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
                #[allow(non_snake_case, reason = "named as the function is")]
                #[allow(dead_code, reason = "some are only forwarded to, by their stubs")]
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

        #[allow(non_snake_case, reason = "named as the functions are")]
        mod stub {
            use super::*;
            $($(library_stub! { $kind $arity $name $to })*)*
        }

        /// All libraries.
        pub const LIBRARIES: &[&Library] = &[$(&$library),*];

        /// All functions.
        pub static ROWS: &[Row] = &[$($(
            Row {
                library: &$library,
                name: stringify!($name),
                method: method!($($method)?),
                stub: stub::$name,
                next: &slot::$name,
            },
        )*)*];
    };
}
