//! What the tool costs: the same loop of uncontended lock and unlock, natively and watched.

use std::cell::UnsafeCell;
use std::hint::black_box;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::engines::Engines;
use super::preload::Preload;

/// Interleaved rounds: enough for a median to shrug off a disturbance, few enough not to be felt.
const ROUNDS: usize = 5;

/// How long the loop runs in one round.
const ROUND: Duration = Duration::from_millis(3);

/// Pairs between two looks at the clock, so that the clock is not what is measured.
const BATCH: u32 = 500;

/// A round that takes longer is given up, and the calibration with it.
const PATIENCE: Duration = Duration::from_secs(2);

/// Nanoseconds that `engines` add to one lock and unlock on this machine, now. `None` if it cannot
/// be measured.
pub fn cost(preload: &Preload, engines: &Engines<'_>, dir: &Path) -> Option<f64> {
    let ledgers = dir.join("calibration");
    std::fs::create_dir(&ledgers).ok()?;
    let preload = preload.writing_to(ledgers.clone());
    let watch = |command: &mut Command| {
        preload.watch(command);
        engines.tell(command);
    };
    let rounds = (0..ROUNDS)
        .map(|_| Some((round(Preload::leave_alone)?, round(watch)?)))
        .collect::<Option<Vec<_>>>();
    // Ledgers of these processes are nobody's business.
    let _ = std::fs::remove_dir_all(ledgers);
    let (native, watched): (Vec<_>, Vec<_>) = rounds?.into_iter().unzip();
    Some((median(watched)? - median(native)?).max(0.0))
}

/// One process that measures.
fn round(prepare: impl FnOnce(&mut Command)) -> Option<f64> {
    let mut command = Command::new("/proc/self/exe");
    command.arg("calibrate").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    prepare(&mut command);
    let mut child = command.spawn().ok()?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        match child.try_wait().ok()? {
            Some(status) if status.success() => break,
            Some(_) => return None,
            None if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(1)),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                return None;
            }
        }
    }
    let mut text = String::new();
    child.stdout.take()?.read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

/// `lockwright calibrate`: nanoseconds per pair in this process, as it was started.
pub fn measure() -> f64 {
    // With one thread glibc takes locks without atomics, which no watched program can.
    let (done, wait) = mpsc::channel::<()>();
    let second = std::thread::spawn(move || wait.recv().is_err());
    let mutex = UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER);
    // What disturbs a batch makes it longer, never shorter.
    let mut least = f64::INFINITY;
    let mut value = 1;
    let begun = Instant::now();
    while begun.elapsed() < ROUND {
        let batch = Instant::now();
        for _ in 0..BATCH {
            // SAFETY: a valid mutex of this thread alone.
            unsafe { libc::pthread_mutex_lock(mutex.get()) };
            value = work(value);
            // SAFETY: locked just now.
            unsafe { libc::pthread_mutex_unlock(mutex.get()) };
            value = work(value);
        }
        least = least.min(batch.elapsed().as_nanos() as f64 / f64::from(BATCH));
    }
    drop(done);
    let _ = second.join();
    least
}

/// What a program does between its calls: steps that each wait for the one before. Without it the processor
/// would do much of what the tool adds beside the locked instructions, which wait for nothing but memory, and a
/// pair would seem to cost less than it does. Few enough that a build without optimisation still measures locks.
fn work(value: u64) -> u64 {
    let step = |value: u64, _| black_box(value).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..4).fold(value, step)
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_takes_time() {
        let ns = measure();
        assert!(ns > 0.5 && ns < 1e6, "{ns} ns");
    }

    #[test]
    fn one_slow_round_does_not_show() {
        assert_eq!(median(vec![3.0, 1000.0, 1.0, 2.0, 3.5]), Some(3.0));
        assert_eq!(median(vec![]), None);
    }
}
