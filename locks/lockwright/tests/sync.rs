//! The locks of `lockwright::sync` do what those of `std::sync` do: each story runs with both.

macro_rules! stories {
    ($world:ident, $($sync:tt)*) => {
        mod $world {
            use std::panic::{AssertUnwindSafe, catch_unwind};
            use std::thread;
            use std::time::Duration;

            use $($sync)*::atomic::{AtomicUsize, Ordering::Relaxed};
            use $($sync)*::{Arc, Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock, RwLockWriteGuard, TryLockError};

            fn panics(f: impl FnOnce()) {
                assert!(catch_unwind(AssertUnwindSafe(f)).is_err());
            }

            #[test]
            fn a_mutex_excludes() {
                static SUM: Mutex<u32> = Mutex::new(0);
                thread::scope(|scope| {
                    for _ in 0..4 {
                        scope.spawn(|| (0..1000).for_each(|_| *SUM.lock().unwrap() += 1));
                    }
                });
                assert_eq!(*SUM.lock().unwrap(), 4000);
                let guard = SUM.lock().unwrap();
                assert!(matches!(SUM.try_lock(), Err(TryLockError::WouldBlock)));
                drop(guard);
                assert!(SUM.try_lock().is_ok());
            }

            #[test]
            fn a_mutex_is_poisoned_by_a_panic_that_changed_it_only() {
                let mutex = Mutex::new(1);
                panics(|| {
                    let _guard = mutex.lock().unwrap();
                    panic!("with the mutex locked");
                });
                assert!(mutex.is_poisoned());
                assert_eq!(*mutex.lock().unwrap_err().into_inner(), 1);
                assert!(matches!(mutex.try_lock(), Err(TryLockError::Poisoned(_))));
                assert_eq!(format!("{mutex:?}"), "Mutex { data: 1, poisoned: true, .. }");
                mutex.clear_poison();
                assert_eq!(format!("{:?}", mutex.lock().unwrap()), "1");
                struct Late<'a>(&'a Mutex<i32>);
                impl Drop for Late<'_> {
                    fn drop(&mut self) {
                        *self.0.lock().unwrap() += 1;
                    }
                }
                panics(|| {
                    let _late = Late(&mutex);
                    panic!("before the mutex is locked");
                });
                assert!(!mutex.is_poisoned());
                assert_eq!(mutex.into_inner().unwrap(), 2);
            }

            #[test]
            fn a_mutex_guards_what_has_no_size() {
                let shared: Arc<Mutex<dyn Fn(u32) -> u32 + Send>> = Arc::new(Mutex::new(|n| n + 1));
                assert_eq!(shared.lock().unwrap()(1), 2);
            }

            #[test]
            fn an_rwlock_lets_readers_in_together() {
                let lock = RwLock::new(1);
                let mut guard = lock.write().unwrap();
                *guard = 2;
                assert!(matches!(lock.try_read(), Err(TryLockError::WouldBlock)));
                assert!(matches!(lock.try_write(), Err(TryLockError::WouldBlock)));
                let guard = RwLockWriteGuard::downgrade(guard);
                assert_eq!((*guard, *lock.try_read().unwrap()), (2, 2));
                assert!(lock.try_write().is_err());
                drop(guard);
                panics(|| {
                    let _guard = lock.read().unwrap();
                    panic!("as a reader");
                });
                assert!(!lock.is_poisoned());
                panics(|| {
                    let _guard = lock.write().unwrap();
                    panic!("as a writer");
                });
                assert!(lock.is_poisoned() && lock.read().is_err());
                assert_eq!(format!("{lock:?}"), "RwLock { data: 2, poisoned: true, .. }");
                lock.clear_poison();
                assert_eq!(lock.into_inner().unwrap(), 2);
            }

            #[test]
            fn a_condvar_wakes_who_waits() {
                let shared = Arc::new((Mutex::new(0), Condvar::new()));
                let other = Arc::clone(&shared);
                let waiter = thread::spawn(move || {
                    let guard = other.0.lock().unwrap();
                    *other.1.wait_while(guard, |n| *n < 3).unwrap()
                });
                for _ in 0..3 {
                    *shared.0.lock().unwrap() += 1;
                    shared.1.notify_all();
                }
                assert_eq!(waiter.join().unwrap(), 3);
            }

            #[test]
            fn a_condvar_gives_up_in_time() {
                let (mutex, condvar) = (Mutex::new(()), Condvar::new());
                let brief = Duration::from_millis(10);
                let guard = mutex.lock().unwrap();
                let (guard, result) = condvar.wait_timeout_while(guard, brief, |()| true).unwrap();
                assert!(result.timed_out());
                let (_guard, result) = condvar.wait_timeout_while(guard, brief, |()| false).unwrap();
                assert!(!result.timed_out());
            }

            #[test]
            fn a_once_runs_once_and_is_poisoned_by_a_panic() {
                let (once, runs) = (Once::new(), AtomicUsize::new(0));
                panics(|| once.call_once(|| panic!("the first")));
                panics(|| once.call_once(|| unreachable!()));
                assert!(!once.is_completed());
                once.call_once_force(|state| assert!(state.is_poisoned()));
                thread::scope(|scope| {
                    for _ in 0..4 {
                        scope.spawn(|| once.call_once(|| _ = runs.fetch_add(1, Relaxed)));
                    }
                });
                assert!(once.is_completed());
                assert_eq!(runs.load(Relaxed), 0);
            }

            #[test]
            fn a_once_lock_has_one_value_and_drops_it() {
                let value = Arc::new(());
                let lock = OnceLock::new();
                assert!(lock.get().is_none());
                panics(|| _ = lock.get_or_init(|| panic!("no value")));
                thread::scope(|scope| {
                    for _ in 0..4 {
                        scope.spawn(|| lock.get_or_init(|| Arc::clone(&value)));
                    }
                });
                assert_eq!(Arc::strong_count(&value), 2);
                assert!(lock.set(Arc::new(())).is_err());
                drop(lock);
                assert_eq!(Arc::strong_count(&value), 1);
            }

            #[test]
            fn a_lazy_lock_makes_its_value_when_it_is_asked_for() {
                static MADE: AtomicUsize = AtomicUsize::new(0);
                static LAZY: LazyLock<usize> = LazyLock::new(|| MADE.fetch_add(1, Relaxed) + 7);
                assert_eq!(MADE.load(Relaxed), 0);
                assert_eq!((*LAZY, *LAZY, MADE.load(Relaxed)), (7, 7, 1));
                let broken: LazyLock<u32> = LazyLock::new(|| panic!("no value"));
                panics(|| _ = *broken);
                panics(|| _ = *broken);
            }

            /// A thread that waits when the initialisation ends, or that comes later.
            #[test]
            fn a_once_is_waited_for() {
                let (once, lock) = (Once::new(), OnceLock::new());
                thread::scope(|scope| {
                    for _ in 0..3 {
                        scope.spawn(|| once.wait());
                        scope.spawn(|| assert_eq!(*lock.wait(), 7));
                    }
                    scope.spawn(|| once.call_once(thread::yield_now));
                    scope.spawn(|| lock.get_or_init(|| 7));
                });
                once.wait();
                once.wait_force();
                assert_eq!(*lock.wait(), 7);
            }

            #[test]
            fn who_waits_for_a_once_shares_its_panic_or_waits_on() {
                let once = Once::new();
                thread::scope(|scope| {
                    let patient = scope.spawn(|| once.wait_force());
                    let shares = scope.spawn(|| panics(|| once.wait()));
                    panics(|| once.call_once(|| panic!("the first")));
                    shares.join().unwrap();
                    panics(|| once.wait());
                    assert!(!patient.is_finished());
                    once.call_once_force(|state| assert!(state.is_poisoned()));
                    patient.join().unwrap();
                });
                once.wait();
            }

            #[test]
            fn a_wait_of_milliseconds_says_whether_it_was_notified() {
                let (mutex, condvar) = (Mutex::new(1), Condvar::new());
                let guard = mutex.lock().unwrap();
                #[allow(deprecated, reason = "it is there, in both")]
                let (guard, notified) = condvar.wait_timeout_ms(guard, 5).unwrap();
                assert!(!notified || *guard == 1);
            }

            #[test]
            fn a_lazy_lock_is_looked_at_and_changed() {
                let mut lazy: LazyLock<u32> = LazyLock::new(|| 7);
                assert!(LazyLock::get(&lazy).is_none() && LazyLock::get_mut(&mut lazy).is_none());
                *LazyLock::force_mut(&mut lazy) += 1;
                assert_eq!(LazyLock::get(&lazy), Some(&8));
                *LazyLock::get_mut(&mut lazy).unwrap() += 1;
                assert_eq!(*lazy, 9);
            }

            /// Guards that are dropped by a panic poison what they guard before it is released.
            #[test]
            fn a_downgraded_writer_has_poisoned_nothing() {
                let lock = RwLock::new(1);
                panics(|| {
                    let _reader = RwLockWriteGuard::downgrade(lock.write().unwrap());
                    panic!("as a reader");
                });
                assert!(!lock.is_poisoned());
            }

            #[test]
            fn a_barrier_has_one_leader_a_round() {
                let (barrier, leaders) = (Barrier::new(3), AtomicUsize::new(0));
                thread::scope(|scope| {
                    for _ in 0..3 {
                        scope.spawn(|| {
                            for round in 1..=50 {
                                if barrier.wait().is_leader() {
                                    leaders.fetch_add(1, Relaxed);
                                }
                                barrier.wait();
                                assert_eq!(leaders.load(Relaxed), round);
                                barrier.wait();
                            }
                        });
                    }
                });
            }
        }
    };
}

stories!(ours, lockwright::sync);
stories!(std, std::sync);

/// What `std` is about to have.
mod upcoming {
    use std::cell::RefCell;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::thread;

    use lockwright::sync::{
        MappedMutexGuard, Mutex, MutexGuard, ReentrantLock, RwLock, RwLockReadGuard,
        RwLockWriteGuard,
    };

    #[test]
    fn a_mapped_guard_is_one_of_a_part() {
        let pair = Mutex::new((1, Some(2)));
        let first = MutexGuard::map(pair.lock().unwrap(), |pair| &mut pair.0);
        assert!(pair.try_lock().is_err());
        drop(first);
        let second = MutexGuard::filter_map(pair.lock().unwrap(), |pair| pair.1.as_mut());
        let mut second = MappedMutexGuard::map(second.unwrap(), |second| second);
        *second += 1;
        drop(second);
        *pair.lock().unwrap() = (1, None);
        let whole = MutexGuard::filter_map(pair.lock().unwrap(), |pair| pair.1.as_mut());
        assert_eq!(*whole.unwrap_err(), (1, None));
        assert!(!pair.is_poisoned());
    }

    type Section<'a> = &'a dyn Fn(MutexGuard<'_, (i32, i32)>);

    #[test]
    fn a_mapped_guard_poisons_as_the_whole_does() {
        let panics = |lock: &Mutex<(i32, i32)>, section: Section<'_>| {
            let section = AssertUnwindSafe(|| section(lock.lock().unwrap()));
            assert!(catch_unwind(section).is_err() && lock.is_poisoned());
            lock.clear_poison();
            assert!(lock.try_lock().is_ok());
        };
        let lock = Mutex::new((1, 2));
        panics(&lock, &|guard| {
            let _part = MutexGuard::map(guard, |pair| &mut pair.0);
            panic!("with a part");
        });
        panics(&lock, &|guard| {
            let _part = MutexGuard::map(guard, |_| -> &mut i32 { panic!("on the way to it") });
        });
    }

    #[test]
    fn parts_are_read_together_and_written_alone() {
        let pair = RwLock::new((1, 2));
        let left = RwLockReadGuard::map(pair.read().unwrap(), |pair| &pair.0);
        let right = RwLockReadGuard::filter_map(pair.read().unwrap(), |pair| Some(&pair.1));
        assert_eq!((*left, *right.unwrap()), (1, 2));
        assert!(pair.try_write().is_err());
        drop(left);
        *RwLockWriteGuard::map(pair.write().unwrap(), |pair| &mut pair.1) = 3;
        assert_eq!(*pair.read().unwrap(), (1, 3));
    }

    #[test]
    fn a_reentrant_lock_excludes_other_threads() {
        let lock = ReentrantLock::new(RefCell::new(0));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        let outer = lock.lock();
                        *lock.lock().borrow_mut() += 1;
                        *outer.borrow_mut() += 1;
                    }
                });
            }
        });
        let held = lock.lock();
        let tried = thread::scope(|scope| scope.spawn(|| lock.try_lock().is_some()).join());
        assert!(!tried.unwrap() && lock.try_lock().is_some());
        assert_eq!(*held.borrow(), 8000);
    }
}
