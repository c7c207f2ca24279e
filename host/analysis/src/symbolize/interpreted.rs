//! Frames of functions that an interpreter runs, instead of the interpreter's own.
//!
//! A recorded stack has return addresses first and then the interpreter's frames, both innermost
//! first. Each call of the interpreter's loop runs some of these, up to one that is marked: they
//! stand where the loop stands among the return addresses. What else the interpreter's own module
//! has on the stack is how it calls itself and what it offers to programs, by the names of their
//! language; it is left out. Where it takes its global lock, as it does of its own accord in
//! whatever function, its frames stay.

use std::path::Path;

use lockwright_ledger::rows::{Interpreted, interpreted_flag};
use lockwright_ledger::{Ledger, layout};

use crate::finding::Frame;

/// CPython's loop, which runs the program's functions.
const LOOP: &str = "_PyEval_EvalFrameDefault";

/// CPython's functions that take and release its global lock. Those with names in stripped files
/// are the ones with capitals.
const GLOBAL_LOCK: &[&str] = &[
    "take_gil",
    "drop_gil",
    "PyEval_AcquireLock",
    "PyEval_AcquireThread",
    "PyEval_ReleaseThread",
    "PyEval_RestoreThread",
    "PyEval_SaveThread",
    "PyGILState_Ensure",
    "PyGILState_Release",
];

/// Classes of CPython's threading.py whose methods wrap the lock that each of them has.
const LOCK_CLASSES: &[&str] =
    &["Barrier", "BoundedSemaphore", "Condition", "Event", "RLock", "Semaphore", "_RLock"];

/// A frame of the interpreter's list.
pub struct Inner {
    frame: Frame,
    /// A call of the loop began with it.
    is_entry: bool,
}

impl Inner {
    /// What an element of a stack stands for; `None` for a return address.
    pub fn of(ledger: &Ledger, element: u64) -> Option<Self> {
        let row = ledger.get::<Interpreted>(layout::interpreted(element)?).unwrap_or_default();
        let text = |text| Some(ledger.text(text)).filter(|text| !text.is_empty());
        let is_entry = row.flags & interpreted_flag::ENTRY != 0;
        Some(Self::new(text(row.file), text(row.function), row.line, is_entry))
    }

    /// A function of a file, at a line, which is 0 if nobody knows.
    pub fn new(file: Option<String>, function: Option<String>, line: u32, is_entry: bool) -> Self {
        let wraps = file.as_deref().zip(function.as_deref()).is_some_and(|(f, n)| wraps(f, n));
        let frame = Frame {
            function,
            line: (line != 0).then_some(line),
            // Its module, as far as it has one: this is what rules can name.
            module: file.clone(),
            wraps,
            file,
            ..Frame::default()
        };
        Self { frame, is_entry }
    }

    /// A call of the loop began with it.
    pub fn ends_call(&mut self) {
        self.is_entry = true;
    }
}

/// The function is one of CPython's library that wraps a lock.
fn wraps(file: &str, function: &str) -> bool {
    let path = Path::new(file);
    let folder = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    path.file_name().is_some_and(|name| name == "threading.py")
        && folder.is_some_and(|folder| folder.starts_with("python3."))
        && LOCK_CLASSES.contains(&function.split('.').next().unwrap_or_default())
}

/// The stack as the program's author sees it.
pub fn woven(native: Vec<Frame>, inner: Vec<Inner>) -> Vec<Frame> {
    let is_loop = |frame: &Frame| frame.function.as_deref().is_some_and(|f| f.starts_with(LOOP));
    let at = native.iter().position(is_loop).or_else(|| native.iter().position(is_interpreters));
    let Some(at) = at.filter(|_| !inner.is_empty()) else {
        let inner = inner.into_iter().map(|inner| inner.frame);
        return native.into_iter().chain(inner).collect();
    };
    let module = native[at].module.clone();
    let is_own = |frame: &Frame| frame.module == module;
    let is_for_itself = |frame: &Frame| {
        is_own(frame) && frame.function.as_deref().is_some_and(|f| GLOBAL_LOCK.contains(&f))
    };
    let has_loop = is_loop(&native[at]);
    let kept = match has_loop {
        true if native[..at].iter().any(is_for_itself) => at,
        true => 0,
        false => native.iter().rposition(is_for_itself).map_or(0, |last| last + 1),
    };
    // Without the loop's name, each stretch of the interpreter's own frames has at least one call of it, and the last has the
    // rest.
    let begins = |i: usize| is_own(&native[i]) && (i == kept || !is_own(&native[i - 1]));
    let last = (kept..native.len()).rfind(|&i| begins(i)).filter(|_| !has_loop);
    let runs: Vec<bool> = (0..native.len())
        .map(|i| match has_loop {
            true => i >= at && is_loop(&native[i]) && is_own(&native[i]),
            false => i >= kept && begins(i),
        })
        .collect();
    let mut inner = inner.into_iter();
    let mut stack = Vec::with_capacity(native.len());
    for (i, frame) in native.into_iter().enumerate() {
        if runs[i] {
            for Inner { frame, is_entry } in inner.by_ref() {
                stack.push(frame);
                if is_entry && last != Some(i) {
                    break;
                }
            }
        } else if i < kept || frame.module != module {
            stack.push(frame);
        }
    }
    // Where not all return addresses were recorded.
    stack.extend(inner.map(|inner| inner.frame));
    stack
}

/// The frame is of CPython's own program or library. A stripped one whose loop is divided into functions that call each
/// other at their ends, as 3.14 can be built, has no name for them.
fn is_interpreters(frame: &Frame) -> bool {
    let file = frame.module.as_deref().and_then(|module| Path::new(module).file_name()?.to_str());
    file.is_some_and(|file| file.starts_with("python3.") || file.starts_with("libpython3."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn native(module: &str, function: &str) -> Frame {
        let function = Some(function.to_owned()).filter(|function| !function.is_empty());
        Frame { function, module: Some(module.to_owned()), ..Frame::default() }
    }

    fn inner(function: &str, is_entry: bool) -> Inner {
        Inner { frame: native("app.py", function), is_entry }
    }

    fn names(stack: &[Frame]) -> Vec<&str> {
        stack.iter().map(|frame| frame.function.as_deref().unwrap_or("?")).collect()
    }

    #[test]
    fn each_call_of_the_loop_has_its_functions() {
        let stack = vec![
            native("python3", "PyThread_acquire_lock_timed"),
            native("python3", ""),
            native("python3", LOOP),
            native("python3", "_PyEval_Vector"),
            native("_ext.so", "call_back"),
            native("python3", LOOP),
            native("python3", "Py_RunMain"),
            native("libc.so.6", "__libc_start_main"),
        ];
        let list = vec![inner("take", false), inner("work", true), inner("<module>", true)];
        let woven = woven(stack, list);
        let expected = ["take", "work", "call_back", "<module>", "__libc_start_main"];
        assert_eq!(names(&woven), expected);
    }

    #[test]
    fn what_the_interpreter_does_itself_stays() {
        let stack = vec![native("python3", "take_gil"), native("python3", LOOP)];
        assert_eq!(names(&woven(stack, vec![inner("work", true)])), ["take_gil", "work"]);
    }

    #[test]
    fn nothing_is_lost_without_the_loop() {
        let stack = vec![native("other.so", "")];
        assert_eq!(names(&woven(stack, vec![inner("work", true)])), ["?", "work"]);
        let stack = vec![native("python3", LOOP)];
        assert_eq!(names(&woven(stack, Vec::new())), [LOOP]);
        let stack = vec![native("python3", LOOP)];
        let list = vec![inner("a", true), inner("b", true)];
        assert_eq!(names(&woven(stack, list)), ["a", "b"], "the outer ones had no room");
    }

    #[test]
    fn a_loop_without_a_name_is_where_the_interpreter_is() {
        let stack = vec![
            native("/usr/bin/python3.14", ""),
            native("/usr/bin/python3.14", ""),
            native("_ext.so", "call_back"),
            native("/usr/bin/python3.14", ""),
            native("/usr/bin/python3.14", "Py_RunMain"),
            native("libc.so.6", "__libc_start_main"),
        ];
        let list = vec![
            inner("take", false),
            inner("work", true),
            inner("sort", true),
            inner("<module>", true),
        ];
        let expected = ["take", "work", "call_back", "sort", "<module>", "__libc_start_main"];
        assert_eq!(names(&woven(stack, list)), expected);
        let stack = vec![
            native("/usr/bin/python3.14", ""),
            native("/usr/bin/python3.14", "PyEval_RestoreThread"),
            native("/usr/bin/python3.14", ""),
        ];
        let expected = ["?", "PyEval_RestoreThread", "work"];
        assert_eq!(names(&woven(stack, vec![inner("work", true)])), expected);
    }

    #[test]
    fn the_librarys_locks_are_known_by_where_they_lie() {
        let library = "/usr/lib/python3.11/threading.py";
        for name in ["Condition.__init__", "RLock", "Event.wait"] {
            assert!(wraps(library, name), "{name}");
        }
        // These take locks that they share, each for a purpose of its own.
        for name in ["Thread._set_tstate_lock", "<module>", "_shutdown", ""] {
            assert!(!wraps(library, name), "{name}");
        }
        for file in ["/home/me/threading.py", "/usr/lib/python3.11/queue.py", ""] {
            assert!(!wraps(file, "Condition.__init__"), "{file}");
        }
    }
}
