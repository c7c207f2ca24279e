//! Code that interrupts an operation, is called by one, or comes after one that never ended.

use std::ffi::c_void;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicPtr, AtomicU64};
use std::sync::mpsc::channel;
use std::thread;

use lockwright_engines::debugobjects::{Descr, Local, Objects, Operation, Rules, State, Switches};
use lockwright_ledger::rows::object::object_end;

use super::host::{HASTY, at, objects, objects_over};

static DESCR: Descr = Descr::new(1, Rules::KERNEL);

/// A handler that interrupts an operation, with a bucket's lock in its thread's hands.
#[test]
fn an_operation_that_interrupts_one_is_counted_and_not_done() {
    let objects = objects(Switches::PATCHED);
    let local = objects.start_local();
    // SAFETY: `start_local` made `local` for this thread and returns null or a part that stays
    // mapped.
    let own = unsafe { local.as_ref() };
    objects.apply(own, &DESCR, 0x1000, Operation::Init, at(1), 0);
    let mut looked = 0;
    objects.for_each(own, &mut |_| {
        looked += 1;
        // The same object, then another one.
        assert!(objects.apply(own, &DESCR, 0x1000, Operation::Activate, at(2), 0).is_none());
        assert!(objects.apply(own, &DESCR, 0x9000, Operation::Init, at(2), 0).is_none());
        assert!(objects.state(own, 1, 0x1000).is_none());
        let range = (0, u64::MAX);
        objects.check_no_obj_freed(own, range, object_end::FREED, at(2), &mut |_| panic!());
    });
    assert_eq!((looked, objects.stats().lost), (1, 4));
    assert_eq!(objects.state(own, 1, 0x1000).unwrap().state, State::Init);
    assert!(objects.state(own, 1, 0x9000).is_none());
    assert!(objects.is_on());
}

/// The same, where the thread has no part of its own by which to know.
#[test]
fn without_an_own_part_patience_ends() {
    let objects = objects_over(&HASTY, Switches::PATCHED);
    objects.apply(None, &DESCR, 0x1000, Operation::Init, at(1), 0);
    objects.for_each(None, &mut |_| {
        assert!(objects.apply(None, &DESCR, 0x1000, Operation::Activate, at(2), 0).is_none());
    });
    assert_eq!(objects.stats().lost, 1);
    assert_eq!(objects.state(None, 1, 0x1000).unwrap().state, State::Init);
}

static ASKED: AtomicPtr<Objects> = AtomicPtr::new(std::ptr::null_mut());
static ASKED_FROM: AtomicPtr<Local> = AtomicPtr::new(std::ptr::null_mut());
static ANSWERS: AtomicU64 = AtomicU64::new(0);

/// A type's function that does what programs do: it reports operations on objects, this one
/// included.
///
/// # Safety
/// The caller need not promise anything: only the address of the object is used.
unsafe extern "C" fn is_static(addr: *mut c_void) -> bool {
    let (objects, local) = (ASKED.load(Relaxed), ASKED_FROM.load(Relaxed));
    // SAFETY: the test stored a leaked `Objects` and its thread's own part before any call could
    // come here.
    let (objects, own) = unsafe { (&*objects, local.as_ref()) };
    let other = addr as u64 + 8;
    objects.apply(own, &DESCR, other, Operation::Init, at(1), 0);
    assert_eq!(objects.state(own, 1, other).unwrap().state, State::Init);
    ANSWERS.fetch_add(1, Relaxed) == 0
}

#[test]
fn a_types_function_may_tell_of_objects() {
    static ASKING: Descr =
        Descr { is_static_object: Some(is_static), ..Descr::new(2, Rules::STATIC) };
    let objects = objects(Switches::PATCHED);
    let local = objects.start_local();
    ASKED.store((&raw const *objects).cast_mut(), Relaxed);
    ASKED_FROM.store(local, Relaxed);
    // SAFETY: `start_local` made `local` for this thread and returns null or a part that stays
    // mapped.
    let own = unsafe { local.as_ref() };
    assert!(objects.apply(own, &ASKING, 0x1000, Operation::Activate, at(2), 0).is_none());
    assert_eq!(objects.state(own, 2, 0x1000).unwrap().state, State::Active);
    assert!(objects.apply(own, &ASKING, 0x2000, Operation::Activate, at(2), 0).is_some());
    assert!(objects.state(own, 2, 0x2000).is_none());
    assert_eq!((ANSWERS.load(Relaxed), objects.stats().lost), (2, 0));
}

/// A fault is reported with no lock held: the host may go on with the object.
#[test]
fn who_is_told_may_tell_of_objects() {
    let objects = objects(Switches::PATCHED);
    let local = objects.start_local();
    // SAFETY: `start_local` made `local` for this thread and returns null or a part that stays
    // mapped.
    let own = unsafe { local.as_ref() };
    for addr in [0x1000, 0x1008, 0x1010] {
        objects.apply(own, &DESCR, addr, Operation::Init, at(1), 0);
        objects.apply(own, &DESCR, addr, Operation::Activate, at(1), 0);
    }
    let mut found = 0;
    let range = (0x1000, 0x1018);
    objects.check_no_obj_freed(own, range, object_end::FREED, at(2), &mut |fault| {
        found += 1;
        assert!(objects.state(own, 1, fault.addr).is_none());
        objects.apply(own, &DESCR, 0x5000 + found * 8, Operation::Init, at(3), 0);
    });
    assert_eq!((found, objects.stats().lost, objects.stats().pool_used), (3, 0, 3));
}

/// Runs `then` while another thread is within an operation, with the lock of the bucket of 0x1000
/// in its hands, that does not end before.
fn while_another_is_within(objects: &'static Objects, then: impl FnOnce()) {
    objects.apply(None, &DESCR, 0x1000, Operation::Init, at(1), 0);
    let (within, is_within) = channel();
    let (end, ends) = channel::<()>();
    thread::scope(move |scope| {
        scope.spawn(move || {
            let local = objects.start_local();
            // SAFETY: `start_local` made `local` for this thread and returns null or a part that
            // stays mapped.
            objects.for_each(unsafe { local.as_ref() }, &mut |tracked| {
                if tracked.addr == 0x1000 {
                    within.send(()).unwrap();
                    // An error: the test is over.
                    let _ = ends.recv();
                }
            });
        });
        is_within.recv().unwrap();
        then();
        drop(end);
    });
}

/// The holder of a lock is gone: the engine is off, the program goes on.
#[test]
fn a_lock_that_cannot_be_had_turns_it_off() {
    let objects = objects_over(&HASTY, Switches::PATCHED);
    while_another_is_within(objects, || {
        let local = objects.start_local();
        // SAFETY: `start_local` made `local` for this thread and returns null or a part that stays
        // mapped.
        let own = unsafe { local.as_ref() };
        objects.apply(own, &DESCR, 0x2000, Operation::Init, at(1), 0);
        assert!(objects.is_on());
        assert!(objects.apply(own, &DESCR, 0x1000, Operation::Activate, at(1), 0).is_none());
        assert!(objects.was_turned_off());
    });
}

/// A fork while another thread is within an operation. The child has its memory as it is, and not
/// the thread: it is played by this thread, which the other does not come in the way of.
#[test]
fn a_forked_child_goes_on() {
    let objects = objects(Switches::PATCHED);
    let local = objects.start_local();
    // SAFETY: `start_local` made `local` for this thread and returns null or a part that stays
    // mapped.
    let own = unsafe { local.as_ref() };
    objects.apply(own, &DESCR, 0x7000, Operation::Init, at(1), 0);
    while_another_is_within(objects, || {
        let before = objects.stats();
        // SAFETY: the other thread does nothing until the test is over.
        unsafe { objects.forked(local) };
        // The parent's objects are there; who made them is not known here, but when.
        let made = objects.state(own, 1, 0x1000).unwrap();
        assert_eq!((made.state, made.init.time_ns), (State::Init, 1));
        assert_eq!((made.init.thread, made.init.stack), (0, 0));
        assert!(objects.apply(own, &DESCR, 0x1000, Operation::Activate, at(5), 0).is_none());
        let fault = objects.apply(own, &DESCR, 0x1000, Operation::Init, at(6), 0).unwrap();
        assert_eq!((fault.active, fault.init.stack), (at(5), 0));
        // In a grandchild neither is that.
        // SAFETY: the other thread does nothing until the test is over.
        unsafe { objects.forked(local) };
        let fault = objects.apply(own, &DESCR, 0x1000, Operation::Init, at(7), 0).unwrap();
        assert_eq!((fault.active.stack, fault.active.time_ns), (0, 5));
        assert_eq!(objects.state(own, 1, 0x7000).unwrap().init.thread, 0);
        for addr in 0..2000 {
            objects.apply(own, &DESCR, 0x10_0000 + addr * 8, Operation::Init, at(8), 0);
        }
        let stats = objects.stats();
        assert_eq!((before.pool_used, stats.pool_used, stats.lost), (2, 2002, 0));
        assert!(objects.is_on());
    });
}

/// The records of threads that a forked child does not have go to its pool, except of threads
/// within an operation.
#[test]
fn records_of_threads_that_are_not_there_are_not_lost() {
    let objects = objects(Switches::PATCHED);
    let mine = objects.start_local();
    let (others, ended) = (objects.start_local(), objects.start_local());
    // SAFETY: played by this thread, one at a time.
    let (own, other, another) = unsafe { (mine.as_ref(), others.as_ref(), ended.as_ref()) };
    for (i, local) in [own, other, another].into_iter().enumerate() {
        objects.apply(local, &DESCR, 0x1000 + i as u64 * 8, Operation::Init, at(1), 0);
    }
    // SAFETY: the test does not use `ended` after this line, and no thread runs with it.
    unsafe { objects.end_local(ended) };
    let before = objects.stats();
    assert_eq!((before.pool_pcp_free, before.pool_used), (30, 3));
    // SAFETY: there is no other thread.
    unsafe { objects.forked(mine) };
    let after = objects.stats();
    assert_eq!((after.pool_pcp_free, after.pool_used), (15, 3));
    assert_eq!(after.pool_free, before.pool_free + 15);
    assert_eq!(after.objs_allocated, before.objs_allocated);
    // Their own parts are used again.
    let again = [objects.start_local(), objects.start_local()];
    assert!(again.contains(&others) && again.contains(&ended) && !again.contains(&mine));
}
