//! A frame of a call stack in a report.

use std::sync::Arc;

use serde::Serialize;

/// One frame of a call stack, symbolised. An inlined call is a frame of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Frame {
    /// Demangled function name, if known.
    pub function: Option<String>,
    /// Source file as the debug information has it, made absolute.
    pub file: Option<String>,
    /// Line, from 1.
    pub line: Option<u32>,
    /// Column, from 1.
    pub column: Option<u32>,
    /// Path of the module.
    pub module: Option<String>,
    /// Build id of the module that ran, if it has one: servers have sources by it.
    #[serde(skip)]
    pub build_id: Option<Arc<[u8]>>,
    /// Offset within the module's ELF address space; with `function`, see `function_offset`.
    pub offset: u64,
    /// Offset from the start of the function.
    pub function_offset: Option<u64>,
    /// Size of the function's code, where `function_offset` is known and the symbol tells.
    #[serde(skip)]
    pub function_size: Option<u64>,
    /// Inlined into the next frame.
    pub inlined: bool,
    /// The function was seen to return with the lock that it was called for.
    #[serde(skip)]
    pub wraps: bool,
    /// The function is no wrapper, whatever its name: in the run it made many locks, each at a place of its own, or held a lock
    /// of its own while it took another.
    #[serde(skip)]
    pub is_no_wrapper: bool,
}
