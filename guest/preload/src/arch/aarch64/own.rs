//! Variables that each thread has, in initial-exec TLS: a few instructions to read, no call into the loader. `tpidr_el0` is the
//! address that they are found from.

/// The instructions that find the calling thread's copy of a variable: `{0}` is its address then, `{1}` is lost.
macro_rules! find_own {
    ($variable:literal) => {
        concat!(
            "mrs {0}, tpidr_el0\nadrp {1}, :gottprel:",
            $variable,
            "\nldr {1}, [{1}, :gottprel_lo12:",
            $variable,
            "]\nadd {0}, {0}, {1}"
        )
    };
}

/// The word `$at` bytes into the calling thread's copy of a variable.
macro_rules! own_word {
    ($variable:literal, $at:expr) => {{
        let word: u64;
        core::arch::asm!(
            find_own!($variable),
            "ldr {0}, [{0}, {at}]",
            out(reg) word, out(reg) _, at = const $at, options(nostack, readonly, preserves_flags)
        );
        word
    }};
}

/// Sets it.
macro_rules! set_own_word {
    ($variable:literal, $at:expr, $value:expr) => {
        core::arch::asm!(
            find_own!($variable),
            "str {2}, [{0}, {at}]",
            out(reg) _, out(reg) _, in(reg) $value, at = const $at, options(nostack, preserves_flags)
        )
    };
}

/// Adds 1 to it, and is what it was. A handler that comes between has it done again.
macro_rules! count_own_word {
    ($variable:literal, $at:expr) => {{
        let word: u64;
        core::arch::asm!(
            find_own!($variable),
            "add {0}, {0}, {at}",
            "2: ldxr {2}, [{0}]",
            "add {1}, {2}, 1",
            "stxr {3:w}, {1}, [{0}]",
            "cbnz {3:w}, 2b",
            out(reg) _, out(reg) _, out(reg) word, out(reg) _, at = const $at,
            options(nostack, preserves_flags)
        );
        word
    }};
}

/// Where the calling thread's copy of a variable is.
macro_rules! own_address {
    ($variable:literal) => {{
        let own: u64;
        core::arch::asm!(
            find_own!($variable),
            out(reg) own, out(reg) _, options(nostack, readonly, preserves_flags)
        );
        own
    }};
}

/// Where an object of assembly is that all threads share.
macro_rules! address_of {
    ($object:literal) => {{
        let address: u64;
        core::arch::asm!(
            concat!("adrp {0}, ", $object),
            concat!("add {0}, {0}, :lo12:", $object),
            out(reg) address, options(nostack, nomem, preserves_flags)
        );
        address
    }};
}
