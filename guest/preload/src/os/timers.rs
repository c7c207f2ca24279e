//! Timers of the process that are armed.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::sys;

/// There were timers in this process.
#[unsafe(link_section = "lockwright_forked")]
static ANY: AtomicBool = AtomicBool::new(false);

/// The program has made a timer.
pub fn made() {
    ANY.store(true, Relaxed);
}

/// There were timers in this process.
pub fn were_made() -> bool {
    ANY.load(Relaxed)
}

/// In a forked child, which has none of its parent's timers. Whether there were any.
pub fn forked() -> bool {
    ANY.swap(false, Relaxed)
}

/// Until when an armed timer may still send a signal, or start a thread, CLOCK_MONOTONIC; 0 if none
/// is armed. For a repeating timer: until it has fired some times.
pub fn armed_until(now_ns: u64) -> u64 {
    /// The kernel numbers a process's timers from 0.
    const NUMBERS: u32 = 64;
    /// What a handler has not done by then it will not do.
    const REPEATS: u64 = 10;
    let ns = |seconds: i64, ns: i64| seconds as u64 * 1_000_000_000 + ns as u64;
    let until = |left: u64, interval: u64| match left {
        0 => 0,
        _ => now_ns.saturating_add(left).saturating_add(interval.saturating_mul(REPEATS)),
    };
    let real = sys::real_timer();
    let of_real = until(
        ns(real.it_value.tv_sec, real.it_value.tv_usec * 1000),
        ns(real.it_interval.tv_sec, real.it_interval.tv_usec * 1000),
    );
    let numbers = if ANY.load(Relaxed) { 0..NUMBERS } else { 0..0 };
    let each = numbers.filter_map(sys::timer).map(|timer| {
        let [value, interval] =
            [timer.it_value, timer.it_interval].map(|t| ns(t.tv_sec, t.tv_nsec));
        until(value, interval)
    });
    each.fold(of_real, u64::max)
}
