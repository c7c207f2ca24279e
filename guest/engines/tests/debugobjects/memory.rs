//! The host has no memory: the engine turns itself off and says so, and what it knew stays in
//! order.

use std::cell::Cell;

use lockwright_engines::debugobjects::{Descr, Objects, Operation, Rules, Source, Switches};
use lockwright_ledger::rows::object::ObjectPools;

use super::host::{self, at, buckets};

thread_local! {
    /// Mappings that this thread may still make.
    static LEFT: Cell<u32> = const { Cell::new(0) };
}

fn map(bytes: usize) -> *mut u8 {
    match LEFT.get().checked_sub(1) {
        Some(left) => {
            LEFT.set(left);
            (host::SOURCE.map)(bytes)
        }
        None => std::ptr::null_mut(),
    }
}

static SOURCE: Source = Source { map, ..host::SOURCE };

static DESCR: Descr = Descr::new(1, Rules::KERNEL);

#[test]
fn without_memory_it_turns_itself_off() {
    for switches in (0..64).map(Switches) {
        for mappings in 0..4 {
            LEFT.set(mappings);
            let objects: &Objects = Box::leak(Box::new(Objects::new(buckets())));
            let row = Box::leak(Box::new(ObjectPools::default()));
            // SAFETY: the row was leaked, so it stays valid until the process ends.
            unsafe { objects.publish_to(row) };
            objects.start(&SOURCE, switches);
            let local = objects.start_local();
            assert_eq!((local.is_null(), objects.is_on()), (mappings == 0, mappings != 0));
            // SAFETY: `start_local` returned `local` to this thread: null or a part that stays
            // mapped.
            let own = unsafe { local.as_ref() };
            let tell = |addr, op| objects.apply(own, &DESCR, addr, op, at(1), 0);
            let mut tracked = 0;
            for i in 1..10_000 {
                assert!(tell(i * 64, Operation::Init).is_none());
                if !objects.is_on() {
                    break;
                }
                tracked += 1;
            }
            assert!(objects.was_turned_off());
            // SAFETY: leaked; nobody writes it now.
            assert_eq!(unsafe { (&raw const row.off).read_volatile() }, 1);
            let stats = objects.stats();
            assert_eq!(stats.pool_used, tracked, "{switches:?}, {mappings} mappings");
            // A mapping has 64 KiB; its records are at most as many as that has cache lines. All
            // were used except those that a thread's pool took in advance.
            assert!(stats.objs_allocated <= u64::from(mappings) * 1024);
            assert!(stats.pool_free + stats.on_free_list < 16, "{stats:?}");
            // Nothing is said any more, whatever is done, and be there memory again.
            LEFT.set(10);
            for op in Operation::ALL {
                assert!(tell(64, op).is_none());
            }
            assert!(objects.state(own, 1, 64).is_none());
            let all = (0, u64::MAX);
            objects.check_no_obj_freed(own, all, 1, at(1), &mut |fault| panic!("{fault:?}"));
            assert_eq!(LEFT.get(), 10);
            assert_eq!(objects.stats(), stats);
        }
    }
}

#[test]
fn wholly_free_mappings_go_back() {
    // All that is too much is given back at once.
    let objects = host::objects(Switches::UNPATCHED);
    let tell = |i: u64, op| objects.apply(None, &DESCR, i * 64, op, at(1), 0);
    let count = 20_000;
    for i in 1..=count {
        tell(i, Operation::Init);
    }
    let stats = objects.stats();
    assert_eq!(stats.pool_used, count);
    assert!(stats.objs_allocated >= count);
    for i in 1..=count {
        tell(i, Operation::Free);
    }
    let stats = objects.stats();
    assert_eq!((stats.pool_used, stats.on_free_list, stats.pool_free), (0, 0, 1024));
    assert_eq!(stats.objs_allocated - stats.objs_freed, 1024);
    assert_eq!(stats.pool_max_used, count);
}

/// Four: what is too much is given back ten times a second, and not all of it.
#[test]
fn freeing_is_lazy() {
    let objects = host::objects(Switches::PATCHED);
    let tell = |i: u64, op, now| objects.apply(None, &DESCR, i * 64, op, at(now), 0);
    let second = 1_000_000_000;
    for i in 1..=20_000 {
        tell(i, Operation::Init, second);
    }
    for i in 1..=20_000 {
        tell(i, Operation::Free, second);
    }
    // The first was due at once, when it had nothing to do but with the one that was too much.
    let (before, freed) = (objects.stats(), objects.stats().objs_freed);
    assert!(before.on_free_list > 18_000 && freed < 16, "{before:?}");
    // Any operation gives back what is due.
    for (now, more) in [(99, 0), (100, 1024), (150, 1024), (199, 1024), (200, 2048), (700, 3072)] {
        tell(1, Operation::AssertInit, second + now * 1_000_000);
        let stats = objects.stats();
        assert_eq!(stats.objs_freed - freed, more, "{now} ms");
        assert_eq!(stats.pool_used, 0);
        assert_eq!(
            stats.objs_allocated - stats.objs_freed,
            stats.pool_free + stats.pool_pcp_free + stats.on_free_list
        );
    }
}

/// Six: nothing is given back while more is in use than of late.
#[test]
fn freeing_waits_while_use_rises() {
    let objects = host::objects(Switches::SHAPE_2024);
    let tell = |i: u64, op, now| objects.apply(None, &DESCR, i * 64, op, at(now), 0);
    let ms = 1_000_000;
    let mut now = 1000 * ms;
    for i in 1..=20_000 {
        tell(i, Operation::Init, now);
    }
    for i in 1..=15_000 {
        tell(i, Operation::Free, now);
    }
    let freed = objects.stats().objs_freed;
    assert!(objects.stats().on_free_list > 13_000);
    // More and more in use: what waits is used first, and none of it given back.
    for i in 1..=5_000 {
        now += ms;
        tell(i, Operation::Init, now);
        assert_eq!(objects.stats().objs_freed, freed, "{i}");
    }
    // No more: it is.
    for _ in 0..3_000 {
        now += ms;
        tell(1, Operation::AssertInit, now);
    }
    assert_eq!(objects.stats().on_free_list, 0);
    assert!(objects.stats().objs_freed > freed + 8_000);
}

/// The ledger's row follows.
#[test]
fn the_row_is_brought_up_to_date() {
    let objects = host::objects(Switches::PATCHED);
    let row: *mut ObjectPools = Box::leak(Box::new(ObjectPools::default()));
    // SAFETY: the row was leaked, so it stays valid until the process ends.
    unsafe { objects.publish_to(row) };
    // SAFETY: the row was leaked, so it stays valid; read while nobody writes it.
    let used = || unsafe { (&raw const (*row).pool_used).read_volatile() };
    let tell =
        |addr, ms: u64| objects.apply(None, &DESCR, addr, Operation::Init, at(ms * 1_000_000), 0);
    tell(64, 100);
    assert_eq!(used(), 1);
    tell(128, 109);
    assert_eq!(used(), 1);
    tell(192, 110);
    assert_eq!(used(), 3);
    tell(256, 111);
    objects.publish();
    assert_eq!(used(), 4);
    // SAFETY: null asks for no publication at all, so there is no row to keep valid.
    unsafe { objects.publish_to(std::ptr::null_mut()) };
    tell(320, 1000);
    objects.publish();
    assert_eq!(used(), 4);
}
