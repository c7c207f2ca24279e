//! The words for a lock in a list of all that were waited for.

use super::words::plain;
use super::{futexes, kernel_locks};
use lockwright_analysis::attached::WaitKind;
use lockwright_analysis::finding::lock_kind::LockKind;
use lockwright_analysis::traced::Waited;

/// Its kind and name.
pub fn what(lock: &Waited<'_>) -> String {
    match lock {
        Waited::Lock(lock) if lock.is_symbol => {
            format!("{} `{}`", LockKind::of(lock.kind).name(), plain(&lock.name))
        }
        Waited::Lock(lock) => plain(&lock.name),
        Waited::Futex(wait) => {
            wait.futex.as_ref().map_or_else(|| "futex".to_owned(), futexes::head)
        }
        Waited::Inner(lock) => {
            let kind = match lock.kind {
                WaitKind::Lock(what) => what,
                WaitKind::Mutex => "mutex",
                WaitKind::RwlockRead | WaitKind::RwlockWrite => "rwlock",
                _ => "futex",
            };
            match (&lock.name, &lock.addresses[..]) {
                (Some(name), _) => format!("{kind} `{}`", plain(&name.text)),
                (None, [address]) => format!("{kind} at {address:#x}"),
                (None, _) => format!("one {kind} or several"),
            }
        }
        Waited::Kernel(lock) => {
            let whose = if lock.is_named { "kernel's" } else { "lock of the kernel's" };
            format!("{whose} {} ({})", kernel_locks::name(lock), kernel_locks::kinds(lock))
        }
    }
}

/// The owner, in a word.
pub const fn of(lock: &Waited<'_>) -> &'static str {
    match lock {
        Waited::Lock(_) => "program",
        Waited::Futex(_) | Waited::Inner(_) => "futex",
        Waited::Kernel(_) => "kernel",
    }
}
