//! Servers and other programs as Debian packages them, on the locks of the family: what they have
//! in the end is what their clients gave them.
//!
//! A few seconds of each on the hybrid mutex.
//! `cargo xtask swap --seconds 600 --locks hybrid,ticket` has them run for longer, and on others.

mod mariadb;
mod memcached;
mod packers;
mod redis;
mod rocksdb;
mod sqlite;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::harness::{Job, Run, installed, native, under};

/// Where nothing else is said.
const SECONDS: u64 = 2;
const LOCKS: &str = "hybrid";

/// A program, and what is done with it.
struct Program {
    /// The executables and other files it needs, and the Debian packages that have them. The first is what is run.
    needs: &'static [(&'static str, &'static str)],
    /// Has it do its work; fails where anything is not as it should be.
    work: fn(&Arm),
    /// The message if an update is lost.
    loss: &'static str,
}

/// One way to run a program.
struct Arm {
    executable: PathBuf,
    /// None: the C library's.
    lock: Option<String>,
    /// How long it works at the least.
    time: Duration,
    /// Something is noted as done that is not: must be noticed.
    loses: bool,
}

impl Arm {
    /// The program, to be run in this way.
    fn job(&self) -> Job {
        self.other(&self.executable)
    }

    /// Another program, to be run in the same way.
    fn other(&self, executable: &Path) -> Job {
        match &self.lock {
            Some(lock) => under("swap", &["--lock", lock], executable),
            None => native(executable),
        }
    }

    /// Repeats `round`, which gets the number of rounds before it, until the time is over. Returns
    /// how often.
    fn rounds(&self, mut round: impl FnMut(usize)) -> usize {
        let begun = Instant::now();
        let mut done = 0;
        while done == 0 || begun.elapsed() < self.time {
            round(done);
            done += 1;
        }
        done
    }

    /// Judges the end of a run.
    fn ended(&self, run: &Run) {
        assert_eq!(run.code(), 0, "{}{}", run.text(), run.stderr);
        if let Some(lock) = &self.lock {
            let report = run.report();
            assert_eq!(report["lock"], **lock, "{report:#}");
            assert!(report["replaced"]["mutexes"].as_u64() > Some(0), "{report:#}");
        }
    }
}

/// What the environment says, if it says anything.
fn said(name: &str, otherwise: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| otherwise.to_owned())
}

fn executable(program: &Program) -> Option<PathBuf> {
    let mut found = program.needs.iter().map(|(name, package)| installed(&[name], package));
    let executable = found.next().expect("something is run")?;
    found.all(|other| other.is_some()).then_some(executable)
}

/// On each of the locks in question, for the time in question.
fn is_kept(program: &Program) {
    let Some(executable) = executable(program) else { return };
    let seconds = said("LOCKWRIGHT_SWAP_SECONDS", &SECONDS.to_string());
    let time = Duration::from_secs(seconds.parse().expect("LOCKWRIGHT_SWAP_SECONDS: a number"));
    let locks = match said("LOCKWRIGHT_SWAP_LOCKS", LOCKS).as_str() {
        "all" => super::locks(),
        some => some.split(',').map(str::to_owned).collect(),
    };
    for lock in locks {
        let executable = executable.clone();
        (program.work)(&Arm { executable, lock: Some(lock), time, loses: false });
    }
}

/// Natively, as that the lock is another one does not matter here.
fn a_loss_is_noticed(program: &Program) {
    let Some(executable) = executable(program) else { return };
    let arm = Arm { executable, lock: None, time: Duration::ZERO, loses: true };
    let panic = catch_unwind(AssertUnwindSafe(|| (program.work)(&arm)));
    let panic = panic.expect_err("a loss was planted");
    let said = panic.downcast_ref::<String>().expect("a failed assertion says why");
    assert!(said.contains(program.loss), "it is not the loss that was noticed: {said}");
}

/// Makes each row two tests.
macro_rules! programs {
    ($($(#[$comment:meta])* $name:ident: $program:expr;)*) => {
        mod keeps {
            use super::*;
            $($(#[$comment])* #[test] fn $name() { is_kept(&$program); })*
        }
        mod notices_a_loss {
            use super::*;
            $(#[test] fn $name() { a_loss_is_noticed(&$program); })*
        }
    };
}

programs! {
    /// Transfers between accounts, and sysbench at the same time.
    mariadb: Program {
        needs: &[
            ("mariadbd", "mariadb-server"),
            ("mariadb-install-db", "mariadb-server"),
            ("mariadb", "mariadb-client"),
            ("sysbench", "sysbench"),
        ],
        work: mariadb::work,
        loss: "the balances are not what the clients have transferred",
    };

    memcached: Program {
        needs: &[("memcached", "memcached")],
        work: memcached::work,
        loss: "counted together",
    };

    /// Threads for its connections, threads that free, and forked children that write.
    redis: Program {
        needs: &[
            ("redis-server", "redis-server"),
            ("redis-benchmark", "redis-tools"),
            ("redis-cli", "redis-tools"),
        ],
        work: redis::work,
        loss: "counted together",
    };

    /// Threads that write, read, flush and compact; transactions whose sums are checked.
    rocksdb: Program {
        needs: &[("db_bench", "rocksdb-tools"), ("ldb", "rocksdb-tools")],
        work: rocksdb::work,
        loss: "keys are not what was written",
    };

    sqlite: Program {
        needs: &[("cc", "gcc"), ("/usr/include/sqlite3.h", "libsqlite3-dev")],
        work: sqlite::work,
        loss: "balances are wrong",
    };

    zstd: Program { needs: &[("zstd", "zstd")], work: packers::zstd, loss: packers::LOSS };
    xz: Program { needs: &[("xz", "xz-utils")], work: packers::xz, loss: packers::LOSS };
    pigz: Program { needs: &[("pigz", "pigz")], work: packers::pigz, loss: packers::LOSS };

    /// Frames that x264 keeps as they are.
    ffmpeg: Program {
        needs: &[("ffmpeg", "ffmpeg")],
        work: packers::ffmpeg,
        loss: "frames are not those that were packed",
    };
}
