//! Frames of functions that an interpreter runs. They lie on no stack that an unwinder can walk;
//! the host knows of them from the interpreter. In a recorded stack they follow the return
//! addresses, as rows of their own ([`layout::INTERPRETED`]).
//!
//! A host that captures a stack through an interpreter ends it with [`ASK`]; then the host is
//! asked for them, with the recorded [`Places`] at hand to keep their names in. What the host walks is met over
//! and over, so it gives each place a key of its own, by which it needs no names read again.

use lockwright_ledger::rows::{Interpreted as Row, Text};
use lockwright_ledger::{Writer, layout};

use crate::index::{Index, hash};
use crate::lockdep::key::text_hash;

/// The last element of a captured stack: the interpreter's frames are to be put in its place.
pub const ASK: u64 = layout::INTERPRETED;

/// Puts the interpreter's frames of the calling thread behind so many return addresses, and says
/// how many elements there are then.
pub type Interpreter = fn(&mut Places<'_>, &mut [u64], usize) -> usize;

/// Most rows: a program that makes code without end fills no ledger with it.
const MOST_ROWS: u32 = 1 << 16;

/// Most bytes of names.
const MOST_BYTES: u64 = 8 << 20;

/// A place in a program that is interpreted.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Source file.
    pub file: &'a [u8],
    /// Function.
    pub function: &'a [u8],
    /// Line, from 1; 0 if not known.
    pub line: u32,
    /// [`lockwright_ledger::rows::interpreted_flag`] bits.
    pub flags: u32,
}

/// The recorded places of that kind.
pub(super) struct Interpreted {
    interpreter: Option<Interpreter>,
    /// By the host's key.
    known: Index,
    /// By what they say.
    rows: Index,
    /// Where texts begin that were written before.
    texts: Index,
    bytes: u64,
}

impl Interpreted {
    pub(super) const fn new() -> Self {
        Self {
            interpreter: None,
            known: Index::new(),
            rows: Index::new(),
            texts: Index::new(),
            bytes: 0,
        }
    }

    /// Has interpreters' frames looked up by `interpreter`.
    pub(super) fn set_interpreter(&mut self, interpreter: Interpreter) {
        self.interpreter = Some(interpreter);
    }

    /// The first `n` of `frames` are a stack as it was captured, by the calling thread and where it
    /// still is: puts the interpreter's frames in if that is asked for. How many there are then.
    pub(super) fn complete(&mut self, writer: &mut Writer, frames: &mut [u64], n: usize) -> usize {
        let Some((&last, addresses)) = frames.get(..n).and_then(<[u64]>::split_last) else {
            return n;
        };
        let n = addresses.len();
        match self.interpreter {
            _ if last != ASK => n + 1,
            Some(interpreter) => interpreter(&mut Places { recorded: self, writer }, frames, n),
            None => n,
        }
    }
}

/// The recorded places, to look up and to add to.
pub struct Places<'a> {
    recorded: &'a mut Interpreted,
    writer: &'a mut Writer,
}

impl Places<'_> {
    /// The element of a stack for the place that the host gives this key, if it has been told.
    pub fn find(&self, key: u64) -> Option<u64> {
        Some(element(self.recorded.known.get(self.writer, key)?))
    }

    /// The element of a stack for this place, to which the host gives `key`.
    pub fn record(&mut self, key: u64, place: &Place<'_>) -> Option<u64> {
        let rest = u64::from(place.line) << 32 | u64::from(place.flags);
        let content = hash(&[text_hash(place.file), text_hash(place.function), rest]);
        let id = match self.recorded.rows.get(self.writer, content) {
            Some(id) => id,
            None => self.new_place(content, place)?,
        };
        self.recorded.known.insert(self.writer, key, id);
        Some(element(id))
    }

    fn new_place(&mut self, content: u64, place: &Place<'_>) -> Option<u32> {
        if self.writer.len_of::<Row>() >= MOST_ROWS {
            return None;
        }
        let row = Row {
            line: place.line,
            file: self.known_text(place.file)?,
            function: self.known_text(place.function)?,
            flags: place.flags,
            ..Row::default()
        };
        let id = self.writer.push(row)?;
        self.recorded.rows.insert(self.writer, content, id);
        Some(id)
    }

    /// A text that is written once, however many rows have it.
    fn known_text(&mut self, bytes: &[u8]) -> Option<Text> {
        let Self { writer, recorded: Interpreted { texts, bytes: written, .. } } = self;
        let key = text_hash(bytes);
        if let Some(offset) = texts.get(writer, key) {
            return Some(Text { offset, len: bytes.len() as u32 });
        }
        let sum = *written + bytes.len() as u64;
        if sum > MOST_BYTES {
            return None;
        }
        let text = writer.text(bytes);
        if text.len as usize != bytes.len() {
            return None;
        }
        *written = sum;
        texts.insert(writer, key, text.offset);
        Some(text)
    }
}

fn element(id: u32) -> u64 {
    layout::INTERPRETED | u64::from(id)
}
