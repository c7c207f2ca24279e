//! The names of places and variables in a report.

use crate::finding::Frame;
use crate::symbolize::portable::readable;
use crate::symbolize::wrapper::first_own_frame;

/// The frame of a stack worth showing first: the innermost that is not just a wrapper of a lock
/// call.
pub fn place_of(stack: &[Frame]) -> Option<&Frame> {
    first_own_frame(stack)
}

/// The function that has the code of [`place_of`] the stack, which an inlined one has not.
pub fn code_of(stack: &[Frame]) -> Option<&Frame> {
    let place = place_of(stack)?;
    let from = stack.iter().position(|frame| std::ptr::eq(frame, place))?;
    stack[from..].iter().find(|frame| !frame.inlined).or(Some(place))
}

/// Equal for frames that are the same place in the source.
pub fn place_key(frame: &Frame) -> String {
    match (&frame.function, &frame.file, frame.line) {
        (Some(function), Some(file), Some(line)) => format!("{function}\n{file}\n{line}"),
        _ => format!("{}\n{:#x}", frame.module.as_deref().unwrap_or(""), frame.offset),
    }
}

/// A place in few words: `pool.c:42 (pool_create)`, `pool_create+0x1c (libpool.so)`.
pub fn short_place(frame: &Frame) -> String {
    let module = base_name(frame.module.as_deref().unwrap_or("?"));
    let function = frame.function.as_deref().map(readable);
    match (&function, &frame.file, frame.line) {
        (Some(function), Some(file), Some(line)) => {
            format!("{}:{line} ({function})", base_name(file))
        }
        (None, Some(file), Some(line)) => format!("{}:{line}", base_name(file)),
        (Some(function), ..) => match frame.function_offset {
            Some(offset) => format!("{function}+{offset:#x} ({module})"),
            None => format!("{function} ({module})"),
        },
        _ => format!("{module}+{:#x}", frame.offset),
    }
}

/// The last component of a path.
pub(super) fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// What a variable is called. One that compilers make for a critical section of OpenMP goes by the
/// section's name.
pub fn variable_name(symbol: String) -> String {
    let Some(section) = symbol.strip_prefix(".gomp_critical_user_") else { return symbol };
    // GCC's is called so, LLVM's has more to it, and there is one of sections without a name.
    match section.strip_suffix(".var").unwrap_or(section) {
        "" => "critical".to_owned(),
        name => format!("critical({name})"),
    }
}
