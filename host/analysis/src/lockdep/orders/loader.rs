//! The loader's locks in cycles and in handlers: nobody takes them by name, so what helps is to
//! make the calls that take them without a lock, or to do less within these calls.

use lockwright_ledger::rows::{LOADER_LOCK, OBJECT_LIST_LOCK};

use crate::finding::LockOrigin;
use crate::finding::order::{Evidence, OrderFault, Remedy, cycle, loader};
use crate::model::{LockRef, Model};

/// One of the loader's locks.
#[derive(Clone, Copy)]
enum Lock {
    /// The lock of `dlopen` and `dlclose`.
    Loader,
    /// The lock of `dl_iterate_phdr`.
    ObjectList,
}

/// Which of the loader's locks the class is of, if it is of one.
fn lock(model: &Model<'_>, class: u32) -> Option<Lock> {
    let group = model.classes.plain(model.classes.group_of(class));
    let name = (group.origin == LockOrigin::Annotation).then(|| group.name().text);
    match name.as_deref() {
        Some(LOADER_LOCK) => Some(Lock::Loader),
        Some(OBJECT_LIST_LOCK) => Some(Lock::ObjectList),
        _ => None,
    }
}

/// The class is of a lock of the loader's. A thread that holds one gets it again.
pub fn is_loaders(model: &Model<'_>, class: u32) -> bool {
    lock(model, class).is_some()
}

/// A lock of the loader's, and its place among the locks of a cycle.
#[derive(Clone, Copy)]
pub struct Place {
    lock: Lock,
    at: usize,
}

/// The first of the loader's locks among those of a cycle.
pub fn place(model: &Model<'_>, locks: &[LockRef]) -> Option<Place> {
    let mut locks = locks.iter().enumerate();
    locks.find_map(|(at, of)| Some(Place { lock: lock(model, of.class)?, at }))
}

/// Says in a finding about a cycle of `parts` that the one at `place` is a lock of the loader's, and
/// what helps.
pub fn tell(place: Place, parts: usize, what: &mut OrderFault) {
    let Place { lock, at } = place;
    what.evidence.push(match lock {
        Lock::Loader => Evidence::Loader(loader::Evidence::HeldWhileLoading),
        Lock::ObjectList => Evidence::Loader(loader::Evidence::HeldInCallback),
    });
    let remedy = match (what.remedies.first(), lock) {
        (
            Some(Remedy::Cycle(
                cycle::Remedy::TakeBefore { .. } | cycle::Remedy::OrderOfTheirOwn { .. },
            )),
            Lock::Loader,
        ) => Remedy::Loader(loader::Remedy::LoadWithoutLock { loader: at }),
        (
            Some(Remedy::Cycle(
                cycle::Remedy::TakeBefore { .. } | cycle::Remedy::OrderOfTheirOwn { .. },
            )),
            Lock::ObjectList,
        ) => Remedy::Loader(loader::Remedy::ListWithoutLock { list: at }),
        (Some(&Remedy::JoinWithoutLock { end }), Lock::Loader) if (at + 1) % parts == end => {
            Remedy::Loader(loader::Remedy::JoinOutsideLoader { end })
        }
        _ => return,
    };
    what.remedies = vec![remedy];
}
