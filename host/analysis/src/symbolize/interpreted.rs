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
    let Some(at) = native.iter().position(is_loop).filter(|_| !inner.is_empty()) else {
        let inner = inner.into_iter().map(|inner| inner.frame);
        return native.into_iter().chain(inner).collect();
    };
    let module = native[at].module.clone();
    let is_own = |frame: &Frame| frame.module == module;
    let is_for_itself = |frame: &Frame| {
        is_own(frame) && frame.function.as_deref().is_some_and(|f| GLOBAL_LOCK.contains(&f))
    };
    let kept = if native[..at].iter().any(is_for_itself) { at } else { 0 };
    let mut inner = inner.into_iter();
    let mut stack = Vec::with_capacity(native.len());
    for (i, frame) in native.into_iter().enumerate() {
        if i >= at && is_loop(&frame) && is_own(&frame) {
            for Inner { frame, is_entry } in inner.by_ref() {
                stack.push(frame);
                if is_entry {
                    break;
                }
            }
        } else if i < kept || !is_own(&frame) {
            stack.push(frame);
        }
    }
    // Where not all return addresses were recorded.
    stack.extend(inner.map(|inner| inner.frame));
    stack
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
        let stack = vec![native("libpython3.so", "")];
        assert_eq!(names(&woven(stack, vec![inner("work", true)])), ["?", "work"]);
        let stack = vec![native("python3", LOOP)];
        assert_eq!(names(&woven(stack, Vec::new())), [LOOP]);
        let stack = vec![native("python3", LOOP)];
        let list = vec![inner("a", true), inner("b", true)];
        assert_eq!(names(&woven(stack, list)), ["a", "b"], "the outer ones had no room");
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
