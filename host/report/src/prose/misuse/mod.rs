//! Misuse of locks, in words: a file for each kind of finding has its title, its evidence, its
//! remedy, and their tests.

mod bad_unlock_balance;
mod callback_with_lock_held;
mod condvar_mutex_mismatch;
mod exit_with_lock_held;
mod fork_with_lock_held;
mod held_lock_destroyed;
mod held_lock_freed;
mod held_lock_initialised;
mod invalid_wait_context;
mod leaked_lock;
mod lock_not_held;
mod lost_wakeup;
mod sleep_with_spinlock_held;
#[cfg(test)]
mod testing;
mod unlock_inconsistent;
mod unpinned;
mod unsafe_call;
mod use_after_destroy;
mod wait_with_lock_held;

use lockwright_analysis::finding::misuse::{
    ConditionUse, Context, Kept, LeftHeld, Lifetime, Misuse, Unlock,
};
use lockwright_analysis::finding::{Finding, Name, ThreadInfo};

use super::sentences::Sentences;
use super::words::{self, quote};

/// What has the sentences about a misuse.
pub fn sentences(misuse: &Misuse) -> &dyn Sentences {
    match misuse {
        Misuse::Unlock(unlock) => match unlock {
            Unlock::BadUnlockBalance(what) => what,
            Unlock::UnlockInconsistent(what) => what,
            Unlock::Unpinned(what) => what,
        },
        Misuse::Lifetime(lifetime) => match lifetime {
            Lifetime::HeldLockFreed(what) => what,
            Lifetime::HeldLockDestroyed(what) => what,
            Lifetime::HeldLockInitialised(what) => what,
            Lifetime::UseAfterDestroy(what) => what,
        },
        Misuse::LeftHeld(left) => match left {
            LeftHeld::ExitWithLockHeld(what) => what,
            LeftHeld::LeakedLock(what) => what,
            LeftHeld::ForkWithLockHeld(what) => what,
        },
        Misuse::Kept(kept) => match kept {
            Kept::WaitWithLockHeld(what) => what,
            Kept::CallbackWithLockHeld(what) => what,
        },
        Misuse::ConditionUse(condition) => match condition {
            ConditionUse::LostWakeup(what) => what,
            ConditionUse::CondvarMutexMismatch(what) => what,
        },
        Misuse::Context(context) => match context {
            Context::UnsafeCall(what) => what,
            Context::InvalidWaitContext(what) => what,
            Context::SleepWithSpinlockHeld(what) => what,
            Context::LockNotHeld(what) => what,
        },
    }
}

/// The names that the sentences share.
struct Names {
    /// The lock.
    lock: String,
    /// The other locks of the finding.
    others: String,
    others_count: usize,
    /// Who did it.
    who: String,
}

impl Names {
    fn of(finding: &Finding) -> Self {
        Self::with_others(finding, usize::MAX)
    }

    /// The same, with the first `most` of the other locks.
    fn with_others(finding: &Finding, most: usize) -> Self {
        let names: Vec<Name> = finding.locks.iter().map(|lock| lock.name.clone()).collect();
        let (lock, others) = match names.split_first() {
            Some((first, others)) => (quote(first), others),
            None => ("a lock".to_owned(), &[][..]),
        };
        let who = finding.steps.first().map_or_else(String::new, |step| step.thread.to_string());

        let others = &others[..others.len().min(most)];
        Self { lock, others: words::locks(others), others_count: others.len(), who }
    }

    /// The same, of a lock in one sentence with a condition variable. A structure without debug
    /// information lends its name to all of its members.
    fn beside(condvar: Option<&Name>, finding: &Finding) -> Self {
        let mut names = Self::of(finding);
        if let (Some(condvar), Some(info)) = (condvar, finding.locks.first())
            && condvar.is_symbol
            && condvar.text == info.name.text
        {
            names.lock = format!("the {} {}", info.kind, names.lock);
        }
        names
    }
}

/// A condition variable in a sentence; of one that is called as its mutex is, also what it is.
fn condition(condvar: Option<&Name>, finding: &Finding, unknown: &str) -> String {
    let Some(condvar) = condvar else { return unknown.to_owned() };
    match finding.locks.iter().any(|lock| lock.name == *condvar) {
        true => format!("the condition variable {}", quote(condvar)),
        false => quote(condvar),
    }
}

/// Who held the lock that `who` did something to.
fn held_by(holder: Option<&ThreadInfo>, who: &str) -> String {
    match holder {
        Some(other) => format!("{other} held it at that moment"),
        None => format!("{who} held it itself at that moment"),
    }
}
