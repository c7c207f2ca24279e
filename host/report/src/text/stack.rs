//! Call stacks in short: the frames that a reader's own code is in.

use std::path::{Path, PathBuf};

use crate::prose::words::{base_name, plain};
use lockwright_analysis::finding::Frame;
use lockwright_analysis::symbolize::BEGINNINGS;
use lockwright_analysis::symbolize::portable::{portable, readable};
use lockwright_analysis::symbolize::wrapper::own_frames;

/// Callers shown of one stack.
const MOST_CALLERS: usize = 6;

/// Functions besides [`BEGINNINGS`] that start threads, programs and routines, and say nothing to a
/// reader.
const RUNTIME: &[&str] = &[
    "_start",
    "execute_native_thread_routine",
    "__pthread_once_slow",
    "__rust_begin_short_backtrace",
    "__rust_try",
];

/// Functions of the standard libraries of C++ and Rust. Their frames between two functions of the
/// program differ by compiler and by what it inlines.
const LIBRARIES: &[&str] = &["std::", "core::", "alloc::", "__gnu_cxx::", "__cxxabiv1::"];

/// Names frames.
pub struct Stacks {
    /// Paths below it are shown relative to it.
    here: Option<PathBuf>,
}

impl Stacks {
    /// Paths will be relative to the current directory where they are below it.
    pub fn new() -> Self {
        Self { here: std::env::current_dir().ok().filter(|dir| dir != Path::new("/")) }
    }

    /// A path as it is shown.
    pub fn path(&self, path: &str) -> String {
        if let Some(library) = of_rust(path) {
            return plain(library);
        }
        let below = self.here.as_ref().and_then(|here| Path::new(path).strip_prefix(here).ok());
        plain(below.and_then(Path::to_str).unwrap_or(path))
    }

    /// The first frame of the reader's own code, in words.
    pub fn own(&self, stack: &[Frame]) -> Option<String> {
        own_frames(stack).first().map(|frame| self.frame(frame, None))
    }

    /// `function (file:line)`, or as much of it as is known. If the place next to this one shows
    /// the same file with its whole path, the last part of its name is enough here.
    pub fn frame(&self, frame: &Frame, beside: Option<&str>) -> String {
        let function = frame.function.as_deref().map(function);
        if let (Some(file), Some(line)) = (&frame.file, frame.line) {
            let function = function.unwrap_or_else(|| "?".to_owned());
            let path = self.path(file);
            let path = match beside {
                Some(beside) if beside == file => base_name(&path),
                _ => &path,
            };
            return format!("{function} ({path}:{line})");
        }
        let module = frame.module.as_deref().map_or_else(|| "no module".to_owned(), plain);
        let module = base_name(&module);
        match (function, frame.function_offset) {
            (Some(function), Some(offset)) => format!("{function}+{offset:#x} ({module})"),
            (Some(function), None) => format!("{function} ({module}+{:#x})", frame.offset),
            (None, _) => format!("{module}+{:#x}", frame.offset),
        }
    }

    /// "called from ..." for each caller of the reader's own code, the nearest first.
    pub fn callers(&self, stack: &[Frame]) -> Vec<String> {
        let beside = own_frames(stack).first().and_then(|frame| frame.file.as_deref());
        let frames = callers(stack);
        let mut lines: Vec<String> = frames
            .iter()
            .take(MOST_CALLERS)
            .map(|frame| format!("called from {}", self.frame(frame, beside)))
            .collect();
        if frames.len() > MOST_CALLERS {
            lines.push(format!("and {} more", frames.len() - MOST_CALLERS));
        }
        lines
    }
}

/// A function as it is shown.
pub fn function(name: &str) -> String {
    shorten(&plain(&readable(name)))
}

/// A path of Rust's own sources without the compiler's: `/rustc/HASH/library/std/src/lib.rs`.
fn of_rust(path: &str) -> Option<&str> {
    let (hash, library) = path.strip_prefix("/rustc/")?.split_once('/')?;
    hash.chars().all(|c| c.is_ascii_alphanumeric() || c == '.').then_some(library)
}

/// Whether a file is a header of GCC's or LLVM's standard library of C++:
/// `/usr/include/c++/12/bits/invoke.h`, `/usr/lib/llvm-14/include/c++/v1/thread`, and
/// `/usr/include/x86_64-linux-gnu/c++/12/bits/gthr-default.h`.
fn is_of_cxx(path: &str) -> bool {
    let within = path.split_once("/include/").map(|(_, within)| within.split('/'));
    within.is_some_and(|mut within| match within.next() {
        Some("c++") => true,
        Some(triple) => triple.contains('-') && within.next() == Some("c++"),
        None => false,
    })
}

/// The function that took a lock is on the way to the place that `later` shows: its callers are
/// shown there.
pub fn came_along(taken: &[Frame], later: &[Frame]) -> bool {
    let Some(first) = own_frames(taken).first() else { return true };
    own_frames(later).iter().any(|frame| {
        frame.function.is_some()
            && (&frame.function, &frame.module, &frame.file)
                == (&first.function, &first.module, &first.file)
    })
}

/// All callers of the first own frame that are not the runtime's.
fn callers(stack: &[Frame]) -> Vec<&Frame> {
    own_frames(stack).iter().skip(1).filter(|frame| !is_runtime(frame)).collect()
}

/// Whether the frame is of what starts threads and programs, and tells a reader nothing.
pub fn is_runtime(frame: &Frame) -> bool {
    let is_of = |libraries: &[&str]| {
        let module = frame.module.as_deref().map(base_name).unwrap_or_default();
        libraries.iter().any(|start| module.starts_with(start))
    };
    match frame.function.as_deref() {
        // CPython's library begins its threads in Python.
        Some(name) if is_of(&["threading.py"]) => name.starts_with("Thread."),
        // The preload library begins every thread.
        _ if is_of(&["liblockwright.so"]) => true,
        // Where it is inlined, its name lacks the path: `catch_unwind<(), ...>`, `__invoke<...>`.
        _ if frame.file.as_deref().is_some_and(|it| of_rust(it).is_some() || is_of_cxx(it)) => true,
        // The routine's caller since glibc 2.43; programs have functions of these names, too.
        Some("pthread_once" | "call_once") => is_of(&["libc.so"]),
        Some(name) => BEGINNINGS.contains(&name) || RUNTIME.contains(&name) || is_of_library(name),
        // Without symbols the start of a thread has no name.
        None => is_of(&["libc.so", "libc-2.", "libpthread.so", "libpthread-2.", "libstdc++.so"]),
    }
}

/// Whether a function is a standard library's: by itself, by its trait
/// (`<app::Task as core::ops::function::FnOnce>::call_once` is none that people write), or both.
fn is_of_library(name: &str) -> bool {
    let is_of = |name: &str| LIBRARIES.iter().any(|library| name.starts_with(library));
    match name.strip_prefix('<') {
        Some(of_type) => {
            is_of(of_type) && !portable(name).contains(" as ")
                || portable(name).contains(" as core::ops::function::Fn")
                || portable(name)
                    .split_once(" as ")
                    .is_some_and(|(of, it)| is_of(&of[1..]) && is_of(it))
        }
        None => is_of(name),
    }
}

/// Cuts the middle out of a name that would fill the line: long template arguments stand there.
pub fn shorten(name: &str) -> String {
    const MOST: usize = 80;
    let chars: Vec<char> = name.chars().collect();
    if chars.len() <= MOST {
        return name.to_owned();
    }
    let head: String = chars[..MOST / 2].iter().collect();
    let tail: String = chars[chars.len() - MOST / 2 + 3..].iter().collect();
    format!("{head}...{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str) -> Frame {
        Frame { function: Some(function.to_owned()), ..Frame::default() }
    }

    #[test]
    fn what_is_known_is_said() {
        let stacks = Stacks { here: Some("/src".into()) };
        let mut full = frame("push");
        full.file = Some("/src/pool.c".to_owned());
        full.line = Some(7);
        full.module = Some("/bin/pool".to_owned());
        full.offset = 0x1234;
        assert_eq!(stacks.frame(&full, None), "push (pool.c:7)");
        assert_eq!(stacks.frame(&full, Some("/src/pool.c")), "push (pool.c:7)");
        full.line = None;
        full.function_offset = Some(0x12);
        assert_eq!(stacks.frame(&full, None), "push+0x12 (pool)");
        full.function = None;
        assert_eq!(stacks.frame(&full, None), "pool+0x1234");
        full.module = None;
        assert_eq!(stacks.frame(&full, None), "no module+0x1234");
    }

    #[test]
    fn the_c_librarys_call_once_is_left_out_and_the_programs_is_not() {
        let of = |module: &str| Frame { module: Some(module.to_owned()), ..frame("call_once") };
        assert!(is_runtime(&of("/usr/lib/x86_64-linux-gnu/libc.so.6")));
        assert!(!is_runtime(&of("/home/u/program")));
    }

    #[test]
    fn library_functions_between_are_left_out() {
        for name in [
            "std::__invoke_impl<void, main::{lambda()#1}>",
            "std::thread::_Invoker<std::tuple<main::{lambda()#1}> >::_M_invoke<0ul>",
            "std::thread::_State_impl<std::thread::_Invoker<std::tuple<int> > >::_M_run",
            "std::function<void ()>::operator()",
            "<core::panic::unwind_safe::AssertUnwindSafe<F> as core::ops::function::FnOnce<()>>::call_once",
            "<alloc::boxed::Box<F,A> as core::ops::function::FnOnce<Args>>::call_once",
            "core::ops::function::FnOnce::call_once{{vtable.shim}}",
            "std::sys::backtrace::__rust_begin_short_backtrace",
            "<std::thread::Builder>::spawn_unchecked_::<app::work, ()>::{closure#1}",
            "<core::option::Option<u32>>::map::<u32, app::f>",
            "__rust_try",
        ] {
            assert!(is_runtime(&frame(name)), "{name}");
        }
        for name in [
            "main",
            "standard::lock",
            "<app::Task as core::ops::drop::Drop>::drop",
            "<app::Job<std::sync::Mutex<u32>>>::run",
            "<std::vec::Vec<u32> as app::Pool>::take",
            "app::work::{closure#0}",
        ] {
            assert!(!is_runtime(&frame(name)), "{name}");
        }
        let mut inlined = frame("__invoke<main::<lambda()>>");
        assert!(!is_runtime(&inlined));
        for path in [
            "/usr/include/c++/12/bits/invoke.h",
            "/usr/include/x86_64-linux-gnu/c++/12/bits/gthr-default.h",
            "/usr/lib/llvm-14/include/c++/v1/thread",
        ] {
            inlined.file = Some(path.into());
            assert!(is_runtime(&inlined), "{path}");
        }
        inlined.file = Some("/src/include/app/c++/job.h".into());
        assert!(!is_runtime(&inlined));
    }

    #[test]
    fn names_of_lambdas_and_of_library_sources_are_short() {
        let stacks = Stacks { here: None };
        let mut frame = frame("bank::turns<int>(int)::{lambda()#1}::operator() const");
        frame.file = Some("/src/bank.cc".into());
        frame.line = Some(7);
        assert_eq!(stacks.frame(&frame, None), "bank::turns<int>::{lambda} (/src/bank.cc:7)");
        let path = "/rustc/0123456789abcdef/library/std/src/thread/local.rs";
        assert_eq!(stacks.path(path), "library/std/src/thread/local.rs");
        assert_eq!(stacks.path("/rustc/a b/x.rs"), "/rustc/a b/x.rs");
    }

    #[test]
    fn runtime_and_wrappers_are_left_out() {
        let stacks = Stacks { here: None };
        let stack = ["std::mutex::lock", "push", "serve", "main", "__libc_start_main"].map(frame);
        let lines = stacks.callers(&stack);
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].starts_with("called from serve"));
        assert!(came_along(&stack, &stack[1..]));
        assert!(!came_along(&stack, &stack[3..]));
        let deep: Vec<_> = (0..20).map(|i| frame(&format!("f{i}"))).collect();
        assert_eq!(stacks.callers(&deep).last().unwrap(), "and 13 more");
    }
}
