//! Styles that make text stand out.

/// How to make text stand out, if at all.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// The reader sees colours.
    pub colour: bool,
}

impl Style {
    /// The title of a section.
    pub fn heading(self, text: &str) -> String {
        self.paint("1;36", text)
    }

    /// A lock's name.
    pub fn name(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// Something that makes the numbers wrong.
    pub fn warning(self, text: &str) -> String {
        self.paint("1;33", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}
