//! Keys, as the board knows them.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A letter or sign.
    Char(char),
    /// Line up.
    Up,
    /// Line down.
    Down,
    /// Left.
    Left,
    /// Right.
    Right,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// To the first line.
    Home,
    /// To the last line.
    End,
    /// Into what is selected.
    Enter,
    /// Back.
    Escape,
    /// Removes a letter.
    Backspace,
    /// The next view.
    Tab,
    /// The view before.
    BackTab,
    /// A function key, by its number.
    Function(u8),
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-L: draw all of it again.
    Redraw,
}

impl Key {
    /// The key of a terminal's event, if it means anything here.
    pub fn of(event: KeyEvent) -> Option<Self> {
        if event.kind == KeyEventKind::Release {
            return None;
        }
        let is_control = event.modifiers.contains(KeyModifiers::CONTROL);
        Some(match event.code {
            KeyCode::Char('c' | 'C') if is_control => Self::Interrupt,
            KeyCode::Char('l' | 'L') if is_control => Self::Redraw,
            KeyCode::Char(_) if is_control => return None,
            KeyCode::Char(c) => Self::Char(c),
            KeyCode::Up => Self::Up,
            KeyCode::Down => Self::Down,
            KeyCode::Left => Self::Left,
            KeyCode::Right => Self::Right,
            KeyCode::PageUp => Self::PageUp,
            KeyCode::PageDown => Self::PageDown,
            KeyCode::Home => Self::Home,
            KeyCode::End => Self::End,
            KeyCode::Enter => Self::Enter,
            KeyCode::Esc => Self::Escape,
            KeyCode::Backspace => Self::Backspace,
            KeyCode::Tab => Self::Tab,
            KeyCode::BackTab => Self::BackTab,
            KeyCode::F(n) => Self::Function(n),
            _ => return None,
        })
    }
}
