//! The simulator's services for libraries: the functions of [`abi::Platform`], each as the
//! simulated machine or the explorer has it, whichever of them calls the library's lock.

use std::ffi::{c_int, c_void};
use std::str;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

use lockwright::lock_library::abi::{self, Modify};
use lockwright::platform::{Platform, Task, Waited};

use crate::arena;
use crate::cache::Operation;
use crate::cell::Word;
use crate::explore::{Explored, SourceLine};
use crate::platform::{Sim, access, is_machine, store as machine_store};
use crate::store::Write;

/// What is called when a library does what it must not, with what that was. It cannot return, as the
/// library has no answer to expect.
pub type Misuse = fn(&str) -> !;

static ON_MISUSE: OnceLock<Misuse> = OnceLock::new();

/// Says what is done about a library that does what it must not. Only the first one that is said
/// counts; without one the process aborts.
pub fn on_misuse(misuse: Misuse) {
    // There is one.
    let _ = ON_MISUSE.set(misuse);
}

fn misuse(what: &str) -> ! {
    if let Some(misuse) = ON_MISUSE.get() {
        misuse(what);
    }
    eprintln!("lockwright: the library of locks {what}");
    std::process::abort();
}

/// What libraries get.
pub static PLATFORM: abi::Platform = abi::Platform {
    version: abi::VERSION,
    size: size_of::<abi::Platform>() as u32,
    load,
    store,
    modify,
    compare_exchange,
    fence,
    relax,
    wait,
    wake,
    cpu,
    cpus,
    per_cpu,
    is_running,
    need_resched,
    yield_now,
    now,
};

/// C's `memory_order_seq_cst`.
const SEQ_CST: c_int = 5;

/// A line of the library's source.
///
/// # Safety
/// The place is one, or null.
unsafe fn source(place: *const abi::Place) -> SourceLine {
    // SAFETY: by contract `place` is null or points to a place that lives during the call.
    let known = unsafe { place.as_ref() }.filter(|place| !place.file.is_null());
    let file = known.and_then(|place| {
        // SAFETY: as long as the library, which stays.
        let bytes = unsafe { std::slice::from_raw_parts(place.file.cast(), place.length) };
        str::from_utf8(bytes).ok()
    });
    SourceLine { file: file.unwrap_or("the library"), line: known.map_or(0, |place| place.line) }
}

/// The address of a word that can be one.
fn checked(word: *const c_void, size: u32) -> usize {
    let address = word.addr();
    if !matches!(size, 1 | 2 | 4 | 8) {
        misuse(&format!("has a word of {size} bytes: they are of 1, 2, 4 or 8"));
    }
    if address == 0 || !address.is_multiple_of(size as usize) {
        misuse(&format!("has a word of {size} bytes at the address {address:#x}"));
    }
    address
}

/// The event that an operation on a word is.
///
/// # Safety
/// The place is one, or null.
unsafe fn event(
    word: *const c_void,
    size: u32,
    operation: Operation,
    place: *const abi::Place,
) -> usize {
    let address = checked(word, size);
    // SAFETY: by contract `place` is null or points to a place that lives during the call.
    access(address, size as usize, operation, || unsafe { source(place) });
    address
}

/// Does the same to a word of any size, as the host: Relaxed, as one thread of it runs all.
macro_rules! of_size {
    ($address:expr, $size:expr, |$word:ident, $value:ident| $do:expr) => {{
        let (address, size): (usize, u32) = ($address, $size);
        // It is a word of this size, says the library, and aligned to it, as was looked at.
        match size {
            1 => {
                type $value = u8;
                // SAFETY: the library names a word of this size, and `checked` found its address
                // aligned to that.
                let $word = unsafe { AtomicU8::from_ptr(address as *mut u8) };
                $do
            }
            2 => {
                type $value = u16;
                // SAFETY: the library names a word of this size, and `checked` found its address
                // aligned to that.
                let $word = unsafe { AtomicU16::from_ptr(address as *mut u16) };
                $do
            }
            4 => {
                type $value = u32;
                // SAFETY: the library names a word of this size, and `checked` found its address
                // aligned to that.
                let $word = unsafe { AtomicU32::from_ptr(address as *mut u32) };
                $do
            }
            _ => {
                type $value = u64;
                // SAFETY: the library names a word of this size, and `checked` found its address
                // aligned to that.
                let $word = unsafe { AtomicU64::from_ptr(address as *mut u64) };
                $do
            }
        }
    }};
}

/// # Safety
/// `word` is a word of `size` bytes of the library's, and `place` is null or a place.
unsafe extern "C" fn load(
    word: *const c_void,
    size: u32,
    _: c_int,
    place: *const abi::Place,
) -> u64 {
    // SAFETY: the library passes null or a place that lives during the call.
    let at = unsafe { event(word, size, Operation::Load, place) };
    of_size!(at, size, |word, Value| Value::into(word.load(Relaxed)))
}

/// # Safety
/// `word` is a word of `size` bytes of the library's, and `place` is null or a place.
unsafe extern "C" fn store(
    word: *mut c_void,
    size: u32,
    value: u64,
    order: c_int,
    place: *const abi::Place,
) {
    if order != SEQ_CST {
        let (address, size) = (checked(word, size), size as usize);
        // SAFETY: the library passes null or a place that lives during the call.
        return machine_store(Write::Value { address, size, value }, || unsafe { source(place) });
    }
    // The strongest is an exchange, on x86.
    // SAFETY: the library passes null or a place that lives during the call.
    let at = unsafe { event(word, size, Operation::Exchange, place) };
    of_size!(at, size, |word, Value| word.store(value as Value, Relaxed));
}

/// # Safety
/// `word` is a word of `size` bytes of the library's, and `place` is null or a place.
unsafe extern "C" fn modify(
    word: *mut c_void,
    size: u32,
    how: u32,
    value: u64,
    _: c_int,
    place: *const abi::Place,
) -> u64 {
    const KNOWN: [Modify; 6] =
        [Modify::Exchange, Modify::Add, Modify::Sub, Modify::And, Modify::Or, Modify::Xor];
    let Some(how) = KNOWN.into_iter().find(|known| *known as u32 == how) else {
        misuse(&format!("changes a word in the way {how}, which is none"));
    };
    // SAFETY: the library passes null or a place that lives during the call.
    let at = unsafe { event(word, size, Operation::Exchange, place) };
    of_size!(at, size, |word, Value| {
        let value = value as Value;
        let was = match how {
            Modify::Exchange => word.swap(value, Relaxed),
            Modify::Add => word.fetch_add(value, Relaxed),
            Modify::Sub => word.fetch_sub(value, Relaxed),
            Modify::And => word.fetch_and(value, Relaxed),
            Modify::Or => word.fetch_or(value, Relaxed),
            Modify::Xor => word.fetch_xor(value, Relaxed),
        };
        Value::into(was)
    })
}

/// # Safety
/// The contract is that of `modify`; `expected` is null or the caller's own value of `size` bytes.
unsafe extern "C" fn compare_exchange(
    word: *mut c_void,
    size: u32,
    expected: *mut c_void,
    desired: u64,
    _: c_int,
    place: *const abi::Place,
) -> c_int {
    // SAFETY: the library passes null or a place that lives during the call.
    let at = unsafe { event(word, size, Operation::Exchange, place) };
    if expected.is_null() {
        misuse("compares a word with what is nowhere");
    }
    of_size!(at, size, |word, Value| {
        let expected: *mut Value = expected.cast();
        // SAFETY: a value of the word's size, which is the caller's own.
        let old = unsafe { expected.read_unaligned() };
        match word.compare_exchange(old, desired as Value, Relaxed, Relaxed) {
            Ok(_) => 1,
            Err(seen) => {
                // SAFETY: `expected` is not null, and points to a value of the word's size, which
                // is the caller's own.
                unsafe { expected.write_unaligned(seen) };
                0
            }
        }
    })
}

/// # Safety
/// The caller need not promise anything: no pointer is passed.
unsafe extern "C" fn fence(order: c_int) {
    if order == SEQ_CST {
        Sim::fence(SeqCst);
    }
}

/// # Safety
/// The caller need not promise anything: no pointer is passed.
unsafe extern "C" fn relax(most: u32) -> u32 {
    if is_machine() {
        return Sim::relax_rounds(most);
    }
    Explored::relax();
    // One that counts its rounds comes to their end soon, whatever it counts to.
    most.div_ceil(Explored::SPIN_THRESHOLD).max(1)
}

/// A word that is waited on.
fn word_at(word: *const u32) -> *const Word {
    if word.is_null() || !word.is_aligned() {
        misuse(&format!("waits on a word at the address {:#x}", word.addr()));
    }
    word.cast()
}

/// # Safety
/// `word` is a word of the library's, and `place` is null or a place.
unsafe extern "C" fn wait(
    word: *const u32,
    expected: u32,
    bits: u32,
    deadline: u64,
    place: *const abi::Place,
) -> c_int {
    number();
    let deadline = (deadline != abi::NEVER).then_some(deadline);
    // SAFETY: the library passes a live word, and null or a place that lives during the call; cells
    // are their values.
    let waited = unsafe { (*word_at(word)).wait_from(source(place), expected, bits, deadline) };
    let waited = match waited {
        Waited::Woken => abi::Waited::Woken,
        Waited::Changed => abi::Waited::Changed,
        Waited::TooLate => abi::Waited::TooLate,
    };
    waited as c_int
}

/// # Safety
/// `place` is null or a place. The word need not be there any more.
unsafe extern "C" fn wake(word: *const u32, count: u32, bits: u32, place: *const abi::Place) {
    // SAFETY: the library passes null or a place that lives during the call.
    Word::wake_from(unsafe { source(place) }, word_at(word), count, bits);
}

/// The number of the calling thread, which is a simulated one.
fn number() -> u32 {
    let number = cpu_of();
    number.unwrap_or_else(|| misuse("waits, or asks for a CPU's memory, where no thread runs"))
}

fn cpu_of() -> Option<u32> {
    if is_machine() { Sim::cpu() } else { Explored::cpu() }
}

/// # Safety
/// The caller need not promise anything: no pointer is passed.
unsafe extern "C" fn cpu() -> u32 {
    cpu_of().unwrap_or(abi::NO_CPU)
}

/// # Safety
/// The caller need not promise anything: no pointer is passed.
unsafe extern "C" fn cpus() -> u32 {
    if is_machine() { Sim::cpus() } else { Explored::cpus() }
}

/// A thread of this number, as a task.
fn task(cpu: u32) -> Task {
    // SAFETY: `cpus` takes no pointer and demands nothing of its caller.
    let cpus = unsafe { cpus() };
    if cpu >= cpus {
        misuse(&format!("asks for CPU {cpu}, and there are {cpus}"));
    }
    Task::new((cpu as usize + 1) * Task::ALIGN)
}

/// # Safety
/// `init` is none, or may be called with `bytes` zeroed bytes, aligned to a page.
unsafe extern "C" fn per_cpu(
    cpu: u32,
    bytes: usize,
    init: Option<unsafe extern "C" fn(*mut c_void)>,
) -> *mut c_void {
    number();
    task(cpu);
    if bytes > abi::MOST_PER_CPU {
        let most = abi::MOST_PER_CPU;
        misuse(&format!("keeps {bytes} bytes for a CPU: {most} are the most"));
    }
    let (at, is_new) = arena::keep_for_library(cpu as usize);
    let at: *mut c_void = at.as_ptr().cast();
    if let (true, Some(init)) = (is_new, init) {
        // SAFETY: the library asks for this call, with a page of its own that no other thread uses
        // yet.
        unsafe { init(at) };
    }
    at
}

/// # Safety
/// The caller need not promise anything: no pointer is passed.
unsafe extern "C" fn is_running(cpu: u32) -> c_int {
    let task = task(cpu);
    let is_running = if is_machine() { Sim::is_running(task) } else { Explored::is_running(task) };
    is_running.into()
}

/// # Safety
/// The caller need not promise anything: no pointer is passed.
unsafe extern "C" fn need_resched(rounds: u32) -> c_int {
    let needs =
        if is_machine() { Sim::need_resched(rounds) } else { Explored::need_resched(rounds) };
    needs.into()
}

/// # Safety
/// The caller need not promise anything: no pointer is passed.
unsafe extern "C" fn yield_now() {
    if is_machine() {
        Sim::yield_now();
    } else {
        Explored::yield_now();
    }
}

/// # Safety
/// The caller need not promise anything: no pointer is passed.
unsafe extern "C" fn now() -> u64 {
    if is_machine() { Sim::now() } else { Explored::now() }
}
