//! The expansion of a row of the table of libraries' functions: the stub in front of the function.

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
    (unless_made 1 $name:ident $file:ident $to:ident) => {
        /// # Safety
        /// Called by the program as the function of this row, with arguments that keep its
        /// contract.
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            code!(
                unless_made,
                to = sym $file::$to, next = sym $file::slot::$name
            )
        }
    };
    ($pass:ident $arity:tt $name:ident $file:ident $to:ident) => {
        /// # Safety
        /// Called by the program as the function of this row, with arguments that keep its
        /// contract.
        #[unsafe(naked)]
        pub unsafe extern "C" fn $name() {
            code!(pass $pass $arity, to = sym $file::$to)
        }
    };
}

/// `LIBRARY { name = method: kind what the kind needs; }`. The method is that of a row (`library.rs`).
/// The wrapper's file declares the function itself, by `next_functions!`. The kinds:
/// `site 1 file::wrapper`, with the arity, and what is passed after the arguments as in `interpose!`;
/// `unless_made 1 file::function`: forwarded, after a call of the function while the object that the only
/// argument points to begins with a null pointer.
macro_rules! libraries {
    ($($library:ident { $(
        $name:ident $(= $method:literal)?: $kind:ident $arity:tt $file:ident::$to:ident;
    )* })*) => {
        #[allow(non_snake_case, reason = "named as the functions are")]
        mod stub {
            use super::*;
            $($(library_stub! { $kind $arity $name $file $to })*)*
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
                next: &$file::slot::$name,
            },
        )*)*];
    };
}
