//! A key of the functions that CPython runs in the calling thread: two stacks through the interpreter whose native frames
//! are the same and which have the same key are of the same lines.
//!
//! It is made of what [`super::python`] looks at of each frame, names apart: those follow from the code. It costs a few
//! hundred instructions and no system call, so it is there only where memory may be read as it is: the thread has the
//! interpreter's lock, and is in no handler.

use lockwright_cpython::{Layout, TYPE};

use super::cpython::{self, Interpreting, MOST};

/// `None`: the frames cannot be read as they are.
#[cold]
pub fn now() -> Option<u64> {
    let Interpreting { layout, state, has_lock, in_handler } = cpython::thread()?;
    if !has_lock || in_handler != Some(false) {
        return None;
    }
    // SAFETY: the thread has the interpreter's lock and is in no handler, so its state leads to its live frames.
    Some(unsafe { key(layout, state) })
}

/// # Safety
/// `state` is of the calling thread, which has the interpreter's lock and is in a call from a place where the list of
/// frames is whole.
unsafe fn key(layout: &Layout, state: u64) -> u64 {
    let (at, code_at) = (&layout.frame, &layout.code);
    let mut key = Key(0);
    let mut found = 0;
    // SAFETY: the caller promises a thread's state, which leads to its frames; they and their code live. Each offset is of
    // a field by the version's own headers.
    unsafe {
        let mut frame = layout.innermost(state, |at| Some(word(at))).unwrap_or(0);
        // As in `python::walk`.
        for _ in 0..2 * MOST {
            if frame == 0 {
                break;
            }
            let [code_at_frame, previous, instruction] =
                [at.code, at.previous, at.instruction].map(|at| frame + at as u64);
            if layout.is_for_c_stack(byte(frame + at.owner as u64)) {
                key.add(1);
                frame = word(previous);
                continue;
            }
            if found == MOST {
                break;
            }
            found += 1;
            let code = layout.code_at(word(code_at_frame));
            if code == 0 || !cpython::is_code_type(word(code + TYPE as u64)) {
                break;
            }
            key.add(code);
            key.add(word(instruction));
            for at in [code_at.file, code_at.qualified_name, code_at.line_table] {
                key.add(word(code + at as u64));
            }
            let is_entry = at.is_entry.is_some_and(|at| byte(frame + at as u64) != 0);
            let first_line = ((code + code_at.first_line as u64) as *const u32).read();
            key.add(u64::from(first_line) << 1 | u64::from(is_entry));
            frame = word(previous);
        }
    }
    key.0
}

/// # Safety
/// There is a word at `at`.
unsafe fn word(at: u64) -> u64 {
    // SAFETY: the caller promises it.
    unsafe { (at as *const u64).read() }
}

/// # Safety
/// There is a byte at `at`.
unsafe fn byte(at: u64) -> u8 {
    // SAFETY: the caller promises it.
    unsafe { (at as *const u8).read() }
}

struct Key(u64);

impl Key {
    fn add(&mut self, word: u64) {
        // Rotated, so that high bits matter to what comes next as low ones do.
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}
