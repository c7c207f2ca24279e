//! Recordings: a moment a line, as JSON, the whole compressed by gzip.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};

use super::source::Source;
use lockwright_console::error::{Error, Result};
use lockwright_report::live::Moment;

/// What a recording's first line says.
const FORMAT: &str = "lockwright top";

/// The version of the format that this writes. Readers take missing fields as empty.
const VERSION: u32 = 1;

/// How gzip's data begin.
const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// A moment's line is much shorter.
const LONGEST_LINE: u64 = 256 << 20;

#[derive(Serialize, Deserialize)]
struct Head {
    recording: String,
    version: u32,
}

/// A recording that is written.
pub struct Writer {
    out: GzEncoder<File>,
    path: PathBuf,
}

impl Writer {
    /// Creates the file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).map_err(|error| {
            Error::new(format!("cannot write {}: {error}", path.display()))
                .help("name a writable file: --record FILE")
        })?;
        let mut writer =
            Self { out: GzEncoder::new(file, Compression::default()), path: path.to_owned() };
        writer.line(&Head { recording: FORMAT.to_owned(), version: VERSION })?;
        Ok(writer)
    }

    /// Adds a moment. What was added before is in the file, whatever happens next.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add(&mut self, moment: &Moment) -> Result<()> {
        self.line(moment)
    }

    fn line(&mut self, line: &impl Serialize) -> Result<()> {
        let mut written = || -> io::Result<()> {
            serde_json::to_writer(&mut self.out, line)?;
            self.out.write_all(b"\n")?;
            self.out.flush()
        };
        written()
            .map_err(|error| Error::new(format!("cannot write {}: {error}", self.path.display())))
    }
}

/// A recording that is read.
pub struct Recording {
    lines: BufReader<MultiGzDecoder<File>>,
    /// What comes next, read already.
    next: Option<Moment>,
    /// When the last one shown was.
    at_ns: u64,
    interval: Duration,
}

impl Recording {
    /// Opens the file, if it is a recording; `None` if it is anything else, or not there.
    ///
    /// # Errors
    /// If it is a recording that cannot be read.
    pub fn open(path: &Path, interval: Duration) -> Result<Option<Self>> {
        let mut magic = [0; 2];
        let Ok(mut file) = File::open(path) else { return Ok(None) };
        if file.read_exact(&mut magic).is_err() || magic != MAGIC {
            return Ok(None);
        }
        let Ok(file) = File::open(path) else { return Ok(None) };
        let lines = BufReader::new(MultiGzDecoder::new(file));
        let mut recording = Self { lines, next: None, at_ns: 0, interval };
        let head: Option<Head> = recording.line().and_then(|it| serde_json::from_str(&it).ok());
        let Some(head) = head.filter(|head| head.recording == FORMAT) else { return Ok(None) };
        if head.version > VERSION {
            return Err(Error::new(format!(
                "cannot read {}: version {} of recordings; this lockwright reads {VERSION}",
                path.display(),
                head.version
            ))
            .help("use the lockwright that recorded it"));
        }
        recording.advance();
        if recording.next.is_none() {
            return Err(Error::new(format!("there is no moment in {}", path.display())));
        }
        Ok(Some(recording))
    }

    /// The next line that is whole: the last may have been cut by a `kill -9`.
    fn line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        let read = (&mut self.lines).take(LONGEST_LINE).read_until(b'\n', &mut line);
        let is_whole = read.is_ok() && line.last() == Some(&b'\n');
        String::from_utf8(line).ok().filter(|_| is_whole)
    }

    fn advance(&mut self) {
        self.next = self.line().and_then(|line| serde_json::from_str(&line).ok());
    }
}

impl Source for Recording {
    fn look(&mut self) -> Result<Option<Moment>> {
        let Some(moment) = self.next.take() else { return Ok(None) };
        self.at_ns = moment.at_ns;
        self.advance();
        Ok(Some(moment))
    }

    /// As long as it was, but not longer than asked for.
    fn wait(&mut self, patience: Duration) {
        let Some(next) = &self.next else { return };
        let past = Duration::from_nanos(next.at_ns.saturating_sub(self.at_ns));
        std::thread::sleep(past.min(patience).min(self.interval));
    }

    fn is_over(&mut self) -> bool {
        self.next.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_recorded_comes_back_and_a_cut_end_is_left_out() {
        let path = std::env::temp_dir().join(format!("lw-recording-{}", std::process::id()));
        let mut writer = Writer::create(&path).unwrap();
        let moment = |at_ns| Moment { at_ns, notes: vec!["a\"\n".into()], ..Moment::default() };
        (1..=50).for_each(|at_ns| writer.add(&moment(at_ns)).unwrap());
        std::mem::forget(writer);
        let whole = std::fs::read(&path).unwrap();
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            let mut recording = Recording::open(&path, Duration::ZERO).ok().flatten()?;
            let mut all = Vec::new();
            while !recording.is_over() {
                all.push(recording.look().unwrap().unwrap());
            }
            Some(all)
        };
        // Nobody came to end the file.
        assert_eq!(read(&whole).unwrap(), (1..=50).map(moment).collect::<Vec<_>>());
        let cut = read(&whole[..whole.len() - 30]).unwrap();
        assert_eq!(cut[..], (1..=50).map(moment).collect::<Vec<_>>()[..cut.len()]);
        assert!((40..50).contains(&cut.len()), "{}", cut.len());
        assert_eq!(read(b"no recording at all"), None);
        assert_eq!(read(&whole[..20]), None);
        std::fs::remove_file(&path).unwrap();
    }
}
