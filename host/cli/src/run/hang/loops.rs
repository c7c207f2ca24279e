//! Where a thread loops: it is stopped a few times, for as long as it takes to read a register.
//! Only one of a program that hangs, and only if the user has said what that is (`--hang-after`).
//!
//! It is done by a thread of its own, which waits for nothing without an end: when that ends, the
//! kernel lets go of all that it traces (ptrace(2)), so no thread of the program stays stopped,
//! whatever happens here. Meanwhile the caller does nothing: as their parent it would see the stops.

use std::collections::HashMap;
use std::thread;
use std::time::{Duration, Instant};

use crate::arch;
use lockwright_analysis::finding::Frame;
use lockwright_analysis::symbolize::{Symbols, is_runtime};

/// Times that a thread is stopped. Two would tell a function; more tell one from its callees.
const SAMPLES: usize = 8;

/// Time between two, in which the thread runs on.
const APART: Duration = Duration::from_millis(3);

/// How long a thread may take to stop: one that runs does at once, but it may not be its turn.
const TO_STOP: Duration = Duration::from_millis(500);

/// Where a thread was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The instruction pointer.
    pc: u64,
    /// What lies on top of its stack, or is in the link register: within a function of the C library that has only just begun, or
    /// makes a system call, where that returns to.
    top: u64,
}

/// Stops the thread a few times. Nothing, if that is not permitted.
pub fn sample(tid: u32) -> Vec<Sample> {
    let samples = thread::Builder::new().spawn(move || {
        let mut traced = Traced::seize(tid)?;
        let mut samples = Vec::with_capacity(SAMPLES);
        while samples.len() < SAMPLES {
            samples.push(traced.stop()?);
            traced.go_on()?;
            thread::sleep(APART);
        }
        Some(samples)
    });
    let samples = samples.ok().and_then(|thread| thread.join().ok()).flatten();
    if samples.is_none() {
        // The thread that traced may end in the kernel only after it is joined.
        thread::sleep(APART);
    }
    samples.unwrap_or_default()
}

/// A thread of another process that this one traces. Let go of when that ends, if not before.
struct Traced {
    tid: libc::pid_t,
    is_stopped: bool,
    /// A signal that came meanwhile, and is to be delivered.
    signal: i32,
}

impl Traced {
    fn seize(tid: u32) -> Option<Self> {
        let tid = libc::pid_t::try_from(tid).ok()?;
        // SAFETY: these requests take numbers alone, and write nowhere here.
        let seized = unsafe { libc::ptrace(libc::PTRACE_SEIZE, tid, 0usize, 0usize) } == 0;
        seized.then_some(Self { tid, is_stopped: false, signal: 0 })
    }

    /// Stops it, and sees where it is.
    fn stop(&mut self) -> Option<Sample> {
        // SAFETY: this request, too, takes numbers alone.
        if unsafe { libc::ptrace(libc::PTRACE_INTERRUPT, self.tid, 0usize, 0usize) } != 0 {
            return None;
        }
        self.await_stop()?;
        // SAFETY: a structure of integers, for which zeroes are valid.
        let mut regs: libc::user_regs_struct = unsafe { std::mem::zeroed() };
        let mut room =
            libc::iovec { iov_base: (&raw mut regs).cast(), iov_len: size_of_val(&regs) };
        // SAFETY: the thread is stopped; `room` is `regs`, which is written, and no more than that.
        let read = unsafe {
            libc::ptrace(libc::PTRACE_GETREGSET, self.tid, libc::NT_PRSTATUS, &raw mut room)
        };
        if read != 0 {
            return None;
        }
        let (pc, sp) = arch::position(&regs);
        let top = arch::returns_to(&regs).unwrap_or_else(|| {
            // SAFETY: the thread is stopped; the word is a number, and -1 where there is none, which is no address either.
            unsafe { libc::ptrace(libc::PTRACE_PEEKDATA, self.tid, sp, 0usize) as u64 }
        });
        Some(Sample { pc, top })
    }

    fn await_stop(&mut self) -> Option<()> {
        let deadline = Instant::now() + TO_STOP;
        while Instant::now() < deadline {
            // SAFETY: a structure of integers, for which zeroes are valid.
            let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
            // Not its end, which is for its parent.
            let what = libc::WSTOPPED | libc::WNOHANG | libc::__WALL;
            // SAFETY: `info` is what is written.
            let waited =
                unsafe { libc::waitid(libc::P_PID, self.tid as libc::id_t, &raw mut info, what) };
            if waited != 0 {
                return None;
            }
            // SAFETY: filled in by waitid, or zeros.
            let (pid, status) = unsafe { (info.si_pid(), info.si_status()) };
            if pid == self.tid {
                self.is_stopped = true;
                // Above the signal is the event: none where a signal is about to be delivered.
                self.signal = if status >> 8 == 0 { status } else { 0 };
                return Some(());
            }
            thread::sleep(Duration::from_micros(100));
        }
        None
    }

    fn go_on(&mut self) -> Option<()> {
        self.is_stopped = false;
        self.resume(libc::PTRACE_CONT)
    }

    fn resume(&mut self, how: libc::c_uint) -> Option<()> {
        let signal = std::mem::take(&mut self.signal) as usize;
        // SAFETY: `how` is a request that takes numbers alone.
        (unsafe { libc::ptrace(how, self.tid, 0usize, signal) } == 0).then_some(())
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        // Only a stopped thread can be detached.
        if self.is_stopped || self.stop().is_some() {
            self.resume(libc::PTRACE_DETACH);
        }
    }
}

/// The innermost function of the program's that all samples are in, and the frames around it that
/// are known. Empty if there is none, or there are fewer than two samples.
pub fn common(samples: &[Sample], symbols: &Symbols<'_>) -> Vec<Frame> {
    // The module table as it is now.
    let at = |address: u64| symbols.return_address(address, u32::MAX).to_vec();
    let is_foreign = |frame: &Frame| frame.module.as_deref().is_none_or(is_runtime);
    let frames = samples.iter().map(|sample| {
        // The instruction itself, not the call before it.
        let mut frames = at(sample.pc.saturating_add(1));
        if frames.first().is_some_and(is_foreign) {
            frames.extend(at(sample.top));
        }
        frames.retain(|frame| frame.function.is_some() && !is_foreign(frame));
        frames
    });
    innermost_common(&frames.collect::<Vec<_>>())
}

/// The frames of one of the stacks, from the first function on that is in all of them; of those that
/// have it at different lines the one whose line is met most often, and then the first of those.
fn innermost_common(stacks: &[Vec<Frame>]) -> Vec<Frame> {
    let is_same = |a: &Frame, b: &Frame| (&a.function, &a.module) == (&b.function, &b.module);
    let place = |stack: &Vec<Frame>, frame: &Frame| stack.iter().position(|f| is_same(f, frame));
    if stacks.len() < 2 {
        return Vec::new();
    }
    let is_in_all = |frame: &&Frame| stacks.iter().all(|stack| place(stack, frame).is_some());
    let Some(common) = stacks[0].iter().find(is_in_all) else { return Vec::new() };
    let tails: Vec<&[Frame]> =
        stacks.iter().filter_map(|stack| Some(&stack[place(stack, common)?..])).collect();
    let mut counts: HashMap<Option<u32>, usize> = HashMap::new();
    for tail in &tails {
        *counts.entry(tail[0].line).or_default() += 1;
    }
    let best =
        tails.iter().min_by_key(|tail| (std::cmp::Reverse(counts[&tail[0].line]), tail[0].line));
    best.map_or_else(Vec::new, |tail| tail.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn frame(function: &str, line: u32) -> Frame {
        Frame { function: Some(function.into()), line: Some(line), ..Frame::default() }
    }

    #[test]
    fn a_loop_is_in_the_innermost_function_that_is_always_there() {
        let load = |line| vec![frame("load", 9), frame("lock", line), frame("main", 30)];
        let stacks = [load(20), vec![frame("lock", 21), frame("main", 30)], load(20)];
        assert_eq!(innermost_common(&stacks), [frame("lock", 20), frame("main", 30)]);
        assert_eq!(innermost_common(&stacks[..1]), [], "once is no loop");
        assert_eq!(innermost_common(&[load(20), vec![frame("other", 1)]]), []);
        assert_eq!(innermost_common(&[load(20), Vec::new()]), []);
    }

    #[test]
    fn a_process_that_was_stopped_goes_on_and_its_end_is_seen() {
        let mut child =
            Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("a shell");
        let samples = sample(child.id());
        assert!(samples.is_empty() || samples.len() == SAMPLES);
        assert!(samples.iter().all(|sample| sample.pc != 0));
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        assert!(status.contains("TracerPid:\t0\n"), "{status}");
        assert!(!status.contains("State:\tt"), "{status}");
        assert!(child.try_wait().unwrap().is_none(), "it runs");
        child.kill().unwrap();
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn nobody_is_stopped_who_is_not_there() {
        assert_eq!(sample(u32::MAX), []);
        assert_eq!(sample(i32::MAX as u32), []);
    }
}
