//! Source files, read once each.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use lockwright_ledger::file;

use super::debuginfod::Servers;
use crate::finding::Frame;

/// Larger files are generated, and no help to a reader.
const MOST_BYTES: u64 = 64 << 20;

/// The lines of one file.
pub struct Source {
    text: String,
    /// Where each line starts; one more at the end of the text.
    starts: Vec<usize>,
}

impl Source {
    fn new(text: String) -> Self {
        // A carriage return would be shown as a symbol of its own.
        let text = text.replace('\r', "");
        let mut starts = vec![0];
        starts.extend(text.match_indices('\n').map(|(i, _)| i + 1));
        if starts.last() != Some(&text.len()) {
            starts.push(text.len());
        }
        Self { text, starts }
    }

    fn has(&self, line: u32) -> bool {
        line >= 1 && line as usize <= self.line_count()
    }

    /// How many lines there are.
    pub fn line_count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Lines `first..=last`, counted from 1, which must exist.
    pub fn lines(&self, first: usize, last: usize) -> &str {
        &self.text[self.starts[first - 1]..self.starts[last]]
    }

    /// Line `n` without its end.
    pub fn line(&self, n: usize) -> &str {
        self.lines(n, n).trim_end_matches('\n')
    }
}

/// A file of the build with that id.
type Served = (Arc<[u8]>, String);

/// All files that a report shows.
pub struct Sources {
    open: RefCell<HashMap<String, Option<Rc<Source>>>>,
    /// Those that servers have, if the user names some.
    served: RefCell<HashMap<Served, Option<Rc<Source>>>>,
    servers: Option<Servers>,
}

impl Sources {
    /// None read yet; only those of this machine.
    pub fn of_this_machine() -> Self {
        Self { open: RefCell::default(), served: RefCell::default(), servers: None }
    }

    /// None read yet; what is not on this machine comes from the servers of `DEBUGINFOD_URLS`.
    pub fn with_servers() -> Self {
        Self { servers: Servers::from_env(), ..Self::of_this_machine() }
    }

    /// The file that a frame is in, if it can be read and has the frame's line.
    pub fn of(&self, frame: &Frame) -> Option<Rc<Source>> {
        let (path, line) = (frame.file.as_deref()?, frame.line?);
        self.get(path, line).or_else(|| {
            let (servers, build_id) = (self.servers.as_ref()?, frame.build_id.as_ref()?);
            let read = || {
                let text = read(&servers.source(build_id, Path::new(path))?)?;
                Some(Rc::new(Source::new(text)))
            };
            let key = (Arc::clone(build_id), path.to_owned());
            let mut served = self.served.borrow_mut();
            served.entry(key).or_insert_with(read).clone().filter(|source| source.has(line))
        })
    }

    /// The file at `path`, if it is there and has line `line`.
    pub fn get(&self, path: &str, line: u32) -> Option<Rc<Source>> {
        let mut open = self.open.borrow_mut();
        let source = open
            .entry(path.to_owned())
            .or_insert_with(|| read(Path::new(path)).map(|text| Rc::new(Source::new(text))));
        source.clone().filter(|source| source.has(line))
    }
}

/// A regular file of sensible size; debug information may name anything.
fn read(path: &Path) -> Option<String> {
    Some(String::from_utf8_lossy(&file::read(path, MOST_BYTES).ok()?).into_owned())
}

#[cfg(test)]
mod tests {
    use super::Source;

    #[test]
    fn lines() {
        let source = Source::new("one\r\ntwo\n\nfour".to_owned());
        assert_eq!(source.line_count(), 4);
        assert_eq!(source.line(1), "one");
        assert_eq!(source.line(3), "");
        assert_eq!(source.line(4), "four");
        assert_eq!(source.lines(1, 2), "one\ntwo\n");
        assert_eq!(Source::new("one\n".to_owned()).line_count(), 1);
        assert_eq!(Source::new(String::new()).line_count(), 0);
    }
}
