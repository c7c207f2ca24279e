//! The functions that CPython runs in the threads of a process: of which the native stacks have only the interpreter's own.
//!
//! What is read may be of another kind or gone, as the process goes on. So nothing is followed that is not what it
//! should be, and no list without an end.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use lockwright_cpython::lines::{self, BYTES, MOST_TABLE};
use lockwright_cpython::text::{HEAD_BYTES, Text, character};
use lockwright_cpython::{LENGTH, Layout, OFFSETS_BYTES, TYPE};
use object::read::{Object, ObjectSymbol};

use super::maps::{Maps, Module};
use super::memory::Memory;
use crate::finding::Frame;
use crate::symbolize::elf::with_elf;
use crate::symbolize::interpreted::{Inner, woven};

/// Interpreters of a process, and threads of an interpreter, that are looked at.
const MOST_THREADS: usize = 4096;

/// Frames of a thread that are looked at.
const MOST_FRAMES: usize = 64;

/// What CPython runs in each thread of a process.
#[derive(Default)]
pub struct PythonStacks {
    /// By the thread's id in its own pid namespace: the innermost frame first.
    stacks: HashMap<u32, Vec<Inner>>,
}

impl PythonStacks {
    /// Reads the frames of all threads. None if no module of the process is a CPython that we know.
    pub fn read(maps: &Maps, root: &Path, memory: &impl Memory) -> Self {
        let interpreter = maps.modules.iter().find_map(|m| Interpreter::find(m, root, memory));
        Self { stacks: interpreter.map(|found| found.stacks()).unwrap_or_default() }
    }

    /// The stack of thread `tid` as its program's author sees it.
    pub fn woven(&mut self, tid: u32, native: Vec<Frame>) -> Vec<Frame> {
        match self.stacks.remove(&tid) {
            Some(inner) => woven(native, inner),
            None => native,
        }
    }
}

/// CPython in a process.
struct Interpreter<'m, M> {
    memory: &'m M,
    layout: &'static Layout,
    /// The address of `_PyRuntime`.
    runtime: u64,
    /// The address of `PyCode_Type`.
    code_type: u64,
}

impl<'m, M: Memory> Interpreter<'m, M> {
    /// The one that `module` is, or has in it.
    fn find(module: &Module, root: &Path, memory: &'m M) -> Option<Self> {
        const NAMES: [&str; 3] = ["_PyRuntime", "PyCode_Type", "Py_Version"];
        let addresses = with_elf(&module.file(root), |file| {
            let build_id = file.build_id().ok().flatten().unwrap_or_default();
            if build_id != module.build_id {
                return [None; 3];
            }
            let mut addresses = [None; 3];
            for symbol in file.dynamic_symbols().filter(|symbol| symbol.is_definition()) {
                let at = NAMES.iter().position(|name| symbol.name() == Ok(name));
                if let Some(at) = at {
                    addresses[at] = Some(symbol.address().wrapping_add(module.bias));
                }
            }
            addresses
        })?;
        let [Some(runtime), Some(code_type), Some(version)] = addresses else { return None };
        let layout = Layout::of(memory.u64(version)?)?;
        let mut offsets = [0; OFFSETS_BYTES];
        let is_read = memory.read(runtime, &mut offsets);
        (is_read && layout.agrees(&offsets)).then_some(Self { memory, layout, runtime, code_type })
    }

    fn stacks(&self) -> HashMap<u32, Vec<Inner>> {
        let mut stacks = HashMap::new();
        let list = |first: Option<u64>, next: u64| {
            let after =
                move |&at: &u64| self.memory.u64(at.wrapping_add(next)).filter(|&at| at != 0);
            // A list that changes meanwhile may lead in a circle.
            let mut seen = HashSet::new();
            let all = std::iter::successors(first.filter(|&at| at != 0), after);
            all.take(MOST_THREADS).take_while(move |&at| seen.insert(at))
        };
        let Layout { runtime, interpreter, thread, .. } = self.layout;
        let first = self.memory.u64(self.runtime.wrapping_add(runtime.interpreters));
        for at in list(first, interpreter.next) {
            let first = self.memory.u64(at.wrapping_add(interpreter.threads));
            for state in list(first, thread.next) {
                let id = self.memory.u64(state.wrapping_add(thread.native_id));
                if let Some(tid) = id.and_then(|id| u32::try_from(id).ok()) {
                    stacks.insert(tid, self.frames(state));
                }
            }
        }
        stacks
    }

    /// The frames of the thread whose state is at `state`.
    fn frames(&self, state: u64) -> Vec<Inner> {
        let at = &self.layout.frame;
        let word = |at: u64| self.memory.u64(at);
        let field = |frame: u64, at: usize| word(frame.wrapping_add(at as u64));
        let byte = |frame: u64, at: usize| {
            let mut byte = [0];
            self.memory.read(frame.wrapping_add(at as u64), &mut byte).then_some(byte[0])
        };
        let mut frames: Vec<Inner> = Vec::new();
        let mut next = self.layout.innermost(state, word);
        // Shims between do not count; a list that leads in a circle ends.
        for _ in 0..2 * MOST_FRAMES {
            let Some(frame) = next.filter(|&frame| frame != 0) else { break };
            next = field(frame, at.previous);
            if byte(frame, at.owner).is_some_and(|owner| self.layout.is_for_c_stack(owner)) {
                if let Some(above) = frames.last_mut() {
                    above.ends_call();
                }
                continue;
            }
            let code = field(frame, at.code).map(|reference| self.layout.code_at(reference));
            let code = code.zip(field(frame, at.instruction));
            let of_code = code.and_then(|(code, instruction)| self.of_code(code, instruction));
            let Some((file, function, line)) = of_code else { break };
            let is_entry = at.is_entry.and_then(|at| byte(frame, at)).is_some_and(|byte| byte != 0);
            frames.push(Inner::new(Some(file), Some(function), line, is_entry));
            if frames.len() == MOST_FRAMES {
                break;
            }
        }
        frames
    }

    /// The file, the name and the line of an instruction, 0 for none. `None`: what is at `code` is no code.
    fn of_code(&self, code: u64, instruction: u64) -> Option<(String, String, u32)> {
        let at = &self.layout.code;
        let field = |at: usize| self.memory.u64(code.wrapping_add(at as u64));
        if field(TYPE)? != self.code_type {
            return None;
        }
        let (file, name) = (self.text(field(at.file)?)?, self.text(field(at.qualified_name)?)?);
        let first_line = self.memory.u32(code.wrapping_add(at.first_line as u64))?;
        let line = match self.layout.instruction(code, instruction) {
            Some(instruction) => self.line(field(at.line_table)?, instruction, first_line),
            None => Some(first_line),
        };
        Some((file, name, line.unwrap_or(0)))
    }

    fn text(&self, at: u64) -> Option<String> {
        let mut head = [0; HEAD_BYTES];
        if !self.memory.read(at, &mut head) {
            return None;
        }
        let Text { from, len, width } = Text::of(self.layout, &head)?;
        let mut bytes = vec![0; len * width];
        self.memory
            .read(at.checked_add(from)?, &mut bytes)
            .then(|| bytes.chunks_exact(width).map(character).collect())
    }

    fn line(&self, table: u64, instruction: u64, first_line: u32) -> Option<u32> {
        let len = self.memory.u64(table.wrapping_add(LENGTH as u64))?.min(MOST_TABLE);
        let mut bytes = vec![0; usize::try_from(len).ok()?];
        if !self.memory.read(table.wrapping_add(BYTES), &mut bytes) {
            return None;
        }
        let mut bytes = bytes.into_iter();
        lines::of_instruction(|| bytes.next(), instruction, first_line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words of a process, by their addresses.
    struct Words(HashMap<u64, u64>);

    impl Memory for Words {
        fn read(&self, address: u64, to: &mut [u8]) -> bool {
            to.iter_mut().zip(address..).all(|(byte, at)| {
                let word = self.0.get(&(at & !7));
                word.map(|word| *byte = word.to_le_bytes()[(at & 7) as usize]).is_some()
            })
        }
    }

    fn interpreter(memory: &Words) -> Interpreter<'_, Words> {
        let layout = Layout::of(0x030d_0000).unwrap();
        Interpreter { memory, layout, runtime: 0x1000, code_type: 0x77 }
    }

    #[test]
    fn lists_that_lead_in_a_circle_end() {
        // One interpreter whose one thread is the next of itself, as is its frame, which has no code.
        let words = [
            (0x1000 + 632, 0x2000),
            (0x2000 + 7264, 0x2000),
            (0x2000 + 7344, 0x8000),
            (0x8000 + 8, 0x8000),
            (0x8000 + 160, 42),
            (0x8000 + 72, 0x9000),
            (0x9000 + 8, 0x9000),
            (0x9000 + 64, 3 << 48),
        ];
        let memory = Words(words.into());
        let stacks = interpreter(&memory).stacks();
        assert_eq!(stacks.keys().collect::<Vec<_>>(), [&42]);
        assert!(stacks[&42].is_empty());
    }

    #[test]
    fn what_is_no_code_ends_a_stack() {
        let words = [
            (0x8000 + 72, 0x9000),
            (0x9000, 0xa000),
            (0x9000 + 8, 0),
            (0x9000 + 56, 0xa100),
            (0x9000 + 64, 0),
            (0xa000 + 8, 0x78),
        ];
        let memory = Words(words.into());
        assert!(interpreter(&memory).frames(0x8000).is_empty());
        assert!(interpreter(&Words(HashMap::new())).stacks().is_empty());
    }
}
