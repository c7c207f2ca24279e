//! The types of `lockwright::sync` may be sent, shared, and looked at after a panic exactly where
//! those of `std::sync` may.

use std::cell::Cell;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::rc::Rc;

/// A method on `Probe` for a type that has the trait goes before that of `Without`, which all have.
struct Probe<T: ?Sized>(PhantomData<T>);

macro_rules! probes {
    ($($trait:ident $has:ident $without:ident;)*) => { $(
        trait $without {
            const $has: bool = false;
        }
        impl<T: ?Sized> $without for Probe<T> {}
        impl<T: ?Sized + $trait> Probe<T> {
            const $has: bool = true;
        }
    )* };
}

probes! {
    Send SEND NotSend;
    Sync SYNC NotSync;
    UnwindSafe UNWIND_SAFE NotUnwindSafe;
    RefUnwindSafe REF_UNWIND_SAFE NotRefUnwindSafe;
}

/// What a type may be used for.
macro_rules! traits {
    ($ty:ty) => {
        [
            ("Send", Probe::<$ty>::SEND),
            ("Sync", Probe::<$ty>::SYNC),
            ("UnwindSafe", Probe::<$ty>::UNWIND_SAFE),
            ("RefUnwindSafe", Probe::<$ty>::REF_UNWIND_SAFE),
        ]
    };
}

/// Asserts that the generic types are alike, around values of each sort; `$alias` is the type that
/// `$sync` is to stand in.
macro_rules! alike {
    ($($alias:ident = $name:ident $args:tt;)*) => { $(
        macro_rules! $alias {
            ($value:ty) => {
                alike!(@one $name $args $value)
            };
        }
        $alias!(u8);
        $alias!(Cell<u8>);
        $alias!(Rc<u8>);
        $alias!(&'static mut u8);
        $alias!(*const u8);
        $alias!(&'static Cell<u8>);
        $alias!(std::sync::MutexGuard<'static, u8>);
    )* };
    (@one $name:ident [] $value:ty) => {
        alike!(@assert $name $value, traits!(lockwright::sync::$name<$value>), traits!(std::sync::$name<$value>))
    };
    (@one $name:ident [guard] $value:ty) => {
        alike!(@assert $name $value, traits!(lockwright::sync::$name<'static, $value>), traits!(std::sync::$name<'static, $value>))
    };
    (@one $name:ident [by $by:ty] $value:ty) => {
        alike!(@assert $name $value, traits!(lockwright::sync::$name<$value, $by>), traits!(std::sync::$name<$value, $by>))
    };
    (@assert $name:ident $value:ty, $ours:expr, $std:expr) => {
        $ours.into_iter().zip($std).filter(|(ours, std)| ours != std).for_each(|(ours, std)| {
            let (name, value) = (stringify!($name), stringify!($value));
            panic!("{name}<{value}> is {} {}, std's {}", ours.0, ours.1, std.1);
        })
    };
}

#[test]
fn types_are_sent_and_shared_as_those_of_std() {
    alike! {
        mutex = Mutex [];
        mutex_guard = MutexGuard [guard];
        rw_lock = RwLock [];
        read_guard = RwLockReadGuard [guard];
        write_guard = RwLockWriteGuard [guard];
        once_lock = OnceLock [];
        lazy_lock = LazyLock [];
        lazy_lock_sent = LazyLock [by Box<dyn FnOnce() -> u8 + Send>];
        lazy_lock_kept = LazyLock [by Rc<u8>];
    }
    // `OnceState` is only ever given by reference.
    macro_rules! plain {
        ($($name:ident)*) => { $(
            assert_eq!(
                traits!(lockwright::sync::$name),
                traits!(std::sync::$name),
                stringify!($name)
            );
        )* };
    }
    plain!(Condvar Once Barrier BarrierWaitResult WaitTimeoutResult);
}

/// The probe's own test.
#[test]
fn a_probe_sees_what_a_type_is() {
    assert_eq!(traits!(u8).map(|(_, has)| has), [true; 4]);
    assert_eq!(traits!(Rc<Cell<u8>>).map(|(_, has)| has), [false; 4]);
    assert_eq!(traits!(&'static mut u8).map(|(_, has)| has), [true, true, false, true]);
}
