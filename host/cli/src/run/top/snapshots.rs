//! Moments for a pipe or a file: text, or JSON, a line for each.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

use lockwright_console::args::OutputArgs;
use lockwright_console::error::{Error, Result};
use lockwright_console::plain;
use lockwright_report::live::Moment;
use lockwright_top::snapshot;

use super::shown::Shown;
use super::source::{Source, nothing};
use crate::run::ending::Ending;

/// Writes until the program ends, or there are as many as asked for.
pub fn run(mut source: Box<dyn Source>, mut shown: Shown, output: &OutputArgs) -> Result<Ending> {
    let mut json =
        output.json.as_deref().map(|path| Stream::open(path, "--json FILE")).transpose()?;
    let mut text = match (&output.output, &output.json) {
        (Some(path), _) => Some(Stream::open(path, "-o FILE")?),
        (None, None) => Some(Stream::stdout()),
        (None, Some(_)) => None,
    };
    let done = write(&mut *source, &mut shown, &mut text, &mut json);
    source.leave()?;
    done.map(|()| Ending::Code(0))
}

fn write(
    source: &mut dyn Source,
    shown: &mut Shown,
    text: &mut Option<Stream>,
    json: &mut Option<Stream>,
) -> Result<()> {
    let mut before: Option<Moment> = None;
    let mut left = shown.count.unwrap_or(u64::MAX);
    let mut next = Instant::now();
    loop {
        // What it is like after its end is seen, too.
        let is_over = source.is_over();
        let began = Instant::now();
        if let Some(mut moment) = source.look()? {
            shown.complete(&mut moment, before.as_ref())?;
            let mut is_read = true;
            if let Some(text) = text {
                let lines = snapshot::text(&shown.title, &moment, shown.top);
                let lines = plain::text(&lines, plain::Styles::None);
                is_read &= text.write(format!("{lines}\n").as_bytes())?;
            }
            if let Some(json) = json {
                let line = serde_json::to_string(&moment).unwrap_or_default();
                is_read &= json.write(format!("{}\n", plain::json(line)).as_bytes())?;
            }
            before = Some(moment);
            left -= 1;
            if left == 0 || !is_read {
                return Ok(());
            }
        }
        if is_over {
            return before.map_or_else(|| Err(nothing()), |_| Ok(()));
        }
        // A look takes a part of the interval. One that takes longer than that, as of a large ledger, leaves a third of the time free.
        next = (next + shown.interval).max(Instant::now() + began.elapsed() / 2);
        source.wait(next.saturating_duration_since(Instant::now()));
    }
}

/// Standard output or a file, written to as moments come.
struct Stream {
    out: Box<dyn Write>,
    name: String,
}

impl Stream {
    fn stdout() -> Self {
        Self { out: Box::new(io::stdout()), name: "standard output".to_owned() }
    }

    fn open(path: &Path, usage: &str) -> Result<Self> {
        if path == Path::new("-") {
            return Ok(Self::stdout());
        }
        let name = path.display().to_string();
        let file = File::create(path).map_err(|error| {
            Error::new(format!("cannot write {name}: {error}"))
                .help(format!("name a writable file: {usage}"))
        })?;
        Ok(Self { out: Box::new(file), name })
    }

    /// False if nobody reads any more.
    fn write(&mut self, bytes: &[u8]) -> Result<bool> {
        match self.out.write_all(bytes).and_then(|()| self.out.flush()) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(Error::new(format!("cannot write {}: {error}", self.name))),
        }
    }
}
