//! Beginning and end: the constructor, the ledger's header, a forked child's new start, the exit.

use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU64, Ordering::*};

use lockwright_engines::lockdep::{Cache, Core};
use lockwright_ledger::layout::{annex_room, process_state};
use lockwright_ledger::rows::Text;
use lockwright_ledger::{Header, Writer, steering};

use crate::hosts::{self, Host};
use crate::interpose::{
    self, allocation, both_engines, c11, execute, freed_memory, inlined, libraries, process_exit,
    python as python_locks, signal_unsafe,
};
use crate::libc::real;
use crate::lock_id::{
    allocations, first_use, identity, inherited, known_births, makers, shared, spinning,
};
use crate::os::digits::Digits;
use crate::os::{loader, mapping, sys, time};
use crate::process::run_dir::{self, MOST_DIRECTORY};
use crate::process::{follow, fork};
use crate::recorder::{slow_cost, state};
#[cfg(not(test))]
use crate::stack::forced_unwind;
use crate::stack::{cpython, memo, modules, python};
use crate::threads::{lifetime, names, unnoticed_ends};
use crate::{callsite, debugobjects, layouts, lockdep, lockmeter};

/// Run by the loader before the program's main and before most libraries' constructors.
#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = constructor;

/// Run at exit, after the program's atexit handlers.
#[used]
#[unsafe(link_section = ".fini_array")]
static DESTRUCTOR: extern "C" fn() = destructor;

/// Names the current ledger to a forked child's.
#[unsafe(link_section = "lockwright_forked")]
static TOKEN: AtomicU64 = AtomicU64::new(0);

extern "C" fn constructor() {
    let begun_ns = slow_cost::cpu_ns();
    slow_cost::inside(start);
    count_start(begun_ns);
}

/// Records what the start cost, if there is a ledger. Entries into the slow path meanwhile are part of it, and not
/// counted: the start is run as the [`slow_cost::inside`] of one.
fn count_start(begun_ns: u64) {
    if let Some(header) = state::header() {
        slow_cost::calibrate();
        header.start_cpu_ns.store(slow_cost::cpu_ns().saturating_sub(begun_ns), Relaxed);
        for count in [&header.slow_entries, &header.slow_timed, &header.slow_cpu_ns] {
            count.store(0, Relaxed);
        }
    }
}

fn start() {
    loader::start();
    real::resolve_all();
    interpose::follow_internal();
    execute::start();
    debugobjects::ask(false);
    // SAFETY: getenv returns null or a NUL-terminated string; nobody else runs yet that sets it.
    let wanted = unsafe {
        let value = libc::getenv(c"LOCKWRIGHT_DIR".as_ptr());
        if value.is_null() {
            return;
        }
        core::ffi::CStr::from_ptr(value).to_bytes_with_nul()
    };
    // SAFETY: before any thread of the program.
    if !unsafe { run_dir::remember(wanted) } {
        return;
    }
    if !follow::is_wanted() || !may_have_threads() {
        follow::tell_unwatched();
        return;
    }
    connect();
    lifetime::start();
    ask();
    steer();
    interpose::follow_internal();
    if begin(0) {
        cpython::start();
        // SAFETY: the literal is NUL terminated, and nobody else runs yet that changes the
        // environment.
        if !unsafe { libc::getenv(c"LOCKWRIGHT_TRACK_ALLOCATIONS".as_ptr()) }.is_null() {
            allocation::track();
        }
        if !c11::start() {
            interpose::forward_c11();
        }
        time::start();
        callsite::start();
        fork::register();
        process_exit::start();
        hosts::each(|host| (host.attach)());
        freed_memory::start();
        libraries::start();
        inlined::start();
        python_locks::start();
    }
}

/// All engines' hosts, in the order of their parts.
static HOSTS: [Host; 3] = [lockdep::HOST, lockmeter::HOST, debugobjects::HOST];

/// Other code may come to lie in `[from, to)`, where a module was, and other objects.
fn unloaded(core: &mut Core, from: u64, to: u64) {
    callsite::forget(from, to);
    inlined::unloaded(from, to);
    memo::forget();
    allocations::unloaded(from, to);
    lockdep::unloaded(from, to);
    lockmeter::unloaded(core);
    debugobjects::unloaded(from, to);
}

/// Gives the lower layers their callbacks.
fn connect() {
    hosts::HOSTS.set(&HOSTS);
    state::BEGIN_CHILD.set(child);
    state::UNSEEN_FORK.set(fork::unseen);
    modules::UNLOADED.set(unloaded);
    first_use::TELL.set(debugobjects::uses::used_lock);
    #[cfg(not(test))]
    forced_unwind::UNWOUND.set(interpose::abandoned_waits::unwound);
    lockdep::signal::HANDLERS_BEGIN.set(signal_unsafe::handlers_begin);
    callsite::RELEASED.set(lockdep::left_held::released_elsewhere);
}

/// Before glibc 2.34 programs that are not linked with libpthread have functions of mutexes that do
/// nothing, and lack others, which ours would go on to.
fn may_have_threads() -> bool {
    loader::next(c"pthread_mutex_trylock", None).is_some()
}

/// Which engines were asked for: `LOCKWRIGHT_ENGINES`, a list, by default lockdep alone; and how
/// lockmeter is to count: `LOCKWRIGHT_HOLD` (exact, off, sample:N), `LOCKWRIGHT_INSTANCES`,
/// `LOCKWRIGHT_CLOCK` (monotonic), `LOCKWRIGHT_BOUNCES`, `LOCKWRIGHT_TIMELINE` (KiB).
fn ask() {
    // SAFETY: getenv returns null or a NUL-terminated string; nobody else runs yet that sets it.
    let get = |name: &core::ffi::CStr| unsafe {
        let value = libc::getenv(name.as_ptr());
        (!value.is_null()).then(|| core::ffi::CStr::from_ptr(value).to_bytes())
    };
    let engines = get(c"LOCKWRIGHT_ENGINES").unwrap_or(b"lockdep");
    let mut names = engines.split(|&b| b == b',');
    lockdep::ask(names.clone().any(|name| name == b"lockdep"));
    if lockdep::is_wanted() {
        spinning::FIRST.set(interpose::watch_sleeping);
    }
    debugobjects::ask(names.clone().any(|name| name == b"debugobjects"));
    let is_metered = names.any(|name| name == b"lockmeter");
    lockdep::ask_semaphores(lockdep::is_wanted() || is_metered);
    if !is_metered {
        interpose::forward_blocking();
        watch_idling();
        return;
    }
    let sample = match get(c"LOCKWRIGHT_HOLD") {
        Some(b"off") => 0,
        Some(value) => value.strip_prefix(b"sample:").map_or(1, number),
        None => 1,
    };
    let bounces = get(c"LOCKWRIGHT_BOUNCES").is_some_and(|value| value == b"1");
    lockmeter::ask(lockmeter::Wanted {
        sample,
        by_instance: get(c"LOCKWRIGHT_INSTANCES").is_some_and(|value| value == b"1"),
        monotonic: get(c"LOCKWRIGHT_CLOCK").is_some_and(|value| value == b"monotonic"),
        bounces,
        timeline: get(c"LOCKWRIGHT_TIMELINE").map_or(0, |kib| u64::from(number(kib)) << 10),
    });
    lockdep::watch::MEASURE.set(both_engines::timed);
    lockdep::annotate::IS_METERED.set(lockmeter::is_metering);
    interpose::choose(lockdep::is_wanted());
    watch_idling();
    if !lockdep::is_wanted() && lockmeter::times_every() {
        interpose::choose_every();
    }
    if bounces {
        interpose::bounces::choose();
    }
}

/// Has threads held up, if `LOCKWRIGHT_STEERING` says that the run's directory has a plan.
fn steer() {
    // SAFETY: getenv takes a NUL-terminated name; nobody else runs yet that changes the environment.
    if unsafe { libc::getenv(c"LOCKWRIGHT_STEERING".as_ptr()) }.is_null() {
        return;
    }
    let mut path = [0; MOST_DIRECTORY + steering::FILE_NAME.len() + 2];
    let directory = run_dir::directory();
    let name = steering::FILE_NAME.as_bytes();
    path[..directory.len()].copy_from_slice(directory);
    path[directory.len()] = b'/';
    path[directory.len() + 1..][..name.len()].copy_from_slice(name);
    // SAFETY: the path ends with a NUL, as it has one byte more; no thread of the program runs yet.
    if !directory.is_empty() && unsafe { crate::steering::start(path.as_ptr()) } {
        interpose::steered::choose();
        if crate::steering::watches_releases() {
            interpose::steered::choose_releases();
        }
    }
}

/// Calls that threads idle in go by lockdep, if that is wanted.
fn watch_idling() {
    if lockdep::is_wanted() {
        interpose::watch_idling();
    }
}

fn number(digits: &[u8]) -> u32 {
    let value = digits.iter().take_while(|b| b.is_ascii_digit()).take(6);
    value.fold(0, |number, b| number * 10 + u32::from(b - b'0')).max(1)
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

    // A long one is not on the stack: a forked child's thread may have little. A short one is, as each
    // page that the child writes to costs it microseconds.
    static mut LONG: [u8; MOST_PATH] = [0; MOST_PATH];
    let mut short = [0; SHORT_PATH];
    let long = &raw mut LONG;
    let path: &mut [u8] = match run_dir::directory().len() + FILE_NAME <= SHORT_PATH {
        true => &mut short,
        // SAFETY: at start-up or in a one-thread child, which is here once.
        false => unsafe { &mut *long },
    };
    if !ledger_path(path, pid, token) {
        return false;
    }
    // SAFETY: the path is NUL terminated; at start or in a child with one thread nobody grows
    // another mapping.
    let mut mapping = unsafe { mapping::create(path.as_ptr()) };
    if mapping.is_none() && parent_token != 0 {
        // SAFETY: the child has one thread, so nobody grows another mapping, and there is a parent
        // with a ledger.
        mapping = unsafe { mapping::take_annex() };
    }
    let Some(mapping) = mapping else { return false };
    // SAFETY: no core of ours is installed before `start`, so the parent's is still the current
    // one.
    let parent = unsafe { state::parents() };
    let fill = |header: &Header| {
        header.pid.store(pid, Relaxed);
        header.ppid.store(ppid, Relaxed);
        let wanted = HOSTS.iter().filter(|host| (host.is_wanted)());
        header.engines.store(wanted.fold(0, |engines, host| engines | host.engine), Relaxed);
        header.state.store(process_state::RUNNING, Relaxed);
        header.start_realtime_ns.store(time::realtime_ns(), Relaxed);
        header.start_ns.store(now, Relaxed);
        header.forked_ns.store(inherited::forked_ns().unwrap_or(now), Relaxed);
        header.token.store(token, Relaxed);
        header.parent_token.store(parent_token, Relaxed);
        for (word, value) in header.run.iter().zip(run_dir::id_words()) {
            word.store(value, Relaxed);
        }
        header.epoch.store(1, Relaxed);
        header.annex_room.store(annex_room(mapping.file_len as u64), Relaxed);
        header.limited_by.store(mapping.limited_by, Relaxed);
        header.processors.store(parent.map_or_else(processors, parents_processors), Relaxed);
    };
    // SAFETY: a fresh mapping of a new, zero file; it stays mapped as long as the engine uses it.
    let writer = unsafe { Writer::create(mapping.base, mapping.len, mapping::commit, fill) };
    let Some(writer) = writer else {
        // SAFETY: nobody points into it; the path is NUL terminated.
        unsafe {
            mapping::forget();
            sys::unlink(path.as_ptr());
        }
        return false;
    };
    TOKEN.store(token, Relaxed);
    // Not on the stack either, as the path is not.
    #[unsafe(link_section = "lockwright_forked")]
    static mut CORE: MaybeUninit<Core> = MaybeUninit::uninit();
    let core = &raw mut CORE;
    // SAFETY: nobody else refers to `CORE`: this is start-up or a child with one thread, which is
    // here once.
    let core = unsafe { (*core).write(Core::new(writer)) };
    match parent {
        None => describe(core.writer()),
        Some(parent) => describe_as(core.writer(), parent.ledger()),
    }
    core.interpreted_by(python::interpret);
    core.shifted_by(modules::shift);
    static mut FIRST_CACHE: Cache = Cache::EMPTY;
    let cache = &raw mut FIRST_CACHE;
    // SAFETY: nobody else refers to the cache: a parent's core, which had it, is used no more in
    // its child.
    core.lend(unsafe { &mut *cache });
    core.note_recorded_in(&lockdep::folded::RECORDED);
    core.shared_by(shared::place_of);
    core.made_by(makers::of);
    if let Some(parent) = parent {
        core.inherit(parent);
    }
    modules::begin(core, parent);
    if let Some(parent) = parent {
        inherited::begin(core, parent);
    }
    if parent_token == 0 {
        layouts::start();
    }
    identity::start(nonce);
    let header: *const Header = core.ledger().header();
    // SAFETY: start-up, or a child whose former core nobody uses; the header stays mapped.
    unsafe {
        (*header).stamped.store(identity::can_stamp().into(), Relaxed);
        (*header).libc_version.store(layouts::version_word(), Relaxed);
        (*header).layouts_differing.store(layouts::differing(), Relaxed);
        state::start(core);
        signal_unsafe::begin();
        HOSTS.iter().for_each(|host| (host.start)(&*header));
    }
    true
}

/// Room for the name of a ledger in its directory, with the slash before and the NUL behind it.
const FILE_NAME: usize = 64;

/// Room for the path of a ledger.
const MOST_PATH: usize = MOST_DIRECTORY + FILE_NAME;

/// The same where the directory has its usual place.
const SHORT_PATH: usize = 256;

/// `<directory>/<pid>-<16 hex digits>.lwl`
fn ledger_path(path: &mut [u8], pid: u32, token: u64) -> bool {
    let directory = run_dir::directory();
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
    // SAFETY: `sysconf` takes a number and touches no memory of ours.
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
    // SAFETY: the path is a NUL-terminated literal, and the kernel writes only into the buffer, if
    // at all.
    let n = unsafe { sys::readlink(c"/proc/self/exe".as_ptr().cast(), &mut buffer) };
    let exe = writer.text(&buffer[..n.clamp(0, 4096) as usize]);
    // SAFETY: the path is a NUL-terminated literal, and the kernel writes only into the buffer, if
    // at all.
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

/// A forked child uses its first lock: it gets a ledger of its own, in which its thread holds what
/// the forking thread held.
#[cold]
fn child() {
    if !follow::forks() {
        follow::tell_unwatched();
        state::stop();
        return;
    }
    let begun_ns = slow_cost::cpu_ns();
    // The parent's mapping stays until the end: a handler may still point into it.
    let has_begun = slow_cost::inside(|| {
        let has_begun = begin(TOKEN.load(Relaxed));
        if has_begun {
            hosts::each(|host| (host.attach)());
        }
        has_begun
    });
    if !has_begun {
        state::stop();
        return;
    }
    count_start(begun_ns);
}

extern "C" fn destructor() {
    unnoticed_ends::look();
    hosts::each(|host| (host.finish)());
    state::with_core(|core| {
        names::refresh(core);
        known_births::tell_all(core);
        let header = core.ledger().header();
        header.end_ns.store(time::now_ns(), Relaxed);
        header.state.store(process_state::EXITED, Release);
    });
}
