//! What functions of assembly do. A stub is not a frame, so stacks begin with the program's. `x16` and `x17` are the linker's and
//! ours, of no value to a caller. A return address is signed on the stack only, if at all.

/// The register of an argument, counted from 0.
macro_rules! register {
    (0) => {
        "x0"
    };
    (1) => {
        "x1"
    };
    (2) => {
        "x2"
    };
    (3) => {
        "x3"
    };
    (4) => {
        "x4"
    };
    (5) => {
        "x5"
    };
    (6) => {
        "x6"
    };
    (7) => {
        "x7"
    };
    (0 + 1) => {
        register!(1)
    };
    (0 + 2) => {
        register!(2)
    };
    (1 + 1) => {
        register!(2)
    };
    (2 + 1) => {
        register!(3)
    };
    (3 + 1) => {
        register!(4)
    };
    (4 + 1) => {
        register!(5)
    };
    (5 + 1) => {
        register!(6)
    };
    (1 + 2) => {
        register!(3)
    };
    (2 + 2) => {
        register!(4)
    };
    (3 + 2) => {
        register!(5)
    };
    (4 + 2) => {
        register!(6)
    };
    (5 + 2) => {
        register!(7)
    };
}

/// Passes a wrapper's further arguments in the registers after the function's own: `site`: the
/// return address, which is the call site; `site_stack`: also where the
/// stack is; `site_return`: also the caller's frame pointer, which makes the two a
/// [`crate::callsite::Return`].
macro_rules! pass {
    (site $arity:tt) => {
        concat!("mov ", register!($arity), ", x30")
    };
    (site_stack $arity:tt) => {
        concat!(pass!(site $arity), "\nmov ", register!($arity + 1), ", sp")
    };
    (site_return $arity:tt) => {
        concat!(pass!(site_stack $arity), "\nmov ", register!($arity + 2), ", x29")
    };
}

/// Goes where a variable says.
macro_rules! go_where {
    ($variable:literal) => {
        concat!("adrp x16, {", $variable, "}\nldr x16, [x16, :lo12:{", $variable, "}]\nbr x16")
    };
}

/// The address of an object.
macro_rules! address {
    ($register:literal, $object:literal) => {
        concat!(
            "adrp ",
            $register,
            ", {",
            $object,
            "}\n",
            "add ",
            $register,
            ", ",
            $register,
            ", :lo12:{",
            $object,
            "}"
        )
    };
}

/// A constant of 32 bits in `w17`.
macro_rules! constant {
    ($name:literal) => {
        concat!(
            "movz w17, #(({",
            $name,
            "}) & 0xffff)\n",
            "movk w17, #((({",
            $name,
            "}) >> 16) & 0xffff), lsl #16"
        )
    };
}

/// The address of the calling thread's copy of `lockwright_thread` in `x16`.
macro_rules! own_thread {
    () => {
        "mrs x16, tpidr_el0
         adrp x17, :gottprel:lockwright_thread
         ldr x17, [x17, :gottprel_lo12:lockwright_thread]
         add x16, x16, x17"
    };
}

/// Keeps what arguments may be in, and the frame; gives it back.
macro_rules! keep {
    () => {
        "stp x29, x30, [sp, -96]!
         stp x0, x1, [sp, 16]
         stp x2, x3, [sp, 32]
         stp x4, x5, [sp, 48]
         stp x6, x7, [sp, 64]
         str x8, [sp, 80]"
    };
}
macro_rules! give_back {
    () => {
        "ldp x0, x1, [sp, 16]
         ldp x2, x3, [sp, 32]
         ldp x4, x5, [sp, 48]
         ldp x6, x7, [sp, 64]
         ldr x8, [sp, 80]
         ldp x29, x30, [sp], 96"
    };
}

/// The body of a naked function, by what it does.
macro_rules! code {
    // Goes to `to`, with what is passed.
    (pass $pass:ident $arity:tt, $($operands:tt)*) => {
        core::arch::naked_asm!(pass!($pass $arity), "b {to}", $($operands)*)
    };
    // Goes where the variable `to` says.
    (pass_on $pass:ident $arity:tt, $($operands:tt)*) => {
        core::arch::naked_asm!(pass!($pass $arity), go_where!("to"), $($operands)*)
    };
    (go, $($operands:tt)*) => {
        core::arch::naked_asm!("b {to}", $($operands)*)
    };
    (go_on, $($operands:tt)*) => {
        core::arch::naked_asm!(go_where!("to"), $($operands)*)
    };
    // Goes where the entry `slot` bytes into the table `targets` says.
    (go_by_table, $($operands:tt)*) => {
        core::arch::naked_asm!(address!("x16", "targets"), "ldr x16, [x16, {slot}]", "br x16", $($operands)*)
    };
    // A condition variable in the first argument, whose bits `impossible` are `wrefs` bytes into it.
    (signals, $($operands:tt)*) => {
        core::arch::naked_asm!(
            pass!(site 1),
            "adrp x16, {wrefs}", "ldr x16, [x16, :lo12:{wrefs}]", "ldr w16, [x0, x16]",
            constant!("impossible"), "tst w16, w17", "b.ne 2f",
            "adrp x16, {matter}", "ldrb w16, [x16, :lo12:{matter}]", "cbnz w16, 2f",
            go_where!("next"),
            "2: b {to}",
            $($operands)*
        )
    };
    // A once control in the first argument.
    (once, $($operands:tt)*) => {
        core::arch::naked_asm!(
            "ldr w16, [x0]", constant!("done"), "tst w16, w17", "b.ne 2f",
            pass!(site_return 2), "b {run}",
            "2:", "adrp x16, {matter}", "ldrb w16, [x16, :lo12:{matter}]", "cbnz w16, 3f",
            go_where!("next"),
            "3:", pass!(site_return 2), "b {done_call}",
            $($operands)*
        )
    };
    // The third argument has bits of `shares`, or not.
    (clones, $($operands:tt)*) => {
        core::arch::naked_asm!(
            constant!("shares"), "tst w2, w17", "b.ne 2f", "b {process}",
            "2:", go_where!("next"),
            $($operands)*
        )
    };
    // Asks `prepare`, with the two arguments, whether to go to `to`.
    (loads, $($operands:tt)*) => {
        core::arch::naked_asm!(
            pass!(site_return 2),
            keep!(), "bl {prepare}", "mov w17, w0", give_back!(),
            "tst w17, 0xff", "b.eq 2f", "b {to}",
            "2:", go_where!("next"),
            $($operands)*
        )
    };
    // Passes where the arguments after the first are in a row.
    (variadic, $($operands:tt)*) => {
        core::arch::naked_asm!(
            "stp x29, x30, [sp, -80]!", "mov x29, sp",
            "str x1, [sp, 24]", "stp x2, x3, [sp, 32]", "stp x4, x5, [sp, 48]", "stp x6, x7, [sp, 64]",
            "add x1, sp, 24", "bl {to}", "ldp x29, x30, [sp], 80", "ret",
            $($operands)*
        )
    };
    // Calls `follow`, then goes where `to` says.
    (follows, $($operands:tt)*) => {
        core::arch::naked_asm!(keep!(), "bl {follow}", give_back!(), go_where!("to"), $($operands)*)
    };
    // Calls `to` before it goes on, if the first argument points to a null pointer.
    (unless_made, $($operands:tt)*) => {
        core::arch::naked_asm!(
            "ldr x16, [x0]", "cbnz x16, 2f", keep!(), "bl {to}", give_back!(),
            "2:", go_where!("next"),
            $($operands)*
        )
    };
    // `site` in the second argument is the return address, unless it was compiled to a call.
    (past_frames, $($operands:tt)*) => {
        core::arch::naked_asm!(
            "cmp x1, x30",
            "b.eq 2f",
            // It was compiled to a call.
            "mov x2, 0",
            "mov x3, 0",
            "b {slow}",
            "2: mov x6, x29",
            "mov x5, x4",
            "mov x4, x3",
            "mov x3, x2",
            "mov x2, x30",
            "mov x1, sp",
            "b {here}",
            $($operands)*
        )
    };
    // The third argument is where the stack was. If it is there, a fourth argument is the frame pointer, else it is 0.
    (with_frame, $($operands:tt)*) => {
        core::arch::naked_asm!(
            "mov x16, sp", "cmp x2, x16", "csel x3, x29, xzr, eq", "b {slow}",
            $($operands)*
        )
    };
    // A number of a system call in the first argument, and tables of where it goes.
    (by_number, $($operands:tt)*) => {
        core::arch::naked_asm!(
            "cmp w0, {numbers}",
            "b.hs 2f",
            address!("x16", "routes"),
            "ldrb w16, [x16, w0, uxtw]",
            "cbnz w16, 3f",
            "2:", go_where!("next"),
            "3:", address!("x17", "stubs"),
            "add x17, x17, x16, lsl 3",
            "ldur x17, [x17, -8]",
            "br x17",
            $($operands)*
        )
    };
    // The first argument makes way for the return address.
    (site_first, $($operands:tt)*) => {
        core::arch::naked_asm!(pass!(site 0), "b {to}", $($operands)*)
    };
    // The first argument is the number that `restricts` looks at.
    (restricts_by_option, $($operands:tt)*) => {
        core::arch::naked_asm!(
            "cmp w0, {set_seccomp}", "b.ne 2f", "b {restricts}",
            "2:", go_where!("next"),
            $($operands)*
        )
    };
    // The first argument is, or the second.
    (restricts_by_number, $($operands:tt)*) => {
        core::arch::naked_asm!(
            "cmp w0, {seccomp}", "b.eq 3f", "cmp w1, {set_seccomp}", "b.eq 3f",
            go_where!("next"),
            "3: b {restrict}",
            $($operands)*
        )
    };
    // `syscall` with the number of `clone` or `clone3`: of the first, flags and stack follow, of the second, a structure.
    (forks_by_number, $($operands:tt)*) => {
        core::arch::naked_asm!(
            "cmp w0, {clone}",
            "b.ne 2f",
            // Flags and stack: on another stack nobody returns from here.
            constant!("shares"),
            "tst w1, w17",
            "b.ne 3f",
            "cbnz x2, 3f",
            "b {bare}",
            // The same in a structure.
            "2:",
            keep!(),
            "mov x0, x1",
            "mov x1, x2",
            "bl {returns_twice}",
            "mov w17, w0",
            give_back!(),
            "tst w17, 0xff",
            "b.eq 3f",
            "b {bare}",
            "3:",
            go_where!("next"),
            $($operands)*
        )
    };
    // Goes on, unless a handler runs in the thread, or a signal is open that none of the group has been seen with.
    (guarded, $($operands:tt)*) => {
        core::arch::naked_asm!(
            own_thread!(),
            "ldr x16, [x16]",
            "ldr w17, [x16, {in_signal}]",
            "cbnz w17, 2f",
            "ldr x16, [x16, {open}]",
            address!("x17", "unseen"),
            "ldr x17, [x17, {group}]",
            "tst x16, x17",
            "b.ne 2f",
            address!("x16", "next"),
            "ldr x16, [x16, {slot}]",
            "br x16",
            "2: b {slow}",
            $($operands)*
        )
    };
    // Goes to what `looks_up` does, with a number that is no argument.
    (numbered, $($operands:tt)*) => {
        core::arch::naked_asm!("mov w9, {index}", "b {slow}", $($operands)*)
    };
    // Saves what the arguments may be in, asks `look` where to go, with the number and where the caller's frame pointer and the
    // return address are, and goes there.
    (looks_up, $($operands:tt)*) => {
        core::arch::naked_asm!(
            "stp x29, x30, [sp, -16]!",
            "mov x29, sp",
            "sub sp, sp, 208",
            "stp x0, x1, [sp]",
            "stp x2, x3, [sp, 16]",
            "stp x4, x5, [sp, 32]",
            "stp x6, x7, [sp, 48]",
            "str x8, [sp, 64]",
            "stp q0, q1, [sp, 80]",
            "stp q2, q3, [sp, 112]",
            "stp q4, q5, [sp, 144]",
            "stp q6, q7, [sp, 176]",
            "mov x0, x9",
            "mov x1, x29",
            "bl {look}",
            "mov x16, x0",
            "ldp x0, x1, [sp]",
            "ldp x2, x3, [sp, 16]",
            "ldp x4, x5, [sp, 32]",
            "ldp x6, x7, [sp, 48]",
            "ldr x8, [sp, 64]",
            "ldp q0, q1, [sp, 80]",
            "ldp q2, q3, [sp, 112]",
            "ldp q4, q5, [sp, 144]",
            "ldp q6, q7, [sp, 176]",
            "mov sp, x29",
            "ldp x29, x30, [sp], 16",
            "br x16",
            $($operands)*
        )
    };
    // Goes on, unless a handler runs in the thread. The one argument stays.
    (free_guarded, $($operands:tt)*) => {
        core::arch::naked_asm!(
            own_thread!(),
            "ldr x16, [x16]",
            "ldr w16, [x16, {in_signal}]",
            "cbz w16, 2f",
            "b {slow}",
            "2:", go_where!("next"),
            $($operands)*
        )
    };
    // Goes on, unless the block's page is noted, or the word before it says that it is large.
    (free_by_header, $($operands:tt)*) => {
        core::arch::naked_asm!(
            "lsr w16, w0, 12",
            "and w16, w16, {mask}",
            address!("x17", "pages"),
            "ldrb w16, [x17, x16]",
            "cbnz w16, 2f",
            "ldur x16, [x0, -8]",
            constant!("large"),
            "cmp x16, x17",
            "b.hi 2f",
            go_where!("next"),
            "2: b {look}",
            $($operands)*
        )
    };
    // Calls the next, has `given` record what that returned, and returns that. Small blocks only pass by.
    (allocates $size:ident, $($operands:tt)*) => {
        core::arch::naked_asm!(
            ".cfi_startproc",
            size_of_block!($size),
            "adrp x17, {least}",
            "ldr x17, [x17, :lo12:{least}]",
            "cmp x16, x17",
            "b.lo 2f",
            "stp x29, x30, [sp, -32]!",
            ".cfi_def_cfa_offset 32",
            ".cfi_offset x29, -32",
            ".cfi_offset x30, -24",
            "str x16, [sp, 16]",
            "adrp x16, {next}",
            "ldr x16, [x16, :lo12:{next}]",
            "blr x16",
            "str x0, [sp, 24]",
            "ldr x1, [sp, 16]",
            "add x2, sp, 32",
            "ldr x3, [sp, 8]",
            "mov x4, x29",
            "bl {given}",
            "ldr x0, [sp, 24]",
            "ldp x29, x30, [sp], 32",
            ".cfi_def_cfa_offset 0",
            ".cfi_restore x29",
            ".cfi_restore x30",
            "ret",
            "2:",
            go_where!("next"),
            ".cfi_endproc",
            $($operands)*
        )
    };
    // Calls `arrives` first, with what it asks for, where `may_be` says that the return address may be of a plan.
    (arrives, $($operands:tt)*) => {
        core::arch::naked_asm!(
            "and x16, x30, {in_page}",
            address!("x17", "may_be"),
            "ldrb w16, [x17, x16]",
            "cbz w16, 2f",
            keep!(),
            "add x1, sp, 96",
            "mov x2, x30",
            "mov x3, x29",
            "bl {arrives}",
            give_back!(),
            "2:", go_where!("next"),
            $($operands)*
        )
    };
    // Calls `departs` first, if the thread's word of rooms is not 0.
    (departs, $($operands:tt)*) => {
        core::arch::naked_asm!(
            own_thread!(),
            "ldr x16, [x16, {rooms}]",
            "cbz x16, 2f",
            keep!(),
            "bl {departs}",
            give_back!(),
            "2:", go_where!("next"),
            $($operands)*
        )
    };
}

/// The size of the block that an allocating function is asked for, in a register of the stub's own.
macro_rules! size_of_block {
    (first) => {
        "mov x16, x0"
    };
    // If that overflows there is no block.
    (product) => {
        "mul x16, x0, x1"
    };
    (second) => {
        "mov x16, x1"
    };
}

/// Functions with call frame information of their own, by what they do.
macro_rules! framed_code {
    // The first function of a thread: asks `arrive`, which gets the argument and room for two words, where to go, and with which
    // argument. It ends in a jump.
    (thread_begin, $($operands:tt)*) => {
        core::arch::global_asm!(
            ".globl lockwright_thread_begin",
            ".hidden lockwright_thread_begin",
            ".type lockwright_thread_begin, @function",
            "lockwright_thread_begin:",
            ".cfi_startproc",
            "stp x29, x30, [sp, -32]!",
            ".cfi_def_cfa_offset 32",
            ".cfi_offset x29, -32",
            ".cfi_offset x30, -24",
            "add x1, sp, 16",
            "bl {arrive}",
            "ldp x16, x0, [sp, 16]",
            "ldp x29, x30, [sp], 32",
            ".cfi_def_cfa_offset 0",
            ".cfi_restore x29",
            ".cfi_restore x30",
            "br x16",
            ".cfi_endproc",
            ".size lockwright_thread_begin, . - lockwright_thread_begin",
            $($operands)*
        );
    };
    // Calls its third argument with the first two, and has a personality routine.
    (unwound_call $symbol:literal, $($operands:tt)*) => {
        core::arch::global_asm!(
            concat!(".globl ", $symbol),
            concat!(".hidden ", $symbol),
            concat!(".type ", $symbol, ", @function"),
            concat!($symbol, ":"),
            ".cfi_startproc",
            // DW_EH_PE_pcrel | DW_EH_PE_sdata4.
            ".cfi_personality 0x1b, {personality}",
            "stp x29, x30, [sp, -16]!",
            ".cfi_def_cfa_offset 16",
            ".cfi_offset x29, -16",
            ".cfi_offset x30, -8",
            "blr x2",
            "ldp x29, x30, [sp], 16",
            ".cfi_def_cfa_offset 0",
            ".cfi_restore x29",
            ".cfi_restore x30",
            "ret",
            ".cfi_endproc",
            concat!(".size ", $symbol, ", . - ", $symbol),
            $($operands)*
        );
    };
    // The personality routine of all our frames.
    (personality, $($operands:tt)*) => {
        core::arch::global_asm!(
            ".globl rust_eh_personality",
            ".hidden rust_eh_personality",
            ".type rust_eh_personality, @function",
            "rust_eh_personality:",
            "b {to}",
            $($operands)*
        );
    };
}
