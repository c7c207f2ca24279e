//! What a look into a running process shows: `lockwright check --pid`.

use std::io::{self, Write};

use super::{Look, Report, write_json};
use crate::attached::{Attached, json, text};

impl Report for Attached {
    fn text(&self, Look { colour, .. }: Look) -> String {
        text::render(self, colour)
    }

    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(json::render(self), out)
    }

    fn html(&self) -> Option<String> {
        None
    }
}
