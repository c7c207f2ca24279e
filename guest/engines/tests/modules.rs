//! Modules that are unloaded, and others that come to lie where they were: what was recorded of the ones is found again for
//! them, and for no others.

mod host;

use std::cell::RefCell;
use std::sync::atomic::Ordering::Relaxed;

use host::{Host, state};
use lockwright_engines::lockdep::{Acquire, Ident, Image, Loaded, Origin, known_stack};
use lockwright_ledger::rows::{Class, Module, Node, Stack, lock_kind};
use lockwright_ledger::site;

/// Where modules lie, as tests load them.
const PLACE: u64 = 0x7000_0000_0000;
const ELSEWHERE: u64 = 0x7100_0000_0000;
const BYTES: u64 = 0x5000;
/// The program itself.
const PROGRAM: u64 = 0x5500_0000_0000;

thread_local! {
    /// What is there: from, to and shift.
    static THERE: RefCell<Vec<(u64, u64, u64)>> = const { RefCell::new(Vec::new()) };
}

fn shift(address: u64) -> Option<u64> {
    THERE.with_borrow(|there| {
        let found = there.iter().find(|(from, to, _)| (*from..*to).contains(&address));
        found.map(|&(_, _, shift)| shift)
    })
}

/// A process that loads and unloads.
struct Loader {
    host: Host,
    epoch: u32,
}

impl Loader {
    fn new() -> Self {
        THERE.with_borrow_mut(Vec::clear);
        let mut host = Host::new();
        host.core.shifted_by(shift);
        let mut loader = Self { host, epoch: 0 };
        loader.load(b"program", PROGRAM);
        loader
    }

    fn load(&mut self, path: &[u8], start: u64) -> Loaded {
        self.load_as(path, path, start)
    }

    fn load_as(&mut self, path: &[u8], build_id: &[u8], start: u64) -> Loaded {
        self.epoch = self.host.core.next_epoch();
        let at = Module { start, end: start + BYTES, bias: start, ..Module::default() };
        let image = Image { at, path, build_id, is_over: false };
        let loaded = self.host.core.module_loaded(&image, self.epoch);
        assert_ne!(loaded.row, 0);
        THERE.with_borrow_mut(|there| there.push((start, start + BYTES, loaded.shift)));
        loaded
    }

    fn unload(&mut self, loaded: Loaded, start: u64) {
        THERE.with_borrow_mut(|there| {
            let at = there.iter().position(|&(from, ..)| from == start).expect("it is loaded");
            there.remove(at);
        });
        self.epoch = self.host.core.next_epoch();
        self.host.core.module_unloaded(loaded.row, self.epoch);
        self.host.core.code_is_gone();
    }

    /// The class of locks that a module at `start` initialises, called by the program.
    fn class(&mut self, start: u64) -> u32 {
        let frames = [start + 0x1040, PROGRAM + 0x2000];
        self.host.core.new_lock(lock_kind::MUTEX, Origin::Init(&frames)).expect("a class").class()
    }

    fn rows<R: lockwright_ledger::rows::Row>(&self) -> u64 {
        self.host.core.ledger().count_of::<R>()
    }

    /// The context of a lock that is taken and given up by a call that returns to `site`, on the stack `frames`.
    fn context(&mut self, ident: Ident, site: u64, frames: &[u64]) -> Option<u32> {
        let thread = state(self.host.main);
        let lock = Acquire { addr: 0x9000, ident, mode: 0, site };
        let mut probe = thread.probe(ident, 0, site);
        let is_known = probe.is_hit();
        if !is_known {
            probe = self.host.core.enter(thread, &lock, probe, &mut |to| {
                to[..frames.len()].copy_from_slice(frames);
                frames.len()
            });
        }
        assert!(thread.reserve(ident, 0, site, probe));
        thread.acquired(lock.addr);
        assert!(thread.release(lock.addr));
        (!is_known).then(|| probe.node())
    }
}

#[test]
fn where_another_module_was_locks_have_another_class() {
    let mut loader = Loader::new();
    let first = loader.load(b"first", PLACE);
    let of_first = loader.class(PLACE);
    assert_eq!((loader.class(PLACE), first.shift), (of_first, 0));
    loader.unload(first, PLACE);
    let second = loader.load(b"second", PLACE);
    let of_second = loader.class(PLACE);
    assert_ne!(of_second, of_first);
    assert_ne!(second.shift, 0, "its addresses mean the first one's for good");
    loader.unload(second, PLACE);
    loader.load(b"first", PLACE);
    assert_eq!(loader.class(PLACE), of_first, "it is there again");
    loader.load(b"second", ELSEWHERE);
    assert_eq!(loader.class(ELSEWHERE), of_second, "and so is this, elsewhere");
    assert_eq!(loader.rows::<Class>(), 4, "two are the host's");
}

/// The other file of the same path and size has another build id.
#[test]
fn a_module_that_was_built_anew_is_another() {
    let mut loader = Loader::new();
    let old = loader.load_as(b"module", b"old", PLACE);
    let of_old = loader.class(PLACE);
    loader.unload(old, PLACE);
    loader.load_as(b"module", b"new", PLACE);
    assert_ne!(loader.class(PLACE), of_old);
}

#[test]
fn a_module_that_comes_again_without_end_has_one_row_one_class_and_few_stacks() {
    let mut loader = Loader::new();
    let mut before = None;
    for round in 0..100_000 {
        let module = loader.load(b"module", PLACE);
        loader.class(PLACE);
        let origin = Origin::Static { module: module.row, offset: 0x4080 };
        loader.host.core.new_lock(lock_kind::MUTEX, origin).expect("a class");
        loader.unload(module, PLACE);
        if round == 2 {
            before = Some(loader.host.core.ledger().header().used.load(Relaxed));
        }
    }
    let counts = (loader.rows::<Module>(), loader.rows::<Class>());
    assert_eq!(counts, (2, 4), "two classes are the host's");
    assert!(loader.rows::<Stack>() <= 4, "{}", loader.rows::<Stack>());
    assert_eq!(before, Some(loader.host.core.ledger().header().used.load(Relaxed)));
}

#[test]
fn two_modules_that_take_turns_at_one_place_have_a_class_each() {
    let mut loader = Loader::new();
    let mut classes = std::collections::BTreeSet::new();
    for round in 0..1000 {
        let module = loader.load(if round % 2 == 0 { b"evens" } else { b"odds" }, PLACE);
        classes.insert((round % 2, loader.class(PLACE)));
        loader.unload(module, PLACE);
    }
    assert_eq!((classes.len(), loader.rows::<Class>()), (2, 4), "two are the host's");
    assert!(loader.rows::<Stack>() <= 6, "{}", loader.rows::<Stack>());
}

/// A row is used again only if no reader can take it for what another module was there.
#[test]
fn what_was_between_two_loads_of_a_module_has_its_own_time() {
    let mut loader = Loader::new();
    let first = loader.load(b"first", PLACE);
    loader.unload(first, PLACE);
    let again = loader.load(b"first", PLACE);
    assert_eq!(again.row, first.row);
    loader.unload(again, PLACE);
    let second = loader.load(b"second", PLACE);
    loader.unload(second, PLACE);
    let last = loader.load(b"first", PLACE);
    assert_ne!(last.row, first.row);
    let ledger = loader.host.core.ledger();
    let [a, b, c] = [first, second, last].map(|it| *ledger.get::<Module>(it.row).expect("a row"));
    assert!(a.load_epoch < a.unload_epoch && a.unload_epoch < b.load_epoch);
    assert!(b.load_epoch < b.unload_epoch && b.unload_epoch < c.load_epoch);
    assert_eq!((c.unload_epoch, c.path, c.build_id), (0, a.path, a.build_id));
}

#[test]
fn static_locks_keep_their_class_wherever_their_module_is() {
    let mut loader = Loader::new();
    let class = |loader: &mut Loader, module: Loaded| {
        let origin = Origin::Static { module: module.row, offset: 0x4080 };
        loader.host.core.new_lock(lock_kind::MUTEX, origin).expect("a class").class()
    };
    let first = loader.load(b"first", PLACE);
    let of_first = class(&mut loader, first);
    loader.unload(first, PLACE);
    let second = loader.load(b"second", PLACE);
    assert_ne!(class(&mut loader, second), of_first);
    let again = loader.load(b"first", ELSEWHERE);
    assert_ne!(again.row, first.row);
    assert_eq!(class(&mut loader, again), of_first);
}

#[test]
fn two_copies_at_a_time_are_two_modules() {
    let mut loader = Loader::new();
    let other = loader.load(b"other", PLACE);
    loader.unload(other, PLACE);
    let copies = [loader.load(b"module", PLACE), loader.load(b"module", ELSEWHERE)];
    let classes = [loader.class(PLACE), loader.class(ELSEWHERE)];
    assert_ne!(classes[0], classes[1]);
    loader.unload(copies[0], PLACE);
    loader.unload(copies[1], ELSEWHERE);
    for _ in 0..10 {
        let copies = [loader.load(b"module", PLACE), loader.load(b"module", ELSEWHERE)];
        assert_eq!([loader.class(PLACE), loader.class(ELSEWHERE)], classes);
        loader.unload(copies[0], PLACE);
        loader.unload(copies[1], ELSEWHERE);
    }
}

/// A lock of the program's is taken by the code of one module, and later by that of the next.
#[test]
fn contexts_and_chains_are_of_the_code_that_is_there() {
    // A return address, and one past a wrapper.
    let deep = |start: u64| {
        let hash = site::extend(start + 0x1100, start + 0x1200);
        (site::deep(1, hash), [start + 0x1100, start + 0x1200, PROGRAM + 0x2000])
    };
    let plain = |start: u64| (start + 0x1100, [start + 0x1100, PROGRAM + 0x2000, PROGRAM]);
    for sites in [plain, deep] {
        let mut loader = Loader::new();
        let lock = loader.host.locks[0];
        let first = loader.load(b"first", PLACE);
        let (site, frames) = sites(PLACE);
        let of_first = loader.context(lock, site, &frames).expect("the first time");
        assert_eq!(loader.context(lock, site, &frames), None, "the thread remembers it");
        loader.unload(first, PLACE);
        let second = loader.load(b"second", PLACE);
        let of_second = loader.context(lock, site, &frames).expect("this is another's code");
        assert_ne!(of_second, of_first);
        loader.unload(second, PLACE);
        loader.load(b"first", PLACE);
        assert_eq!(loader.context(lock, site, &frames), Some(of_first));
        let (site, frames) = sites(ELSEWHERE);
        loader.load(b"second", ELSEWHERE);
        assert_eq!(loader.context(lock, site, &frames), Some(of_second));
        assert_eq!(loader.rows::<Node>(), 2);
    }
}

/// As a host answers that knows the stack.
#[test]
fn a_site_past_wrappers_is_found_by_a_recorded_stack() {
    let mut loader = Loader::new();
    let lock = loader.host.locks[0];
    let first = loader.load(b"first", PLACE);
    loader.unload(first, PLACE);
    loader.load(b"second", PLACE);
    let frames = [PLACE + 0x1100, PLACE + 0x1200, PROGRAM + 0x2000];
    let site = site::deep(1, site::extend(frames[0], frames[1]));
    let node = loader.context(lock, site, &frames).expect("the first time");
    let stack = loader.host.core.stack(&frames);
    loader.host.core.code_is_gone();
    assert_eq!(loader.context(lock, site, &[known_stack(stack)]), Some(node));
}

#[test]
fn the_same_call_is_the_same_wherever_its_module_is() {
    let mut loader = Loader::new();
    let other = loader.load(b"other", ELSEWHERE);
    let first = loader.load(b"first", PLACE);
    let class = loader.class(PLACE);
    let here = |start: u64| [start + 0x1080, PROGRAM + 0x2000];
    assert!(loader.host.core.is_same_call(class, &here(PLACE)));
    loader.unload(first, PLACE);
    loader.unload(other, ELSEWHERE);
    loader.load(b"first", ELSEWHERE);
    assert!(loader.host.core.is_same_call(class, &here(ELSEWHERE)));
    let there = [ELSEWHERE + 0x1040, PROGRAM + 0x2000];
    assert!(!loader.host.core.is_same_call(class, &there), "another call comes to the same place");
}
