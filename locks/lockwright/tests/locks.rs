//! The locks by their names: each excludes, in threads, through `lock_api`, traced and untraced.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use lock_api::{Mutex, RawMutex, RawMutexTimed, RawRwLock, RwLock, RwLockWriteGuard};
use lockwright::locks;
use lockwright::traced::Traced;

const THREADS: u32 = 3;
const ROUNDS: u32 = 2000;

fn excludes<R: RawMutex + Sync>(mutex: &Mutex<R, u32>) {
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| (0..ROUNDS).for_each(|_| *mutex.lock() += 1));
        }
    });
    let guard = mutex.lock();
    assert_eq!(*guard, THREADS * ROUNDS);
    assert!(mutex.is_locked() && mutex.try_lock().is_none());
    drop(guard);
    assert!(mutex.try_lock().is_some());
}

fn lets_readers_in<R: RawRwLock + Sync>(lock: &RwLock<R, u32>) {
    let (written, read) = (Barrier::new(THREADS as usize), Barrier::new(THREADS as usize));
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    *lock.write() += 1;
                    assert_ne!(*lock.read(), 0);
                }
                // All readers are in at once, or none would get out.
                written.wait();
                let _guard = lock.read();
                read.wait();
            });
        }
    });
    let guard = lock.write();
    assert_eq!(*guard, THREADS * ROUNDS);
    assert!(lock.is_locked_exclusive() && lock.try_read().is_none());
    drop(guard);
    assert!(lock.try_read().is_some() && !lock.is_locked());
}

macro_rules! each {
    ($($name:ident: $test:ident $kind:ident $lock:ident;)*) => { $(
        #[test]
        fn $name() {
            fn traced<R>(_: &locks::$lock<u32>, test: impl Fn(&$kind<Traced<R>, u32>))
            where
                locks::$lock<u32>: Is<$kind<R, u32>>,
                $kind<Traced<R>, u32>: Default,
            {
                test(&Default::default());
            }
            let lock = locks::$lock::new(0);
            $test(&lock);
            traced(&lock, $test);
        }
    )* };
}

/// The type itself.
trait Is<T> {}
impl<T> Is<T> for T {}

each! {
    test_and_set: excludes Mutex TasLock;
    ticket: excludes Mutex TicketLock;
    mcs: excludes Mutex McsLock;
    qspinlock: excludes Mutex SpinLock;
    hybrid_mutex: excludes Mutex HybridMutex;
    mutex: excludes Mutex Mutex;
    rtmutex: excludes Mutex RtMutex;
    pvqspinlock: excludes Mutex PvSpinLock;
    hybrid_rwlock: lets_readers_in RwLock HybridRwLock;
    biased_rwlock: lets_readers_in RwLock BiasedRwLock;
    rwsem: lets_readers_in RwLock RwSemaphore;
    qrwlock: lets_readers_in RwLock RwLock;
    percpu_rwsem: lets_readers_in RwLock PercpuRwSemaphore;
}

fn gives_up<R: RawMutexTimed<Duration = Duration, Instant = Instant> + Sync>(mutex: &Mutex<R, ()>) {
    let _guard = mutex.lock();
    let begun = Instant::now();
    let brief = Duration::from_millis(20);
    thread::scope(|scope| {
        scope.spawn(|| assert!(mutex.try_lock_for(brief).is_none()));
        scope.spawn(|| assert!(mutex.try_lock_until(begun + brief).is_none()));
    });
    assert!(begun.elapsed() >= brief);
}

#[test]
fn what_has_deadlines_gives_up() {
    gives_up(&locks::Mutex::new(()));
    gives_up(&Mutex::<Traced<parking_lot::RawMutex>, ()>::new(()));
    assert!(locks::Mutex::new(()).try_lock_for(Duration::MAX).is_some(), "that is for ever");
}

#[test]
fn a_writer_becomes_a_reader() {
    let lock = locks::RwSemaphore::new(1);
    let reader = RwLockWriteGuard::downgrade(lock.write());
    assert_eq!((*reader, *lock.try_read().unwrap()), (1, 1));
    assert!(lock.try_write_for(Duration::from_millis(1)).is_none());
}

#[test]
fn a_fair_unlock_lets_others_in() {
    use lock_api::{MutexGuard, RawMutexFair};

    fn takes_turns<R: RawMutexFair + Sync>(mutex: &Mutex<R, u32>) {
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    let mut guard = mutex.lock();
                    for _ in 0..ROUNDS {
                        *guard += 1;
                        MutexGuard::bump(&mut guard);
                    }
                    MutexGuard::unlock_fair(guard);
                });
            }
        });
        assert_eq!(*mutex.lock(), THREADS * ROUNDS);
    }
    takes_turns(&locks::HybridMutex::new(0));
    takes_turns(&Mutex::<Traced<parking_lot::RawMutex>, _>::new(0));
}

/// Upgradable readers, by `lock_api`, traced and untraced.
#[test]
fn a_reader_becomes_a_writer_and_a_reader_again() {
    use lock_api::RwLockUpgradableReadGuard as Upgradable;

    fn upgrades<R>(lock: &RwLock<R, u32>)
    where
        R: lock_api::RawRwLockUpgradeTimed<Duration = Duration, Instant = Instant>
            + lock_api::RawRwLockUpgradeDowngrade
            + lock_api::RawRwLockUpgradeFair,
    {
        let brief = Duration::from_millis(1);
        let upgradable = lock.upgradable_read();
        assert!(lock.try_upgradable_read_for(brief).is_none());
        let reader = lock.try_read().expect("readers may come");
        let upgradable = Upgradable::try_upgrade(upgradable).expect_err("somebody reads");
        let upgradable = Upgradable::try_upgrade_for(upgradable, brief).expect_err("likewise");
        drop(reader);
        let mut writer = Upgradable::upgrade(upgradable);
        *writer += 1;
        assert!(lock.try_read().is_none());
        let upgradable = RwLockWriteGuard::downgrade_to_upgradable(writer);
        assert!(lock.try_read().is_some() && lock.try_write().is_none());
        let reader = Upgradable::downgrade(upgradable);
        Upgradable::unlock_fair(lock.try_upgradable_read().expect("only readers are inside"));
        assert_eq!(*reader, 1);
        drop(reader);
        RwLockWriteGuard::unlock_fair(lock.write());
        assert!(!lock.is_locked());
    }
    upgrades(&locks::HybridRwLock::new(0));
    upgrades(&locks::BiasedRwLock::new(0));
    upgrades(&RwLock::<Traced<parking_lot::RawRwLock>, _>::new(0));
}

#[test]
fn tracing_costs_no_memory_beyond_a_byte() {
    assert_eq!(size_of::<Traced<parking_lot::RawMutex>>(), 2);
}
