//! Source files, read once each.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use lockwright_ledger::file;

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

    /// Lines there are.
    pub fn len(&self) -> usize {
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

/// All files that a report shows.
pub struct Sources {
    open: RefCell<HashMap<String, Option<Rc<Source>>>>,
}

impl Sources {
    /// None read yet.
    pub fn new() -> Self {
        Self { open: RefCell::default() }
    }

    /// The file at `path`, if it is there and has line `line`.
    pub fn get(&self, path: &str, line: u32) -> Option<Rc<Source>> {
        let mut open = self.open.borrow_mut();
        let source = open
            .entry(path.to_owned())
            .or_insert_with(|| read(Path::new(path)).map(|text| Rc::new(Source::new(text))));
        source.as_ref().filter(|source| line >= 1 && line as usize <= source.len()).cloned()
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
        assert_eq!(source.len(), 4);
        assert_eq!(source.line(1), "one");
        assert_eq!(source.line(3), "");
        assert_eq!(source.line(4), "four");
        assert_eq!(source.lines(1, 2), "one\ntwo\n");
        assert_eq!(Source::new("one\n".to_owned()).len(), 1);
        assert_eq!(Source::new(String::new()).len(), 0);
    }
}
