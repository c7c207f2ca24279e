//! The kernel's own locks as moments, by `lockwright-bpf`.

use std::fs;
use std::time::Duration;

use lockwright_report::live::{Moment, of_kernel};

use super::source::Source;
use crate::run::clocks::{monotonic_ns, realtime_ns};
use crate::run::traced::Helper;
use lockwright_analysis::traced::{Kallsyms, Message, build_kernel};
use lockwright_console::error::Result;

/// The kernel.
pub struct KernelLocks {
    helper: Option<Helper>,
    symbols: Kallsyms,
    /// When counting began, CLOCK_MONOTONIC.
    began_ns: u64,
}

impl KernelLocks {
    /// Begins to count.
    ///
    /// # Errors
    /// If the kernel does not let us.
    pub fn open(interval: Duration) -> Result<Self> {
        // A look finds what the helper has sent by then.
        let ms = (interval.as_millis() / 2).clamp(1, i32::MAX as u128);
        let helper = Helper::start(&["kernel".to_owned(), ms.to_string()])?;
        let began_ns = monotonic_ns();
        let symbols = fs::read_to_string("/proc/kallsyms").unwrap_or_default();
        let symbols = Kallsyms::new(&symbols);
        Ok(Self { helper: Some(helper), symbols, began_ns })
    }
}

impl Source for KernelLocks {
    fn look(&mut self) -> Result<Option<Moment>> {
        let Some(helper) = &self.helper else { return Ok(None) };
        let Some(Message::Kernel(rows)) = helper.so_far()? else { return Ok(None) };
        let mut moment = of_kernel(&build_kernel(&rows, &self.symbols));
        // When it was counted, and not when it was read: rates are of that.
        moment.at_ns = self.began_ns.saturating_add(rows.elapsed_ns);
        moment.unix_ns = realtime_ns();
        Ok(Some(moment))
    }

    fn is_over(&mut self) -> bool {
        false
    }

    fn leave(&mut self) -> Result<()> {
        self.helper.take().map_or(Ok(()), |helper| helper.finish().map(drop))
    }
}
