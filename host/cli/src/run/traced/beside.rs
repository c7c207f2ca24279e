//! `lockwright meter --with-kernel`: the kernel's locks that a measured program's threads wait for.

use std::collections::HashSet;
use std::fs;

use super::helper::Helper;
use lockwright_analysis::lockmeter::model::MeterReport;
use lockwright_analysis::traced::{Kallsyms, KernelReport, Message, build_kernel, of_processes};
use lockwright_console::error::{Error, Result};

/// Counts waits for the kernel's locks while a program is measured.
pub struct KernelWaits(Helper);

impl KernelWaits {
    /// Begins.
    ///
    /// # Errors
    /// If the kernel does not let us.
    pub fn start() -> Result<Self> {
        Helper::start(&["kernel".to_owned()]).map(Self)
    }

    /// Ends; gives the waits of the processes that were `measured`, and those known to be theirs
    /// that were not.
    ///
    /// # Errors
    /// If counting failed meanwhile.
    pub fn finish(self, measured: &MeterReport) -> Result<KernelReport> {
        let counted = match self.0.finish()?.rows {
            Message::Kernel(rows) => rows,
            other => return Err(Error::new(format!("lockwright-bpf said {other:?} at its end"))),
        };
        let processes = measured.processes.iter().map(|process| process.pid);
        let pids: HashSet<u32> =
            processes.chain(measured.unwatched.iter().map(|process| process.pid)).collect();
        let symbols = fs::read_to_string("/proc/kallsyms").unwrap_or_default();
        Ok(build_kernel(&of_processes(counted, &pids), &Kallsyms::new(&symbols)))
    }
}
