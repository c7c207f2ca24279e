//! Colours that the colour-blind tell apart: the nearest of 256 to those of Okabe and Ito. What a colour says, a word or sign
//! says, too.

use ratatui::style::{Color, Modifier, Style};

/// With colours, or by weight alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    /// Colours are wanted.
    pub colour: bool,
}

impl Palette {
    fn of(self, index: u8) -> Style {
        if self.colour { Style::new().fg(Color::Indexed(index)) } else { Style::new() }
    }

    /// Titles and headings.
    pub fn heading(self) -> Style {
        self.of(74).add_modifier(Modifier::BOLD)
    }

    /// Names of locks and threads.
    pub fn name(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Much waiting.
    pub fn hot(self) -> Style {
        self.of(214).add_modifier(Modifier::BOLD)
    }

    /// A deadlock, or what is likely to be one.
    pub fn error(self) -> Style {
        self.of(202).add_modifier(Modifier::BOLD | Modifier::UNDERLINED)
    }

    /// What could be wrong.
    pub fn warning(self) -> Style {
        self.of(175)
    }

    /// What is less important.
    pub fn faint(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// The line that keys are for.
    pub fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }
}
