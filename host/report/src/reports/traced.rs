//! What the kernel saw of locks: `lockwright meter --kernel`, `--pid` and `--system`.

use std::io::{self, Write};

use lockwright_analysis::traced::{FutexReport, KernelReport};

use super::{Look, Report};
use crate::traced::{
    TracedView, render_futexes, render_futexes_json, render_kernel, render_kernel_compat,
    render_kernel_json,
};

/// The kernel's own locks.
pub struct KernelLocks<'r> {
    /// What was measured.
    pub report: &'r KernelReport,
    /// So many locks are in the text; 0: all.
    pub top: usize,
    /// The text is as lockmeter's.
    pub is_compat: bool,
}

impl Report for KernelLocks<'_> {
    fn text(&self, Look { colour, .. }: Look) -> String {
        match self.is_compat {
            true => render_kernel_compat(self.report),
            false => render_kernel(self.report, TracedView { colour, top: self.top }),
        }
    }

    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(render_kernel_json(self.report).as_bytes())
    }

    fn html(&self) -> Option<String> {
        None
    }
}

/// The futexes of processes.
pub struct FutexWaits<'r> {
    /// What was measured.
    pub report: &'r FutexReport,
    /// So many futexes are in the text; 0: all.
    pub top: usize,
}

impl Report for FutexWaits<'_> {
    fn text(&self, Look { colour, .. }: Look) -> String {
        render_futexes(self.report, TracedView { colour, top: self.top })
    }

    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(render_futexes_json(self.report).as_bytes())
    }

    fn html(&self) -> Option<String> {
        None
    }
}
