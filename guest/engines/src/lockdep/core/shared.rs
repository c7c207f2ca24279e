//! Data that lockdep's core keeps for the other engines, too.

use lockwright_ledger::Writer;

use super::Core;
use crate::capture::Capture;
use crate::shared::Shared;

impl Shared for Core {
    fn writer(&mut self) -> &mut Writer {
        &mut self.recorder.writer
    }

    fn lasting_site(&mut self, site: u64, capture: Capture<'_>) -> u64 {
        self.recorder.lasting_site(site, capture)
    }

    fn captured(&mut self, capture: Capture<'_>) -> u32 {
        self.recorder.captured(capture)
    }
}
