//! The table of offsets.

/// Where in CPython's structures what is.
#[derive(Debug)]
pub struct Layout {
    /// Major and minor version, as in the upper half of `Py_Version`.
    pub version: u64,
    /// What leads to all threads.
    pub runtime: Runtime,
    /// What leads on from there.
    pub interpreter: Interpreter,
    /// A thread.
    pub thread: Thread,
    /// A frame.
    pub frame: Frame,
    /// The code of a function.
    pub code: Code,
    /// Where the characters of a string lie, if they are all ASCII.
    pub ascii: u64,
    /// Where the characters of other strings lie.
    pub other_text: u64,
    /// Where `_PyRuntime` says the same; `None` before 3.13.
    pub told: Option<&'static [(usize, u64)]>,
}

/// `_PyRuntimeState`.
#[derive(Debug)]
pub struct Runtime {
    /// The first interpreter.
    pub interpreters: u64,
}

/// `PyInterpreterState`.
#[derive(Debug)]
pub struct Interpreter {
    /// The next one.
    pub next: u64,
    /// Its first thread.
    pub threads: u64,
}

/// `PyThreadState` and what leads on to the frame that runs.
#[derive(Debug)]
pub struct Thread {
    /// The next thread of the interpreter.
    pub next: u64,
    /// The kernel's number of the thread.
    pub native_id: u64,
    /// What has the frame; `None` if the state has it itself.
    pub cframe: Option<u64>,
    /// The frame that runs.
    pub current_frame: u64,
}

/// `_PyInterpreterFrame`.
#[derive(Debug)]
pub struct Frame {
    /// Its code.
    pub code: usize,
    /// The frame that called.
    pub previous: usize,
    /// The instruction that runs.
    pub instruction: usize,
    /// A byte that says that a call of the interpreter's loop began with it.
    pub is_entry: Option<usize>,
    /// The kind of frame.
    pub owner: usize,
}

/// `PyCodeObject`.
#[derive(Debug)]
pub struct Code {
    /// The line that it begins in.
    pub first_line: usize,
    /// Its file.
    pub file: usize,
    /// Its name, with that of its class.
    pub qualified_name: usize,
    /// Which instruction is of which line.
    pub line_table: usize,
    /// The instructions.
    pub instructions: u64,
}

/// `PyObject.ob_type`: the same in all of these versions.
pub const TYPE: usize = 8;

/// `PyASCIIObject.length` and `PyVarObject.ob_size`: the same in all of these versions.
pub const LENGTH: usize = 16;

/// What `_PyInterpreterFrame.owner` is at least of a frame that stands for the C stack below, and for no frame of the program's
/// (since 3.12; since 3.14 there are two kinds).
const OWNED_BY_C_STACK: u8 = 3;

/// Bits of `_PyInterpreterFrame.f_executable` that are no part of the code's address (since 3.14: `_PyStackRef`).
const REFERENCE_BITS: u64 = 7;

/// `_thread.lock` of the versions that [`has_own_locks`] names: its byte, of which [`LOCKED`] and [`HAS_WAITERS`] are bits
/// (`cpython/lock.h`: `PyMutex`).
pub const LOCK: usize = 16;

/// A thread has the lock.
pub const LOCKED: u8 = 1;

/// Threads wait for it.
pub const HAS_WAITERS: u8 = 2;

/// Whether threading's locks of the version that `Py_Version` names are no semaphores any more, but a byte that waiters park
/// at: since 3.13.1. (3.13.0 still has semaphores.)
pub fn has_own_locks(py_version: u64) -> bool {
    py_version >= 0x030d_01f0
}

/// Whether the same is true of its recursive locks, which begin with such a lock: since 3.14.
pub fn has_own_recursive_locks(py_version: u64) -> bool {
    py_version >> 16 >= 0x030e
}

/// As much of `_PyRuntime` as [`Layout::agrees`] reads, in bytes.
pub const OFFSETS_BYTES: usize = 416;

/// Bytes of an instruction.
const INSTRUCTION_BYTES: u64 = 2;

/// What `_PyRuntime` begins with if its offsets follow.
const COOKIE: &[u8] = b"xdebugpy";

static LAYOUTS: [Layout; 4] = [
    Layout {
        version: 0x030b,
        runtime: Runtime { interpreters: 40 },
        interpreter: Interpreter { next: 0, threads: 16 },
        thread: Thread { next: 8, native_id: 160, cframe: Some(56), current_frame: 8 },
        frame: Frame { code: 32, previous: 48, instruction: 56, is_entry: Some(68), owner: 69 },
        code: Code {
            first_line: 72,
            file: 112,
            qualified_name: 128,
            line_table: 136,
            instructions: 184,
        },
        ascii: 48,
        other_text: 72,
        told: None,
    },
    Layout {
        version: 0x030c,
        runtime: Runtime { interpreters: 40 },
        interpreter: Interpreter { next: 0, threads: 72 },
        thread: Thread { next: 8, native_id: 144, cframe: Some(56), current_frame: 0 },
        frame: Frame { code: 0, previous: 8, instruction: 56, is_entry: None, owner: 70 },
        code: Code {
            first_line: 68,
            file: 112,
            qualified_name: 128,
            line_table: 136,
            instructions: 192,
        },
        ascii: 40,
        other_text: 56,
        told: None,
    },
    Layout {
        version: 0x030d,
        runtime: Runtime { interpreters: 632 },
        interpreter: Interpreter { next: 7264, threads: 7344 },
        thread: Thread { next: 8, native_id: 160, cframe: None, current_frame: 72 },
        frame: Frame { code: 0, previous: 8, instruction: 56, is_entry: None, owner: 70 },
        code: Code {
            first_line: 68,
            file: 112,
            qualified_name: 128,
            line_table: 136,
            instructions: 200,
        },
        ascii: 40,
        other_text: 56,
        // `internal/pycore_runtime.h`: `_Py_DebugOffsets`.
        told: Some(&[
            (16, 0),    // free_threaded
            (40, 632),  // runtime_state.interpreters_head
            (64, 7264), // interpreter_state.next
            (72, 7344), // interpreter_state.threads_head
            (168, 8),   // thread_state.next
            (184, 72),  // thread_state.current_frame
            (200, 160), // thread_state.native_thread_id
            (232, 8),   // interpreter_frame.previous
            (240, 0),   // interpreter_frame.executable
            (248, 56),  // interpreter_frame.instr_ptr
            (264, 70),  // interpreter_frame.owner
            (280, 112), // code_object.filename
            (296, 128), // code_object.qualname
            (304, 136), // code_object.linetable
            (312, 68),  // code_object.firstlineno
            (344, 200), // code_object.co_code_adaptive
            (360, 8),   // pyobject.ob_type
        ]),
    },
    Layout {
        version: 0x030e,
        runtime: Runtime { interpreters: 808 },
        interpreter: Interpreter { next: 7272, threads: 7344 },
        thread: Thread { next: 8, native_id: 160, cframe: None, current_frame: 72 },
        frame: Frame { code: 0, previous: 8, instruction: 56, is_entry: None, owner: 74 },
        code: Code {
            first_line: 68,
            file: 112,
            qualified_name: 128,
            line_table: 136,
            instructions: 208,
        },
        ascii: 40,
        other_text: 56,
        // `internal/pycore_debug_offsets.h`.
        told: Some(&[
            (16, 0),    // free_threaded
            (40, 808),  // runtime_state.interpreters_head
            (64, 7272), // interpreter_state.next
            (72, 7344), // interpreter_state.threads_head
            (192, 8),   // thread_state.next
            (208, 72),  // thread_state.current_frame
            (224, 160), // thread_state.native_thread_id
            (256, 8),   // interpreter_frame.previous
            (264, 0),   // interpreter_frame.executable
            (272, 56),  // interpreter_frame.instr_ptr
            (288, 74),  // interpreter_frame.owner
            (320, 112), // code_object.filename
            (336, 128), // code_object.qualname
            (344, 136), // code_object.linetable
            (352, 68),  // code_object.firstlineno
            (384, 208), // code_object.co_code_adaptive
            (408, 8),   // pyobject.ob_type
        ]),
    },
];

impl Layout {
    /// That of the version which `Py_Version` names; `None` if it is not known.
    pub fn of(py_version: u64) -> Option<&'static Self> {
        LAYOUTS.iter().find(|layout| layout.version == py_version >> 16)
    }

    /// Whether this is what `runtime` says, the first [`OFFSETS_BYTES`] bytes of the process's `_PyRuntime`.
    pub fn agrees(&self, runtime: &[u8; OFFSETS_BYTES]) -> bool {
        let word = |at: usize| {
            let bytes = runtime.get(at..).and_then(|rest| rest.first_chunk());
            bytes.map(|&bytes| u64::from_ne_bytes(bytes))
        };
        match self.told {
            None => true,
            Some(told) => {
                runtime.starts_with(COOKIE) && told.iter().all(|&(at, is)| word(at) == Some(is))
            }
        }
    }

    /// Whether a frame with that byte as its owner stands for the C stack below, and for no frame of the program's.
    pub fn is_for_c_stack(&self, owner: u8) -> bool {
        self.frame.is_entry.is_none() && owner >= OWNED_BY_C_STACK
    }

    /// The address of the code that a frame refers to so.
    pub fn code_at(&self, reference: u64) -> u64 {
        reference & !REFERENCE_BITS
    }

    /// The number of an instruction of the code at `code`. `None` before the first one: the function is only just being called.
    pub fn instruction(&self, code: u64, instruction: u64) -> Option<u64> {
        let bytes = instruction.wrapping_sub(code.wrapping_add(self.code.instructions)) as i64;
        u64::try_from(bytes).ok().map(|bytes| bytes / INSTRUCTION_BYTES)
    }

    /// The frame that a thread runs, by the address of its state. `word` reads a word of the process's memory.
    pub fn innermost(&self, state: u64, mut word: impl FnMut(u64) -> Option<u64>) -> Option<u64> {
        let Thread { cframe, current_frame, .. } = self.thread;
        let has_frame = match cframe {
            Some(at) => word(state.checked_add(at)?)?,
            None => state,
        };
        word(has_frame.checked_add(current_frame)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_known_by_its_upper_half() {
        assert_eq!(Layout::of(0x030d_00f0).map(|layout| layout.version), Some(0x030d));
        assert_eq!(Layout::of(0x030b_07f0).map(|layout| layout.version), Some(0x030b));
        assert!(Layout::of(0x030a_00f0).is_none() && Layout::of(0x030f_00f0).is_none());
    }

    #[test]
    fn what_the_process_says_counts() {
        let layout = Layout::of(0x030d_00f0).unwrap();
        let mut runtime = [0; OFFSETS_BYTES];
        assert!(!layout.agrees(&runtime), "no cookie");
        runtime[..8].copy_from_slice(COOKIE);
        for &(at, is) in layout.told.unwrap() {
            runtime[at..at + 8].copy_from_slice(&is.to_ne_bytes());
        }
        assert!(layout.agrees(&runtime));
        runtime[16] = 1;
        assert!(!layout.agrees(&runtime), "free-threaded");
        assert!(Layout::of(0x030b_07f0).unwrap().agrees(&[0; OFFSETS_BYTES]), "it says nothing");
    }

    #[test]
    fn locks_are_semaphores_up_to_a_version() {
        let (old, new) = (0x030d_00f0, 0x030d_01f0);
        assert!(!has_own_locks(old) && has_own_locks(new) && has_own_locks(0x030e_00a1));
        assert!(!has_own_recursive_locks(0x030d_05f0) && has_own_recursive_locks(0x030e_00f0));
    }

    #[test]
    fn references_are_told_from_addresses() {
        let layout = Layout::of(0x030e_00f0).unwrap();
        assert_eq!(layout.code_at(0x1001), 0x1000);
        assert!(layout.is_for_c_stack(3) && layout.is_for_c_stack(4) && !layout.is_for_c_stack(1));
        assert!(!Layout::of(0x030b_00f0).unwrap().is_for_c_stack(3), "it has another mark");
    }

    #[test]
    fn instructions_are_counted_from_the_first() {
        let layout = Layout::of(0x030b_07f0).unwrap();
        assert_eq!(layout.instruction(1000, 1000 + 184), Some(0));
        assert_eq!(layout.instruction(1000, 1000 + 184 + 6), Some(3));
        assert_eq!(layout.instruction(1000, 1000 + 184 - 2), None, "not yet");
    }

    #[test]
    fn the_innermost_frame_is_where_the_version_has_it() {
        let words =
            |at: u64| [(156, 500), (508, 7), (172, 9)].iter().find(|w| w.0 == at).map(|w| w.1);
        assert_eq!(Layout::of(0x030b_0000).unwrap().innermost(100, words), Some(7));
        assert_eq!(Layout::of(0x030d_0000).unwrap().innermost(100, words), Some(9));
        assert_eq!(Layout::of(0x030d_0000).unwrap().innermost(u64::MAX, words), None);
    }
}
