//! Two looks at a process, and what was the same at both.
//!
//! The process is not stopped. A thread that sleeps in the same call at both looks, and was on no
//! processor in between, slept all the while: its stack and the words that it waits at can be read
//! in between as if it had been stopped. One that moved counts as running; if it is in the same
//! call of futex(2) again, at the same place, as one that waits for a time: Java's monitors are
//! waited for so.

use std::collections::HashMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use super::deleted;
use super::memory::ProcessMemory;
use super::sharers;
use super::tasks::{self, Call, Task};
use crate::arch;
use lockwright_analysis::arch::KNOWS_THREADS;
use lockwright_analysis::attached::waits::wait;
use lockwright_analysis::attached::{
    Backing, Futex, Holder, Maps, Names, PythonStacks, Start, State, Thread, Unwinder, WaitKind,
    judge,
};
use lockwright_analysis::finding::Frame;
use lockwright_console::error::{Error, Result, exit};
use lockwright_report::attached::{Attached, SharedWait, Sharer};

/// The least time between the looks: waits for locks that are handed on are mostly shorter.
const BETWEEN: Duration = Duration::from_millis(200);

/// The machine of ELF files that can be read, and the class of those of 64 bits.
const ELF_64: u8 = 2;

/// Threads of other processes that are followed, as those have what this one waits for.
const MOST_OTHERS: usize = 8;

/// The threads of a process that may be looked into.
pub fn threads(pid: u32) -> Option<Vec<Thread>> {
    look_at(pid).ok().map(|(attached, _)| attached.threads)
}

/// Looks at the process, and at those that have locks for which it waits.
///
/// # Errors
/// If there is none, or it may not be looked into, or is of 32 bits.
pub fn look(pid: u32) -> Result<Attached> {
    let (mut attached, tasks) = look_at(pid)?;
    let handled = tasks.iter().fold(0, |set, task| set | task.open_signals);
    // Owners have their ids in the process's pid namespace, and processes are found by those in ours.
    if tasks.iter().all(|task| task.id == task.tid) {
        attached.elsewhere = elsewhere(&attached);
    }
    if !attached.elsewhere.is_empty() {
        // The others were looked at after it: what it waited for meanwhile stays so only if it has not moved.
        let now = tasks::of_process(pid);
        let stays = |tid: u32| {
            let of = |tasks: &[Task]| tasks.iter().find(|task| task.tid == tid).cloned();
            of(&tasks).zip(of(&now)).is_some_and(|(before, now)| {
                is_same_sleep(&before, &now) && before.switches == now.switches
            })
        };
        let mut waiting = attached.threads.iter().filter(|one| holder_elsewhere(one).is_some());
        if !waiting.all(|one| stays(one.tid)) {
            attached.elsewhere.clear();
        }
    }
    let others: Vec<Thread> = attached.elsewhere.iter().map(|(_, thread)| thread.clone()).collect();
    attached.verdicts = judge(&attached.threads, &others, handled);
    Ok(attached)
}

/// The thread of another process that has what a thread waits for.
fn holder_elsewhere(thread: &Thread) -> Option<u32> {
    match thread.wait()?.holder {
        Holder::Elsewhere(tid) => Some(tid),
        _ => None,
    }
}

/// The threads of other processes to which the waits of a process lead, each with its process.
fn elsewhere(attached: &Attached) -> Vec<(u32, Thread)> {
    let mut looked_at: HashMap<u32, Vec<Thread>> = HashMap::new();
    let thread_of = |tid: u32| {
        let pid = tasks::process_of(tid).filter(|&pid| pid != attached.pid)?;
        let all = looked_at.entry(pid).or_insert_with(|| threads(pid).unwrap_or_default());
        Some((pid, all.iter().find(|thread| thread.tid == tid)?.clone()))
    };
    led_to(attached.threads.iter().filter_map(holder_elsewhere).collect(), thread_of)
}

/// The threads that `open` are the ids of, and those to which their waits lead.
fn led_to(
    mut open: Vec<u32>,
    mut thread_of: impl FnMut(u32) -> Option<(u32, Thread)>,
) -> Vec<(u32, Thread)> {
    let mut found: Vec<(u32, Thread)> = Vec::new();
    while let Some(tid) = open.pop().filter(|_| found.len() < MOST_OTHERS) {
        if found.iter().any(|(_, known)| known.tid == tid) {
            continue;
        }
        let Some((pid, thread)) = thread_of(tid) else { continue };
        if let Some(Holder::Thread(next) | Holder::Elsewhere(next)) =
            thread.wait().map(|wait| wait.holder)
        {
            open.push(next);
        }
        found.push((pid, thread));
    }
    found
}

/// Looks at the process, and only at that. Its threads at the last look, besides.
fn look_at(pid: u32) -> Result<(Attached, Vec<Task>)> {
    if !KNOWS_THREADS {
        let message = format!("running processes cannot be looked into on {}", arch::NAME);
        return Err(Error::with_code(exit::NOT_RUNNABLE, message)
            .help("run it under `lockwright check`, which also explains a hang"));
    }
    let exe = fs::read_link(format!("/proc/{pid}/exe")).map_err(|error| closed(pid, &error))?;
    let memory = ProcessMemory::open(pid).map_err(|error| closed(pid, &error))?;
    let maps = fs::read(format!("/proc/{pid}/maps")).map_err(|error| closed(pid, &error))?;
    refuse_32_bits(pid)?;

    let began = Instant::now();
    let before = tasks::of_process(pid);
    if before.iter().all(|task| task.call.is_none() && task.state == 'S') && !before.is_empty() {
        return Err(closed(pid, &io::Error::from(ErrorKind::PermissionDenied)));
    }
    let root = root_of(pid);
    let maps = deleted::maps_of(pid, &maps, &root, &memory);
    let process = Process { memory, root, maps };
    let unwinder = Unwinder::new(&process.maps, &process.root);
    let names = Names::new(&process.maps, &process.root);
    let stack = |task: &Task| {
        let call = task.call.as_ref();
        let start = call.map(|call| Start { pc: call.pc, sp: call.sp, bp: None });
        start.map_or_else(Vec::new, |start| names.stack(&unwinder.stack(start, &process.memory)))
    };
    let stacks: Vec<Vec<Frame>> = before.iter().map(stack).collect();
    let mut python = PythonStacks::read(&process.maps, &process.root, &process.memory);
    let known: Vec<u32> = before.iter().map(|task| task.tid).collect();
    let first: Vec<State> = before
        .iter()
        .zip(&stacks)
        .map(|(task, stack)| process.state(task, stack, &known, &names))
        .collect();

    thread::sleep(BETWEEN.saturating_sub(began.elapsed()));
    let after = tasks::of_process(pid);
    if after.is_empty() {
        return Err(closed(pid, &io::Error::from(ErrorKind::NotFound)));
    }
    let known: Vec<u32> = after.iter().map(|task| task.tid).collect();
    let threads: Vec<Thread> = after
        .iter()
        .map(|task| {
            let same = before.iter().position(|old| is_same_sleep(old, task));
            let (state, stack) = match same {
                // It may have been stopped in between.
                None if task.is_stopped() => {
                    let stack = stack(task);
                    (process.state(task, &stack, &known, &names), stack)
                }
                Some(at) => {
                    let again = process.state(task, &stacks[at], &known, &names);
                    let has_moved = before[at].switches != task.switches;
                    let stack = python.woven(task.tid, stacks[at].clone());
                    (settled(&first[at], again, has_moved, task.tid), stack)
                }
                None => (State::Runs, Vec::new()),
            };
            Thread { tid: task.tid, name: task.name.clone(), state, stack }
        })
        .collect();
    let watched_ms = began.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
    let shared = shared_waits(pid, &process.maps, &threads);
    let exe = deleted::executable(&exe);
    let (elsewhere, verdicts) = (Vec::new(), Vec::new());
    Ok((Attached { pid, exe, threads, elsewhere, shared, verdicts, watched_ms }, after))
}

/// The waits that other processes may end.
fn shared_waits(pid: u32, maps: &Maps, threads: &[Thread]) -> Vec<SharedWait> {
    let mut known: Vec<(Backing, Vec<Sharer>)> = Vec::new();
    let waits = threads.iter().filter_map(|thread| {
        let wait = thread.wait().filter(|wait| wait.is_shared)?;
        Some((thread.tid, maps.shared_at(wait.futex.address)?))
    });
    let mut all = Vec::new();
    for (tid, backing) in waits {
        let at = known.iter().position(|(it, _)| *it == backing).unwrap_or_else(|| {
            known.push((backing, sharers::of(pid, &backing)));
            known.len() - 1
        });
        all.push(SharedWait { tid, others: known[at].1.clone() });
    }
    all.retain(|wait| !wait.others.is_empty());
    all
}

/// The process.
struct Process {
    memory: ProcessMemory,
    root: PathBuf,
    maps: Maps,
}

impl Process {
    fn state(&self, task: &Task, stack: &[Frame], tids: &[u32], names: &Names<'_>) -> State {
        let waits_in = |call: &Call| {
            let futex = Futex::of_call(call.number, &call.arguments)?;
            Some(wait(futex, stack, tids, &self.memory, &self.maps, names))
        };
        match (task.state, &task.call) {
            ('T' | 't', Some(call)) => State::Stopped(waits_in(call)),
            ('T' | 't', None) => State::Stopped(None),
            ('D', call) => State::Uninterruptible(call.as_ref().map_or(-1, |call| call.number)),
            ('S' | 'I', Some(call)) => match waits_in(call) {
                Some(wait) => State::Waits(wait),
                None if call.is_timed => State::SleepsForATime(call.number),
                None => State::Sleeps(call.number),
            },
            ('S' | 'I', None) => State::Sleeps(-1),
            _ => State::Runs,
        }
    }
}

/// Whether it is the same thread asleep at the same place.
fn is_same_sleep(before: &Task, after: &Task) -> bool {
    let place = |task: &Task| {
        let call = task.call.as_ref()?;
        Some((call.number, call.arguments.first().copied(), call.sp, call.pc))
    };
    (before.id, before.state, place(before)) == (after.id, after.state, place(after))
}

/// What holds of both looks: a lock that has changed hands is nobody's, and what has moved
/// meanwhile runs, or waits for a time. Thread `tid` is the one that waits.
fn settled(before: &State, after: State, has_moved: bool, tid: u32) -> State {
    let mut wait = match after {
        State::Waits(wait) => wait,
        State::Stopped(_) => return after,
        _ => return if has_moved { State::Runs } else { after },
    };
    // One that has moved had the lock by the time that its owner was read.
    if has_moved && !wait.futex.is_timed && wait.holder == Holder::Thread(tid) {
        wait.holder = Holder::Nobody;
    }
    wait.futex.is_timed |= has_moved;
    let is_same = match before {
        State::Waits(old) => old.holder == wait.holder,
        _ => false,
    };
    // At the first look the thread that has ended was one.
    let has_ended = |old: &Holder| match (old, wait.holder) {
        (Holder::Thread(old), Holder::Ended(new)) => *old == new,
        _ => false,
    };
    let is_end = matches!(before, State::Waits(old) if has_ended(&old.holder));
    if !is_same && !is_end && wait.kind != WaitKind::Join {
        wait.holder = Holder::Nobody;
    }
    State::Waits(wait)
}

/// The root directory of the paths in its /proc/PID/maps, as we see it. The kernel shows paths as they are for the reader. So
/// those of a process in a chroot begin at our root, and only those in another mount namespace do not.
pub fn root_of(pid: u32) -> PathBuf {
    let mounts = |of: &str| fs::read_link(format!("/proc/{of}/ns/mnt")).ok();
    match mounts(&pid.to_string()) == mounts("self") {
        true => PathBuf::from("/"),
        false => PathBuf::from(format!("/proc/{pid}/root")),
    }
}

fn refuse_32_bits(pid: u32) -> Result<()> {
    let mut head = [0; 5];
    let read = fs::File::open(format!("/proc/{pid}/exe"))
        .and_then(|mut file| io::Read::read_exact(&mut file, &mut head));
    if read.is_ok() && head[4] != ELF_64 {
        let message = format!("process {pid} is a 32-bit program");
        return Err(Error::with_code(exit::NOT_RUNNABLE, message)
            .help("build it for a machine of 64 bits: lockwright knows where its C library keeps owners there"));
    }
    Ok(())
}

fn closed(pid: u32, error: &io::Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound => Error::with_code(
            exit::NOT_FOUND,
            format!("there is no process {pid}, or none with a program"),
        )
        .help("`pgrep -a NAME` lists processes with their ids"),
        _ => {
            let error = Error::new(format!("cannot look into process {pid}: {error}"))
                .help("run lockwright as root, or as the user that the process runs as");
            match fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope") {
                Ok(scope) if !scope.starts_with('0') => error.note(
                    "/proc/sys/kernel/yama/ptrace_scope lets a user look into its own children alone",
                ),
                _ => error,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockwright_analysis::attached::{Memory, Wait};

    fn waits(holder: Holder) -> State {
        let futex = Futex { address: 8, is_timed: false, may_be_shared: false, is_pi: false };
        let kind = WaitKind::Mutex;
        State::Waits(Wait { futex, kind, object: 8, name: None, holder, is_shared: false })
    }

    #[test]
    fn a_lock_that_changed_hands_is_nobodys() {
        let of = |before, after| settled(&waits(before), waits(after), false, 9);
        assert_eq!(of(Holder::Thread(1), Holder::Thread(1)), waits(Holder::Thread(1)));
        assert_eq!(of(Holder::Thread(1), Holder::Thread(2)), waits(Holder::Nobody));
        assert_eq!(of(Holder::Thread(1), Holder::Ended(1)), waits(Holder::Ended(1)));
        assert_eq!(of(Holder::Thread(1), Holder::Ended(2)), waits(Holder::Nobody));
        assert_eq!(settled(&State::Runs, State::Stopped(None), false, 9), State::Stopped(None));
        assert_eq!(settled(&State::Sleeps(0), State::Sleeps(0), true, 9), State::Runs);
        let again = settled(&waits(Holder::Nobody), waits(Holder::Nobody), true, 9);
        assert!(matches!(again, State::Waits(wait) if wait.futex.is_timed));
        let own = |has_moved| {
            let own = || waits(Holder::Thread(9));
            match settled(&own(), own(), has_moved, 9) {
                State::Waits(wait) => wait.holder,
                _ => Holder::NoLock,
            }
        };
        assert_eq!((own(false), own(true)), (Holder::Thread(9), Holder::Nobody));
    }

    /// What else is in those processes is not this one's.
    #[test]
    fn waits_are_followed_into_other_processes_and_back() {
        let thread = |tid, state| Thread { tid, name: String::new(), state, stack: Vec::new() };
        let all = [
            (2, thread(20, waits(Holder::Thread(21)))),
            (2, thread(21, waits(Holder::Elsewhere(30)))),
            (2, thread(22, waits(Holder::Thread(22)))),
            (3, thread(30, waits(Holder::Elsewhere(20)))),
            (3, thread(31, State::Runs)),
        ];
        let thread_of = |tid| all.iter().find(|(_, thread)| thread.tid == tid).cloned();
        let tids = |open| led_to(open, thread_of).iter().map(|(_, it)| it.tid).collect::<Vec<_>>();
        assert_eq!(tids(vec![20]), [20, 21, 30]);
        assert_eq!(tids(vec![31]), [31]);
        assert_eq!(tids(vec![99]), [0; 0]);
    }

    #[test]
    fn memory_of_this_process_is_read() {
        let memory = ProcessMemory::open(std::process::id()).unwrap();
        let word = 0x1234_5678_u32;
        assert_eq!(memory.u32(&raw const word as u64), Some(word));
        assert_eq!(memory.u32(8), None);
        assert_eq!(memory.u32(u64::MAX - 8), None);
    }
}
