//! When a server has begun to answer, and how it is ended.

use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a server may take to answer or to end.
const PATIENCE: Duration = Duration::from_secs(120);

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// Waits until `is_so`. False: it was not in time.
pub fn until(mut is_so: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if is_so() {
            return true;
        }
        sleep(PAUSE);
    }
    false
}

/// Asks the server itself to end, whose process id is `pid`, and waits for `child`: under the tool
/// those are two.
pub fn end(pid: Option<u32>, child: &mut Child) {
    if let Some(pid) = pid {
        let _ = Command::new("kill").arg(pid.to_string()).status();
    }
    if !until(|| !matches!(child.try_wait(), Ok(None))) {
        let _ = child.kill();
        let _ = child.wait();
    }
}
