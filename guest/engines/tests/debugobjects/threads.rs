//! Many threads at once: no record is lost or had twice, and each object's state is what its own
//! thread made it.

use std::sync::Barrier;
use std::thread;

use lockwright_engines::debugobjects::{Descr, Operation, Rules, State, Switches};
use lockwright_ledger::rows::object::object_end;

use super::host::{Random, at, objects};

static DESCR: Descr = Descr::new(1, Rules::KERNEL);

const THREADS: u64 = 6;
const ROUNDS: u64 = 3;
const OBJECTS: u64 = 600;

/// An object of a thread's. Those of all threads lie side by side: they share buckets.
fn addr(thread: u64, i: u64) -> u64 {
    0x10_0000 + (i * THREADS + thread) * 64
}

fn run(switches: Switches) {
    let objects = objects(switches);
    let all_there = Barrier::new(THREADS as usize);
    thread::scope(|scope| {
        for me in 0..THREADS {
            let all_there = &all_there;
            scope.spawn(move || {
                let mut random = Random(me + 1);
                all_there.wait();
                for round in 0..ROUNDS {
                    // A thread's life: now and then it does without an own part.
                    let local = if (round + me) % 4 == 3 {
                        std::ptr::null_mut()
                    } else {
                        objects.start_local()
                    };
                    // SAFETY: `local` is null or came from `start_local` in this thread, and parts
                    // stay mapped.
                    let own = unsafe { local.as_ref() };
                    let tell = |i, op| {
                        // Time goes on, so that records go back to the slab meanwhile.
                        let now = (round * OBJECTS + i) * 1_000_000;
                        objects.apply(own, &DESCR, addr(me, i), op, at(now), 0)
                    };
                    for i in 0..OBJECTS {
                        assert!(tell(i, Operation::Init).is_none());
                        if random.below(2) == 0 {
                            assert!(tell(i, Operation::Activate).is_none());
                            assert!(tell(i, Operation::Activate).is_some());
                            assert!(tell(i, Operation::Deactivate).is_none());
                        }
                    }
                    for i in 0..OBJECTS {
                        let state = objects.state(own, 1, addr(me, i)).unwrap().state;
                        assert!(matches!(state, State::Init | State::Inactive));
                        if random.below(2) == 0 {
                            assert!(tell(i, Operation::Free).is_none());
                        }
                    }
                    for i in 0..OBJECTS {
                        // What is left goes with its memory, object by object.
                        let range = (addr(me, i), addr(me, i) + 64);
                        let now = at((round * OBJECTS + i) * 1_000_000);
                        let how = object_end::FREED;
                        objects.check_no_obj_freed(own, range, how, now, &mut |_| panic!());
                        assert!(objects.state(own, 1, addr(me, i)).is_none());
                    }
                    // SAFETY: this thread made `local` in this round and does not use it after this
                    // line.
                    unsafe { objects.end_local(local) };
                }
            });
        }
    });
    let stats = objects.stats();
    assert!(objects.is_on());
    // All records that were taken are somewhere.
    assert_eq!((stats.pool_used, stats.pool_pcp_free), (0, 0), "{switches:?}: {stats:?}");
    let there = stats.objs_allocated - stats.objs_freed;
    assert_eq!(there, stats.pool_free + stats.on_free_list, "{switches:?}: {stats:?}");
    assert_eq!(stats.lost, 0);
    let mut left = 0;
    objects.for_each(None, &mut |_| left += 1);
    assert_eq!(left, 0);
    // And is only there once.
    let count = there + 500;
    for i in 0..count {
        objects.apply(None, &DESCR, addr(0, i), Operation::Init, at(i), 0);
    }
    objects.for_each(None, &mut |_| left += 1);
    assert_eq!((left, objects.stats().pool_used), (count, count));
}

#[test]
fn threads_share_the_pools_whatever_is_switched_on() {
    let all = Switches::SHAPE_2024;
    let each = (0..6).map(|i| all.without(Switches(1 << i)));
    for switches in each.chain((0..=6).map(Switches::first)) {
        run(switches);
    }
}
