//! The short ways of lockdep at a place: of a lock that is taken where and as it was before, and of the innermost lock, which is
//! released. They change no register but the few that they keep, so all other registers of the place can be in use. Whatever
//! else there is goes on to an entry of the long way, with the stack and all registers as they came.

use core::arch::global_asm;
use core::mem::offset_of;

use lockwright_engines::lockdep::{Cache, INDEX_MASK, INDEX_SHIFT, Repeated};
use lockwright_ledger::inlined::DEPTH;
use lockwright_ledger::rows::{Held, Thread};

use crate::lock_id::unstamped::ERA;

/// Keeps registers, so that unwind tables know of it.
macro_rules! push {
    ($($register:literal)*) => {
        concat!($("push ", $register, "\n.cfi_adjust_cfa_offset 8\n",)*)
    };
}

/// Gives them back.
macro_rules! pop {
    ($($register:literal)*) => {
        concat!($("pop ", $register, "\n.cfi_adjust_cfa_offset -8\n",)*)
    };
}

/// A way: if it comes to an end it returns, and from its label 2 it goes on to `$long`.
macro_rules! way {
    ($name:literal, $long:literal, $keeps:expr, $gives_back:expr, $way:expr) => {
        concat!(
            ".globl ", $name, "\n.hidden ", $name, "\n.p2align 5\n", $name, ":\n",
            ".cfi_startproc\n.cfi_def_cfa rsp, {depth} + 16\n",
            $keeps, $way,
            "\n.cfi_remember_state\n",
            $gives_back,
            "ret\n",
            ".cfi_restore_state\n",
            "2:\n",
            $gives_back,
            "jmp ", $long, "\n.cfi_endproc",
        )
    };
}

/// What the thread did the last time at this place, with this lock and the same below it, it does again: its stack of held locks
/// gets the same entry, in the order of [`ThreadState::reserve_in`] and [`ThreadState::acquired`]. `$up` is how far up the place's
/// address is.
///
/// A thread that is not watched has no room there, and no cache.
///
/// [`ThreadState::reserve_in`]: lockwright_engines::lockdep::ThreadState::reserve_in
/// [`ThreadState::acquired`]: lockwright_engines::lockdep::ThreadState::acquired
macro_rules! takes_again {
    ($up:literal) => {
        concat!(
            "mov rax, [rip + lockwright_thread@GOTTPOFF]\nmov rax, fs:[rax]\n",
            "mov rcx, [rax + {top}]\ncmp rcx, [rax + {limit}]\njae 2f\n",
            "mov rdx, [rsp + {depth} + 8 + ", $up, "]\n",
            "lea r8d, [rdi + rdx]\nshl r8d, {shift}\nand r8d, {mask}\n",
            "add r8, [rax + {cache}]\n",
            "cmp rdi, [r8 + {repeats} + {addr}]\njne 2f\n",
            "cmp rdx, [r8 + {repeats} + {site}]\njne 2f\n",
            "mov r9, [rcx + {key}]\ncmp r9, [r8 + {repeats} + {below}]\njne 2f\n",
            "mov r9, [rip + {ERA}]\ncmp r9, [r8 + {repeats} + {era}]\njne 2f\n",
            "add rcx, {held}\nmov [rax + {top}], rcx\n",
            "mov r9, [r8 + {repeats} + {key}]\nmov [rcx + {key}], r9\n",
            "mov [rcx + {site}], rdx\n",
            "mov r9, [r8 + {repeats} + {lock}]\nmov [rcx + {lock}], r9\n",
            "mov r9, [r8 + {repeats} + {node}]\nmov [rcx + {node}], r9\n",
            "inc qword ptr [rax + {acquisitions}]\n",
            "mov [rcx + {addr}], rdi\n",
        )
    };
}

/// As [`ThreadState::release_innermost`].
///
/// [`ThreadState::release_innermost`]: lockwright_engines::lockdep::ThreadState::release_innermost
macro_rules! releases_innermost {
    () => {
        concat!(
            "mov rax, [rip + lockwright_thread@GOTTPOFF]\nmov rax, fs:[rax]\n",
            "mov rcx, [rax + {top}]\n",
            "cmp rdi, [rcx + {addr}]\njne 2f\n",
            // Nothing to look at, and taken once.
            "cmp dword ptr [rcx + {recursion}], 0\njne 2f\n",
            "mov qword ptr [rcx + {addr}], 0\n",
            "sub rcx, {held}\nmov [rax + {top}], rcx\n",
        )
    };
}

global_asm!(
    way!(
        "lockwright_inlined_again",
        "lockwright_inlined_taken",
        "",
        "",
        takes_again!("0")
    ),
    way!(
        "lockwright_inlined_again_g",
        "lockwright_inlined_taken_g",
        push!("rax" "rcx" "rdx" "r8" "r9"),
        pop!("r9" "r8" "rdx" "rcx" "rax"),
        takes_again!("40")
    ),
    way!(
        "lockwright_inlined_again_a",
        "lockwright_inlined_taken_a",
        push!("rax" "rcx" "rdx" "r8" "r9"),
        pop!("r9" "r8" "rdx" "rcx" "rax"),
        takes_again!("40")
    ),
    depth = const DEPTH,
    top = const offset_of!(Thread, held.top),
    limit = const offset_of!(Thread, held.limit),
    cache = const offset_of!(Thread, cache),
    acquisitions = const offset_of!(Thread, acquisitions),
    repeats = const offset_of!(Cache, repeats),
    shift = const INDEX_SHIFT,
    mask = const INDEX_MASK,
    addr = const offset_of!(Repeated, addr),
    key = const offset_of!(Repeated, key),
    site = const offset_of!(Repeated, site),
    lock = const offset_of!(Repeated, lock),
    node = const offset_of!(Repeated, node),
    below = const offset_of!(Repeated, below),
    era = const offset_of!(Repeated, era),
    held = const size_of::<Held>(),
    ERA = sym ERA,
);

global_asm!(
    way!("lockwright_inlined_innermost", "lockwright_inlined_given", "", "", releases_innermost!()),
    way!(
        "lockwright_inlined_innermost_g",
        "lockwright_inlined_given_g",
        push!("rax" "rcx"),
        pop!("rcx" "rax"),
        releases_innermost!()
    ),
    way!(
        "lockwright_inlined_innermost_a",
        "lockwright_inlined_given_a",
        push!("rax" "rcx"),
        pop!("rcx" "rax"),
        releases_innermost!()
    ),
    depth = const DEPTH,
    top = const offset_of!(Thread, held.top),
    addr = const offset_of!(Held, addr),
    recursion = const offset_of!(Held, recursion),
    held = const size_of::<Held>(),
);

unsafe extern "C" {
    fn lockwright_inlined_again();
    fn lockwright_inlined_again_g();
    fn lockwright_inlined_again_a();
    fn lockwright_inlined_innermost();
    fn lockwright_inlined_innermost_g();
    fn lockwright_inlined_innermost_a();
}

/// An entry of a hook.
pub type Entry = unsafe extern "C" fn();

/// Where a lock is taken that may be taken as before: for each answer to what is kept.
pub const TAKES: [Entry; 3] =
    [lockwright_inlined_again, lockwright_inlined_again_g, lockwright_inlined_again_a];

/// Where the lock that is released may be the innermost.
pub const RELEASES: [Entry; 3] = [
    lockwright_inlined_innermost,
    lockwright_inlined_innermost_g,
    lockwright_inlined_innermost_a,
];
