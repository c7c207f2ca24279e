//! What keys do.

use std::time::Duration;

use lockwright_report::live::Thread;

use super::{Board, Detail, Found, LockOrder, ThreadOrder, View};
use crate::keys::Key;

/// The shortest interval: a look at a ledger takes some milliseconds.
const SHORTEST: Duration = Duration::from_millis(100);

/// The longest.
const LONGEST: Duration = Duration::from_secs(60);

/// What a key asks of whoever has the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Draw the board.
    Draw,
    /// Clear the terminal, and draw.
    Redraw,
    /// Leave.
    Quit,
}

impl Board {
    /// Does what a key stands for.
    pub fn press(&mut self, key: Key) -> Wish {
        self.message.clear();
        match key {
            Key::Interrupt => return Wish::Quit,
            Key::Redraw => return Wish::Redraw,
            _ => {}
        }
        if self.typed.is_some() {
            self.type_filter(key);
            return Wish::Draw;
        }
        match key {
            Key::Char('q') | Key::Function(10) => return Wish::Quit,
            Key::Char('?' | 'h') | Key::Function(1) => self.toggle_help(),
            Key::Char(digit @ '1'..='5') => {
                self.go_to(View::ALL[digit as usize - '1' as usize]);
            }
            Key::Tab => self.step_view(1),
            Key::BackTab => self.step_view(View::ALL.len() - 1),
            Key::Char('Z' | 'z' | ' ') => self.is_paused = !self.is_paused,
            Key::Char('+') => self.interval = (self.interval * 2).min(LONGEST),
            Key::Char('-') => self.interval = (self.interval / 2).max(SHORTEST),
            Key::Escape if self.details.is_empty() => self.filter.clear(),
            Key::Escape | Key::Backspace | Key::Left if !self.details.is_empty() => self.back(),
            Key::Enter | Key::Right => self.enter(),
            Key::Up | Key::Char('k') => self.go_by(-1),
            Key::Down | Key::Char('j') => self.go_by(1),
            Key::PageUp => self.go_by(-(self.page.max(1) as isize)),
            Key::PageDown => self.go_by(self.page.max(1) as isize),
            Key::Home => self.go_by(isize::MIN),
            Key::End => self.go_by(isize::MAX),
            Key::Char('<' | ',') => self.step_order(false),
            Key::Char('>' | '.') | Key::Function(6) => self.step_order(true),
            Key::Char('I') => self.is_reversed = !self.is_reversed,
            Key::Char('a') => self.shows_totals = !self.shows_totals,
            Key::Char('/' | '\\') | Key::Function(3 | 4) => self.typed = Some(self.filter.clone()),
            _ => {}
        }
        Wish::Draw
    }

    fn type_filter(&mut self, key: Key) {
        let Some(typed) = &mut self.typed else { return };
        match key {
            Key::Char(c) => typed.push(c),
            Key::Backspace => _ = typed.pop(),
            Key::Escape => self.typed = None,
            Key::Enter => {
                self.filter = typed.to_lowercase();
                self.typed = None;
            }
            _ => {}
        }
    }

    fn toggle_help(&mut self) {
        self.scroll = 0;
        match self.details.last() {
            Some(Detail::Help) => _ = self.details.pop(),
            _ => self.details.push(Detail::Help),
        }
    }

    fn go_to(&mut self, view: View) {
        (self.view, self.scroll) = (view, 0);
        self.details.clear();
    }

    fn step_view(&mut self, by: usize) {
        self.go_to(View::ALL[(self.view as usize + by) % View::ALL.len()]);
    }

    fn back(&mut self) {
        self.details.pop();
        self.scroll = 0;
    }

    /// Shows in full what is selected.
    fn enter(&mut self) {
        let line = self.selected();
        let of_thread = |thread: &Thread| Detail::Thread(thread.pid, thread.tid);
        let detail = match self.details.last() {
            None => match self.view {
                View::Locks => self.locks().get(line).map(|lock| Detail::Lock(lock.id.clone())),
                View::Threads => self.threads().get(line).map(|it| of_thread(it)),
                View::Waits => self.waits().get(line).map(|branch| of_thread(branch.thread)),
                View::Findings => match self.found().get(line) {
                    Some(&Found::Finding(at, _)) => Some(Detail::Finding(at)),
                    Some(Found::Advice(_, Some(lock))) => Some(Detail::Lock(lock.id.clone())),
                    _ => None,
                },
                View::Output => None,
            },
            // From a thread to the lock that it waits for.
            Some(&Detail::Thread(pid, tid)) => self.now().and_then(|moment| {
                let is_it = |it: &&Thread| (it.pid, it.tid) == (pid, tid);
                let wait = moment.threads.iter().find(is_it)?.wait.as_ref()?;
                moment.lock(&wait.lock).map(|lock| Detail::Lock(lock.id.clone()))
            }),
            Some(_) => None,
        };
        if let Some(detail) = detail {
            self.details.push(detail);
            self.scroll = 0;
        }
    }

    fn go_by(&mut self, lines: isize) {
        if !self.details.is_empty() || self.view == View::Output {
            self.scroll = self.scroll.saturating_add_signed(lines);
            return;
        }
        let line = self.selected().saturating_add_signed(lines);
        self.select(line);
    }

    fn step_order(&mut self, forward: bool) {
        fn next<T: Copy + PartialEq, const N: usize>(all: [T; N], now: T, forward: bool) -> T {
            let at = all.iter().position(|it| *it == now).unwrap_or(0);
            all[(at + if forward { 1 } else { N - 1 }) % N]
        }
        match self.view {
            View::Locks => {
                self.lock_order = next(LockOrder::ALL, self.lock_order, forward);
                self.message = format!("sorted by {}", self.lock_order.name());
            }
            View::Threads => {
                self.thread_order = next(ThreadOrder::ALL, self.thread_order, forward);
                self.message = format!("sorted by {}", self.thread_order.name());
            }
            _ => {}
        }
    }
}
