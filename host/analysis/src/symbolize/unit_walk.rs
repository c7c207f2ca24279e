//! The way through the descriptions of a unit, past what is of no use. Compilers say where what follows a
//! description begins (GCC does, LLVM does not), so that what is in it need not be read.

use gimli::constants as dw;
use gimli::{Abbreviation, AttributeValue, EntriesRaw, Range, UnitOffset};

use super::debug_info::{Slice, Unit};

/// The descriptions that are left.
pub struct Walk<'u, 'd> {
    unit: &'u Unit<'d>,
    entries: EntriesRaw<'u, Slice<'d>>,
    /// Depth at which `entries` began.
    from: isize,
    /// What is deeper is passed over.
    deepest: Option<isize>,
    /// Depth of the last one, and what follows it.
    last: (isize, Option<UnitOffset>),
}

/// A description, with the little of what it says that is asked of many.
pub struct Seen<'u> {
    pub depth: isize,
    pub at: UnitOffset,
    pub abbreviation: &'u Abbreviation,
    /// Where what is not in it goes on, if it says so.
    pub next: Option<UnitOffset>,
    /// Where its code is, if that is in one piece and written here.
    pub code: Option<Range>,
}

impl<'u, 'd> Walk<'u, 'd> {
    /// All of a unit's descriptions from `at` on.
    pub fn new(unit: &'u Unit<'d>, at: Option<UnitOffset>) -> Option<Self> {
        let entries = unit.entries_raw(at).ok()?;
        Some(Self { unit, entries, from: 0, deepest: None, last: (0, None) })
    }

    /// The next description; `None` at the end, which some damage may be.
    pub fn next(&mut self) -> Option<Seen<'u>> {
        while !self.entries.is_empty() {
            let (depth, at) = (self.from + self.entries.next_depth(), self.entries.next_offset());
            let Some(abbreviation) = self.entries.read_abbreviation().ok()? else { continue };
            let (next, code) = self.read(abbreviation).ok()?;
            let next = next.filter(|next| *next > at);
            if self.deepest.is_some_and(|deepest| depth > deepest) {
                continue;
            }
            self.deepest = None;
            self.last = (depth, next);
            return Some(Seen { depth, at, abbreviation, next, code });
        }
        None
    }

    /// Reads a description to its end: what follows it, and its code.
    fn read(
        &mut self,
        abbreviation: &Abbreviation,
    ) -> gimli::Result<(Option<UnitOffset>, Option<Range>)> {
        let attributes = abbreviation.attributes();
        let (mut next, mut begin, mut end) = (None, None, None);
        let mut done = 0;
        for (i, &spec) in attributes.iter().enumerate() {
            if !matches!(spec.name(), dw::DW_AT_sibling | dw::DW_AT_low_pc | dw::DW_AT_high_pc) {
                continue;
            }
            self.entries.skip_attributes(&attributes[done..i])?;
            let attribute = self.entries.read_attribute(spec)?;
            done = i + 1;
            match (attribute.name(), attribute.value()) {
                (dw::DW_AT_sibling, AttributeValue::UnitRef(at)) => next = Some(at),
                (dw::DW_AT_low_pc, AttributeValue::Addr(at)) => begin = Some(at),
                (dw::DW_AT_high_pc, AttributeValue::Addr(at)) => end = Some(at),
                (dw::DW_AT_high_pc, length) => {
                    end = length.udata_value().and_then(|length| begin?.checked_add(length));
                }
                _ => {}
            }
        }
        self.entries.skip_attributes(&attributes[done..])?;
        Ok((next, begin.zip(end).map(|(begin, end)| Range { begin, end })))
    }

    /// Leaves out what is in the last description.
    pub fn pass(&mut self) {
        let (depth, next) = self.last;
        match next.and_then(|next| self.unit.entries_raw(Some(next)).ok()) {
            Some(entries) => (self.entries, self.from) = (entries, depth),
            None => self.deepest = Some(depth),
        }
    }
}
