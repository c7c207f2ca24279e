//! Random operations against a naive model: a map of objects, and rules written as code instead of
//! as a table.

use std::collections::BTreeMap;

use lockwright_engines::debugobjects::table::{TABLE, Table, Verdict};
use lockwright_engines::debugobjects::{
    Descr, Fault, Objects, Operation, Place, Rules, State, Switches,
};
use lockwright_ledger::rows::object::{object_end, object_fault as fault};

use super::host::{Random, SOURCE, at, buckets};

/// What the model knows of an object.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Object {
    state: State,
    uses: u32,
    count: u32,
    fingerprint: u64,
    by_static: bool,
    tried_to_destroy: bool,
    /// It was ended in use, and that was reported.
    is_told: bool,
    init_ns: u64,
}

/// The addresses that the tests' static objects have.
fn is_static(addr: u64) -> bool {
    addr & 0x10 != 0
}

/// # Safety
/// The caller need not promise anything: only the address of the object is used.
unsafe extern "C" fn ask(addr: *mut std::ffi::c_void) -> bool {
    is_static(addr as u64)
}

#[derive(Default)]
struct Model {
    objects: BTreeMap<(u64, u32), Object>,
    warnings: u64,
}

/// An operation, as the model gets it.
struct Told {
    addr: u64,
    op: Operation,
    now: u64,
    fingerprint: u64,
    counts: (u32, u32),
}

impl Model {
    /// The kind of fault that it is, if it is one.
    fn apply(&mut self, descr: &Descr, told: &Told) -> Option<u8> {
        let rules = descr.rules;
        let key = (told.addr, descr.type_id);
        let print_differs = |object: &Object| {
            rules.has(Rules::FINGERPRINT)
                && object.state == State::Destroyed
                && object.fingerprint != told.fingerprint
        };
        if self.objects.get(&key).is_some_and(print_differs) {
            self.objects.remove(&key);
        }
        let found = self.apply_to_known(rules, key, told);
        self.warnings += u64::from(found.is_some());
        found
    }

    fn apply_to_known(&mut self, rules: Rules, key: (u64, u32), told: &Told) -> Option<u8> {
        use Operation::*;
        let new = Object {
            state: State::Init,
            uses: 0,
            count: 0,
            fingerprint: 0,
            by_static: false,
            tried_to_destroy: false,
            is_told: false,
            init_ns: told.now,
        };
        if !self.objects.contains_key(&key) {
            let needs_one = match told.op {
                Init | InitOnStack => {
                    self.objects.insert(key, new);
                    return None;
                }
                Free | NoObjFreed => false,
                Destroy => rules.has(Rules::DESTROY_KNOWN),
                Activate | Deactivate | AssertInit | ActiveState => true,
            };
            if !needs_one {
                return None;
            }
            if !(rules.has(Rules::STATIC) && is_static(told.addr)) {
                return Some(fault::UNINITIALISED);
            }
            self.objects.insert(key, Object { by_static: true, init_ns: 0, ..new });
        }
        let object = self.objects.get_mut(&key).unwrap();
        let (state, is_active) = (object.state, object.state == State::Active);
        match told.op {
            Init | InitOnStack => match state {
                State::Active => Some(fault::INIT_ACTIVE),
                State::Destroyed if !rules.has(Rules::REINIT) => Some(fault::USE_AFTER_DESTROY),
                _ => {
                    *object = new;
                    (state != State::Destroyed && rules.has(Rules::INIT_ONCE))
                        .then_some(fault::INIT_TWICE)
                }
            },
            Destroy if state == State::Destroyed => Some(fault::DESTROY_TWICE),
            Destroy => {
                object.tried_to_destroy = true;
                if is_active && !rules.has(Rules::DESTROY_ACTIVE_OK) {
                    object.is_told = true;
                    return Some(fault::DESTROY_ACTIVE);
                }
                (object.state, object.uses) = (State::Destroyed, 0);
                object.fingerprint = told.fingerprint;
                None
            }
            Free if is_active && !rules.has(Rules::DESTROY_ACTIVE_OK) => {
                object.is_told = true;
                Some(fault::GONE_ACTIVE)
            }
            Free => {
                self.objects.remove(&key);
                None
            }
            AssertInit => (state == State::Destroyed && rules.has(Rules::ASSERT_ALIVE))
                .then_some(fault::USE_AFTER_DESTROY),
            _ if state == State::Destroyed => Some(fault::USE_AFTER_DESTROY),
            Activate if is_active && !rules.has(Rules::ACTIVATE_ACTIVE_OK) => {
                Some(fault::WRONG_STATE)
            }
            Activate => {
                object.state = State::Active;
                object.uses += 1;
                None
            }
            Deactivate if is_active && object.count != 0 => Some(fault::WRONG_STATE),
            Deactivate => {
                object.uses = object.uses.saturating_sub(1);
                if object.uses == 0 {
                    object.state = State::Inactive;
                }
                None
            }
            ActiveState if !is_active || object.count != told.counts.0 => Some(fault::WRONG_STATE),
            ActiveState => {
                object.count = told.counts.1;
                None
            }
            NoObjFreed => unreachable!(),
        }
    }

    /// Memory goes: what is found.
    fn sweep(&mut self, types: &[&Descr], from: u64, to: u64) -> Vec<(u64, u32, u8)> {
        let gone: Vec<_> =
            self.objects.range((from, 0)..(to, 0)).map(|(&key, &object)| (key, object)).collect();
        let mut found = Vec::new();
        for ((addr, type_id), object) in gone {
            self.objects.remove(&(addr, type_id));
            let rules = types.iter().find(|descr| descr.type_id == type_id).unwrap().rules;
            let is_left = matches!(object.state, State::Init | State::Inactive)
                && rules.has(Rules::MUST_DESTROY)
                && !object.by_static
                && !object.tried_to_destroy;
            if object.is_told {
                continue;
            }
            if object.state == State::Active {
                found.push((addr, type_id, fault::GONE_ACTIVE));
            } else if is_left {
                found.push((addr, type_id, fault::NEVER_DESTROYED));
            }
        }
        self.warnings += found.len() as u64;
        found
    }
}

/// Runs `steps` random operations. What differs first, if anything does.
fn run(table: &'static Table, seed: u64, steps: u64, switches: Switches) -> Result<(), String> {
    let objects: &'static Objects = Box::leak(Box::new(Objects::with_table(buckets(), table)));
    objects.start(&SOURCE, switches);
    let mut random = Random(seed);
    let types: [&'static Descr; 3] = std::array::from_fn(|i| {
        let rules = Rules(random.below(1 << 9) as u32);
        let is_static_object = Some(ask as _);
        &*Box::leak(Box::new(Descr { is_static_object, ..Descr::new(i as u32 + 1, rules) }))
    });
    // One operation in four without a thread's own part.
    let local = objects.start_local();
    // SAFETY: this thread's, until the end.
    let own = unsafe { local.as_ref() };
    let mut model = Model::default();
    for i in 0..steps {
        // A few objects in each of a few chunks, so that they meet; many chunks now and then.
        let chunks = if random.below(8) == 0 { 4096 } else { 4 };
        let addr = 0x10_0000 + random.below(chunks) * 0x1000 + random.below(6) * 0x10;
        let descr = types[random.below(3) as usize];
        let local = if random.below(4) == 0 { None } else { own };
        let now = 1 + i * 1_000_000;
        let place = Place { thread: 1, stack: i as u32 + 1, time_ns: now };
        let op = Operation::ALL[random.below(9) as usize];
        let what = format!("step {i}: {op:?} {addr:#x} {:?}", descr.rules);
        if op == Operation::NoObjFreed {
            let lengths = [1, 0x10, 0x2008, 0x4000, 0x40_0000, 0x4000 * 0x1000 + 5];
            // The longest seldom, or there is never much.
            let most = if random.below(16) == 0 { 6 } else { 4 };
            let to = addr + lengths[random.below(most) as usize];
            let mut found = Vec::new();
            objects.check_no_obj_freed(
                local,
                (addr, to),
                object_end::FREED,
                place,
                &mut |fault: Fault| {
                    found.push((fault.addr, fault.descr.type_id, fault.kind));
                },
            );
            found.sort_unstable();
            let should = model.sweep(&types, addr, to);
            if found != should {
                return Err(format!("{what}: {found:?}, should be {should:?}"));
            }
        } else {
            let counts = (random.below(2) as u32, random.below(2) as u32);
            // An active state has no fingerprint.
            let fingerprint = if op == Operation::ActiveState { 0 } else { random.below(2) };
            let should = model.apply(descr, &Told { addr, op, now, fingerprint, counts });
            // A plain life may go another way, which leaves all else to this one.
            let is_plain = random.below(2) == 0
                && match op {
                    Operation::Init | Operation::InitOnStack => {
                        fingerprint == 0 && objects.renew_life(local, descr, addr, op, place)
                            || objects.begin_life(local, descr, addr, op, place).is_none()
                    }
                    Operation::Destroy => objects.end_life(local, descr, addr, place, fingerprint),
                    _ => false,
                };
            let found = match op {
                _ if is_plain => None,
                Operation::ActiveState => objects.active_state(local, descr, addr, counts, place),
                _ => objects.apply(local, descr, addr, op, place, fingerprint),
            };
            if found.map(|fault| fault.kind) != should {
                return Err(format!("{what}: {found:?}, should be {should:?}"));
            }
        }
        let known = model.objects.get(&(addr, descr.type_id));
        let is = objects.state(local, descr.type_id, addr);
        let same = match (known, is) {
            (None, None) => true,
            (Some(known), Some(is)) => {
                (is.state, is.count, is.by_static, is.init.time_ns)
                    == (known.state, known.count, known.by_static, known.init_ns)
                    && is.uses == known.uses
            }
            _ => false,
        };
        if !same {
            return Err(format!("{what}: {is:?}, should be {known:?}"));
        }
    }
    // All that there is.
    let mut all = BTreeMap::new();
    objects.for_each(own, &mut |is| {
        all.insert((is.addr, is.descr.type_id), is.state);
    });
    let should: BTreeMap<_, _> =
        model.objects.iter().map(|(&key, object)| (key, object.state)).collect();
    if all != should {
        return Err(format!("at the end {all:?}, should be {should:?}"));
    }
    let stats = objects.stats();
    assert_eq!(stats.pool_used, should.len() as u64, "{switches:?}");
    assert_eq!((stats.warnings, stats.lost), (model.warnings, 0), "{switches:?}");
    assert!(objects.is_on());
    Ok(())
}

#[test]
fn random_operations_do_what_the_model_says() {
    for seed in 0..128 {
        let switches = Switches(seed as u32 % 64);
        if let Err(what) = run(&TABLE, 0x5eed + seed, 1500, switches) {
            panic!("seed {seed}, {switches:?}: {what}");
        }
    }
}

/// The planted fault: the model notices each cell that is broken.
#[test]
fn the_model_notices_a_broken_table() {
    for row in 0..State::ALL.len() {
        for column in 0..Operation::ALL.len() {
            let mut table = TABLE;
            let cell = &mut table[row][column];
            let is_asked_of = |verdict| matches!(verdict, Verdict::Ask | Verdict::AskIfRule(_));
            // No object is asked about twice, and unknown ones are not swept or asked for nothing.
            let never = [
                (State::None, Operation::NoObjFreed),
                (State::NotAvailable, Operation::NoObjFreed),
                (State::NotAvailable, Operation::Init),
                (State::NotAvailable, Operation::InitOnStack),
                (State::NotAvailable, Operation::Free),
            ];
            if never.contains(&(State::ALL[row], Operation::ALL[column])) {
                continue;
            }
            cell.verdict = match cell.verdict {
                Verdict::Fault(kind) => Verdict::Fault(kind % 9 + 1),
                Verdict::IfRule(rule, kind) => Verdict::UnlessRule(rule, kind),
                Verdict::UnlessRule(rule, kind) => Verdict::IfRule(rule, kind),
                Verdict::IfCount(_) => Verdict::Fine,
                verdict if is_asked_of(verdict) => Verdict::Fault(fault::WRONG_STATE),
                _ => Verdict::Fault(fault::WRONG_STATE),
            };
            let table = Box::leak(Box::new(table));
            let noticed =
                (0..64).any(|seed| run(table, 77 + seed, 1500, Switches::PATCHED).is_err());
            assert!(noticed, "{:?}, {:?}", State::ALL[row], Operation::ALL[column]);
        }
    }
}

/// A fault has the object's past operations.
#[test]
fn a_fault_has_the_objects_history() {
    let objects = super::host::objects(Switches::PATCHED);
    static DESCR: Descr = Descr::new(9, Rules::KERNEL);
    let tell = |op, now| objects.apply(None, &DESCR, 0x1238, op, at(now), 0);
    assert!(tell(Operation::InitOnStack, 10).is_none());
    assert!(tell(Operation::Activate, 20).is_none());
    assert!(objects.active_state(None, &DESCR, 0x1238, (0, 3), at(25)).is_none());
    let wrong = objects.active_state(None, &DESCR, 0x1238, (2, 4), at(26)).unwrap();
    assert_eq!((wrong.kind, wrong.expected), (fault::WRONG_STATE, (2, 3)));
    assert!(objects.active_state(None, &DESCR, 0x1238, (3, 0), at(27)).is_none());
    assert!(tell(Operation::Deactivate, 30).is_none());
    assert!(tell(Operation::Destroy, 40).is_none());
    let found = tell(Operation::Activate, 50).unwrap();
    assert_eq!((found.kind, found.was), (fault::USE_AFTER_DESTROY, State::Destroyed));
    assert_eq!((found.op, found.how, found.on_stack), (Operation::Activate, 0, true));
    assert_eq!((found.here, found.init), (at(50), at(10)));
    assert_eq!((found.active, found.active_op), (at(30), Some(Operation::Deactivate)));
    assert_eq!((found.destroy, found.addr), (at(40), 0x1238));
    assert!(std::ptr::eq(found.descr, &DESCR));
    // An object of another type at the same address is another.
    static OTHER: Descr = Descr::new(10, Rules::KERNEL);
    assert!(objects.apply(None, &OTHER, 0x1238, Operation::Init, at(60), 0).is_none());
    assert_eq!(objects.state(None, 9, 0x1238).unwrap().state, State::Destroyed);
    // Freed while in use.
    assert!(objects.apply(None, &OTHER, 0x1238, Operation::Activate, at(61), 0).is_none());
    let freed = objects.apply(None, &OTHER, 0x1238, Operation::Free, at(62), 0).unwrap();
    assert_eq!((freed.kind, freed.how), (fault::GONE_ACTIVE, object_end::FREED));
}
