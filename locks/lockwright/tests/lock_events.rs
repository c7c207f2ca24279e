//! Lock events of ordinary locks, with the feature `lock_events`. Counts are of the process: one
//! test counts, and another runs it in a process of its own.

#![cfg(feature = "lock_events")]

use std::env;
use std::fs;
use std::process::Command;
use std::thread;

use lockwright::event::{Event, Events};
use lockwright::locks::{Mutex, PvSpinLock, RtMutex};
use lockwright::platform::Platform;
use lockwright::platform::linux::Linux;

fn count(event: Event) -> usize {
    Events::of::<Linux>().get(event)
}

/// An rtmutex that is held until somebody has slept for it, and a spinlock until somebody has
/// halted.
fn contend() {
    let (rtmutex, spinlock) = (RtMutex::new(()), PvSpinLock::new(()));
    let (held, spun) = (rtmutex.lock(), spinlock.lock());
    thread::scope(|scope| {
        scope.spawn(|| drop(rtmutex.lock()));
        scope.spawn(|| drop(spinlock.lock()));
        while count(Event::RtmutexSlowSleep) == 0 || count(Event::PvWaitHead) == 0 {
            thread::yield_now();
        }
        drop((held, spun));
    });
}

#[test]
fn contended_ordinary_locks_count() {
    // The one slow path of no interest here, which the reset below must undo.
    Linux::count(Event::RtmutexDeadlock, 1);
    Events::reset::<Linux>();
    let uncontended = Mutex::new(());
    drop(uncontended.lock());
    contend();
    let events = Events::of::<Linux>();
    for event in [Event::RtmutexSlowlock, Event::RtmutexSlowBlock, Event::RtmutexSlowAcq3] {
        assert_eq!(events.get(event), 1, "{event:?}:\n{events}");
    }
    assert_eq!(events.get(Event::PvKickUnlock), 1, "{events}");
    assert!(events.get(Event::PvHashHops) >= 1, "{events}");
    assert_eq!(events.get(Event::RtmutexDeadlock), 0, "{events}");
}

/// The table of a process that runs the test above, and no other.
#[test]
fn the_table_is_written_at_exit() {
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("lock_event_counts");
    let mut again = Command::new(env::current_exe().unwrap());
    let out = again.arg("contended").env("LOCKWRIGHT_EVENTS", &file).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stdout));
    let table = fs::read_to_string(&file).unwrap();
    let counts: Vec<(&str, &str)> =
        table.lines().map(|line| line.split_once(' ').unwrap()).collect();
    assert_eq!(counts.len(), Event::ALL.len(), "{table}");
    let of = |name| counts.iter().find(|(known, _)| *known == name).unwrap().1.trim();
    assert_eq!(of("rtmutex_slow_acq3"), "1", "{table}");
    assert!(of("pv_hash_hops").contains('.'), "{table}");

    let mut fails = Command::new(env::current_exe().unwrap());
    let out = fails.arg("contended").env("LOCKWRIGHT_EVENTS", "/no/such/folder").output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(said.contains("LOCKWRIGHT_EVENTS=/no/such/folder: "), "{said}");
}
