//! Progress bars and status lines, for terminals.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lockwright_analysis::progress::{self as analysis, Progress};
use lockwright_report::plain;

/// An analysis that is over sooner than this shows no bar: it would only flicker.
const PATIENCE: Duration = Duration::from_millis(400);

/// A bar on stderr, for terminals. Gone without a trace when dropped.
pub struct Bar<'a> {
    bar: ProgressBar,
    /// Sees to it that the line which the bar is drawn over is empty.
    begin_line: &'a dyn Fn(),
    begun: Instant,
    stage: RefCell<Stage>,
}

#[derive(Debug, Default)]
struct Stage {
    name: &'static str,
    total: u64,
    done: u64,
    shown: bool,
}

impl<'a> Bar<'a> {
    /// A bar that appears once the work has taken noticeable time, on a line that `begin_line`
    /// begins.
    pub fn new(begin_line: &'a dyn Fn()) -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
        Self { bar, begin_line, begun: Instant::now(), stage: RefCell::default() }
    }

    /// Draws the stage if the user has waited long enough to wonder.
    fn show(&self, stage: &mut Stage) {
        if stage.shown || self.begun.elapsed() < PATIENCE {
            return;
        }
        stage.shown = true;
        (self.begin_line)();
        let template = if stage.total == 0 {
            "{spinner} {msg}"
        } else {
            "{msg} [{bar:30}] {human_pos}/{human_len} {eta}"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.bar.set_style(style.progress_chars("=> "));
        }
        self.bar.set_length(stage.total);
        self.bar.set_position(stage.done);
        self.bar.set_message(stage.name);
        self.bar.set_draw_target(ProgressDrawTarget::stderr());
    }
}

impl Progress for Bar<'_> {
    fn stage(&self, stage: analysis::Stage, total: u64) {
        let name = match stage {
            analysis::Stage::Reading => "reading ledgers",
            analysis::Stage::LockCycles => "searching cycles of locks",
            analysis::Stage::ClassCycles => "searching cycles of lock classes",
            analysis::Stage::RunCycles => "searching cycles of all runs",
        };
        let mut stage = self.stage.borrow_mut();
        *stage = Stage { name, total, done: 0, shown: false };
        self.show(&mut stage);
    }

    fn advance(&self, by: u64) {
        let mut stage = self.stage.borrow_mut();
        stage.done += by;
        self.show(&mut stage);
        if stage.shown {
            self.bar.set_position(stage.done);
        }
    }
}

impl Drop for Bar<'_> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

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
