//! lockdep's engine on semaphores that are taken for no locks from the start.

mod host;

use host::Host;
use lockwright_engines::lockdep::Origin;
use lockwright_ledger::rows::{Class, lock_kind};

#[test]
fn semaphores_are_taken_for_none_ahead_as_long_as_one_by_one() {
    let mut host = Host::new();
    let born = |host: &mut Host| {
        host.core.new_lock(lock_kind::SEMAPHORE, Origin::Init(&[9])).expect("a class")
    };
    let counts = |host: &Host, class: u32| {
        let &Class { locks, handed_over, .. } = host.core.ledger().get(class).expect("a class");
        (locks, handed_over)
    };
    let class = born(&mut host).class();
    assert_eq!(host.core.nones_to_come(class), 0, "it may be a lock");
    for _ in 0..64 {
        let ident = born(&mut host);
        host.core.hand_over(None, 0x1000, ident);
    }
    assert_eq!(counts(&host, class), (65, 64));
    // The first sixteen of 256 are watched.
    let ahead = host.core.nones_to_come(class);
    assert_eq!(ahead, 256 - 65);
    host.core.count_new_nones(class, ahead);
    assert_eq!(counts(&host, class), (256, 255));
    for _ in 0..15 {
        let ident = born(&mut host);
        assert!(!host.core.takes_for_none(ident), "it is watched");
        host.core.hand_over(None, 0x1000, ident);
    }
    let ident = born(&mut host);
    assert!(host.core.takes_for_none(ident));
    assert_eq!((counts(&host, class), host.core.nones_to_come(class)), ((272, 271), 240));
    // Those that live are locks, for all that is known.
    for _ in 0..64 {
        born(&mut host);
    }
    assert_eq!(host.core.nones_to_come(class), 0);
}
