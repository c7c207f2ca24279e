//! What functions of assembly do. A stub is not a frame, so stacks begin with the program's.

/// The register of an argument, counted from 0. After the sixth it is one that no argument is in.
macro_rules! register {
    (0) => {
        "rdi"
    };
    (1) => {
        "rsi"
    };
    (2) => {
        "rdx"
    };
    (3) => {
        "rcx"
    };
    (4) => {
        "r8"
    };
    (5) => {
        "r9"
    };
    (6) => {
        "rax"
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
    (1 + 2) => {
        register!(3)
    };
    (2 + 2) => {
        register!(4)
    };
    (4 + 1) => {
        register!(5)
    };
    (3 + 2) => {
        register!(5)
    };
}

/// Passes a wrapper's further arguments in the registers after the function's own: `site`: the
/// return address, which is the call site; `site_stack`: also where on the
/// stack that is; `site_return`: also the caller's frame pointer, which makes the two a
/// [`crate::callsite::Return`].
macro_rules! pass {
    (site $arity:tt) => {
        concat!("mov ", register!($arity), ", [rsp]")
    };
    (site_stack $arity:tt) => {
        concat!(pass!(site $arity), "\nmov ", register!($arity + 1), ", rsp")
    };
    (site_return $arity:tt) => {
        concat!(pass!(site_stack $arity), "\nmov ", register!($arity + 2), ", rbp")
    };
}

/// The body of a naked function, by what it does.
macro_rules! code {
    // Goes to `to`, with what is passed.
    (pass $pass:ident $arity:tt, $($operands:tt)*) => {
        core::arch::naked_asm!(pass!($pass $arity), "jmp {to}", $($operands)*)
    };
    // Goes where the variable `to` says.
    (pass_on $pass:ident $arity:tt, $($operands:tt)*) => {
        core::arch::naked_asm!(pass!($pass $arity), "jmp qword ptr [rip + {to}]", $($operands)*)
    };
    (go, $($operands:tt)*) => {
        core::arch::naked_asm!("jmp {to}", $($operands)*)
    };
    (go_on, $($operands:tt)*) => {
        core::arch::naked_asm!("jmp qword ptr [rip + {to}]", $($operands)*)
    };
    // Goes where the entry `slot` bytes into the table `targets` says.
    (go_by_table, $($operands:tt)*) => {
        core::arch::naked_asm!("jmp qword ptr [rip + {targets} + {slot}]", $($operands)*)
    };
    // A condition variable in the first argument, whose bits `impossible` are `wrefs` bytes into it.
    (signals, $($operands:tt)*) => {
        core::arch::naked_asm!(
            pass!(site 1),
            "mov rax, qword ptr [rip + {wrefs}]",
            "test dword ptr [rdi + rax], {impossible}", "jnz {to}",
            "cmp byte ptr [rip + {matter}], 0", "jne {to}",
            "jmp qword ptr [rip + {next}]",
            $($operands)*
        )
    };
    // A once control in the first argument.
    (once, $($operands:tt)*) => {
        core::arch::naked_asm!(
            "test dword ptr [rdi], {done}", "jnz 2f", pass!(site_return 2), "jmp {run}",
            "2:", "cmp byte ptr [rip + {matter}], 0", "jne 3f", "jmp qword ptr [rip + {next}]",
            "3:", pass!(site_return 2), "jmp {done_call}",
            $($operands)*
        )
    };
    // The third argument has bits of `shares`, or not.
    (clones, $($operands:tt)*) => {
        core::arch::naked_asm!(
            "test edx, {shares}", "jz {process}", "jmp qword ptr [rip + {next}]",
            $($operands)*
        )
    };
    // Asks `prepare`, with the two arguments, whether to go to `to`.
    (loads, $($operands:tt)*) => {
        core::arch::naked_asm!(
            pass!(site_return 2),
            "push rdi", "push rsi", "sub rsp, 8", "call {prepare}", "add rsp, 8", "pop rsi", "pop rdi",
            "test al, al", "jnz {to}", "jmp qword ptr [rip + {next}]",
            $($operands)*
        )
    };
    // Passes where the arguments after the first are in a row. The return address makes way for them, and comes below them,
    // which aligns the stack.
    (variadic, $($operands:tt)*) => {
        core::arch::naked_asm!(
            "pop rax", "push r9", "push r8", "push rcx", "push rdx", "push rsi", "mov rsi, rsp",
            "push rax", "call {to}", "pop rcx", "add rsp, 40", "push rcx", "ret",
            $($operands)*
        )
    };
    // Calls `follow`, then goes where `to` says.
    (follows, $($operands:tt)*) => {
        core::arch::naked_asm!(
            "push rdi", "push rsi", "push rdx", "push rcx", "push r8",
            "call {follow}",
            "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
            "jmp qword ptr [rip + {to}]",
            $($operands)*
        )
    };
    // Calls `to` before it goes on, if the first argument points to a null pointer.
    (unless_made, $($operands:tt)*) => {
        core::arch::naked_asm!(
            "cmp qword ptr [rdi], 0", "jne 2f", "push rdi", "call {to}", "pop rdi",
            "2:", "jmp qword ptr [rip + {next}]",
            $($operands)*
        )
    };
    // `site` in the second argument is the return address, unless it was compiled to a call.
    (past_frames, $($operands:tt)*) => {
        core::arch::naked_asm!(
            "cmp rsi, [rsp]",
            "je 2f",
            // It was compiled to a call.
            "xor edx, edx",
            "xor ecx, ecx",
            "jmp {slow}",
            "2: mov rsi, rsp",
            "mov r9, rbp",
            "jmp {here}",
            $($operands)*
        )
    };
    // The third argument is where the stack was. If it is there, a fourth argument is the frame pointer, else it is 0.
    (with_frame, $($operands:tt)*) => {
        core::arch::naked_asm!(
            "xor ecx, ecx",
            "cmp rdx, rsp",
            "cmove rcx, rbp",
            "jmp {slow}",
            $($operands)*
        )
    };
    // A number of a system call in the first argument, and tables of where it goes.
    (by_number, $($operands:tt)*) => {
        core::arch::naked_asm!(
            "cmp edi, {numbers}",
            "jae 2f",
            "mov eax, edi",
            "lea r11, [rip + {routes}]",
            "movzx eax, byte ptr [r11 + rax]",
            "test eax, eax",
            "jnz 3f",
            "2: jmp qword ptr [rip + {next}]",
            "3: lea r11, [rip + {stubs}]",
            "jmp qword ptr [r11 + 8 * rax - 8]",
            $($operands)*
        )
    };
    // The first argument makes way for the return address.
    (site_first, $($operands:tt)*) => {
        core::arch::naked_asm!("mov rdi, [rsp]", "jmp {to}", $($operands)*)
    };
    // The first argument is the number that `restricts` looks at.
    (restricts_by_option, $($operands:tt)*) => {
        core::arch::naked_asm!(
            "cmp edi, {set_seccomp}",
            "je {restricts}",
            "jmp qword ptr [rip + {next}]",
            $($operands)*
        )
    };
    // The first argument is, or the second.
    (restricts_by_number, $($operands:tt)*) => {
        core::arch::naked_asm!(
            "cmp edi, {seccomp}",
            "je {restrict}",
            "cmp esi, {set_seccomp}",
            "je {restrict}",
            "jmp qword ptr [rip + {next}]",
            $($operands)*
        )
    };
    // `syscall` with the number of `fork`, `clone` or `clone3`: of the second, flags and stack follow, of the third, a structure.
    (forks_by_number, $($operands:tt)*) => {
        core::arch::naked_asm!(
            "cmp edi, {fork}",
            "je {bare}",
            "cmp edi, {clone}",
            "jne 2f",
            // Flags and stack: on another stack nobody returns from here.
            "test esi, {shares}",
            "jnz 3f",
            "test rdx, rdx",
            "jnz 3f",
            "jmp {bare}",
            // The same in a structure.
            "2: push rdi",
            "push rsi",
            "push rdx",
            "push rcx",
            "push r8",
            "push r9",
            "sub rsp, 8",
            "mov rdi, rsi",
            "mov rsi, rdx",
            "call {returns_twice}",
            "add rsp, 8",
            "pop r9",
            "pop r8",
            "pop rcx",
            "pop rdx",
            "pop rsi",
            "pop rdi",
            "test al, al",
            "jnz {bare}",
            "3: jmp qword ptr [rip + {next}]",
            fork = const libc::SYS_fork,
            $($operands)*
        )
    };
    // Goes on, unless a handler runs in the thread, or a signal is open that none of the group has been seen with.
    (guarded, $($operands:tt)*) => {
        core::arch::naked_asm!(
            "mov r10, qword ptr [rip + lockwright_thread@GOTTPOFF]",
            "mov r10, fs:[r10]",
            "cmp dword ptr [r10 + {in_signal}], 0",
            "jne {slow}",
            "mov r10, [r10 + {open}]",
            "test r10, [rip + {unseen} + {group}]",
            "jnz {slow}",
            "jmp qword ptr [rip + {next} + {slot}]",
            $($operands)*
        )
    };
    // Goes to what `looks_up` does, with a number that is no argument.
    (numbered, $($operands:tt)*) => {
        core::arch::naked_asm!("mov r11d, {index}", "jmp {slow}", $($operands)*)
    };
    // Saves what the arguments may be in, asks `look` where to go, with the number and where the caller's frame pointer and the
    // return address are, and goes there.
    (looks_up, $($operands:tt)*) => {
        core::arch::naked_asm!(
            "push rbp",
            "mov rbp, rsp",
            "sub rsp, 208",
            "and rsp, -16",
            "mov [rsp], rdi",
            "mov [rsp + 8], rsi",
            "mov [rsp + 16], rdx",
            "mov [rsp + 24], rcx",
            "mov [rsp + 32], r8",
            "mov [rsp + 40], r9",
            "mov [rsp + 48], rax",
            "movaps [rsp + 64], xmm0",
            "movaps [rsp + 80], xmm1",
            "movaps [rsp + 96], xmm2",
            "movaps [rsp + 112], xmm3",
            "movaps [rsp + 128], xmm4",
            "movaps [rsp + 144], xmm5",
            "movaps [rsp + 160], xmm6",
            "movaps [rsp + 176], xmm7",
            "mov rdi, r11",
            "mov rsi, rbp",
            "call {look}",
            "mov r11, rax",
            "mov rdi, [rsp]",
            "mov rsi, [rsp + 8]",
            "mov rdx, [rsp + 16]",
            "mov rcx, [rsp + 24]",
            "mov r8, [rsp + 32]",
            "mov r9, [rsp + 40]",
            "mov rax, [rsp + 48]",
            "movaps xmm0, [rsp + 64]",
            "movaps xmm1, [rsp + 80]",
            "movaps xmm2, [rsp + 96]",
            "movaps xmm3, [rsp + 112]",
            "movaps xmm4, [rsp + 128]",
            "movaps xmm5, [rsp + 144]",
            "movaps xmm6, [rsp + 160]",
            "movaps xmm7, [rsp + 176]",
            "mov rsp, rbp",
            "pop rbp",
            "jmp r11",
            $($operands)*
        )
    };
    // Goes on, unless a handler runs in the thread. The one argument stays.
    (free_guarded, $($operands:tt)*) => {
        core::arch::naked_asm!(
            "mov rax, qword ptr [rip + lockwright_thread@GOTTPOFF]",
            "mov rax, fs:[rax]",
            "cmp dword ptr [rax + {in_signal}], 0",
            "jne {slow}",
            "jmp qword ptr [rip + {next}]",
            $($operands)*
        )
    };
    // Goes on, unless the block's page is noted, or the word before it says that it is large.
    (free_by_header, $($operands:tt)*) => {
        core::arch::naked_asm!(
            "mov eax, edi",
            "shr eax, 12",
            "and eax, {mask}",
            "lea rcx, [rip + {pages}]",
            "cmp byte ptr [rcx + rax], 0",
            "jne {look}",
            "cmp qword ptr [rdi - 8], {large}",
            "ja {look}",
            "jmp qword ptr [rip + {next}]",
            $($operands)*
        )
    };
    // Calls the next, has `given` record what that returned, and returns that. Small blocks only pass by.
    (allocates $size:ident, $($operands:tt)*) => {
        core::arch::naked_asm!(
            ".cfi_startproc",
            size_of_block!($size),
            "cmp rax, qword ptr [rip + {least}]",
            "jb 2f",
            "push rax",
            ".cfi_adjust_cfa_offset 8",
            "call qword ptr [rip + {next}]",
            "pop rsi",
            ".cfi_adjust_cfa_offset -8",
            "mov rdi, rax",
            "mov rdx, rsp",
            "mov rcx, rbp",
            "push rax",
            ".cfi_adjust_cfa_offset 8",
            "call {given}",
            "pop rax",
            ".cfi_adjust_cfa_offset -8",
            "ret",
            "2:",
            "jmp qword ptr [rip + {next}]",
            ".cfi_endproc",
            $($operands)*
        )
    };
    // Calls `arrives` first, with what it asks for, where `may_be` says that the return address may be of a plan.
    (arrives, $($operands:tt)*) => {
        core::arch::naked_asm!(
            "mov rax, [rsp]", "and eax, {in_page}", "lea r11, [rip + {may_be}]",
            "cmp byte ptr [r11 + rax], 0",
            "jne 2f",
            "jmp qword ptr [rip + {next}]",
            "2:",
            "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "push rax",
            "lea rsi, [rsp + 56]", "mov rdx, rbp",
            "call {arrives}",
            "pop rax", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
            "jmp qword ptr [rip + {next}]",
            $($operands)*
        )
    };
    // Calls `departs` first, if the thread's word of rooms is not 0.
    (departs, $($operands:tt)*) => {
        core::arch::naked_asm!(
            "mov rax, qword ptr [rip + lockwright_thread@GOTTPOFF]",
            "cmp qword ptr fs:[rax + {rooms}], 0",
            "jne 2f",
            "jmp qword ptr [rip + {next}]",
            "2:",
            "push rdi", "push rsi", "push rdx", "push rcx", "push r8",
            "call {departs}",
            "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
            "jmp qword ptr [rip + {next}]",
            $($operands)*
        )
    };
}

/// The size of the block that an allocating function is asked for, in a register of the stub's own.
macro_rules! size_of_block {
    (first) => {
        "mov rax, rdi"
    };
    // If that overflows there is no block.
    (product) => {
        "mov rax, rdi\nimul rax, rsi"
    };
    (second) => {
        "mov rax, rsi"
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
            "sub rsp, 24",
            ".cfi_adjust_cfa_offset 24",
            "mov rsi, rsp",
            "call {arrive}",
            "mov rax, [rsp]",
            "mov rdi, [rsp + 8]",
            "add rsp, 24",
            ".cfi_adjust_cfa_offset -24",
            "jmp rax",
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
            "sub rsp, 8",
            ".cfi_adjust_cfa_offset 8",
            "call rdx",
            "add rsp, 8",
            ".cfi_adjust_cfa_offset -8",
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
            "rust_eh_personality:",
            "jmp {to}",
            $($operands)*
        );
    };
}
