//! The states of a process's threads, as /proc shows them: whether they run, and whether what
//! they sleep in ends by itself.

use std::collections::HashMap;
use std::fs;

use lockwright_analysis::arch;

/// The state of a thread, as far as it matters to its waiters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It runs, or waits for a processor or a disk.
    Runs,
    /// It sleeps in a call that has a timeout.
    SleepsForATime,
    /// It sleeps until another thread wakes it.
    AwaitsThread,
    /// It sleeps until something comes from outside of the process: input, a signal, the end of a
    /// child.
    AwaitsOutside,
    /// It sleeps, and the kernel does not say in what.
    Sleeps,
    /// It is stopped, by a signal or a debugger.
    Stopped,
    /// It has ended.
    Ended,
}

/// A thread.
#[derive(Clone, Debug)]
pub struct Task {
    /// Its id in its own pid namespace, which ledgers have.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// What it does.
    pub doing: Doing,
    /// It was on a processor since it was looked at last.
    pub moved: bool,
    /// Signals that have handlers and that the thread does not block: bit `n - 1` for signal `n`.
    pub open_signals: u64,
}

/// How often threads were put off a processor when they were last looked at, by their ids.
#[derive(Clone, Debug, Default)]
pub struct Switches(HashMap<u32, u64>);

/// The threads of process `pid`; none if it has ended. `before` is of the last look at it.
pub fn of_process(pid: u32, before: &mut Switches) -> Vec<Task> {
    let mut now = HashMap::new();
    let mut tasks = Vec::new();
    for entry in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
        let read = |name: &str| fs::read_to_string(entry.path().join(name));
        let id = entry.file_name().to_str().and_then(|id| id.parse::<u32>().ok());
        let (Some(id), Ok(status)) = (id, read("status")) else { continue };
        let call = read("syscall").unwrap_or_default();
        let (mut task, switches) = parse(&status, &call);
        task.moved = before.0.get(&id) != Some(&switches);
        if task.tid == 0 {
            task.tid = id;
        }
        now.insert(id, switches);
        tasks.push(task);
    }
    before.0 = now;
    tasks
}

/// A thread by its `status` and `syscall`, and how often it was put off a processor.
fn parse(status: &str, call: &str) -> (Task, u64) {
    let field = |name: &str| {
        let mut lines = status.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map_or("", str::trim)
    };
    let set = |name| u64::from_str_radix(field(name), 16).unwrap_or(0);
    let number = |name| field(name).parse::<u64>().unwrap_or(0);
    let doing = match field("State").chars().next() {
        Some('S' | 'I') => sleeps_in(call),
        Some('T' | 't') => Doing::Stopped,
        Some('Z' | 'X') => Doing::Ended,
        _ => Doing::Runs,
    };
    let task = Task {
        tid: field("NSpid").split_whitespace().last().and_then(|id| id.parse().ok()).unwrap_or(0),
        name: field("Name").to_owned(),
        doing,
        moved: false,
        open_signals: set("SigCgt") & !set("SigBlk"),
    };
    (task, number("voluntary_ctxt_switches") + number("nonvoluntary_ctxt_switches"))
}

/// Where a system call has its timeout.
#[derive(Clone, Copy)]
enum Timeout {
    /// It is nothing but one.
    Always,
    /// The argument points to it; null: there is none.
    At(usize),
    /// The argument has it in milliseconds; negative: there is none.
    Millis(usize),
}

/// Calls that may have a timeout, and wait for what comes from outside otherwise.
const TIMED: &[(i64, Timeout)] = &[
    (libc::SYS_nanosleep, Timeout::Always),
    (libc::SYS_clock_nanosleep, Timeout::Always),
    // A sleep that was interrupted goes on so.
    (libc::SYS_restart_syscall, Timeout::Always),
    (arch::SYS_poll, Timeout::Millis(2)),
    (libc::SYS_ppoll, Timeout::At(2)),
    (arch::SYS_select, Timeout::At(4)),
    (libc::SYS_pselect6, Timeout::At(4)),
    (arch::SYS_epoll_wait, Timeout::Millis(3)),
    (libc::SYS_epoll_pwait, Timeout::Millis(3)),
    (libc::SYS_epoll_pwait2, Timeout::At(3)),
    (libc::SYS_rt_sigtimedwait, Timeout::At(2)),
    (libc::SYS_semtimedop, Timeout::At(3)),
    (libc::SYS_mq_timedsend, Timeout::At(4)),
    (libc::SYS_mq_timedreceive, Timeout::At(4)),
    (libc::SYS_recvmmsg, Timeout::At(4)),
    (libc::SYS_io_getevents, Timeout::At(4)),
];

/// Calls that wait until another thread does something, and where they have a timeout.
const FUTEXES: &[(i64, usize)] = &[
    (libc::SYS_futex, 3),
    (libc::SYS_futex_waitv, 3),
    // futex_wait(2), since Linux 6.7.
    (455, 4),
];

/// What a thread sleeps in: a line of /proc/PID/task/TID/syscall, which is empty if it could not be
/// read.
pub fn sleeps_in(call: &str) -> Doing {
    let mut words = call.split_whitespace();
    let number = words.next();
    if number == Some("running") {
        return Doing::Runs;
    }
    let Some(number) = number.and_then(|number| number.parse::<i64>().ok()) else {
        return Doing::Sleeps;
    };
    let arguments: Vec<u64> = words
        .filter_map(|word| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok())
        .collect();
    let argument = |at: usize| arguments.get(at).copied().unwrap_or(0);
    if let Some(&(_, at)) = FUTEXES.iter().find(|(call, _)| *call == number) {
        return if argument(at) == 0 { Doing::AwaitsThread } else { Doing::SleepsForATime };
    }
    let is_timed = match TIMED.iter().find(|(call, _)| *call == number) {
        None => false,
        Some((_, Timeout::Always)) => true,
        Some(&(_, Timeout::At(at))) => argument(at) != 0,
        Some(&(_, Timeout::Millis(at))) => argument(at) as i32 >= 0,
    };
    if is_timed { Doing::SleepsForATime } else { Doing::AwaitsOutside }
}

/// Whether a process that descends from this one, `but` excepted, runs or will by itself. `before` are the last looks at them.
pub fn others_run(but: u32, before: &mut HashMap<u32, Switches>) -> bool {
    let others = descendants_but(but);
    before.retain(|pid, _| others.contains(pid));
    let runs =
        |task: &Task| task.moved || matches!(task.doing, Doing::Runs | Doing::SleepsForATime);
    // Each is looked at, for the next time.
    others.into_iter().fold(false, |run, other| {
        let tasks = of_process(other, before.entry(other).or_default());
        run || tasks.iter().any(runs)
    })
}

/// The processes that descend from this one, `but` excepted.
fn descendants_but(but: u32) -> Vec<u32> {
    let own = std::process::id();
    let parent = |pid: u32| -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
    };
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids: Vec<u32> =
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    let parents: HashMap<u32, u32> =
        pids.into_iter().filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let descends = |mut pid: u32| {
        // No deeper than there are processes: they may change meanwhile.
        (0..parents.len()).any(|_| {
            pid = parents.get(&pid).copied().unwrap_or(0);
            pid == own
        })
    };
    parents.keys().copied().filter(|&pid| pid != but && descends(pid)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_ends_by_itself_if_it_has_a_timeout() {
        let futex = |op: &str, timeout: &str| {
            sleeps_in(&format!("202 0x7f00 {op} 0x2 {timeout} 0x0 0xffffffff 0x7ffd 0x7fdc"))
        };
        assert_eq!(futex("0x80", "0x0"), Doing::AwaitsThread);
        assert_eq!(futex("0x189", "0x7ffd00"), Doing::SleepsForATime);
        assert_eq!(sleeps_in("230 0x0 0x0 0x7fff 0x7fff 0x0 0x0 0x7f 0x7f"), Doing::SleepsForATime);
        assert_eq!(
            sleeps_in("7 0x7ffd 0x1 0xffffffff 0x0 0x0 0x0 0x7f 0x7f"),
            Doing::AwaitsOutside
        );
        assert_eq!(sleeps_in("7 0x7ffd 0x1 0x64 0x0 0x0 0x0 0x7f 0x7f"), Doing::SleepsForATime);
        assert_eq!(sleeps_in("0 0x3 0x7fdc 0x20000 0x0 0x0 0x0 0x7f 0x7f"), Doing::AwaitsOutside);
        assert_eq!(sleeps_in("running\n"), Doing::Runs);
        assert_eq!(sleeps_in(""), Doing::Sleeps, "nobody may know");
    }

    #[test]
    fn a_thread_is_read_from_its_status() {
        let status = "Name:\tworker\nState:\tS (sleeping)\nNSpid:\t900\t12\nSigBlk:\t0000000000000200\n\
                      SigCgt:\t0000000000002a00\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t2\n";
        let (task, switches) = parse(status, "202 0x0 0x80 0x2 0x0 0x0 0x0 0x0 0x0");
        assert_eq!((task.tid, task.name.as_str(), switches), (12, "worker", 7));
        assert_eq!((task.doing, task.open_signals), (Doing::AwaitsThread, 0x2800));
        let (task, _) = parse("State:\tR (running)\n", "running");
        assert_eq!((task.tid, task.doing), (0, Doing::Runs));
    }

    #[test]
    fn this_process_runs() {
        let tasks = of_process(std::process::id(), &mut Switches::default());
        assert!(tasks.iter().any(|task| task.doing == Doing::Runs && task.moved), "{tasks:?}");
    }

    #[test]
    fn a_child_descends_from_its_parent() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert!(descendants_but(0).contains(&child.id()));
        assert!(!descendants_but(child.id()).contains(&child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
