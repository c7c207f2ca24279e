//! The list of the functions that a signal handler must not call, because the code that it interrupted may be inside
//! them. Each is interposed by a stub of the table, which goes where [`super::signal_unsafe`] says.

use core::ffi::CStr;

use lockwright_ledger::rows::unsafe_call;

use crate::libc::real::literal;

/// Calls a macro with the list: `name: group;`.
macro_rules! guarded_functions {
    ($do:ident) => {
        $do! {
            malloc: unsafe_call::MALLOC;
            calloc: unsafe_call::MALLOC;
            realloc: unsafe_call::MALLOC;
            posix_memalign: unsafe_call::MALLOC;
            aligned_alloc: unsafe_call::MALLOC;
            memalign: unsafe_call::MALLOC;
            printf: unsafe_call::STDIO;
            fprintf: unsafe_call::STDIO;
            vprintf: unsafe_call::STDIO;
            vfprintf: unsafe_call::STDIO;
            __printf_chk: unsafe_call::STDIO;
            __fprintf_chk: unsafe_call::STDIO;
            __vfprintf_chk: unsafe_call::STDIO;
            puts: unsafe_call::STDIO;
            fputs: unsafe_call::STDIO;
            putchar: unsafe_call::STDIO;
            fputc: unsafe_call::STDIO;
            fwrite: unsafe_call::STDIO;
            fflush: unsafe_call::STDIO;
        }
    };
}

macro_rules! numbered {
    ($($name:ident: $group:expr;)*) => {
        /// The functions that a signal handler must not call, by number.
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "named as the function is")]
        #[derive(Clone, Copy)]
        #[repr(usize)]
        pub enum Guarded { $($name,)* COUNT }

        impl Guarded {
            pub const NAMES: [&CStr; Guarded::COUNT as usize] =
                [$(literal(concat!(stringify!($name), "\0")),)*];
            pub const GROUPS: [u64; Guarded::COUNT as usize] = [$($group,)*];
        }
    };
}

guarded_functions! { numbered }
