//! Stacks as places: the reader's own function, its source line, its callers.

use super::moment::Place;
use crate::prose::words::plain;
use crate::text::stack::Stacks;
use lockwright_analysis::finding::Frame;
use lockwright_analysis::symbolize::source::Sources;
use lockwright_analysis::symbolize::wrapper::first_own_frame;

/// Longer lines are cut: generated code has such.
const WIDTH: usize = 200;

/// Names places, and keeps the source files that it has read.
pub struct Places {
    stacks: Stacks,
    sources: Sources,
}

impl Places {
    /// Nothing read yet. Only files of this machine are.
    pub fn new() -> Self {
        Self { stacks: Stacks::new(), sources: Sources::of_this_machine() }
    }

    /// A stack as a place.
    pub fn place(&self, stack: &[Frame]) -> Place {
        Place {
            text: self.stacks.own(stack).unwrap_or_default(),
            source: self.source(stack).unwrap_or_default(),
            callers: self.stacks.callers(stack),
        }
    }

    /// The source line of the reader's own function.
    fn source(&self, stack: &[Frame]) -> Option<String> {
        let frame = first_own_frame(stack)?;
        let line = frame.line?;
        let text = self.sources.of(frame)?.line(line as usize).trim().to_owned();
        Some(plain(&text).chars().take(WIDTH).collect())
    }
}

impl Default for Places {
    fn default() -> Self {
        Self::new()
    }
}
