//! What a look into a running process shows: `lockwright check --pid`.

use std::io::{self, Write};

use super::{Look, Report};
use crate::attached::{Attached, json, text};

impl Report for Attached {
    fn text(&self, Look { colour, .. }: Look) -> String {
        text::render(self, colour)
    }

    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(json::render(self).as_bytes())
    }

    fn html(&self) -> Option<String> {
        None
    }
}
