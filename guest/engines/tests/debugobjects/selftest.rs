//! The kernel's own selftest: one object through all operations, with fixups that repair. After
//! each step its state is compared, and the counts of fixups and warnings.

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use lockwright_engines::debugobjects::{
    Act, Descr, Fault, Objects, Operation, Rules, State, Switches,
};

use lockwright_ledger::rows::object::object_end;

use super::host::{at, objects};

thread_local! {
    static OBJECTS: Cell<Option<&'static Objects>> = const { Cell::new(None) };
    /// The test's object says that it was initialised statically.
    static STATIC_INIT: Cell<bool> = const { Cell::new(false) };
}

const ADDR: u64 = 0x7000_1238;

fn tell(op: Operation) -> bool {
    OBJECTS.get().unwrap().apply(None, &DESCR, ADDR, op, at(1), 0).is_some()
}

/// # Safety
/// The caller need not promise anything: the object's address is not used.
unsafe extern "C" fn is_static(_: *mut c_void) -> bool {
    STATIC_INIT.get()
}

/// # Safety
/// The caller need not promise anything: the object's address is not used.
unsafe extern "C" fn fixup_init(_: *mut c_void, state: u32) -> bool {
    repair(state, &[Operation::Deactivate, Operation::Init])
}

/// # Safety
/// The caller need not promise anything: the object's address is not used.
unsafe extern "C" fn fixup_activate(_: *mut c_void, state: u32) -> bool {
    repair(state, &[Operation::Deactivate, Operation::Activate])
}

/// # Safety
/// The caller need not promise anything: the object's address is not used.
unsafe extern "C" fn fixup_destroy(_: *mut c_void, state: u32) -> bool {
    repair(state, &[Operation::Deactivate, Operation::Destroy])
}

/// # Safety
/// The caller need not promise anything: the object's address is not used.
unsafe extern "C" fn fixup_free(_: *mut c_void, state: u32) -> bool {
    repair(state, &[Operation::Deactivate, Operation::Free])
}

fn repair(state: u32, ops: &[Operation]) -> bool {
    if state != State::Active as u32 {
        return false;
    }
    for &op in ops {
        assert!(!tell(op), "{op:?} in a fixup");
    }
    true
}

static DESCR: Descr = Descr {
    is_static_object: Some(is_static),
    fixup_init: Some(fixup_init),
    fixup_activate: Some(fixup_activate),
    fixup_destroy: Some(fixup_destroy),
    fixup_free: Some(fixup_free),
    ..Descr::new(1, Rules::STATIC)
};

/// What is done; the state then, and how many fixups and warnings it makes.
type Line = (Operation, State, u64, u64);

fn run(lines: &[Line], switches: Switches) {
    let objects = objects(switches);
    OBJECTS.set(Some(objects));
    let (mut fixups, mut warnings) = (0, 0);
    for (i, &(op, state, fixed, warned)) in lines.iter().enumerate() {
        if op == Operation::NoObjFreed {
            let mut found = (0, 0);
            objects.check_no_obj_freed(None, (ADDR, ADDR + 8), 1, at(1), &mut |fault| {
                *(if fault.fixed { &mut found.1 } else { &mut found.0 }) += 1;
            });
            assert_eq!(found, (warned, fixed), "line {i}");
        } else {
            assert_eq!(tell(op), warned != 0, "line {i}");
        }
        (fixups, warnings) = (fixups + fixed, warnings + warned);
        let stats = objects.stats();
        let is =
            objects.state(None, DESCR.type_id, ADDR).map_or(State::None, |tracked| tracked.state);
        assert_eq!(
            (is, stats.fixups, stats.warnings),
            (state, fixups, warnings),
            "line {i}, {op:?}, {switches:?}"
        );
    }
}

#[test]
fn the_kernels_selftest_passes() {
    use Operation::*;
    for switches in (0..64).map(Switches) {
        STATIC_INIT.set(false);
        run(
            &[
                (Init, State::Init, 0, 0),
                (Activate, State::Active, 0, 0),
                (Activate, State::Active, 1, 1),
                (Deactivate, State::Inactive, 0, 0),
                (Destroy, State::Destroyed, 0, 0),
                (Init, State::Destroyed, 0, 1),
                (Activate, State::Destroyed, 0, 1),
                (Deactivate, State::Destroyed, 0, 1),
                (Free, State::None, 0, 0),
            ],
            switches,
        );
        STATIC_INIT.set(true);
        run(
            &[
                (Activate, State::Active, 0, 0),
                (Init, State::Init, 1, 1),
                (Free, State::None, 0, 0),
                (Init, State::Init, 0, 0),
                (Activate, State::Active, 0, 0),
                (NoObjFreed, State::None, 1, 1),
            ],
            switches,
        );
    }
}

/// What was reported, in its order, with the fixup's calls in between.
static HEARD: Mutex<Vec<&str>> = Mutex::new(Vec::new());

/// # Safety
/// The caller need not promise anything: the object's address is not used.
unsafe extern "C" fn fixup_heard(_: *mut c_void, _: u32) -> bool {
    HEARD.lock().unwrap().push("fixup");
    true
}

#[test]
fn faults_are_told_of_before_their_fixup_and_again_after_it() {
    static GONE: AtomicBool = AtomicBool::new(false);
    static ASKED: Descr =
        Descr { fixup_free: Some(fixup_heard), gone: Some(&GONE), ..Descr::new(2, Rules::KERNEL) };
    let objects = objects(Switches::PATCHED);
    let act = |op| {
        let place = at(1);
        let act = Act { descr: &ASKED, addr: ADDR, op, place, fingerprint: 0, counts: (0, 0) };
        objects.act(None, act, &mut |fault| heard(fault.fixed))
    };
    let heard_since = || std::mem::take(&mut *HEARD.lock().unwrap());

    assert!(act(Operation::Init) && act(Operation::Activate));
    assert!(act(Operation::Free), "it is fixed");
    assert_eq!(heard_since(), ["fault", "fixup", "fixed"]);

    let goes = |how| {
        let mut found = |fault: Fault| heard(fault.fixed);
        objects.check_no_obj_freed(None, (ADDR, ADDR + 8), how, at(1), &mut found);
        heard_since()
    };
    assert_eq!(goes(object_end::FREED), [""; 0], "that its life is over was reported");

    assert!(act(Operation::Init) && act(Operation::Activate));
    assert_eq!(goes(object_end::FREED), ["fault", "fixup", "fixed"]);
    assert_eq!(goes(object_end::FREED), [""; 0], "it is out, whatever the fixup has left");

    assert!(act(Operation::Init) && act(Operation::Activate));
    assert_eq!(goes(object_end::FRAME), ["fault"], "memory that is gone is not looked at");

    assert!(act(Operation::Init) && act(Operation::Activate));
    GONE.store(true, Relaxed);
    assert_eq!(goes(object_end::FREED), ["fault"], "functions that are gone are not called");
}

fn heard(fixed: bool) {
    HEARD.lock().unwrap().push(if fixed { "fixed" } else { "fault" });
}
