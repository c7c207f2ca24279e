//! A status line, for terminals.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::plain;

/// Parts of a step, as far as a bar shows them.
const PARTS: u64 = 1000;

/// A line on stderr, for terminals, of what is being done. Gone when dropped.
pub struct Status(ProgressBar);

impl Status {
    /// Nothing is shown yet.
    pub fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        bar.set_draw_target(ProgressDrawTarget::stderr());
        Self(bar)
    }

    /// A bar of so many steps, with the time that they have taken so far.
    pub fn of(steps: usize) -> Self {
        let status = Self::new();
        let template = "{spinner} [{bar:30}] {elapsed}: {msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            status.0.set_style(style.progress_chars("=> "));
        }
        status.0.set_length(steps as u64 * PARTS);
        // The clock goes on even if no progress comes for a while.
        status.0.enable_steady_tick(Duration::from_millis(200));
        status
    }

    /// Shows that so many steps are done, and what the next one is. What is returned shows which part
    /// of that is done, too.
    pub fn begin(&self, done: usize, next: &str) -> impl Fn(f64) + 'static {
        let begin = done as u64 * PARTS;
        self.0.set_position(begin);
        self.show(next);
        let bar = self.0.clone();
        move |part| bar.set_position(begin + (part * PARTS as f64) as u64)
    }

    /// Shows this instead of what was shown.
    pub fn show(&self, what: &str) {
        self.0.set_message(plain::line(what));
        self.0.tick();
    }

    /// Lets `print` print without the line in its way.
    pub fn aside(&self, print: impl FnOnce()) {
        self.0.suspend(print);
    }
}

impl Default for Status {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Status {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
