//! The threads of a process, as /proc shows them at one look.

use std::fs;

use crate::run::hang::tasks::{Doing, sleeps_in};
use lockwright_analysis::attached::Futex;

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its id in our pid namespace.
    pub id: u32,
    /// Its id in its own.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// The letter of its state: `S`, `R`, `T`.
    pub state: char,
    /// How often it was put off a processor: as long as it is the same, the thread did not run.
    pub switches: u64,
    /// Signals that have handlers and that it does not block: bit `n - 1` for signal `n`.
    pub open_signals: u64,
    /// The call that it sleeps in.
    pub call: Option<Call>,
}

/// A system call, and where it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its number.
    pub number: i64,
    /// Its six arguments.
    pub arguments: Vec<u64>,
    /// The stack pointer.
    pub sp: u64,
    /// The program counter.
    pub pc: u64,
    /// It ends by itself.
    pub is_timed: bool,
}

impl Task {
    /// A signal or a debugger has stopped it.
    pub fn is_stopped(&self) -> bool {
        matches!(self.state, 'T' | 't')
    }
}

/// The process of a thread, both by their ids in our pid namespace.
pub fn process_of(tid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

/// Those of process `pid`, in the order of their ids; none if it has ended.
pub fn of_process(pid: u32) -> Vec<Task> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let mut tasks: Vec<Task> = entries
        .filter_map(|entry| {
            let id = entry.file_name().to_str()?.parse().ok()?;
            // First the call, then the state and the count: a thread that runs in between then
            // counts as one that has moved, not as a sleeping one.
            let call = fs::read_to_string(entry.path().join("syscall")).unwrap_or_default();
            let status = fs::read_to_string(entry.path().join("status")).ok()?;
            Some(parse(id, &status, &call))
        })
        .filter(|task| !matches!(task.state, 'Z' | 'X'))
        .collect();
    tasks.sort_by_key(|task| task.tid);
    tasks
}

/// The threads of process `pid` that wait at a futex now, by their ids in our pid namespace, and its address. Much cheaper than
/// [`of_process`].
pub fn waits_now(pid: u32) -> Vec<(u32, u64)> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let waits = entries.filter_map(|entry| {
        let call = parse_call(&fs::read_to_string(entry.path().join("syscall")).ok()?)?;
        let futex = Futex::of_call(call.number, &call.arguments)?;
        Some((entry.file_name().to_str()?.parse().ok()?, futex.address))
    });
    waits.collect()
}

/// The threads of process `pid`: their ids in our pid namespace, and in their own.
pub fn numbers(pid: u32) -> Vec<(u32, u32)> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| {
        let id = entry.file_name().to_str()?.parse().ok()?;
        let status = fs::read_to_string(entry.path().join("status")).ok()?;
        Some((id, own_number(&status).unwrap_or(id)))
    });
    numbers.collect()
}

/// A thread's id in its own pid namespace, by its status.
fn own_number(status: &str) -> Option<u32> {
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    numbers.split_whitespace().last()?.parse().ok()
}

fn parse(id: u32, status: &str, call: &str) -> Task {
    let field = |name: &str| {
        let mut lines = status.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map_or("", str::trim)
    };
    let set = |name| u64::from_str_radix(field(name), 16).unwrap_or(0);
    let number = |name| field(name).parse::<u64>().unwrap_or(0);
    Task {
        id,
        tid: own_number(status).unwrap_or(id),
        name: field("Name").to_owned(),
        state: field("State").chars().next().unwrap_or('R'),
        switches: number("voluntary_ctxt_switches") + number("nonvoluntary_ctxt_switches"),
        open_signals: set("SigCgt") & !set("SigBlk"),
        call: parse_call(call),
    }
}

/// A line of /proc/PID/task/TID/syscall: number, six arguments, stack pointer, program counter; or
/// `running`, or `-1`, stack pointer, program counter.
fn parse_call(line: &str) -> Option<Call> {
    let mut words = line.split_whitespace();
    let number: i64 = words.next()?.parse().ok()?;
    let hex = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
    let mut numbers: Vec<u64> = words.map_while(hex).collect();
    let pc = numbers.pop()?;
    let sp = numbers.pop()?;
    let is_timed = sleeps_in(line) == Doing::SleepsForATime;
    Some(Call { number, arguments: numbers, sp, pc, is_timed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_read_from_its_files() {
        let status = "Name:\tworker\nState:\tS (sleeping)\nNSpid:\t900\t12\nSigBlk:\t0000000000000200\n\
                      SigCgt:\t0000000000002a00\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t2\n";
        let call = "202 0x7f00 0x80 0x2 0x0 0x0 0x0 0x7ffe 0x7fdc\n";
        let task = parse(900, status, call);
        assert_eq!((task.id, task.tid, task.name.as_str()), (900, 12, "worker"));
        assert_eq!((task.state, task.switches, task.open_signals), ('S', 7, 0x2800));
        let call = task.call.unwrap();
        assert_eq!((call.number, call.arguments.len()), (202, 6));
        assert_eq!((call.sp, call.pc, call.is_timed), (0x7ffe, 0x7fdc, false));
    }

    #[test]
    fn who_runs_is_in_no_call() {
        assert_eq!(parse_call("running\n"), None);
        assert_eq!(parse_call(""), None);
        assert_eq!(parse_call("-1 0x7ffe 0x7fdc").unwrap().pc, 0x7fdc);
    }
}
