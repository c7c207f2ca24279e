//! Beginning and end: the constructor, the ledger's header, a forked child's new start, the exit.

use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};

use lockwright_engines::lockdep::{Core, ThreadState};
use lockwright_ledger::layout::{annex_room, engines, process_state};
use lockwright_ledger::rows::Text;
use lockwright_ledger::{Header, Writer};

use crate::digits::Digits;
use crate::{
    ends, follow, hooks, identity, interpose, keys, loader, mapping, meter, modules, objects, real,
    sites, state, sys, time, tls,
};

/// Run by the loader before the program's main and before most libraries' constructors.
#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = constructor;

/// Run at exit, after the program's atexit handlers.
#[used]
#[unsafe(link_section = ".fini_array")]
static DESTRUCTOR: extern "C" fn() = destructor;

/// The longest name of a directory for ledgers.
pub const MOST_DIRECTORY: usize = 3072 - 64;

/// `LOCKWRIGHT_DIR` as it was at start, NUL terminated: where ledgers go, and, after a colon, 32 hexadecimal digits that
/// show the command what is of its run; empty where nobody asked for any.
static mut WANTED: [u8; 3072] = [0; 3072];

/// What it was.
pub fn wanted() -> &'static [u8] {
    let wanted = &raw const WANTED;
    // SAFETY: written once, by the constructor.
    let wanted = unsafe { &*wanted };
    let len = wanted.iter().position(|&b| b == 0).unwrap_or(0);
    &wanted[..len]
}

/// The digits of a run.
const RUN_DIGITS: usize = 32;

/// The directory that ledgers and records go to, and the digits; both empty where nobody asked for any.
fn split() -> (&'static [u8], &'static [u8]) {
    let wanted = wanted();
    let is_digits = |run: &[u8]| run.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    match wanted.len().checked_sub(RUN_DIGITS + 1) {
        Some(at) if wanted[at] == b':' && is_digits(&wanted[at + 1..]) => {
            (&wanted[..at], &wanted[at + 1..])
        }
        _ => (wanted, b""),
    }
}

/// The directory that ledgers and records go to; empty where nobody asked for any.
pub fn directory() -> &'static [u8] {
    split().0
}

/// What shows the command that a record is of its run; empty where it did not ask for that.
pub fn run() -> &'static [u8] {
    split().1
}

/// The same as the header has it.
fn run_words() -> [u64; 2] {
    let word = |digits: &[u8]| {
        digits.iter().fold(0, |word: u64, &b| {
            let digit = if b.is_ascii_digit() { b - b'0' } else { b - b'a' + 10 };
            word << 4 | u64::from(digit)
        })
    };
    let (high, low) = run().split_at(run().len() / 2);
    [word(high), word(low)]
}

/// Names the current ledger to a forked child's.
#[unsafe(link_section = "lockwright_forked")]
static TOKEN: AtomicU64 = AtomicU64::new(0);

extern "C" fn constructor() {
    loader::start();
    real::resolve_all();
    interpose::follow_internal();
    hooks::choose_spawns();
    objects::ask(false);
    // SAFETY: getenv returns null or a NUL-terminated string; nobody else runs yet that sets it.
    let wanted = unsafe {
        let value = libc::getenv(c"LOCKWRIGHT_DIR".as_ptr());
        if value.is_null() {
            return;
        }
        core::ffi::CStr::from_ptr(value).to_bytes_with_nul()
    };
    if wanted.len() < 2 || wanted.len() > MOST_DIRECTORY {
        return;
    }
    // SAFETY: before any thread of the program.
    unsafe {
        (&raw mut WANTED).cast::<u8>().copy_from_nonoverlapping(wanted.as_ptr(), wanted.len())
    };
    if !follow::is_wanted() || !may_have_threads() {
        follow::tell_unwatched();
        return;
    }
    keys::LOCKDEP.make(thread_exit);
    ask();
    interpose::follow_internal();
    if begin(0) {
        // SAFETY: as above.
        if !unsafe { libc::getenv(c"LOCKWRIGHT_TRACK_ALLOCATIONS".as_ptr()) }.is_null() {
            hooks::track_allocations();
        }
        hooks::watch_c11();
        time::start();
        sites::start();
        hooks::register_fork();
        hooks::watch_exit_code();
        hooks::watch::attach(0, 0);
        hooks::watch_frees();
    }
}

/// Before glibc 2.34 programs that are not linked with libpthread have functions of mutexes that do nothing, and lack
/// others, which ours would go on to.
fn may_have_threads() -> bool {
    loader::next(c"pthread_mutex_trylock", None).is_some()
}

/// Which engines were asked for: `LOCKWRIGHT_ENGINES`, a list, by default the validator alone; and how
/// lockmeter is to count: `LOCKWRIGHT_HOLD` (exact, off, sample:N), `LOCKWRIGHT_INSTANCES`,
/// `LOCKWRIGHT_CLOCK` (monotonic).
fn ask() {
    // SAFETY: getenv returns null or a NUL-terminated string; nobody else runs yet that sets it.
    let get = |name: &core::ffi::CStr| unsafe {
        let value = libc::getenv(name.as_ptr());
        (!value.is_null()).then(|| core::ffi::CStr::from_ptr(value).to_bytes())
    };
    let engines = get(c"LOCKWRIGHT_ENGINES").unwrap_or(b"lockdep");
    let mut names = engines.split(|&b| b == b',');
    if !names.clone().any(|name| name == b"lockdep") {
        LOCKDEP.store(false, Relaxed);
    }
    objects::ask(names.clone().any(|name| name == b"debugobjects"));
    if !names.any(|name| name == b"lockmeter") {
        interpose::forward_blocking();
        return;
    }
    let sample = match get(c"LOCKWRIGHT_HOLD") {
        Some(b"off") => 0,
        Some(value) => value.strip_prefix(b"sample:").map_or(1, number),
        None => 1,
    };
    meter::ask(meter::Wanted {
        sample,
        by_instance: get(c"LOCKWRIGHT_INSTANCES").is_some_and(|value| value == b"1"),
        monotonic: get(c"LOCKWRIGHT_CLOCK").is_some_and(|value| value == b"monotonic"),
    });
    interpose::choose(validates());
    if !validates() && meter::times_every() {
        interpose::choose_every();
    }
}

fn number(digits: &[u8]) -> u32 {
    let value = digits.iter().take_while(|b| b.is_ascii_digit()).take(6);
    value.fold(0, |number, b| number * 10 + u32::from(b - b'0')).max(1)
}

/// The validator was asked for.
static LOCKDEP: AtomicBool = AtomicBool::new(true);

/// The validator was asked for.
pub fn validates() -> bool {
    LOCKDEP.load(Relaxed)
}

/// Makes a ledger and starts the engines on it.
fn begin(parent_token: u64) -> bool {
    let mut random = [0u8; 16];
    sys::random(&mut random);
    let (pid, ppid) = sys::pids();
    let now = time::now_ns();
    let half = |at: usize| {
        random[at..at + 8].iter().fold(now, |value, &b| value.rotate_left(8) ^ u64::from(b))
    };
    let (token, nonce) = (half(0) | 1, half(8) | 1);

    // Not on the stack: a forked child's thread may have little.
    static mut PATH: [u8; MOST_PATH] = [0; MOST_PATH];
    let path = &raw mut PATH;
    // SAFETY: at start-up or in a one-thread child, which is here once.
    let path = unsafe { &mut *path };
    if !ledger_path(path, pid, token) {
        return false;
    }
    // SAFETY: NUL terminated; as above, so nobody grows another mapping.
    let mut mapping = unsafe { mapping::create(path.as_ptr()) };
    if mapping.is_none() && parent_token != 0 {
        // SAFETY: as above; there is a parent that has a ledger.
        mapping = unsafe { mapping::take_annex() };
    }
    let Some(mapping) = mapping else { return false };
    // SAFETY: before `start`.
    let parent = unsafe { state::parents() };
    let fill = |header: &Header| {
        header.pid.store(pid, Relaxed);
        header.ppid.store(ppid, Relaxed);
        let lockdep = if validates() { engines::LOCKDEP } else { 0 };
        let lockmeter = if meter::is_wanted() { engines::LOCKMETER } else { 0 };
        let debugobjects = if objects::is_wanted() { engines::DEBUGOBJECTS } else { 0 };
        header.engines.store(lockdep | lockmeter | debugobjects, Relaxed);
        header.state.store(process_state::RUNNING, Relaxed);
        header.start_realtime_ns.store(time::realtime_ns(), Relaxed);
        header.start_ns.store(now, Relaxed);
        header.token.store(token, Relaxed);
        header.parent_token.store(parent_token, Relaxed);
        for (word, value) in header.run.iter().zip(run_words()) {
            word.store(value, Relaxed);
        }
        header.epoch.store(1, Relaxed);
        header.annex_room.store(annex_room(mapping.file_len as u64), Relaxed);
        header.limited_by.store(mapping.limited_by, Relaxed);
        header.processors.store(parent.map_or_else(processors, parents_processors), Relaxed);
    };
    // SAFETY: a fresh mapping of a new, zero file; it stays mapped as long as the engine uses it.
    let writer = unsafe { Writer::create(mapping.base, mapping.len, mapping::commit, fill) };
    let Some(mut writer) = writer else {
        // SAFETY: nobody points into it; the path is NUL terminated.
        unsafe {
            mapping::forget();
            sys::unlink(path.as_ptr());
        }
        return false;
    };
    match parent {
        None => describe(&mut writer),
        Some(parent) => describe_as(&mut writer, parent.ledger()),
    }
    TOKEN.store(token, Relaxed);
    let mut core = Core::new(writer);
    if let Some(parent) = parent {
        core.inherit(parent);
    }
    modules::begin(&mut core, parent);
    if let Some(parent) = parent {
        hooks::inherited::begin(&mut core, parent);
    }
    identity::start(nonce);
    let header: *const Header = core.ledger().header();
    // SAFETY: start-up, or a child whose former core nobody uses; the header stays mapped.
    unsafe {
        (*header).stamped.store(identity::can_stamp().into(), Relaxed);
        state::start(core);
        meter::start(&*header);
    }
    hooks::begin_guarding();
    objects::start();
    true
}

/// Room for the path of a ledger.
const MOST_PATH: usize = MOST_DIRECTORY + 64;

/// `<directory>/<pid>-<16 hex digits>.lwl`
fn ledger_path(path: &mut [u8; MOST_PATH], pid: u32, token: u64) -> bool {
    let directory = directory();
    if directory.is_empty() {
        return false;
    }
    path[..directory.len()].copy_from_slice(directory);
    let mut at = directory.len();
    let mut push = |b: u8| {
        path[at] = b;
        at += 1;
    };
    push(b'/');
    Digits::of(pid.into()).as_bytes().iter().for_each(|&b| push(b));
    push(b'-');
    for shift in (0..16).rev() {
        push(b"0123456789abcdef"[(token >> (shift * 4)) as usize & 15]);
    }
    b".lwl\0".iter().for_each(|&b| push(b));
    true
}

/// Processors online.
fn processors() -> u32 {
    // SAFETY: asks the kernel.
    unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) }.max(1) as u32
}

/// What the parent found: to ask the kernel costs a child as much as its fork.
fn parents_processors(parent: &Core) -> u32 {
    parent.ledger().header().processors.load(Relaxed)
}

/// Executable and command line.
#[inline(never)]
fn describe(writer: &mut Writer) {
    let mut buffer = [0u8; 4096];
    // SAFETY: a NUL-terminated literal.
    let n = unsafe { sys::readlink(c"/proc/self/exe".as_ptr().cast(), &mut buffer) };
    let exe = writer.text(&buffer[..n.clamp(0, 4096) as usize]);
    // SAFETY: as above.
    let fd = unsafe { sys::open_read(c"/proc/self/cmdline".as_ptr().cast()) };
    let mut cmdline = Text::default();
    if fd >= 0 {
        let n = sys::read(fd, &mut buffer);
        sys::close(fd);
        cmdline = writer.text(&buffer[..n.clamp(0, 4096) as usize]);
    }
    set_description(writer.header(), [exe, cmdline]);
}

/// The same of a forked child, which has them from its parent.
fn describe_as(writer: &mut Writer, parent: &Writer) {
    let header = parent.header();
    let texts = [&header.exe, &header.cmdline].map(|words| {
        let [offset, len] = words.each_ref().map(|word| word.load(Relaxed));
        writer.copy_text(parent, Text { offset, len })
    });
    set_description(writer.header(), texts);
}

fn set_description(header: &Header, texts: [Text; 2]) {
    for (words, text) in [&header.exe, &header.cmdline].into_iter().zip(texts) {
        words[0].store(text.offset, Relaxed);
        words[1].store(text.len, Relaxed);
    }
}

/// A forked child uses its first lock: it gets a ledger of its own, in which its thread holds what the
/// forking thread held.
#[cold]
pub fn child() {
    if !follow::forks() {
        follow::tell_unwatched();
        state::stop();
        return;
    }
    // The parent's mapping stays until the end: a handler may still point into it.
    if !begin(TOKEN.load(Relaxed)) {
        state::stop();
        return;
    }
    let Some(thread) = hooks::watch::attach(0, 0) else { return };
    hooks::inherited::hold(thread);
}

/// Has [`thread_exit`] called when the thread ends.
pub fn watch_exit(state: *mut ThreadState) {
    keys::LOCKDEP.set(state.cast());
}

/// Destructors of other keys may still use locks: we go last, in the last of the rounds.
unsafe extern "C" fn thread_exit(_value: *mut c_void) {
    /// PTHREAD_DESTRUCTOR_ITERATIONS.
    const ROUNDS: u32 = 4;
    // Not the value: it was ours, but the program may have meant another key by that number.
    let state = tls::get();
    if state.is_null() {
        return;
    }
    // SAFETY: the calling thread's state.
    let rounds = unsafe { (*state).next_exit_round() };
    if rounds < ROUNDS {
        watch_exit(state);
    } else {
        hooks::thread_ended(state);
    }
}

/// Reads the names of all live threads: programs name them by prctl or through /proc, too.
pub fn refresh_names(core: &mut Core) {
    let mut next = core.first_live();
    while let Some((id, tid, after)) = core.live_thread(next) {
        next = after;
        let mut name = [0u8; 16];
        if let Some(name) = sys::read_of_task(tid, c"comm", &mut name).filter(|n| !n.is_empty()) {
            core.thread_name(id, name.strip_suffix(b"\n").unwrap_or(name));
        }
    }
}

extern "C" fn destructor() {
    ends::look();
    meter::finish();
    objects::finish();
    state::with_core(|core| {
        refresh_names(core);
        let header = core.ledger().header();
        header.end_ns.store(time::now_ns(), Relaxed);
        header.state.store(process_state::EXITED, Release);
    });
}
