//! What blocks of code call where a lock is taken or released: the report of it, between registers of the program.
//!
//! A block comes from the middle of a function, where any register may have a value that is still needed. How many have,
//! the table says for each place ([`Keeps`]); each hook has an entry for each answer. What runs most often has [short ways](short_ways). The entries' unwind tables lead
//! past the block, to the place.

use core::arch::x86_64::{__cpuid, __cpuid_count};
use core::arch::{asm, global_asm};
use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

use lockwright_ledger::inlined::{DEPTH, Hook, Keeps, SLOTS, flag, slot};

use super::short_ways::{self, Entry};
use crate::callsite::Return;
use crate::interpose::libraries::steps::{self, Call};
use crate::lockdep::annotate::user_locks;
use crate::{lockdep, lockmeter};

/// Room for the processor's vector state as XSAVE writes it: the legacy part, the header, AVX, and AVX-512's three, where
/// Intel's processors have them; AMD's have them closer together.
const STATE: usize = 2752;
/// The parts of it that are kept: x87, SSE, AVX, mask registers, and both of AVX-512's others. Nothing of ours touches more.
const PARTS: u32 = 0b1110_0111;

/// The processor, and the kernel, have XSAVE.
static HAS_XSAVE: AtomicU8 = AtomicU8::new(0);

/// The beginning of an entry. From here on its frame is found by rbp, whatever is pushed: a handler may look at it between any two
/// instructions.
macro_rules! begins {
    ($name:literal) => {
        concat!(
            ".globl ",
            $name,
            "\n.hidden ",
            $name,
            "\n",
            $name,
            ":\n",
            ".cfi_startproc\n",
            ".cfi_def_cfa rsp, {depth} + 16\n",
            "push rbp\n",
            ".cfi_def_cfa_offset {depth} + 24\n",
            ".cfi_offset rbp, -({depth} + 24)\n",
            "mov rbp, rsp\n",
            ".cfi_def_cfa_register rbp",
        )
    };
}

/// Keeps the general registers that a function may change; `acquired` and `releases`: except the [`scratch`] ones of these hooks.
///
/// [`scratch`]: lockwright_ledger::inlined::scratch
macro_rules! keeps {
    (all) => {
        "push rax\npush rcx\npush rdx\npush rdi\npush rsi\npush r8\npush r9\npush r10\npush r11"
    };
    (acquired) => {
        "push rdx\npush rdi\npush rsi\npush r8\npush r9"
    };
    (releases) => {
        "push rax\npush rcx\npush rdx\npush rdi\npush rsi\npush r8\npush r9"
    };
}

/// Passes the place, where its address is on the stack, and its function's frame pointer.
macro_rules! passes {
    () => {
        "mov rdx, [rbp + 16 + {depth}]\nlea rcx, [rbp + 16 + {depth}]\nmov r8, [rbp]"
    };
}

/// Gives back what was kept.
macro_rules! gives_back {
    (all) => {
        "lea rsp, [rbp - 72]\npop r11\npop r10\npop r9\npop r8\npop rsi\npop rdi\npop rdx\npop rcx\npop rax"
    };
    (acquired) => {
        "lea rsp, [rbp - 40]\npop r9\npop r8\npop rsi\npop rdi\npop rdx"
    };
    (releases) => {
        "lea rsp, [rbp - 56]\npop r9\npop r8\npop rsi\npop rdi\npop rdx\npop rcx\npop rax"
    };
}

/// The end of an entry.
macro_rules! ends {
    () => {
        "pop rbp\n.cfi_def_cfa rsp, {depth} + 16\n.cfi_restore rbp\nret\n.cfi_endproc"
    };
}

/// The three entries of a hook, and what the latter two keep.
macro_rules! entries {
    ($callee:literal, $general:literal, $all:literal, $to:path, $kept:ident) => {
        global_asm!(
            // All others are dead, or the block keeps them.
            begins!($callee),
            passes!(),
            "and rsp, -16",
            "call {to}",
            "mov rsp, rbp",
            ends!(),

            begins!($general),
            keeps!($kept),
            passes!(),
            "and rsp, -16",
            "call {to}",
            gives_back!($kept),
            ends!(),

            begins!($all),
            keeps!($kept),
            "sub rsp, {state}",
            "and rsp, -64",
            "cmp byte ptr [rip + {has_xsave}], 0", "je 2f",
            // The header of the state has to begin as zeros.
            "xor eax, eax",
            "mov [rsp + 512], rax", "mov [rsp + 520], rax", "mov [rsp + 528], rax", "mov [rsp + 536], rax",
            "mov [rsp + 544], rax", "mov [rsp + 552], rax", "mov [rsp + 560], rax", "mov [rsp + 568], rax",
            "mov eax, {parts}", "xor edx, edx",
            "xsave64 [rsp]",
            "jmp 3f",
            "2:", "fxsave64 [rsp]",
            "3:",
            passes!(),
            "call {to}",
            "cmp byte ptr [rip + {has_xsave}], 0", "je 4f",
            "mov eax, {parts}", "xor edx, edx",
            "xrstor64 [rsp]",
            "jmp 5f",
            "4:", "fxrstor64 [rsp]",
            "5:",
            gives_back!($kept),
            ends!(),
            depth = const DEPTH, state = const STATE, parts = const PARTS,
            has_xsave = sym HAS_XSAVE, to = sym $to
        );
    };
}

entries!(
    "lockwright_inlined_acquired",
    "lockwright_inlined_acquired_g",
    "lockwright_inlined_acquired_a",
    acquired,
    acquired
);
entries!(
    "lockwright_inlined_wants",
    "lockwright_inlined_wants_g",
    "lockwright_inlined_wants_a",
    wants,
    all
);
entries!(
    "lockwright_inlined_waits",
    "lockwright_inlined_waits_g",
    "lockwright_inlined_waits_a",
    waits,
    all
);
entries!(
    "lockwright_inlined_got",
    "lockwright_inlined_got_g",
    "lockwright_inlined_got_a",
    got,
    all
);
entries!(
    "lockwright_inlined_gave_up",
    "lockwright_inlined_gave_up_g",
    "lockwright_inlined_gave_up_a",
    gave_up,
    all
);
entries!(
    "lockwright_inlined_releases",
    "lockwright_inlined_releases_g",
    "lockwright_inlined_releases_a",
    releases,
    releases
);

entries!(
    "lockwright_inlined_taken",
    "lockwright_inlined_taken_g",
    "lockwright_inlined_taken_a",
    taken,
    acquired
);
entries!(
    "lockwright_inlined_given",
    "lockwright_inlined_given_g",
    "lockwright_inlined_given_a",
    given,
    releases
);

entries!(
    "lockwright_inlined_metered",
    "lockwright_inlined_metered_g",
    "lockwright_inlined_metered_a",
    metered,
    acquired
);
entries!(
    "lockwright_inlined_unmetered",
    "lockwright_inlined_unmetered_g",
    "lockwright_inlined_unmetered_a",
    unmetered,
    releases
);
entries!(
    "lockwright_inlined_taken_by_both",
    "lockwright_inlined_taken_by_both_g",
    "lockwright_inlined_taken_by_both_a",
    taken_by_both,
    acquired
);
entries!(
    "lockwright_inlined_given_by_both",
    "lockwright_inlined_given_by_both_g",
    "lockwright_inlined_given_by_both_a",
    given_by_both,
    releases
);

unsafe extern "C" {
    fn lockwright_inlined_acquired();
    fn lockwright_inlined_acquired_g();
    fn lockwright_inlined_acquired_a();
    fn lockwright_inlined_wants();
    fn lockwright_inlined_wants_g();
    fn lockwright_inlined_wants_a();
    fn lockwright_inlined_waits();
    fn lockwright_inlined_waits_g();
    fn lockwright_inlined_waits_a();
    fn lockwright_inlined_got();
    fn lockwright_inlined_got_g();
    fn lockwright_inlined_got_a();
    fn lockwright_inlined_gave_up();
    fn lockwright_inlined_gave_up_g();
    fn lockwright_inlined_gave_up_a();
    fn lockwright_inlined_releases();
    fn lockwright_inlined_releases_g();
    fn lockwright_inlined_releases_a();
    fn lockwright_inlined_metered();
    fn lockwright_inlined_metered_g();
    fn lockwright_inlined_metered_a();
    fn lockwright_inlined_unmetered();
    fn lockwright_inlined_unmetered_g();
    fn lockwright_inlined_unmetered_a();
}

/// The table that a block begins with: each hook's entries where the table's layout has them.
pub fn slots() -> [u64; SLOTS] {
    let all: [(Hook, [Entry; 3]); 6] = [
        (
            Hook::Acquired,
            [
                lockwright_inlined_acquired,
                lockwright_inlined_acquired_g,
                lockwright_inlined_acquired_a,
            ],
        ),
        (
            Hook::Wants,
            [lockwright_inlined_wants, lockwright_inlined_wants_g, lockwright_inlined_wants_a],
        ),
        (
            Hook::Waits,
            [lockwright_inlined_waits, lockwright_inlined_waits_g, lockwright_inlined_waits_a],
        ),
        (Hook::Got, [lockwright_inlined_got, lockwright_inlined_got_g, lockwright_inlined_got_a]),
        (
            Hook::GaveUp,
            [
                lockwright_inlined_gave_up,
                lockwright_inlined_gave_up_g,
                lockwright_inlined_gave_up_a,
            ],
        ),
        (
            Hook::Releases,
            [
                lockwright_inlined_releases,
                lockwright_inlined_releases_g,
                lockwright_inlined_releases_a,
            ],
        ),
    ];
    // What is done most often has ways of its own, by what runs.
    let (takes, releases) = match (lockdep::is_wanted(), lockmeter::is_wanted()) {
        (true, false) => (short_ways::TAKES, short_ways::RELEASES),
        (true, true) => (short_ways::TAKES_METERED, short_ways::RELEASES_METERED),
        (false, _) => (
            [
                lockwright_inlined_metered as Entry,
                lockwright_inlined_metered_g,
                lockwright_inlined_metered_a,
            ],
            [
                lockwright_inlined_unmetered as Entry,
                lockwright_inlined_unmetered_g,
                lockwright_inlined_unmetered_a,
            ],
        ),
    };
    let often = [(Hook::Acquired, takes), (Hook::Releases, releases)];
    let mut slots = [0; SLOTS];
    for (hook, entries) in all.into_iter().chain(often) {
        for (keeps, entry) in [Keeps::Callee, Keeps::General, Keeps::All].into_iter().zip(entries) {
            slots[slot(hook, keeps)] = entry as *const () as u64;
        }
    }
    slots
}

/// Whether blocks can run on this processor. Looks at what it has, before one does.
pub fn fit() -> bool {
    const OSXSAVE: u32 = 1 << 27;
    /// The leaf of CPUID that says where XSAVE writes each part.
    const PLACES: u32 = 0xd;
    let has_it = __cpuid(1).ecx & OSXSAVE != 0;
    HAS_XSAVE.store(has_it.into(), Relaxed);
    let fits = |part: &u32| {
        let place = __cpuid_count(PLACES, *part);
        place.eax.saturating_add(place.ebx) as usize <= STATE
    };
    let parts = (2..=PARTS.ilog2()).filter(|part| PARTS & 1 << part != 0);
    !has_shadow_stack() && (!has_it || parts.into_iter().all(|part| fits(&part)))
}

/// The processor compares return addresses with a second stack. A block that drops one would be taken for an attack.
fn has_shadow_stack() -> bool {
    let pointer: u64;
    // SAFETY: RDSSPQ reads a register; where there is no second stack, it does nothing.
    unsafe {
        asm!("xor {0:e}, {0:e}", "rdsspq {0}", out(reg) pointer, options(nomem, nostack));
    }
    pointer != 0
}

/// [`Hook::Acquired`]: the entries pass the address of the lock, flags of the acquisition, the place, where its address is on
/// the stack, and the frame pointer of its function.
extern "C-unwind" fn acquired(lock: u64, flags: u32, site: u64, stack: *const u64, rbp: u64) {
    let call = Call { lock, flags, site, back: Return::at(stack, rbp) };
    if flags & flag::TRY != 0 {
        return steps::tried(call, true);
    }
    steps::taken(call);
}

/// [`Hook::Acquired`] under lockdep alone.
extern "C-unwind" fn taken(lock: u64, flags: u32, site: u64, stack: *const u64, rbp: u64) {
    let back = Return::at(stack, rbp);
    // SAFETY: the place's call, which has not returned.
    let is_known =
        flags & flag::TRY == 0 && unsafe { user_locks::taken_known(lock, flags, site, back) };
    if !is_known {
        acquired(lock, flags, site, stack, rbp);
    }
}

/// [`Hook::Releases`] under lockdep alone.
extern "C-unwind" fn given(lock: u64, none: u32, site: u64, stack: *const u64, rbp: u64) {
    if !user_locks::releases_innermost(lock) {
        releases(lock, none, site, stack, rbp);
    }
}

/// [`Hook::Acquired`] under lockmeter, after lockdep's short way if that runs.
extern "C-unwind" fn metered(lock: u64, flags: u32, site: u64, stack: *const u64, rbp: u64) {
    if flags & flag::TRY == 0 && lockmeter::user_locks::taken_known(lock, flags, site) {
        return;
    }
    if !lockdep::is_wanted() {
        return acquired(lock, flags, site, stack, rbp);
    }
    steps::taken_metered(Call { lock, flags, site, back: Return::at(stack, rbp) });
}

/// [`Hook::Releases`] under lockmeter, after lockdep's short way if that runs.
extern "C-unwind" fn unmetered(lock: u64, _none: u32, _site: u64, _stack: *const u64, _rbp: u64) {
    lockmeter::user_locks::releases(lock);
}

/// [`Hook::Acquired`] under both, where lockdep's short way is not enough.
extern "C-unwind" fn taken_by_both(lock: u64, flags: u32, site: u64, stack: *const u64, rbp: u64) {
    let back = Return::at(stack, rbp);
    // SAFETY: the place's call, which has not returned.
    let is_known =
        flags & flag::TRY == 0 && unsafe { user_locks::taken_known(lock, flags, site, back) };
    match is_known {
        true => metered(lock, flags, site, stack, rbp),
        false => acquired(lock, flags, site, stack, rbp),
    }
}

/// [`Hook::Releases`] under both, where lockdep's short way is not enough.
extern "C-unwind" fn given_by_both(lock: u64, _none: u32, _site: u64, _: *const u64, _rbp: u64) {
    if !user_locks::releases_innermost(lock) {
        user_locks::release_if_held(lock);
    }
    lockmeter::user_locks::releases(lock);
}

/// [`Hook::Wants`].
extern "C-unwind" fn wants(lock: u64, flags: u32, site: u64, stack: *const u64, rbp: u64) {
    steps::wants(Call { lock, flags, site, back: Return::at(stack, rbp) });
}

/// [`Hook::Waits`].
extern "C-unwind" fn waits(lock: u64, flags: u32, site: u64, stack: *const u64, rbp: u64) {
    steps::waits(Call { lock, flags, site, back: Return::at(stack, rbp) });
}

/// [`Hook::Got`].
extern "C-unwind" fn got(lock: u64, _flags: u32, site: u64, _stack: *const u64, _rbp: u64) {
    steps::got(lock, site);
}

/// [`Hook::GaveUp`].
extern "C-unwind" fn gave_up(lock: u64, _flags: u32, site: u64, _stack: *const u64, _rbp: u64) {
    steps::gave_up(lock, site);
}

/// [`Hook::Releases`].
extern "C-unwind" fn releases(lock: u64, _none: u32, site: u64, _stack: *const u64, _rbp: u64) {
    steps::release(lock, site);
}
