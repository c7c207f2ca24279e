//! The purpose of a wait for a futex, of a program that is not preloaded, and whether the word is the
//! lock's own.

use lockwright_ledger::rows::meter::futex_call;

use crate::attached::WaitKind;
use crate::attached::waits::kind;
use crate::finding::Frame;
use crate::finding::futex::{FutexKind, FutexUse};
use crate::symbolize::futexes::{folded, is_of_thread, kind_of};

/// What a stack waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Purpose {
    /// What.
    pub kind: WaitKind,
    /// Each waiting thread has a word of its own, whatever it waits for.
    pub is_of_thread: bool,
}

impl Purpose {
    /// Nothing tells it.
    pub const UNKNOWN: Self = Self { kind: WaitKind::Unknown, is_of_thread: false };
}

/// Locks whose waiters have a word each, as [`kind`] calls them.
const OF_THREADS: &[&str] =
    &["parking_lot Mutex", "parking_lot RwLock", "Java monitor", "Abseil Mutex"];

/// Functions of runtimes that say more than those of the C library below them do, by a part of their
/// names; they count where the others say the first.
const RUNTIMES: &[(WaitKind, &str, WaitKind)] = &[
    (
        WaitKind::Event("a condition"),
        "v8::internal::FutexEmulation::Wait",
        WaitKind::Event(ATOMICS_WAIT),
    ),
    (WaitKind::Unknown, "runtime.notetsleep", WaitKind::Idle("Go")),
];

/// Where JavaScript waits.
pub const ATOMICS_WAIT: &str = "Atomics.wait (JavaScript)";

fn of_runtime(kind: WaitKind, stack: &[Frame]) -> Option<WaitKind> {
    let has = |part: &str| {
        let mut names = stack.iter().filter_map(|frame| frame.function.as_deref());
        names.any(|name| name.contains(part))
    };
    let row = RUNTIMES.iter().find(|(below, part, _)| *below == kind && has(part))?;
    Some(row.2)
}

/// The purpose of a wait with this stack: the functions of the C library and of runtimes say it, else
/// those of other libraries.
pub fn purpose(stack: &[Frame]) -> Purpose {
    let kind = kind(stack);
    let known = match of_runtime(kind, stack).unwrap_or(kind) {
        WaitKind::Unknown => of_libraries(stack),
        kind => Purpose { kind, is_of_thread: false },
    };
    let is_of_thread = match known.kind {
        WaitKind::Lock(what) => known.is_of_thread || OF_THREADS.contains(&what),
        _ => known.is_of_thread,
    };
    Purpose { is_of_thread, ..known }
}

fn of_libraries(stack: &[Frame]) -> Purpose {
    // The function of the C library that makes the call.
    let is_call = |frame: &Frame| frame.function.as_deref() == Some("syscall");
    let stack = if stack.first().is_some_and(is_call) { &stack[1..] } else { stack };
    let FutexKind { used_as, of } = kind_of(futex_call::WAIT, stack);
    let kind = match (used_as, of) {
        (FutexUse::Lock | FutexUse::Once, Some(of)) => WaitKind::Lock(of),
        (FutexUse::Unknown, Some(of)) if !is_of_thread(FutexKind { used_as, of: Some(of) }) => {
            WaitKind::Event(of)
        }
        (FutexUse::Unknown, Some(of)) => WaitKind::Lock(of),
        (_, Some(of)) => WaitKind::Event(of),
        (_, None) => WaitKind::Unknown,
    };
    Purpose { kind, is_of_thread: is_of_thread(FutexKind { used_as, of }) }
}

/// The function that waits at a word of its thread, out of the lock's own library: with the kind all
/// that tells such locks apart.
pub fn waiting_function(stack: &[Frame]) -> String {
    let folded = folded(stack);
    let own = folded.iter().find(|frame| !frame.wraps);
    own.map_or_else(String::new, |frame| match &frame.function {
        Some(function) => function.clone(),
        None => format!("{} {:x}", frame.module.as_deref().unwrap_or_default(), frame.offset),
    })
}

/// Code that a program generated as it ran: it has neither name nor file, and may move.
pub fn is_generated(frame: &Frame) -> bool {
    frame.module.is_none() && frame.function.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attached::waits::tests::stack;

    #[test]
    fn words_of_threads_are_told_from_words_of_locks() {
        let of = |functions: &[&str]| {
            let purpose = purpose(&stack(functions));
            (purpose.kind, purpose.is_of_thread)
        };
        let parked = ["syscall", "parking_lot::raw_mutex::RawMutex::lock_slow", "take"];
        assert_eq!(of(&parked), (WaitKind::Lock("parking_lot Mutex"), true));
        assert_eq!(waiting_function(&stack(&parked)), "take");
        let rust = ["syscall", "std::sys::sync::mutex::futex::Mutex::lock_contended", "take"];
        assert_eq!(of(&rust), (WaitKind::Lock("Rust Mutex"), false));
        let tbb = ["syscall", "tbb::detail::d1::mutex::lock", "take"];
        assert_eq!(of(&tbb), (WaitKind::Lock("tbb::mutex"), true));
        assert_eq!(of(&["__lll_lock_wait", "pthread_mutex_lock"]), (WaitKind::Mutex, false));
    }

    #[test]
    fn what_is_no_lock_of_a_library_is_none_here() {
        let of = |function| purpose(&stack(&["syscall", function, "main"])).kind;
        assert_eq!(of("std::atomic<int>::wait"), WaitKind::Event("std::atomic::wait"));
        assert_eq!(
            of("std::counting_semaphore<1l>::acquire()"),
            WaitKind::Event("std::counting_semaphore")
        );
        assert_eq!(of("folly::Baton<true>::wait"), WaitKind::Event("folly::Baton"));
        assert_eq!(of("something"), WaitKind::Unknown);
        assert_eq!(of("runtime.notetsleep_internal"), WaitKind::Idle("Go"));
        let wait = ["pthread_cond_wait", "v8::internal::FutexEmulation::WaitSync<int>"];
        assert_eq!(purpose(&stack(&wait)).kind, WaitKind::Event(ATOMICS_WAIT));
        let lock = [
            "__lll_lock_wait",
            "pthread_mutex_lock",
            "v8::internal::FutexEmulation::WaitSync<int>",
        ];
        assert_eq!(purpose(&stack(&lock)).kind, WaitKind::Mutex);
    }
}
