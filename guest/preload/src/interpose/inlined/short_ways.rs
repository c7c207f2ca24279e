//! The short ways of lockdep at a place: of a lock that is taken where and as it was before, and of the innermost lock, which is
//! released. They change only their hook's [`scratch`](lockwright_ledger::inlined::scratch) registers, so there is one for
//! places of all kinds. Whatever else there is goes on to the place's entry of the long way, with stack and arguments as they came.

use core::arch::global_asm;
use core::mem::offset_of;

use lockwright_engines::lockdep::{Cache, INDEX_MASK, INDEX_SHIFT, MIX, Repeated};
use lockwright_ledger::inlined::DEPTH;
use lockwright_ledger::rows::{Held, Thread};

use crate::lock_id::unstamped::ERA;

/// A way: if it comes to its end it does `$then`, and from its label 2 it goes on to `$long`.
macro_rules! way {
    ($name:literal, $then:literal, $long:literal, $way:expr) => {
        concat!(
            ".globl ",
            $name,
            "\n.hidden ",
            $name,
            "\n.p2align 5\n",
            $name,
            ":\n",
            ".cfi_startproc\n.cfi_def_cfa rsp, {depth} + 16\n",
            $way,
            $then,
            "\n2:\njmp ",
            $long,
            "\n.cfi_endproc",
        )
    };
}

/// What the thread did the last time at this place, with this lock and the same below it, it does again: its stack of held locks
/// gets the same entry, in the order of [`ThreadState::reserve_in`] and [`ThreadState::acquired`]. A thread that is not watched has no room there, and no
/// cache.
///
/// [`ThreadState::reserve_in`]: lockwright_engines::lockdep::ThreadState::reserve_in
/// [`ThreadState::acquired`]: lockwright_engines::lockdep::ThreadState::acquired
macro_rules! takes_again {
    // No vector register is in use.
    (by vectors) => {
        takes_again!(
            "movups xmm0, [r10 + {repeats} + {key}]"
            "movups xmm1, [r10 + {repeats} + {lock}]"
            "movups [rcx + {key}], xmm0"
            "movups [rcx + {lock}], xmm1"
        )
    };
    (by words) => {
        takes_again!(
            "mov r11, [r10 + {repeats} + {key}]" "mov [rcx + {key}], r11"
            "mov r11, [r10 + {repeats} + {site}]" "mov [rcx + {site}], r11"
            "mov r11, [r10 + {repeats} + {lock}]" "mov [rcx + {lock}], r11"
            "mov r11, [r10 + {repeats} + {node}]" "mov [rcx + {node}], r11"
        )
    };
    ($($copies:literal)*) => {
        concat!(
            "mov rax, [rip + lockwright_thread@GOTTPOFF]\nmov rax, fs:[rax]\n",
            "mov rcx, [rax + {top}]\ncmp rcx, [rax + {limit}]\njae 2f\n",
            "imul r11, [rsp + {depth} + 8], {mix}\n",
            "lea r10d, [rdi + r11]\nshl r10d, {shift}\nand r10d, {mask}\n",
            "add r10, [rax + {cache}]\n",
            "cmp rdi, [r10 + {repeats} + {addr}]\njne 2f\n",
            "add r11, [rcx + {key}]\nadd r11, [rip + {ERA}]\n",
            "cmp r11, [r10 + {repeats} + {when}]\njne 2f\n",
            "add rcx, {held}\nmov [rax + {top}], rcx\n",
            $($copies, "\n",)*
            "inc qword ptr [rax + {acquisitions}]\n",
            "mov [rcx + {addr}], rdi\n",
        )
    };
}

const _: () = {
    assert!(offset_of!(Repeated, site) == offset_of!(Repeated, key) + 8);
    assert!(offset_of!(Repeated, node) == offset_of!(Repeated, lock) + 8);
};

/// As [`ThreadState::release_innermost`].
///
/// [`ThreadState::release_innermost`]: lockwright_engines::lockdep::ThreadState::release_innermost
macro_rules! releases_innermost {
    () => {
        concat!(
            "mov r10, [rip + lockwright_thread@GOTTPOFF]\nmov r10, fs:[r10]\n",
            "mov r11, [r10 + {top}]\n",
            "cmp rdi, [r11 + {addr}]\njne 2f\n",
            // Nothing to look at, and taken once.
            "cmp dword ptr [r11 + {recursion}], 0\njne 2f\n",
            "mov qword ptr [r11 + {addr}], 0\n",
            "sub r11, {held}\nmov [r10 + {top}], r11\n",
        )
    };
}

global_asm!(
    way!("lockwright_inlined_again", "ret", "lockwright_inlined_taken", takes_again!(by vectors)),
    way!("lockwright_inlined_again_g", "ret", "lockwright_inlined_taken_g", takes_again!(by vectors)),
    way!("lockwright_inlined_again_a", "ret", "lockwright_inlined_taken_a", takes_again!(by words)),
    way!(
        "lockwright_inlined_again_metered",
        "jmp lockwright_inlined_metered",
        "lockwright_inlined_taken_by_both",
        takes_again!(by vectors)
    ),
    way!(
        "lockwright_inlined_again_metered_g",
        "jmp lockwright_inlined_metered_g",
        "lockwright_inlined_taken_by_both_g",
        takes_again!(by vectors)
    ),
    way!(
        "lockwright_inlined_again_metered_a",
        "jmp lockwright_inlined_metered_a",
        "lockwright_inlined_taken_by_both_a",
        takes_again!(by words)
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
    when = const offset_of!(Repeated, when),
    mix = const MIX,
    held = const size_of::<Held>(),
    ERA = sym ERA,
);

global_asm!(
    way!("lockwright_inlined_innermost", "ret", "lockwright_inlined_given", releases_innermost!()),
    way!("lockwright_inlined_innermost_g", "ret", "lockwright_inlined_given_g", releases_innermost!()),
    way!("lockwright_inlined_innermost_a", "ret", "lockwright_inlined_given_a", releases_innermost!()),
    way!(
        "lockwright_inlined_innermost_metered",
        "jmp lockwright_inlined_unmetered",
        "lockwright_inlined_given_by_both",
        releases_innermost!()
    ),
    way!(
        "lockwright_inlined_innermost_metered_g",
        "jmp lockwright_inlined_unmetered_g",
        "lockwright_inlined_given_by_both_g",
        releases_innermost!()
    ),
    way!(
        "lockwright_inlined_innermost_metered_a",
        "jmp lockwright_inlined_unmetered_a",
        "lockwright_inlined_given_by_both_a",
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
    fn lockwright_inlined_again_metered();
    fn lockwright_inlined_again_metered_g();
    fn lockwright_inlined_again_metered_a();
    fn lockwright_inlined_innermost();
    fn lockwright_inlined_innermost_g();
    fn lockwright_inlined_innermost_a();
    fn lockwright_inlined_innermost_metered();
    fn lockwright_inlined_innermost_metered_g();
    fn lockwright_inlined_innermost_metered_a();
}

/// An entry of a hook.
pub type Entry = unsafe extern "C" fn();

/// Where a lock is taken that may be taken as before: for each answer to what is kept.
pub const TAKES: [Entry; 3] =
    [lockwright_inlined_again, lockwright_inlined_again_g, lockwright_inlined_again_a];

/// Where the lock that is released may be the innermost.
pub const RELEASES: [Entry; 3] =
    [lockwright_inlined_innermost, lockwright_inlined_innermost_g, lockwright_inlined_innermost_a];

/// As [`TAKES`], where lockmeter runs, too.
pub const TAKES_METERED: [Entry; 3] = [
    lockwright_inlined_again_metered,
    lockwright_inlined_again_metered_g,
    lockwright_inlined_again_metered_a,
];

/// As [`RELEASES`], where lockmeter runs, too.
pub const RELEASES_METERED: [Entry; 3] = [
    lockwright_inlined_innermost_metered,
    lockwright_inlined_innermost_metered_g,
    lockwright_inlined_innermost_metered_a,
];
