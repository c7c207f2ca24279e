//! `mutexes` and `rwlocks`: the locks of this family compared with all others that we could get, in
//! one process, over a sweep of what programs do with locks.
//!
//! A lock is a row of functions ([`table`]); rows come from this process ([`rows`]) and from shared
//! objects of C and C++ locks ([`library`]). A cell of the sweep ([`sweep`]) is run with each lock
//! ([`work`]), in random order ([`order`]). Then each lock is compared with the best that is not
//! ours ([`compare`]).

mod choice;
mod compare;
mod frontier;
mod functions;
mod futex;
mod hog;
mod kind;
mod library;
mod measure;
mod order;
mod ours;
mod outcome;
mod overall;
mod place;
mod plot;
mod pthread;
mod rows;
mod rust;
mod show;
mod spin;
mod sweep;
mod table;
mod usage;
mod work;

use super::Options;
use super::fault::Fault;
use super::report::{Plot, Section};
pub use choice::Choice;
use kind::KINDS;
pub use library::{LIBRARIES_COMMAND, PACKAGES};
pub use sweep::{Axes, Sweep};

/// What came of it.
#[derive(Default)]
pub(super) struct Swept {
    pub sections: Vec<Section>,
    /// Libraries that are not there, and why.
    pub missing: Vec<String>,
    /// If they are wanted.
    pub plots: Vec<Plot>,
}

/// Both kinds, as far as they are wanted.
///
/// # Errors
/// If figures are not to be believed.
pub(super) fn measure(options: &Options, progress: &mut dyn FnMut(&str)) -> Result<Swept, Fault> {
    let mut swept = Swept::default();
    let wanted: Vec<_> = KINDS.iter().filter(|kind| options.wants(kind.name)).collect();
    if wanted.is_empty() {
        return Ok(swept);
    }
    let libraries = library::load(&options.peers.libraries);
    for kind in wanted {
        let peers = kind.peers(&options.peers, &libraries.peers);
        if !peers.is_empty() {
            let measured = measure::kind(kind, &peers, options, progress)?;
            swept.sections.extend(show::sections(&measured, options));
            if options.peers.plots {
                swept.plots.extend(plot::plots(&measured));
            }
        }
    }
    swept.missing = libraries.missing;
    Ok(swept)
}
