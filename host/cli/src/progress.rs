//! A progress bar, for terminals.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lockwright_analysis::progress::{self as analysis, Progress};

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
