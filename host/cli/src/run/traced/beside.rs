//! `lockwright meter --with-kernel`: the kernel's locks that a measured program's threads wait for, and the
//! futexes of its libraries.

use std::collections::HashSet;
use std::fs;

use super::helper::Helper;
use super::places::Known;
use lockwright_analysis::lockmeter::model::MeterReport;
use lockwright_analysis::traced::{
    FutexReport, Kallsyms, KernelReport, Message, build_futexes, build_kernel, futexes_of,
    of_processes,
};
use lockwright_console::error::{Error, Result};

/// Counts waits for the kernel's locks and at futexes while a program is measured.
pub struct KernelWaits {
    kernel: Helper,
    futexes: Helper,
}

impl KernelWaits {
    /// Begins. Which processes the program will have is not known yet.
    ///
    /// # Errors
    /// If the kernel does not let us.
    pub fn start() -> Result<Self> {
        let start = |what: &[&str]| {
            Helper::start(&what.iter().map(|&word| word.to_owned()).collect::<Vec<_>>())
        };
        Ok(Self { kernel: start(&["kernel"])?, futexes: start(&["futexes", "0"])? })
    }

    /// Ends; gives the waits of the processes that were `measured`, and those known to be theirs
    /// that were not.
    ///
    /// # Errors
    /// If counting failed meanwhile.
    pub fn finish(self, measured: &MeterReport) -> Result<(KernelReport, FutexReport)> {
        let processes = measured.processes.iter().map(|process| process.pid);
        let pids: HashSet<u32> =
            processes.chain(measured.unwatched.iter().map(|process| process.pid)).collect();
        let unexpected =
            |last: &Message| Error::new(format!("lockwright-bpf said {last:?} at its end"));
        let (kernel, futexes) = (self.kernel.finish()?, self.futexes.finish()?);
        let kernel = match kernel.rows {
            Message::Kernel(rows) => {
                let symbols = fs::read_to_string("/proc/kallsyms").unwrap_or_default();
                build_kernel(&of_processes(rows, &pids), &Kallsyms::new(&symbols))
            }
            other => return Err(unexpected(&other)),
        };
        let futexes = match &futexes.rows {
            Message::Futexes(rows) => {
                build_futexes(&futexes_of(rows.clone(), &pids), &Known::new(&futexes.met))
            }
            other => return Err(unexpected(other)),
        };
        Ok((kernel, futexes))
    }
}
