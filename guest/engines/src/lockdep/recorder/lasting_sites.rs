//! Call sites of lasting addresses: contexts have these, as they outlive the code.

use lockwright_ledger::site;

use super::Recorder;
use crate::capture::{Capture, MAX_FRAMES, known_row};

/// Return addresses at the top of a stack that a site may be a hash of.
const MOST_OF_SITE: usize = 16;

impl Recorder {
    /// The call site of lasting addresses for `call_site`, which `capture` finds the stack of if that is needed.
    pub(crate) fn lasting_site(&self, call_site: u64, capture: Capture<'_>) -> u64 {
        if !self.modules.have_moved() {
            return call_site;
        }
        // Only a hash of several is none.
        if call_site >> 63 == 0 {
            return self.modules.lasting(call_site);
        }
        let mut frames = [0; MAX_FRAMES];
        let mut n = capture(&mut frames).min(MAX_FRAMES);
        if let Some(stack) = known_row(&frames[..n]) {
            // A host knows only stacks that were taken since modules came and went.
            n = self.read_stack(stack, &mut frames);
        }
        self.lasting_site_in(call_site, &frames[..n.min(MOST_OF_SITE)])
    }

    /// As [`Recorder::lasting_site`], of a hash of addresses at the top of the stack `frames`.
    fn lasting_site_in(&self, call_site: u64, frames: &[u64]) -> u64 {
        let (mut hash, mut lasting) = (0, 0);
        for &frame in frames {
            hash = site::extend(hash, frame);
            lasting = site::extend(lasting, self.modules.lasting(frame));
            if site::hash(hash) == site::hash(call_site) {
                break;
            }
        }
        // A hash that has more in it than these addresses differs as their own hash does.
        let moved = site::hash(call_site).wrapping_add(lasting.wrapping_sub(hash));
        site::deep(site::wrappers(call_site), moved)
    }
}
