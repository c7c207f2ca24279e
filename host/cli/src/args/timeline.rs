//! `--timeline`: where it goes, and how much of it is kept.

use std::path::PathBuf;

use clap::Args;

use lockwright_ledger::timeline::{LEAST_BYTES, MOST_BYTES};
use lockwright_report::lockmeter::timeline::TimelineFormat;

/// How much of a timeline is kept.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Measurement")]
pub struct TimelineArgs {
    /// How much of a process's timeline to keep, as 64K or 16M: the latest. 16M have 260,000 waits
    /// and holds.
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "16M")]
    #[arg(requires = "timeline")]
    pub timeline_size: u64,
}

impl TimelineArgs {
    /// How many bytes are kept of each process; `None` if nobody wants one.
    pub fn bytes(self, is_wanted: bool) -> Option<u64> {
        is_wanted.then_some(self.timeline_size)
    }
}

/// Reads a file's name, or `perfetto=FILE`.
pub fn file(text: &str) -> Result<(TimelineFormat, PathBuf), String> {
    match text.split_once('=') {
        Some(("perfetto", file)) if !file.is_empty() => Ok((TimelineFormat::Perfetto, file.into())),
        Some(("firefox", file)) if !file.is_empty() => Ok((TimelineFormat::Firefox, file.into())),
        _ if text.is_empty() => Err("name a file".into()),
        _ => Ok((TimelineFormat::of_name(text), text.into())),
    }
}

/// Reads a size: a number of bytes, or of KiB, MiB or GiB with a letter behind it.
fn size(text: &str) -> Result<u64, String> {
    let (number, factor) = match text.char_indices().last() {
        Some((at, 'k' | 'K')) => (&text[..at], 1 << 10),
        Some((at, 'm' | 'M')) => (&text[..at], 1 << 20),
        Some((at, 'g' | 'G')) => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    let bytes = number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    let range = LEAST_BYTES..=MOST_BYTES;
    bytes.filter(|bytes| range.contains(bytes)).ok_or_else(|| {
        format!("`{text}` is no size from {}K to {}M", LEAST_BYTES >> 10, MOST_BYTES >> 20)
    })
}
