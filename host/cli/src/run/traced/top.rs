//! `lockwright meter --kernel --interval`: what was waited for since the last time, again and again.

use std::fs;

use super::helper::Helper;
use crate::run::output::sinks::Sinks;
use lockwright_analysis::traced::{Kallsyms, Kernel, Message, build_kernel, since};
use lockwright_console::error::Result;
use lockwright_report::traced::{TracedView, render_kernel_top};

/// What has been shown so far.
pub struct Top {
    before: Kernel,
    symbols: Kallsyms,
    top: usize,
}

impl Top {
    /// Nothing; of each moment `top` locks are shown, or all if that is 0.
    pub fn new(top: usize) -> Self {
        let symbols = fs::read_to_string("/proc/kallsyms").unwrap_or_default();
        Self { before: Kernel::default(), symbols: Kallsyms::new(&symbols), top }
    }

    /// Shows what is new, if there is.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn show(&mut self, helper: &Helper, output: &mut Sinks) -> Result<()> {
        let Some(Message::Kernel(now)) = helper.so_far()? else { return Ok(()) };
        let report = build_kernel(&since(&self.before, &now), &self.symbols);
        self.before = now;
        let view = |colour| TracedView { colour, top: self.top };
        output.show_moment(|colour| render_kernel_top(&report, view(colour)))
    }
}
