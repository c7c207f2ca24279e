//! Sentences about a thread's action in a step.

use super::object::words::{self as words, Verb, Words};
use super::words::{join, who};
use lockwright_analysis::finding::action::{Access, Action, Change, ObjectAction};
use lockwright_analysis::finding::{Finding, LockInfo, Name};

/// The parts of a sentence before the lock's name and after it.
fn parts(action: Action) -> (&'static str, &'static str) {
    use Access::{Exclusive, Read, Upgradable, Write};
    match action {
        Action::Acquires { access: Upgradable, timed: false } => {
            ("acquires", " for upgradable reading")
        }
        Action::Acquires { access: Upgradable, timed: true } => {
            ("acquires", " for upgradable reading with a timeout")
        }
        Action::Acquires { access, timed } => {
            let verb = match access {
                Exclusive | Upgradable => "acquires",
                Read => "read-acquires",
                Write => "write-acquires",
            };
            (verb, if timed { " with a timeout" } else { "" })
        }
        Action::Reacquires => ("reacquires", " after a condition wait"),
        Action::WaitsAtBarrier => ("waits at the barrier", ""),
        Action::CallsOnce => ("calls pthread_once for", ""),
        Action::Enters => ("enters", ""),
        Action::WaitsFor => ("waits for", ""),
        Action::WaitsToRead => ("waits to read-acquire", ""),
        Action::WaitsToReacquire => ("waits to reacquire", " after a condition wait"),
        Action::WaitsToJoin => ("waits to join", ""),
        Action::WaitsForEnd { timed: false } => ("waits for", ""),
        Action::WaitsForEnd { timed: true } => ("waits for", " with a timeout"),
        Action::WaitsOnCondition => ("waits on a condition variable with", ""),
        Action::WaitsForPost => ("waits for a post of", ""),
        Action::WaitsAtFutex => ("waits for", ""),
        Action::Signals => ("signals a condition variable that is waited on with", ""),
        Action::Posts => ("posts", ""),
        Action::Wakes => ("wakes those that wait for", ""),
        Action::WouldAcquireInHandler { timed: true, .. } => {
            ("would acquire", " with a timeout in a signal handler")
        }
        Action::WouldAcquireInHandler { reads: true, .. } => {
            ("would read-acquire", " in a signal handler")
        }
        Action::WouldAcquireInHandler { .. } => ("would acquire", " in a signal handler"),
        Action::NeverUnlocks(Exclusive) => ("acquires and never unlocks", ""),
        Action::NeverUnlocks(Read | Upgradable) => ("read-acquires and never unlocks", ""),
        Action::NeverUnlocks(Write) => ("write-acquires and never unlocks", ""),
        Action::ReleasesRead => ("releases a read lock of", ""),
        Action::Unlocks => ("unlocks", ""),
        Action::Frees => ("frees", ""),
        Action::Destroys => ("destroys", ""),
        Action::Initialises => ("initialises", ""),
        Action::UsesDestroyed => ("uses", " after its destruction"),
        Action::UsesInChild => ("uses", " in the child process"),
        Action::CallsInHandler => ("calls", " in a signal handler"),
        Action::CallsOutside => ("calls outside", ""),
        Action::MaySleepHolding => ("makes a call that may sleep, holding", ""),
        Action::IdlesHolding => ("idles, still holding", ""),
        Action::CallsBackHolding => ("calls back, holding", ""),
        Action::AssertsHeld => ("asserts to hold", ""),
        Action::AssertsNotHeld => ("asserts not to hold", ""),
        Action::Took(Exclusive) => ("took", ""),
        Action::Took(Read) => ("read-acquired", ""),
        Action::Took(Upgradable) => ("acquired", " for upgradable reading"),
        Action::Took(Write) => ("write-acquired", ""),
        Action::TookInParent => ("took", " in the parent process"),
        Action::Pinned => ("pinned", ""),
        Action::Destroyed => ("destroyed", ""),
        Action::Object(ty, action) => object(words::of(ty), action),
    }
}

fn object(words: &Words, action: ObjectAction) -> (&'static str, &'static str) {
    match action {
        ObjectAction::Does(change) => (verb(words, change).now, ""),
        ObjectAction::Did(change) => (verb(words, change).then, ""),
        ObjectAction::DidInParent(change) => match change {
            Change::Init => ("initialised", " in the parent process"),
            Change::Activate | Change::Deactivate => ("used", " in the parent process"),
            Change::Destroy => ("destroyed", " in the parent process"),
        },
        ObjectAction::HasInUse => (words.user, ""),
        ObjectAction::Ends(how) => words::gone(how).act,
        ObjectAction::ChangesState => ("changes the state of", ""),
        ObjectAction::Uses => ("uses", ""),
    }
}

fn verb(words: &Words, change: Change) -> Verb {
    match change {
        Change::Init => words.init,
        Change::Activate => words.activate,
        Change::Deactivate => words.deactivate,
        Change::Destroy => words.destroy,
    }
}

/// The action by itself: "acquires", "reacquires after a condition wait".
pub fn phrase(action: Action) -> String {
    let (verb, tail) = parts(action);
    format!("{verb}{tail}")
}

/// Who did step `index` of a finding, and what, and what it held then: "thread 2 (worker) acquires
/// `b` while holding `a`". `quote` has the names of locks.
pub fn doing(finding: &Finding, index: usize, quote: impl Fn(&Name) -> String) -> String {
    let step = &finding.steps[index];
    let lock = finding.locks.get(step.lock);
    let unknown = Name::symbol("?");
    let name = lock.map_or(&unknown, |lock| &lock.name);
    let part = || step.held.iter().filter(|held| held.lock.is_some());
    let besides: Vec<String> =
        part().filter(|held| held.lock != Some(step.lock)).map(|held| quote(&held.name)).collect();
    let mut title = format!("{} {}", who(finding, index), act(step.action, &quote(name)));
    if besides.len() < part().count() && !finding.kind.is_misuse() {
        title += match lock {
            Some(LockInfo { addr: Some(_), .. }) => ", which it holds already",
            _ => " while holding another of its class",
        };
    } else if !besides.is_empty() {
        title += &format!(" while holding {}", join(&besides));
    }
    title
}

/// The action with the lock in its place: "acquires `a`", "reacquires `a` after a condition wait".
pub fn act(action: Action, lock: &str) -> String {
    let (verb, tail) = parts(action);
    format!("{verb} {lock}{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_stand_after_their_verb() {
        let acquires = Action::Acquires { access: Access::Exclusive, timed: false };
        assert_eq!(act(acquires, "`a`"), "acquires `a`");
        assert_eq!(act(Action::WaitsFor, "`a`"), "waits for `a`");
        assert_eq!(act(Action::Reacquires, "`a`"), "reacquires `a` after a condition wait");
        assert_eq!(phrase(Action::Reacquires), "reacquires after a condition wait");
    }
}
