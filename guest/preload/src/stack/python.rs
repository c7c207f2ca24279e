//! The frames of functions that CPython runs: of which the native stack only has the interpreter's
//! own.
//!
//! The frames of the calling thread stay as they are while it is in a call of ours. Nonetheless
//! nothing is followed blindly: the kernel copies what is looked at (process_vm_readv), and answers
//! with an error where nothing is mapped, and what is to be code must be of the type of code.
//!
//! A walk is made where something new is recorded, never on a fast path. Where a stack is known, a key of the frames is
//! enough ([`super::python_key`]). It costs about five system calls where the
//! kernel copies: frames lie close together, and one call copies the code of all. It sees no interpreter that is loaded
//! later than the program, by `dlopen`.

use core::ffi::c_void;
use core::mem::size_of_val;

use lockwright_cpython::lines::{self, BYTES, MOST_TABLE};
use lockwright_cpython::text::{HEAD_BYTES, Text, character};
use lockwright_cpython::{LENGTH, Layout, TYPE};
use lockwright_engines::index::hash;
use lockwright_engines::lockdep::{ASK, Place, Places};
use lockwright_ledger::layout::PAGE;
use lockwright_ledger::rows::interpreted_flag;

use super::cpython::{self, Interpreting, MOST};
use super::memo::Noted;
use super::unwind::{self, Frame, Reads as _};
use super::{checked_read, python_key};
use crate::os::sys;

/// As long as what is looked at of a frame and of code.
const FRAME_BYTES: usize = 80;
const CODE_BYTES: usize = 144;

/// As [`unwind::capture`], with the interpreter's frames.
pub fn capture(frames: &mut [u64]) -> usize {
    let n = unwind::capture(frames);
    asked(frames, n)
}

/// As [`capture`], noting what the unwinder reads of the stack.
pub fn capture_noting(frames: &mut [u64], noted: &mut Noted) -> usize {
    Frame::outside().map_or(0, |call| capture_noting_at(frames, call, noted))
}

/// As [`capture_noting`], where the call is known.
pub fn capture_noting_at(frames: &mut [u64], call: Frame, noted: &mut Noted) -> usize {
    noted.begin(call);
    let n = unwind::capture_noting(frames, call, noted);
    let all = asked(frames, n);
    // A full buffer has no more elements than before.
    if frames[..all].last() == Some(&ASK) {
        // The frames are looked up once the engine asks for them. Until then the thread stays where it is.
        match python_key::now() {
            Some(key) => noted.interpreted(key),
            None => noted.anything_else(),
        }
    }
    all
}

/// Has the interpreter's frames asked for, if the stack goes through it.
fn asked(frames: &mut [u64], n: usize) -> usize {
    if !frames[..n].iter().any(|&pc| cpython::is_own_code(pc)) {
        return n;
    }
    let n = n.min(frames.len() - 1);
    frames[n] = ASK;
    n + 1
}

/// A frame of the list.
#[derive(Clone, Copy)]
struct Python {
    code: u64,
    instruction: u64,
    is_entry: bool,
}

/// The engine's question: see [`lockwright_engines::lockdep::Interpreter`].
#[inline(never)]
pub fn interpret(places: &mut Places<'_>, frames: &mut [u64], n: usize) -> usize {
    let Some(Interpreting { layout, state, has_lock, in_handler }) = cpython::thread() else {
        return n;
    };
    let may_ask = !checked_read::is_filtered();
    let memories = match in_handler {
        Some(false) if has_lock => Memories::KEPT,
        None if has_lock && may_ask => Memories::kept_but_innermost(),
        _ if may_ask => Memories::copied(),
        _ => return n,
    };
    let mut list = [Python { code: 0, instruction: 0, is_entry: false }; MOST];
    let found = walk(layout, &memories, state, &mut list);
    let mut codes = [const { None }; MOST];
    codes_of(layout, &memories, &list[..found], &mut codes);
    let first = n.min(frames.len() - found);
    let mut to = first;
    for (i, (python, code)) in list[..found].iter().zip(&codes).enumerate() {
        let Some(code) = code else { break };
        let Some(place) = place(places, layout, memories.of(i), python, code) else { break };
        frames[to] = place;
        to += 1;
    }
    // Nothing was found: what was captured stays whole.
    if to == first { n } else { to }
}

/// The innermost frames of the calling thread, whose state is at `state`.
#[inline(never)]
fn walk(layout: &Layout, memories: &Memories, state: u64, list: &mut [Python; MOST]) -> usize {
    let at = &layout.frame;
    let mut found = 0usize;
    let mut next = layout.innermost(state, |at| memories.innermost.word(at));
    let mut window = Window { from: 0, len: 0, bytes: [0; WINDOW_BYTES] };
    // Shims between do not count; a list that leads in a circle ends.
    for _ in 0..2 * MOST {
        let Some(frame) = next.filter(|&frame| frame != 0) else { break };
        let mut bytes = [0; FRAME_BYTES];
        if !window.read(memories.of(found), frame, &mut bytes) {
            break;
        }
        next = Some(word(&bytes, at.previous));
        if layout.is_for_c_stack(bytes[at.owner]) {
            if let Some(above) = found.checked_sub(1) {
                list[above].is_entry = true;
            }
            continue;
        }
        if found == MOST {
            break;
        }
        list[found] = Python {
            code: layout.code_at(word(&bytes, at.code)),
            instruction: word(&bytes, at.instruction),
            is_entry: at.is_entry.is_some_and(|at| bytes[at] != 0),
        };
        found += 1;
    }
    found
}

/// What a walk has copied last of the memory below a frame, where the next frames usually lie.
struct Window {
    from: u64,
    len: usize,
    bytes: [u8; WINDOW_BYTES],
}

/// As much as six to eight frames take.
const WINDOW_BYTES: usize = 1024;

impl Window {
    /// Fills `into` with the frame at `at`. False: not all of that is mapped.
    fn read(&mut self, memory: Memory, at: u64, into: &mut [u8; FRAME_BYTES]) -> bool {
        let Memory::Copied(_) = memory else { return memory.read(at, into) };
        if self.copy(at, into) {
            return true;
        }
        let end = at.saturating_add(FRAME_BYTES as u64);
        // The rest of its page is mapped as the frame is. The page before may be anything.
        let page = at & !(PAGE as u64 - 1);
        self.from = end.saturating_sub(WINDOW_BYTES as u64).max(page);
        self.len = (end - self.from) as usize;
        if !memory.read(self.from, &mut self.bytes[..self.len]) {
            self.len = 0;
        }
        self.copy(at, into)
    }

    fn copy(&self, at: u64, into: &mut [u8; FRAME_BYTES]) -> bool {
        let first = usize::try_from(at.wrapping_sub(self.from)).unwrap_or(usize::MAX);
        let there = self.bytes[..self.len].get(first..).and_then(|rest| rest.first_chunk());
        there.map(|bytes| *into = *bytes).is_some()
    }
}

/// What is looked at of the code of a frame.
#[derive(Clone, Copy)]
struct FrameCode {
    file: u64,
    qualified_name: u64,
    line_table: u64,
    first_line: u32,
}

/// The code of all frames of `list`; `None` from the first on that has none.
#[inline(never)]
fn codes_of(
    layout: &Layout,
    memories: &Memories,
    list: &[Python],
    codes: &mut [Option<FrameCode>; MOST],
) {
    let mut bytes = [0; MOST * CODE_BYTES];
    let is_code = |bytes: &[u8]| cpython::is_code_type(word(bytes, TYPE));
    let arrived = match (memories.innermost, memories.rest) {
        (Memory::Copied(thread), Memory::Copied(_)) => copied_codes(thread, list, &mut bytes),
        // Memory is read as it is: nothing further out, where one is no code.
        _ => {
            let read = |(i, python): (usize, &Python)| {
                let bytes = &mut bytes[i * CODE_BYTES..][..CODE_BYTES];
                memories.of(i).read(python.code, bytes) && is_code(bytes)
            };
            list.iter().enumerate().map(read).take_while(|&is_there| is_there).count()
        }
    };
    let at = &layout.code;
    let all = bytes.as_chunks::<CODE_BYTES>().0.iter().take(arrived);
    for (to, code) in codes.iter_mut().zip(all.take_while(|code| is_code(*code))) {
        *to = Some(FrameCode {
            file: word(code, at.file),
            qualified_name: word(code, at.qualified_name),
            line_table: word(code, at.line_table),
            first_line: half(code, at.first_line),
        });
    }
}

/// Copies the code of all frames by one system call. Of how many it has arrived.
fn copied_codes(thread: u32, list: &[Python], bytes: &mut [u8; MOST * CODE_BYTES]) -> usize {
    let nothing = libc::iovec { iov_base: core::ptr::null_mut(), iov_len: 0 };
    let mut ranges = [nothing; MOST];
    for (range, python) in ranges.iter_mut().zip(list) {
        *range = libc::iovec { iov_base: python.code as *mut c_void, iov_len: CODE_BYTES };
    }
    let copied = sys::copy_of_ranges(thread, &ranges[..list.len()], bytes);
    usize::try_from(copied).unwrap_or(0) / CODE_BYTES
}

/// The element of a stack for a frame.
fn place(
    places: &mut Places<'_>,
    layout: &Layout,
    memory: Memory,
    python: &Python,
    code: &FrameCode,
) -> Option<u64> {
    let FrameCode { file, qualified_name: name, line_table: table, first_line } = *code;
    // Code that is gone may have other code where it was: that has other names, or begins elsewhere.
    let rest = u64::from(first_line) << 1 | u64::from(python.is_entry);
    let key = hash(&[python.code, python.instruction, file, name, table, rest]);
    if let Some(place) = places.find(key) {
        return Some(place);
    }
    let mut file_text = [0; 768];
    let file_len = memory.text(layout, file, &mut file_text)?;
    let mut name_text = [0; 256];
    let name_len = memory.text(layout, name, &mut name_text)?;
    let line = match layout.instruction(python.code, python.instruction) {
        Some(instruction) => memory.line(table, instruction, first_line).unwrap_or(0),
        None => first_line,
    };
    let flags = if python.is_entry { interpreted_flag::ENTRY } else { 0 };
    let place =
        Place { file: &file_text[..file_len], function: &name_text[..name_len], line, flags };
    places.record(key, &place)
}

fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_ne_bytes)
}

fn half(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_ne_bytes)
}

/// How the process's own memory is read.
#[derive(Clone, Copy)]
enum Memory {
    /// As it is: CPython keeps it for the calling thread, which has its lock.
    Kept,
    /// As the kernel reads it for this thread: what is not mapped is an error.
    Copied(u32),
}

/// How what CPython has of the calling thread is read.
struct Memories {
    /// The state, and the innermost frame with its code: if a signal's handler makes the call, they
    /// may just have been given back.
    innermost: Memory,
    /// The frames further out.
    rest: Memory,
}

impl Memories {
    /// The thread has the interpreter's lock, and is in no handler.
    const KEPT: Self = Self { innermost: Memory::Kept, rest: Memory::Kept };

    /// The thread has the lock, and is perhaps in a handler.
    fn kept_but_innermost() -> Self {
        Self { rest: Memory::Kept, ..Self::copied() }
    }

    fn copied() -> Self {
        let copied = Memory::Copied(sys::gettid());
        Self { innermost: copied, rest: copied }
    }

    fn of(&self, frame: usize) -> Memory {
        if frame == 0 { self.innermost } else { self.rest }
    }
}

impl Memory {
    /// Fills `into` with what is at `at`. False: not all of that is mapped.
    fn read(self, at: u64, into: &mut [u8]) -> bool {
        match self {
            Self::Kept if at == 0 => false,
            Self::Kept => {
                // SAFETY: the thread's state leads to its frames, their code and what that consists
                // of; all of it lives while the thread has the interpreter's lock and is in a call.
                // Nothing is read that is longer than the object it is of.
                unsafe {
                    core::ptr::copy_nonoverlapping(at as *const u8, into.as_mut_ptr(), into.len());
                }
                true
            }
            Self::Copied(process) => sys::copy_of(process, at, into) == size_of_val(into) as isize,
        }
    }

    fn word(self, at: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.read(at, &mut bytes).then(|| u64::from_ne_bytes(bytes))
    }

    /// A string as UTF-8: its length in `into`, of which as much is kept as there is room for.
    fn text(self, layout: &Layout, at: u64, into: &mut [u8]) -> Option<usize> {
        let mut head = [0; HEAD_BYTES];
        if !self.read(at, &mut head) {
            return None;
        }
        let Text { from, len, width } = Text::of(layout, &head)?;
        let from = at.checked_add(from)?;
        let mut n = 0;
        let mut piece = [0; 128];
        for first in (0..len * width).step_by(piece.len()) {
            let piece = &mut piece[..(len * width - first).min(128)];
            if !self.read(from + first as u64, piece) {
                return None;
            }
            for char in piece.chunks_exact(width) {
                let mut utf8 = [0; 4];
                let utf8 = character(char).encode_utf8(&mut utf8).as_bytes();
                let Some(place) = into.get_mut(n..n + utf8.len()) else { return Some(n) };
                place.copy_from_slice(utf8);
                n += utf8.len();
            }
        }
        Some(n)
    }

    /// The line of an instruction, by the table at `table`.
    fn line(self, table: u64, instruction: u64, first_line: u32) -> Option<u32> {
        let len = self.word(table + LENGTH as u64)?.min(MOST_TABLE);
        let mut bytes = Bytes { memory: self, at: table + BYTES, left: len, piece: [0; 128], n: 0 };
        lines::of_instruction(|| bytes.next(), instruction, first_line)
    }
}

/// A run of bytes, read in pieces.
struct Bytes {
    memory: Memory,
    at: u64,
    left: u64,
    piece: [u8; 128],
    /// How many of the piece have been taken, from its end.
    n: usize,
}

impl Bytes {
    fn next(&mut self) -> Option<u8> {
        if self.n == 0 {
            let len = self.left.min(self.piece.len() as u64) as usize;
            let from = self.piece.len() - len;
            if len == 0 || !self.memory.read(self.at, &mut self.piece[from..]) {
                return None;
            }
            (self.n, self.at, self.left) = (len, self.at + len as u64, self.left - len as u64);
        }
        self.n -= 1;
        Some(self.piece[self.piece.len() - 1 - self.n])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_copy_has_the_frames_that_lie_below() {
        #[repr(align(4096))]
        struct Pages([u8; 2 * PAGE]);
        let mut pages = Box::new(Pages([0; 2 * PAGE]));
        for (i, byte) in pages.0.iter_mut().enumerate() {
            *byte = (i / 8) as u8;
        }
        let start = pages.0.as_ptr() as u64;
        let memory = Memory::Copied(sys::gettid());
        let mut window = Window { from: 0, len: 0, bytes: [0; WINDOW_BYTES] };
        let mut frame = [0; FRAME_BYTES];
        // The first ends in the next page. The second and third are in what was copied for the first, the fourth is not.
        for (at, from) in [(4064, 3120), (3968, 3120), (3120, 3120), (3000, 2056)] {
            assert!(window.read(memory, start + at, &mut frame));
            assert_eq!(frame[..], pages.0[at as usize..][..FRAME_BYTES], "{at}");
            assert_eq!(window.from, start + from, "{at}");
        }
        // No page before that of the frame is touched.
        assert!(window.read(memory, start + PAGE as u64 + 16, &mut frame));
        assert_eq!(window.from, start + PAGE as u64);
        assert!(!window.read(memory, 16, &mut frame), "not mapped");
        assert!(!window.read(memory, u64::MAX - 8, &mut frame), "beyond all");
    }

    #[test]
    fn code_is_copied_up_to_what_is_not_mapped() {
        let there = [7; CODE_BYTES];
        let code = |at: u64| Python { code: at, instruction: 0, is_entry: false };
        let at = there.as_ptr() as u64;
        let mut bytes = [0; MOST * CODE_BYTES];
        let thread = sys::gettid();
        assert_eq!(copied_codes(thread, &[code(at), code(at), code(8), code(at)], &mut bytes), 2);
        assert_eq!(bytes[CODE_BYTES..][..CODE_BYTES], there);
        assert_eq!(copied_codes(thread, &[code(8), code(at)], &mut bytes), 0);
        assert_eq!(copied_codes(thread, &[], &mut bytes), 0);
    }

    #[test]
    fn what_is_not_mapped_is_no_memory() {
        let memory = Memory::Copied(sys::gettid());
        let there = 7u64;
        assert_eq!(memory.word(&raw const there as u64), Some(7));
        assert_eq!(memory.word(8), None);
        assert_eq!(memory.word(1 << 63), None);
    }
}
