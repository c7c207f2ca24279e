//! What was measured of a program's locks, and of the kernel's on its behalf.

use std::io::{self, Write};

use lockwright_analysis::lockmeter::model::MeterReport;
use lockwright_analysis::traced::{EveryWait, KernelReport};
use lockwright_analysis::under_way::LongWait;

use super::{Look, Report};
use crate::html;
use crate::lockmeter::view::{Compat, View};
use crate::lockmeter::{compat, json, text};
use crate::traced::{TracedView, render_every_wait, render_every_wait_json};

/// The report of `lockwright meter`.
#[derive(Clone, Copy)]
pub struct Measurement<'r> {
    /// What was measured.
    pub report: &'r MeterReport,
    /// The part that the text shows.
    pub view: View,
    /// The kernel's locks, if they were measured, too.
    pub kernel: Option<KernelToo<'r>>,
    /// The waits that lasted long, if they were looked for.
    pub long_waits: Option<&'r [LongWait]>,
}

/// What the kernel's locks add to a measurement.
#[derive(Clone, Copy)]
pub struct KernelToo<'r> {
    /// All waits, the program's and the kernel's.
    pub waits: &'r [EveryWait<'r>],
    /// The kernel's.
    pub kernel: &'r KernelReport,
}

impl Report for Measurement<'_> {
    fn text(&self, Look { colour, .. }: Look) -> String {
        let (report, view) = (self.report, self.view);
        let mut page = match view.compat {
            Some(Compat::Lockmeter) => compat::render(report, &view.into()),
            Some(Compat::LockStat) => compat::render_lock_stat(report, &view.into()),
            None => text::render(report, &text::TextOptions { colour, view }),
        };
        if let Some(KernelToo { waits, kernel }) = self.kernel {
            page += &render_every_wait(waits, kernel, TracedView { colour, top: view.top });
        }
        page
    }

    fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        match self.kernel {
            Some(KernelToo { waits, kernel }) => {
                out.write_all(render_every_wait_json(self.report, waits, kernel).as_bytes())
            }
            None => json::write(self.report, self.long_waits, out),
        }
    }

    fn html(&self) -> Option<String> {
        Some(html::render(&html::Run {
            found: None,
            all: false,
            metered: Some(self.report),
            every_wait: self.kernel.map_or(&[], |kernel| kernel.waits),
            graphs: &[],
            runs: &[],
        }))
    }
}
