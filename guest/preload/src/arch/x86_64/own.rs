//! Variables that each thread has, in initial-exec TLS: two instructions to read, no call into the loader. The word at `fs:0` is
//! the address that they are found from.

/// The word `$at` bytes into the calling thread's copy of a variable.
macro_rules! own_word {
    ($variable:literal, $at:expr) => {{
        let word: u64;
        core::arch::asm!(
            concat!("mov {0}, qword ptr [rip + ", $variable, "@GOTTPOFF]"),
            "mov {0}, qword ptr fs:[{0} + {at}]",
            out(reg) word, at = const $at, options(nostack, readonly, preserves_flags)
        );
        word
    }};
}

/// Sets it.
macro_rules! set_own_word {
    ($variable:literal, $at:expr, $value:expr) => {
        core::arch::asm!(
            concat!("mov {0}, qword ptr [rip + ", $variable, "@GOTTPOFF]"),
            "mov qword ptr fs:[{0} + {at}], {1}",
            out(reg) _, in(reg) $value, at = const $at, options(nostack, preserves_flags)
        )
    };
}

/// Adds 1 to it, and is what it was. No handler divides it.
macro_rules! count_own_word {
    ($variable:literal, $at:expr) => {{
        let mut word = 1_u64;
        core::arch::asm!(
            concat!("mov {at}, qword ptr [rip + ", $variable, "@GOTTPOFF]"),
            "xadd qword ptr fs:[{at} + {offset}], {word}",
            at = out(reg) _, offset = const $at, word = inout(reg) word, options(nostack)
        );
        word
    }};
}

/// Where the calling thread's copy of a variable is.
macro_rules! own_address {
    ($variable:literal) => {{
        let own: u64;
        core::arch::asm!(
            "mov {0}, qword ptr fs:[0]",
            concat!("add {0}, qword ptr [rip + ", $variable, "@GOTTPOFF]"),
            out(reg) own, options(nostack, readonly)
        );
        own
    }};
}

/// Where an object of assembly is that all threads share.
macro_rules! address_of {
    ($object:literal) => {{
        let address: u64;
        core::arch::asm!(
            concat!("lea {}, [rip + ", $object, "]"),
            out(reg) address, options(nostack, nomem, preserves_flags)
        );
        address
    }};
}
