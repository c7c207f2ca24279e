//! Processes that burn CPU during the checks: a check that passes then depends on no time and no
//! load.

use std::process::{Child, Command};

/// It looks after each 100,000 rounds whether the process that started it is still there.
const BURN: &str = "while kill -0 \"$PPID\" 2>/dev/null; do
	i=0
	while [ \"$i\" -lt 100000 ]; do i=$((i + 1)); done
done";

/// Some of them, as long as this value lives.
#[derive(Debug)]
pub(crate) struct Burners(Vec<Child>);

impl Burners {
    /// Starts `count` of them.
    ///
    /// # Errors
    /// That a process cannot be started.
    pub(crate) fn start(count: usize) -> Result<Self, String> {
        let mut burners = Self(Vec::new());
        for _ in 0..count {
            let child = Command::new("sh").args(["-c", BURN]).spawn();
            burners.0.push(child.map_err(|e| format!("sh: {e}"))?);
        }
        Ok(burners)
    }
}

impl Drop for Burners {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // It may have been ended by somebody else.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn they_run_as_long_as_they_are_wanted() {
        let burners = Burners::start(2).unwrap();
        let ids: Vec<u32> = burners.0.iter().map(Child::id).collect();
        assert!(ids.iter().all(|id| Path::new(&format!("/proc/{id}")).exists()));
        drop(burners);
        assert!(!ids.iter().any(|id| Path::new(&format!("/proc/{id}")).exists()));
    }
}
