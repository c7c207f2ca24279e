//! Which format a file has, by its name.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{firefox, perfetto};
use lockwright_analysis::lockmeter::model::MeterReport;

/// A format of timelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimelineFormat {
    /// Perfetto's protobuf.
    Perfetto,
    /// The processed profile of Firefox's profiler, JSON.
    Firefox,
}

impl TimelineFormat {
    /// The format that a file with this name is to have.
    pub fn of_name(name: &str) -> Self {
        let name = name.strip_suffix(GZ).unwrap_or(name);
        if name.ends_with(".json") { Self::Firefox } else { Self::Perfetto }
    }
}

const GZ: &str = ".gz";

/// Renders the timeline for a file of that name, compressed if the name says so. A measurement without a timeline has an empty one.
pub fn render(report: &MeterReport, format: TimelineFormat, name: &str) -> Vec<u8> {
    let bytes = match format {
        TimelineFormat::Perfetto => perfetto::render(report),
        TimelineFormat::Firefox => firefox::render(report),
    };
    if name.ends_with(GZ) { compress(&bytes) } else { bytes }
}

fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::TimelineFormat;

    #[test]
    fn the_name_of_a_file_says_its_format() {
        for name in ["a.json", "a.json.gz", "dir.pftrace/a.json"] {
            assert_eq!(TimelineFormat::of_name(name), TimelineFormat::Firefox, "{name}");
        }
        for name in ["a.pftrace", "a.gz", "-", "json", "a.perfetto-trace.gz", "a.json.pb"] {
            assert_eq!(TimelineFormat::of_name(name), TimelineFormat::Perfetto, "{name}");
        }
    }
}
