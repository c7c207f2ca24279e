//! A language for stories about locks, in the letters of the kernel's locking-selftest, told to the
//! engine as a host would and then analysed.
//!
//! ```text
//! rwlock R            declares class R as a reader-preferring rwlock
//! T1: L(A) L(B) U(B) U(A)
//! T1: F(T2)           T1 creates T2
//! ```
//!
//! A line is one thread's, executed to its end before the next. `A`, `A1`, `A2` are locks of class
//! `A`, at addresses that ascend with the number. `L` lock, `U` unlock, `T` trylock that succeeds,
//! `D` lock with a deadline, `R`/`W` read- and write-lock (`TR`, `DR`), `B` begin to wait for good
//! (`RB` to read), `C` condition wait, or `CB` its begin and `CE` its end, `F` create, `J` join,
//! `JB` begin to wait for a join, `CA` cancel, `E` end. Every operation is a call site of its own unless
//! `L(A)@7` says which. `robust A` declares a robust mutex, and `LD(A)` takes it after its owner has ended with it (EOWNERDEAD).
//!
//! `NEW(A)` initialises `A` in the thread (else it is there from the beginning). `UU` unlocks what
//! is not held, `UO` what another thread holds, and `N` initialises what is held. `EX` ends the
//! thread with what it holds. `LH(A)` idles with `A` held whose function has returned, and `LI(A)`
//! does where the same call's lock was released before that in other passes; after it `IN@7` and
//! `OUT@7` release what call 7 took, before its function returns and after. `SL(read)` makes that call, which may
//! sleep. `SPINS(A)` and `SLEEPS(A)` say how `A`'s class waits; `NEST(A,G)` lets several of `A`'s class be taken in any
//! order inside `G`.
//!
//! Signals: `O(10)` has signal 10 open from here on (handled by the program, not blocked in the
//! thread), `M(10)` masks it; `I(10)` enters its handler, which has it masked, and `Z` returns from
//! it.
//!
//! `UR(X)` reads `X` so that it may become the writer, and `BUR(X)` begins to wait for that.
//!
//! `CW(A,c)` begins a wait with `A` on condition variable `c`, `CE(A)` ends it, and `CS(c)` signals;
//! `PB(S)` begins to wait for a semaphore, perhaps with locks kept, and `PK(S)` is that and its end. `SAYS` tells others of something.
//!
//! `once C` declares a control of `pthread_once`: `OB(C)` calls it and begins its routine, `OE(C)` ends
//! that, `OC(C)` calls it when it is done, and `OW(C)` begins to wait while it is not.
//!
//! `barrier 2 K` is met by two threads: `BA(K)` arrives, `BP(K)` passes; `BW(K)`
//! arrives and waits for good. `semaphore 0 S` has
//! `PO(S)` and `PW(S)`, a wait that is granted. `sem A` is a semaphore that begins at 1, hence a
//! lock: `PO(A)` posts it, as `U(A)` does, by whomever.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

use lockwright_analysis::analyse_with;
use lockwright_analysis::finding::Instances;
use lockwright_analysis::finding::lock_kind::Subject;
use lockwright_analysis::finding::{Frame, LockInfo, Report};
use lockwright_analysis::merge::{Given, Merged, merge_with};
use lockwright_analysis::model::Symbolise;
use lockwright_analysis::progress::{Progress, Silent};
use lockwright_analysis::symbolize::DataSymbol;
use lockwright_engines::lockdep::{
    Acquire, Core, Ident, Interrupted, Leaving, Misuse, Origin, Round, ThreadState,
};
use lockwright_ledger::layout::{PAGE, process_state};
use lockwright_ledger::rows::meter::BLOCKING_CALLS;
use lockwright_ledger::rows::{
    LeftHeld, Module, Row, Text, finding_kind, lock_kind, mode, sync_kind, wait_type,
};
use lockwright_ledger::{Ledger, Writer};

/// Address space of a story's ledger; only what is written becomes memory.
const LEDGER_BYTES: usize = 64 << 20;

/// Where the elements of `static` classes lie.
const STATIC_BASE: u64 = 0x10_0000;
const STATIC_STRIDE: u64 = 0x1_0000;

/// Where barriers and semaphores lie.
const SYNC_BASE: u64 = 0x8_0000;

/// One lock of the story.
#[derive(Clone, Copy)]
struct TheLock {
    ident: Ident,
    addr: u64,
    kind: u8,
    is_robust: bool,
}

/// A class as declared, or a mutex.
#[derive(Clone, Copy)]
struct TheClass {
    number: u64,
    kind: u8,
    is_static: bool,
    is_robust: bool,
}

/// A process under the engine.
pub struct Story {
    core: Core,
    /// The ledger's memory, and its first page in it.
    _memory: Vec<u64>,
    base: *const u8,
    classes: HashMap<String, TheClass>,
    locks: HashMap<String, TheLock>,
    threads: HashMap<String, *mut ThreadState>,
    ended: HashMap<String, u32>,
    /// By thread: what its handlers interrupted, the innermost last.
    interrupted: HashMap<String, Vec<Interrupted>>,
    /// Addresses of barriers and semaphores.
    syncs: HashMap<String, u64>,
    /// By address of a semaphore: posts that nobody has taken.
    posts: HashMap<u64, i64>,
    /// Addresses of objects that were waited for with locks kept.
    kept: HashSet<u64>,
    /// By thread: the barrier's round it has arrived in.
    rounds: HashMap<String, Option<Round>>,
    /// By control of `pthread_once`: what its thread had acquired before the routine, and the segment
    /// in which that ended, if it took locks.
    routines: HashMap<String, (u64, u32)>,
    /// Threads that come after a routine, with the segment in which it ended.
    past: HashSet<(String, u32)>,
    /// By thread: the wait on a condition variable that it is in.
    blocked: HashMap<String, Blocked>,
    /// Semaphores that proved to be no locks.
    handed_over: HashSet<String>,
    /// What semaphores with more than one seat begin at.
    seats: u32,
    last_site: u64,
    modules: u32,
}

/// A wait on a condition variable.
struct Blocked {
    addr: u64,
    mutex: Ident,
    /// How many signals had been recorded when it began.
    since: u32,
}

impl Story {
    /// Nothing has happened yet.
    pub fn new() -> Self {
        Self::with_room(LEDGER_BYTES)
    }

    /// As `new`, with a ledger of up to `bytes`.
    pub fn with_room(bytes: usize) -> Self {
        let mut memory = vec![0u64; bytes / 8 + PAGE / 8];
        let base = (memory.as_mut_ptr() as usize).next_multiple_of(PAGE) as *mut u8;
        // SAFETY: zeroed, page aligned, nobody else's, and kept as long as the core.
        let writer = unsafe { Writer::create(base, bytes, |_, _| Ok(()), |_| {}) };
        let mut core = Core::new(writer.expect("room for a ledger"));
        // No verdict may follow from what is left out.
        core.reclaim_eagerly();
        core.writer().header().pid.store(42, Relaxed);
        core.writer().header().state.store(process_state::EXITED, Relaxed);
        let module = core.writer().push(Module::default()).expect("room");
        Self {
            core,
            _memory: memory,
            base,
            classes: HashMap::new(),
            locks: HashMap::new(),
            threads: HashMap::new(),
            ended: HashMap::new(),
            interrupted: HashMap::new(),
            syncs: HashMap::new(),
            posts: HashMap::new(),
            kept: HashSet::new(),
            rounds: HashMap::new(),
            routines: HashMap::new(),
            past: HashSet::new(),
            blocked: HashMap::new(),
            handed_over: HashSet::new(),
            seats: 0,
            last_site: 1000,
            modules: module,
        }
    }

    /// Has no row removed, however many there are.
    #[allow(dead_code, reason = "the oracle's")]
    pub fn remove_nothing(&mut self) {
        self.core.reclaim_when_due();
    }

    /// Plants a fault: holds are removed that verdicts depend on.
    #[allow(dead_code, reason = "the oracle's")]
    pub fn remove_holds_too_early(&mut self) {
        self.core.remove_holds_too_early();
    }

    /// Removes what is not needed.
    #[allow(dead_code, reason = "the oracle's")]
    pub fn remove_now(&mut self) {
        self.core.reclaim_now();
    }

    /// Tells all of `text`.
    pub fn tell(&mut self, text: &str) -> &mut Self {
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            match line.split_once(':') {
                Some((thread, operations)) => {
                    for operation in operations.split_whitespace() {
                        self.operation(thread.trim(), operation);
                    }
                }
                None => self.declare(line),
            }
        }
        self
    }

    fn declare(&mut self, line: &str) {
        let mut words = line.split_whitespace();
        let what = words.next().expect("a word");
        if let Some(kind) = sync(what) {
            let size = words.next().and_then(|size| size.parse().ok()).expect("a number");
            for name in words {
                let addr = SYNC_BASE + 32 * self.syncs.len() as u64;
                self.syncs.insert(name.to_owned(), addr);
                self.core.sync_init(kind, addr, size);
                self.posts.insert(addr, i64::from(size));
            }
            return;
        }
        let (kind, is_static) = match what {
            "seats" => (lock_kind::COUNTING, false),
            "recursive" => (lock_kind::RECURSIVE, false),
            "errorcheck" => (lock_kind::ERRORCHECK, false),
            "rwlock" => (lock_kind::RWLOCK, false),
            "writers" => (lock_kind::RWLOCK_WRITER, false),
            "spin" => (lock_kind::SPIN, false),
            "sem" => (lock_kind::SEMAPHORE, false),
            "once" => (lock_kind::ONCE, false),
            "static" => (lock_kind::MUTEX, true),
            "robust" => (lock_kind::MUTEX, false),
            _ => panic!("what is {line:?}?"),
        };
        if what == "seats" {
            self.seats = words.next().and_then(|seats| seats.parse().ok()).expect("a number");
        }
        for name in words {
            let number = self.classes.len() as u64;
            let class = TheClass { number, kind, is_static, is_robust: what == "robust" };
            self.classes.insert(name.to_owned(), class);
        }
    }

    fn lock(&mut self, name: &str) -> TheLock {
        if let Some(&lock) = self.locks.get(name) {
            return lock;
        }
        let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let index: u64 = name[letters.len()..].parse().unwrap_or(0);
        let number = self.classes.len() as u64;
        let class = *self.classes.entry(letters.to_owned()).or_insert(TheClass {
            number,
            kind: lock_kind::MUTEX,
            is_static: false,
            is_robust: false,
        });
        let frames = [2000 + class.number];
        let offset = STATIC_BASE + class.number * STATIC_STRIDE + 40 * index;
        let module = self.modules;
        let origin = match class.is_static {
            true => Origin::Static { module, offset },
            false => Origin::Init(&frames),
        };
        let ident = self.core.new_lock(class.kind, origin).expect("room");
        if !class.is_static {
            self.core.name_class(ident.class(), letters.as_bytes());
        }
        if class.kind == lock_kind::COUNTING {
            self.core.has_seats(ident.class(), self.seats);
        }
        let lock = TheLock { ident, addr: offset, kind: class.kind, is_robust: class.is_robust };
        self.locks.insert(name.to_owned(), lock);
        lock
    }

    /// The thread's state, begun by nobody we know if it is new.
    fn thread(&mut self, name: &str) -> &'static mut ThreadState {
        if !self.threads.contains_key(name) {
            self.start(name, 0, 0);
        }
        // SAFETY: the state stays valid until the thread's exit takes it out of the map, and the
        // story uses one at a time.
        unsafe { &mut *self.threads[name] }
    }

    fn start(&mut self, name: &str, parent: u32, stack: u32) {
        let tid = 100 + self.threads.len() as u32 + self.ended.len() as u32;
        let state = self.core.thread_start(tid, 0, parent, stack).expect("room");
        // SAFETY: the thread has just begun, and its state stays until its exit.
        let id = unsafe { (*state).id() };
        self.core.thread_name(id, name.as_bytes());
        self.threads.insert(name.to_owned(), state);
    }

    fn end(&mut self, name: &str) {
        if let Some(state) = self.threads.remove(name) {
            // SAFETY: the state is valid until the exit, which comes below.
            let id = unsafe { (*state).id() };
            // SAFETY: taken out of the map, so nobody uses it again.
            unsafe { self.core.thread_exit(state, 1) };
            self.core.find_barrier_deadlock(7);
            self.ended.insert(name.to_owned(), id);
        }
    }

    fn operation(&mut self, thread: &str, text: &str) {
        let (call, site) = text.split_once('@').map_or((text, None), |(c, s)| (c, Some(s)));
        self.last_site += 1;
        let site = site.map_or(self.last_site, |site| site.parse().expect("a site number"));
        let (what, rest) = call.split_once('(').unwrap_or((call, ")"));
        let name = rest.trim_end_matches(')');
        match what {
            "L" => self.acquire(thread, name, 0, site, false),
            "LD" => {
                self.acquire(thread, name, 0, site, false);
                let inst = self.lock(name).ident.inst();
                let state = self.thread(thread);
                state.mark_robust(true);
                self.core.owner_died(state, inst);
            }
            "T" => self.acquire(thread, name, mode::TRY, site, false),
            "D" => self.acquire(thread, name, mode::TIMED, site, false),
            "DR" => self.acquire(thread, name, mode::READ | mode::TIMED, site, false),
            "W" => self.acquire(thread, name, 0, site, false),
            "R" => self.acquire(thread, name, mode::READ, site, false),
            "UR" => {
                self.acquire(thread, name, mode::READ | mode::UPGRADABLE, site, false);
            }
            "BUR" => self.acquire(thread, name, mode::READ | mode::UPGRADABLE, site, true),
            "TR" => self.acquire(thread, name, mode::READ | mode::TRY, site, false),
            "B" => self.acquire(thread, name, 0, site, true),
            "RB" => self.acquire(thread, name, mode::READ, site, true),
            "PO" | "U" | "UU" if self.is_semaphore(name) => self.post(thread, name),
            "N" if self.is_semaphore(name) => {
                let lock = self.lock(name);
                let state = self.thread(thread);
                self.core.give_up(Some(state), lock.addr);
            }
            "U" => {
                let addr = self.lock(name).addr;
                let state = self.thread(thread);
                self.hands_over(state, addr);
                if let Some(inst) = state.ends_left(addr) {
                    self.core.left_released(state.id(), inst);
                }
                assert!(state.release(addr), "{thread} does not hold {name}");
            }
            "LH" | "LI" => self.idles_with(thread, name, site, u8::from(what == "LI")),
            "IN" | "OUT" => self.core.left_elsewhere(site, what == "OUT"),
            "NEW" => {
                assert!(!self.locks.contains_key(name), "{name} is there already");
                let inst = self.lock(name).ident.inst();
                self.thread(thread).born(inst);
            }
            "SPINS" | "SLEEPS" => {
                let ident = self.lock(name).ident;
                let wait = if what == "SPINS" { wait_type::SPIN } else { wait_type::SLEEP };
                self.core.set_wait_type(ident, wait);
            }
            "SL" => {
                let call = BLOCKING_CALLS.iter().position(|&call| call == name).expect("a call");
                let state = self.thread(thread);
                self.core.sleeps(state, call as u32, site, 7, &mut capture(site));
            }
            "NEST" => {
                let (lock, nest) = name.split_once(',').expect("two locks");
                let (lock, nest) = (self.lock(lock).ident, self.lock(nest).ident);
                self.core.nest_lock(lock, nest);
            }
            "UU" => {
                let lock = self.lock(name);
                let state = self.thread(thread);
                assert!(!state.release(lock.addr), "{thread} does hold {name}");
                let what = Misuse::new(finding_kind::BAD_UNLOCK, lock.addr, lock.ident);
                self.core.misuse(state, &what, 7, &mut capture(site));
            }
            "UO" => {
                let lock = self.lock(name);
                let state = self.thread(thread);
                let holder = self.core.released_by_other(lock.addr, lock.ident);
                let what = Misuse {
                    mode: holder.map_or(0, |holder| holder.mode),
                    other_thread: holder.map_or(0, |holder| holder.thread),
                    other_stack: holder.map_or(0, |holder| holder.stack),
                    ..Misuse::new(finding_kind::BAD_UNLOCK, lock.addr, lock.ident)
                };
                self.core.misuse(state, &what, 7, &mut capture(site));
            }
            "EX" => {
                let state = self.thread(thread);
                self.core.exits(state, 7, |_| false, &mut capture(site));
                self.end(thread);
            }
            "N" => {
                let lock = self.lock(name);
                let state = self.thread(thread);
                let holder = self.core.holder_in(lock.addr, lock.addr + 1).expect("it is held");
                let what = Misuse {
                    other_thread: holder.thread,
                    other_stack: holder.stack,
                    ..Misuse::new(finding_kind::HELD_INITIALISED, lock.addr, lock.ident)
                };
                self.core.misuse(state, &what, 7, &mut capture(site));
            }
            "C" => {
                self.cond_wait(thread, name, site);
                self.cond_return(thread, name);
            }
            "CB" => self.cond_wait(thread, name, site),
            "CW" => {
                let (mutex, condition) = name.split_once(',').expect("a lock and a condition");
                let (lock, addr) = (self.lock(mutex), self.object(condition));
                self.keeps(thread, lock.ident, addr, mode::COND_WAIT, site);
                self.cond_wait(thread, mutex, site);
                let since = self.core.hand_ons().0;
                let wait = Blocked { addr, mutex: lock.ident, since };
                self.blocked.insert(thread.to_owned(), wait);
            }
            "CS" => {
                let addr = self.object(name);
                self.signals_holding(thread, addr, site);
                self.hands_on(thread, addr, site);
                self.thread(thread).signals();
                self.signals(thread, addr, site);
            }
            "PB" => self.awaits(thread, self.syncs[name], site),
            "PK" => {
                let addr = self.syncs[name];
                self.awaits(thread, addr, site);
                self.granted(thread, addr);
            }
            "SAYS" => self.thread(thread).shares(),
            "CE" => {
                self.cond_return(thread, name);
                self.is_woken(thread);
            }
            "F" => {
                let state = self.thread(thread);
                let (segment, stack) = self.core.thread_creates(state, &mut capture(site));
                self.start(name, segment, stack);
            }
            "E" => self.end(thread),
            "J" => {
                let state = self.thread(thread);
                self.join_context(state, name, site);
                self.end(name);
                let joined = self.ended[name];
                let state = self.thread(thread);
                self.core.thread_joined(state, joined);
            }
            "CA" => {
                let by = self.thread(thread).id();
                let target = self.thread(name).id();
                self.core.thread_cancelled(target, by);
            }
            "JB" => {
                let state = self.thread(thread);
                let (wait, node) = self.join_context(state, name, site);
                state.wait_begin(&wait, node);
                self.core.find_deadlock(state, false, 7);
                self.core.find_barrier_deadlock(7);
            }
            "O" | "M" => self.mask(thread, signal(name), what == "O"),
            "I" => {
                let state = self.thread(thread);
                let open = state.open_signals() & !bit(signal(name));
                let before = state.enter_signal(signal(name), 1, open);
                self.interrupted.entry(thread.to_owned()).or_default().push(before);
            }
            "Z" => {
                let before = self.interrupted.get_mut(thread).and_then(Vec::pop);
                self.thread(thread).leave_signal(before.expect("a handler runs"));
            }
            "BA" => {
                let addr = self.syncs[name];
                let wait = Acquire { addr, ident: Ident::NONE, mode: mode::BARRIER, site };
                let state = self.thread(thread);
                state.shares();
                let probe = state.probe(Ident::NONE, mode::BARRIER, site);
                if !probe.is_hit() {
                    self.core.wait_context(state, &wait, probe, &mut capture(site));
                }
                let round = self.core.barrier_arrives(state, self.syncs[name]);
                self.rounds.insert(thread.to_owned(), round);
            }
            "OB" => {
                let state = self.calls_once(thread, name, site).0;
                state.inherited(self.lock(name).addr);
                state.shares();
                self.routines.insert(name.to_owned(), (state.steps(), 0));
            }
            "OE" => {
                let lock = self.lock(name);
                let state = self.thread(thread);
                self.hands_over(state, lock.addr);
                assert!(state.release(lock.addr), "{thread} does not run {name}");
                if state.steps() > self.routines[name].0 {
                    let last = self.core.routine_ran(state);
                    self.past.insert((thread.to_owned(), last));
                    self.routines.insert(name.to_owned(), (0, last));
                }
            }
            "OC" => {
                let last = self.routines[name].1;
                if last != 0 && self.past.insert((thread.to_owned(), last)) {
                    self.calls_once(thread, name, site).0.abandon();
                    let state = self.thread(thread);
                    self.core.routine_is_past(state, last);
                }
            }
            "OW" => {
                let (state, lock, node) = self.calls_once(thread, name, site);
                state.wait_begin_uncounted(&lock, node);
                self.core.find_deadlock(state, false, 7);
            }
            "BW" => {
                let ident = Ident::NONE;
                let addr = self.syncs[name];
                let wait = Acquire { addr, ident, mode: mode::BARRIER, site };
                let state = self.thread(thread);
                state.shares();
                let probe = state.probe(ident, mode::BARRIER, site);
                let node = self.core.wait_context(state, &wait, probe, &mut capture(site));
                let round = self.core.barrier_arrives(state, addr).expect("a barrier");
                state.wait_begin(&Acquire { ident: round.ident(), ..wait }, node);
                self.core.find_barrier_deadlock(7);
            }
            "BP" => {
                let state = self.thread(thread);
                if let Some(round) = self.rounds[thread] {
                    self.core.barrier_passed(state, round);
                }
            }
            "PO" => {
                self.thread(thread).shares();
                *self.posts.entry(self.syncs[name]).or_default() += 1;
                self.signals(thread, self.syncs[name], site);
                let state = self.thread(thread);
                self.core.sem_posts(state, self.syncs[name]);
            }
            "PW" => self.granted(thread, self.syncs[name]),
            _ => panic!("what is {text:?}?"),
        }
    }

    /// As the preload library does before a call of `pthread_once`: the control is reserved.
    fn calls_once(
        &mut self,
        thread: &str,
        name: &str,
        site: u64,
    ) -> (&'static mut ThreadState, Acquire, u32) {
        let lock = self.lock(name);
        let state = self.thread(thread);
        let acquire = Acquire { addr: lock.addr, ident: lock.ident, mode: mode::ONCE, site };
        let node = self.reserve(state, &acquire);
        (state, acquire, node)
    }

    /// As the preload library does before a thread waits for the end of thread `name`.
    fn join_context(&mut self, state: &mut ThreadState, name: &str, site: u64) -> (Acquire, u32) {
        let joined = match self.ended.get(name) {
            Some(_) => 0,
            None => self.thread(name).id(),
        };
        let ident = Ident::new(0, 0);
        let wait = Acquire { addr: u64::from(joined), ident, mode: mode::JOIN, site };
        let probe = state.probe(ident, mode::JOIN, site);
        if probe.is_hit() {
            return (wait, probe.node());
        }
        (wait, self.core.wait_context(state, &wait, probe, &mut capture(site)))
    }

    /// As the preload library does when a thread changes its mask, or a handler is installed.
    fn mask(&mut self, thread: &str, signal: u32, open: bool) {
        let state = self.thread(thread);
        let before = state.open_signals();
        if open && before & bit(signal) == 0 && !state.is_idle() {
            self.core.note_held_usage(state, bit(signal));
        }
        state.set_open_signals(before & !bit(signal) | if open { bit(signal) } else { 0 });
    }

    /// The address of an object that is no lock.
    fn object(&mut self, name: &str) -> u64 {
        let next = SYNC_BASE + 32 * self.syncs.len() as u64;
        *self.syncs.entry(name.to_owned()).or_insert(next)
    }

    /// As the preload library does before a wait, if locks are kept in it.
    fn keeps(&mut self, thread: &str, mutex: Ident, addr: u64, mode: u16, site: u64) {
        let state = self.thread(thread);
        let wait = Acquire { addr, ident: mutex, mode, site };
        let probe = state.probe(mutex, mode, site);
        self.core.wait_context(state, &wait, probe, &mut capture(site));
        if state.held().any(|held| held.inst != mutex.inst()) {
            let what =
                Misuse { mode, detail: addr, ..Misuse::new(finding_kind::WAIT_HELD, addr, mutex) };
            self.core.misuse(state, &what, 7, &mut capture(site));
            self.kept.insert(addr);
        }
    }

    /// As the preload library does before a wait for a semaphore that is no lock.
    fn awaits(&mut self, thread: &str, addr: u64, site: u64) {
        let state = self.thread(thread);
        if state.held().any(|held| held.is_held()) {
            let found = if self.posts.get(&addr).is_some_and(|&n| n > 0) { mode::TRY } else { 0 };
            self.keeps(thread, Ident::NONE, addr, mode::SEM_WAIT | found, site);
        }
    }

    /// A wait for a semaphore is granted.
    fn granted(&mut self, thread: &str, addr: u64) {
        *self.posts.entry(addr).or_default() -= 1;
        let state = self.thread(thread);
        self.core.sem_granted(state, addr);
    }

    /// As the preload library does before a signal or post of what was waited for with locks kept.
    fn signals(&mut self, thread: &str, addr: u64, site: u64) {
        if self.kept.contains(&addr) {
            let state = self.thread(thread);
            let probe = state.probe_signal(addr);
            if !probe.is_hit() {
                self.core.signalled(state, addr, probe, 7, &mut capture(site));
            }
        }
    }

    /// As the preload library does before a signal of a condition variable on which a thread is blocked.
    fn hands_on(&mut self, thread: &str, addr: u64, site: u64) {
        let wait = self.blocked.values().find(|it| it.addr == addr);
        let mutex = wait.map(|it| it.mutex);
        let state = self.thread(thread);
        let Some(mutex) = mutex else {
            let probe = state.probe_unheard(addr);
            if !probe.is_hit() {
                self.core.signals_nobody(state, addr, probe);
            }
            return;
        };
        let probe = state.probe_hand_on(addr);
        if !probe.is_hit() {
            self.core.hands_on(state, (addr, mutex), probe, 7, &mut capture(site));
        }
    }

    /// As the preload library does after a wait on a condition variable.
    fn is_woken(&mut self, thread: &str) {
        let Some(wait) = self.blocked.remove(thread) else { return };
        if self.core.hand_ons().0 != wait.since {
            let state = self.thread(thread);
            self.core.handed_on(state, wait.addr, wait.since, 7);
        }
    }

    /// As the preload library does before a signal of a condition variable.
    fn signals_holding(&mut self, thread: &str, addr: u64, site: u64) {
        let state = self.thread(thread);
        if !state.is_idle() && state.in_signal() == 0 {
            let probe = state.probe_signal_holding(addr);
            if !probe.is_hit() {
                self.core.signalled_holding(state, addr, probe, 7, &mut capture(site));
            }
        }
    }

    fn is_semaphore(&mut self, name: &str) -> bool {
        let kinds = [lock_kind::SEMAPHORE, lock_kind::COUNTING];
        !self.syncs.contains_key(name) && kinds.contains(&self.lock(name).kind)
    }

    /// As the preload library does when a semaphore that counts as a lock is posted.
    fn post(&mut self, thread: &str, name: &str) {
        let lock = self.lock(name);
        let state = self.thread(thread);
        if self.handed_over.contains(name) {
            return;
        }
        if state.releases_semaphore(lock.addr) {
            state.release(lock.addr);
        } else {
            self.hand_over(thread, name);
        }
    }

    fn hand_over(&mut self, thread: &str, name: &str) {
        let lock = self.lock(name);
        let state = self.thread(thread);
        self.core.hand_over(Some(state), lock.addr, lock.ident);
        self.handed_over.insert(name.to_owned());
    }

    fn acquire(&mut self, thread: &str, name: &str, mode: u16, site: u64, blocks: bool) {
        let lock = self.lock(name);
        let state = self.thread(thread);
        let is_counting = lock.kind == lock_kind::COUNTING;
        let is_semaphore = lock.kind == lock_kind::SEMAPHORE || is_counting;
        let mode = if is_counting { mode::READ | mode::TRY } else { mode };
        if is_semaphore && state.find(lock.addr).is_some() {
            return self.hand_over(thread, name);
        }
        if is_semaphore && self.handed_over.contains(name) {
            return;
        }
        if lock.kind == lock_kind::RECURSIVE && state.recurse(lock.addr) {
            return;
        }
        let acquire = Acquire { addr: lock.addr, ident: lock.ident, mode, site };
        let node = self.reserve(state, &acquire);
        if is_semaphore {
            state.mark_semaphore();
        }
        if lock.is_robust {
            state.mark_robust(false);
        }
        if blocks {
            state.wait_begin(&acquire, node);
            self.core.find_deadlock(state, is_semaphore, 7);
            self.core.find_barrier_deadlock(7);
        } else {
            state.acquired(lock.addr);
        }
    }

    /// Records an acquisition and reserves its entry. Returns its context.
    fn reserve(&mut self, state: &mut ThreadState, lock: &Acquire) -> u32 {
        let once = |core: &mut Core, state: &mut ThreadState| {
            let mut probe = state.probe(lock.ident, lock.mode, lock.site);
            if !probe.is_hit() {
                probe = core.enter(state, lock, probe, &mut capture(lock.site));
            }
            state.reserve(lock.ident, lock.mode, lock.site, probe).then_some(probe.node())
        };
        let node = once(&mut self.core, state).or_else(|| {
            assert!(self.core.grow_held(state), "room for held locks");
            once(&mut self.core, state)
        });
        node.expect("room was made")
    }

    fn hands_over(&mut self, state: &mut ThreadState, addr: u64) {
        if state.orders(addr) {
            self.core.hands_over(state, addr);
        }
    }

    /// The thread idles with a held lock whose function has returned.
    fn idles_with(&mut self, thread: &str, name: &str, site: u64, inside: u8) {
        let addr = self.lock(name).addr;
        let state = self.thread(thread);
        let mut after = 0;
        let (i, held) = loop {
            let found = state.next_not_left(after).expect("it is held, and not on record");
            if found.1.addr == addr {
                break found;
            }
            after = found.0;
        };
        let mut frames = [0; 4];
        assert_eq!(self.core.taken_on(&held, &mut frames), Some(1));
        let what = LeftHeld { inside, ..LeftHeld::default() };
        let leaving = Leaving { address: frames[0], what };
        self.core.leaves(state, i, leaving, 7, &mut capture(site));
    }

    /// As the preload library does: a lock held alone comes back where it was, any other is taken
    /// again inside those that stay held.
    fn cond_wait(&mut self, thread: &str, name: &str, site: u64) {
        let TheLock { addr, ident, .. } = self.lock(name);
        let state = self.thread(thread);
        let wait = Acquire { addr: 0, ident, mode: mode::COND_WAIT, site };
        let probe = state.probe(ident, mode::COND_WAIT, site);
        if !probe.is_hit() {
            self.core.wait_context(state, &wait, probe, &mut capture(site));
        }
        self.hands_over(state, addr);
        if state.depth() == 1 {
            state.cond_release(addr);
            return;
        }
        assert!(state.release(addr), "{thread} waits with {name} held");
        self.reserve(state, &Acquire { addr, ident, mode: mode::COND_REACQUIRE, site });
        state.cond_reserved(addr);
    }

    fn cond_return(&mut self, thread: &str, name: &str) {
        let addr = self.lock(name).addr;
        self.thread(thread).cond_reacquired(addr);
    }

    /// A child that inherits the locks seen so far, as by fork.
    pub fn fork(&mut self) -> Self {
        const TOKEN: u64 = 7;
        self.core.writer().header().token.store(TOKEN, Relaxed);
        let mut child = Self::new();
        child.core.writer().header().pid.store(43, Relaxed);
        child.core.writer().header().parent_token.store(TOKEN, Relaxed);
        child.core.writer().header().start_realtime_ns.store(1, Relaxed);
        child.core.inherit(&self.core);
        for (name, lock) in &self.locks {
            let origin = Origin::Inherited(lock.ident.class());
            let ident = child.core.new_lock(lock.kind, origin).expect("room");
            child.locks.insert(name.clone(), TheLock { ident, ..*lock });
        }
        child
    }

    /// Records a misuse of a lock, with no other side unless `fill` says so.
    #[allow(dead_code, reason = "not the oracle's")]
    pub fn misuse(&mut self, thread: &str, lock: &str, site: u64, fill: impl FnOnce(&mut Misuse)) {
        let TheLock { addr, ident, .. } = self.lock(lock);
        let mut what = Misuse::new(0, addr, ident);
        fill(&mut what);
        let state = self.thread(thread);
        self.core.misuse(state, &what, 7, &mut capture(site));
    }

    /// `call`, one of `unsafe_call`, is used outside of handlers with `signal` open.
    #[allow(dead_code, reason = "not the oracle's")]
    pub fn uses_with_open(&mut self, call: u64, signal: u32) {
        let open = &self.core.writer().header().unsafe_open[call as usize];
        open.fetch_or(1 << (signal - 1), Relaxed);
    }

    /// The process began at this time, CLOCK_MONOTONIC.
    #[allow(dead_code, reason = "not the oracle's")]
    pub fn started_at(&mut self, ns: u64) -> u64 {
        self.core.writer().header().start_ns.store(ns, Relaxed);
        ns
    }

    /// So many rows found no room.
    #[allow(dead_code, reason = "not the oracle's")]
    pub fn loses_rows(&mut self, rows: u64) {
        self.core.writer().header().lost.store(rows, Relaxed);
    }

    /// The process has not come to say that it exited.
    #[allow(dead_code, reason = "not the oracle's")]
    pub fn was_killed(&mut self) {
        self.core.writer().header().state.store(process_state::RUNNING, Relaxed);
    }

    /// Writes a row that no story about locks has.
    #[allow(dead_code, reason = "not the oracle's")]
    pub fn row<R: Row>(&mut self, row: R) -> u32 {
        self.core.writer().push(row).expect("room")
    }

    /// Writes a text.
    #[allow(dead_code, reason = "not the oracle's")]
    pub fn text(&mut self, text: &[u8]) -> Text {
        self.core.writer().text(text)
    }

    /// Return addresses; the index of the first.
    #[allow(dead_code, reason = "not the oracle's")]
    pub fn frames(&mut self, frames: &[u64]) -> u32 {
        self.core.writer().frames(frames).expect("room for frames")
    }

    /// A call stack.
    #[allow(dead_code, reason = "not the oracle's")]
    pub fn stack(&mut self, site: u64) -> u32 {
        self.core.stack(&[site])
    }

    /// Which lock a name means.
    #[allow(dead_code, reason = "not the oracle's")]
    pub fn ident(&mut self, lock: &str) -> Ident {
        self.lock(lock).ident
    }

    /// Address of a lock.
    #[allow(dead_code, reason = "the oracle's")]
    pub fn address(&mut self, name: &str) -> u64 {
        self.lock(name).addr
    }

    /// The ledger as it stands.
    pub fn ledger(&mut self) -> Ledger {
        Ledger::from_bytes(self.bytes()).expect("a sound ledger")
    }

    /// Its bytes.
    pub fn bytes(&mut self) -> Vec<u8> {
        let used = self.core.writer().header().used.load(Relaxed) as usize;
        // SAFETY: the story's own memory, of which `used` bytes were written.
        unsafe { std::slice::from_raw_parts(self.base, used) }.to_vec()
    }

    /// The report on it.
    pub fn report(&mut self) -> Report {
        report(self.ledger())
    }
}

fn sync(word: &str) -> Option<u32> {
    match word {
        "barrier" => Some(sync_kind::BARRIER),
        "semaphore" => Some(sync_kind::SEMAPHORE),
        _ => None,
    }
}

fn signal(number: &str) -> u32 {
    number.parse().expect("a signal's number")
}

fn bit(signal: u32) -> u64 {
    1 << (signal - 1)
}

/// The report on a story's ledger.
pub fn report(ledger: Ledger) -> Report {
    reports(&[ledger])
}

/// The report on those of several processes.
pub fn reports(ledgers: &[Ledger]) -> Report {
    let names: Vec<Names<'_>> = ledgers.iter().map(|ledger| Names { ledger }).collect();
    let names: Vec<&dyn Symbolise> = names.iter().map(|names| names as &dyn Symbolise).collect();
    analyse_with(ledgers, &names, Instances::Folded, &Silent)
}

/// The report on a story's ledger, and how many combinations of occurrences were looked at for it.
#[allow(dead_code, reason = "not the oracle's")]
pub fn report_and_work(ledger: &Ledger) -> (Report, u64) {
    let work = Work::default();
    let names = Names { ledger };
    let report = analyse_with(std::slice::from_ref(ledger), &[&names], Instances::Folded, &work);
    (report, work.0.get())
}

/// Counts combinations looked at.
#[derive(Default)]
struct Work(std::cell::Cell<u64>);

impl Progress for Work {
    fn stage(&self, _: lockwright_analysis::progress::Stage, _: u64) {}
    fn advance(&self, _: u64) {}
    fn looked(&self, combinations: u64) {
        self.0.set(self.0.get() + combinations);
    }
}

/// What stories make together that are a run each.
#[allow(dead_code, reason = "not the oracle's")]
pub fn merged(stories: &[&str]) -> Merged {
    let ledgers: Vec<Ledger> =
        stories.iter().map(|text| Story::new().tell(text).ledger()).collect();
    let names: Vec<Names<'_>> = ledgers.iter().map(|ledger| Names { ledger }).collect();
    let names: Vec<&dyn Symbolise> = names.iter().map(|names| names as &dyn Symbolise).collect();
    let given = |i| Given { name: format!("run-{i}"), processes: 1 };
    let runs: Vec<Given> = (1..=stories.len()).map(given).collect();
    merge_with(&runs, &ledgers, &names, &Silent)
}

/// What a report says, in short: grade, kind and classes of each finding, and how many it stands
/// for.
pub fn told(report: &Report) -> Vec<String> {
    report
        .findings
        .iter()
        .map(|finding| {
            let name = |lock: &LockInfo| match lock.kind {
                Subject::Thread => lock.name.text.clone(),
                _ => lock.class.text.clone(),
            };
            let locks: Vec<String> = finding.locks.iter().map(name).collect();
            let also =
                if finding.also == 0 { String::new() } else { format!(" +{}", finding.also) };
            format!("{} {}: {}{also}", word(finding.grade), word(finding.kind), locks.join(" "))
        })
        .collect()
}

/// The serialised name of a grade or kind.
fn word(value: impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).expect("a plain value");
    value.as_str().expect("one word").to_owned()
}

fn capture(site: u64) -> impl FnMut(&mut [u64]) -> usize {
    move |frames| {
        frames[0] = site;
        1
    }
}

/// Tells a story and what was found in it.
pub fn verdict(text: &str) -> Vec<String> {
    told(&Story::new().tell(text).report())
}

/// Each address is a function and line of its own.
pub struct Names<'a> {
    /// Whose they are.
    pub ledger: &'a Ledger,
}

impl Symbolise for Names<'_> {
    fn stack(&self, id: u32) -> Rc<[Frame]> {
        let (addresses, _) = self.ledger.stack(id).unwrap_or_default();
        let frame = |pc: u64| Frame {
            function: Some(format!("f{pc}")),
            file: Some("/src/story.c".into()),
            line: Some(pc as u32),
            offset: pc,
            ..Frame::default()
        };
        addresses.into_iter().map(frame).collect()
    }

    fn data(&self, _: u32, offset: u64) -> Option<DataSymbol> {
        let number = offset.checked_sub(STATIC_BASE)? / STATIC_STRIDE;
        let name = format!("table{number}");
        Some(DataSymbol { name, start: STATIC_BASE + number * STATIC_STRIDE, size: 40 * 100 })
    }

    fn module_name(&self, _: u32) -> String {
        "/bin/story".into()
    }

    fn notes(&self) -> Vec<lockwright_analysis::finding::ModuleNote> {
        Vec::new()
    }
}
