//! The standard output of `lockwright-bpf`: one message a line, in JSON.

use serde::{Deserialize, Serialize};

/// A message. The first is [`Message::Ready`] or [`Message::Refused`], the last is the rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// From now on waits are counted, until standard input is closed.
    Ready,
    /// Nothing is counted.
    Refused(Refusal),
    /// A place that was met for the first time.
    Place(Place),
    /// All waits for the kernel's locks, so far.
    Kernel(Kernel),
    /// All waits for futexes.
    Futexes(Futexes),
}

/// Why nothing is counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The obstacle.
    pub why: Obstacle,
    /// The message of the kernel or the loader.
    pub error: String,
}

/// An obstacle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Obstacle {
    /// The kernel does not let this user.
    Privilege,
    /// The kernel has no bpf(2).
    NoBpf,
    /// The kernel has no such tracepoint.
    NoTracepoint,
    /// Something else.
    Other,
}

/// The waits of one thread for one lock from one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelRow {
    /// The lock's address.
    pub lock: u64,
    /// The kernel's flags (include/trace/events/lock.h).
    pub flags: u32,
    /// Return addresses, innermost first; empty if they could not be kept.
    pub stack: Vec<u64>,
    /// The thread.
    pub tid: u32,
    /// Its process.
    pub tgid: u32,
    /// Its name.
    pub comm: String,
    /// Waits that ended.
    pub count: u64,
    /// Time waited, ns.
    pub total_ns: u64,
    /// The longest, ns.
    pub max_ns: u64,
}

/// The waits for one lock that began while one thread had it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelOwner {
    /// The lock's address.
    pub lock: u64,
    /// The thread that had it.
    pub tid: u32,
    /// Its process.
    pub tgid: u32,
    /// Its name.
    pub comm: String,
    /// It had the lock as a reader, the last of perhaps several.
    pub is_reader: bool,
    /// The process that waited.
    pub waiter: u32,
    /// Waits that ended.
    pub count: u64,
    /// Time waited, ns.
    pub total_ns: u64,
    /// The longest, ns.
    pub max_ns: u64,
}

/// Waits for the kernel's locks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// Time from the first moment to the last, ns.
    pub elapsed_ns: u64,
    /// Processors.
    pub cpus: u64,
    /// The rows, in no order.
    pub rows: Vec<KernelRow>,
    /// The same waits by owner of the lock, where it is known.
    pub owners: Vec<KernelOwner>,
    /// Waits that ended, those included that no row has.
    pub waits: u64,
    /// Time waited in all of them, ns.
    pub waited_ns: u64,
    /// The lost counts.
    pub lost: Lost,
}

/// Lost counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lost {
    /// Waits for which there was no row left, and the time waited in them, ns.
    pub rows: u64,
    /// That time.
    pub rows_ns: u64,
    /// Waits whose beginning could not be kept, or whose end was not seen.
    pub begins: u64,
    /// Waits whose place is not known.
    pub stacks: u64,
    /// Ends of waits that began before, or whose beginning is lost.
    pub unmatched: u64,
    /// Times that the kernel left a program out, as it ran already on that processor.
    pub missed: u64,
    /// Calls of futex_waitv, which are not counted otherwise.
    pub waitv: u64,
}

/// A place in a program that waits or wakes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Its number in rows.
    pub id: u64,
    /// The process.
    pub tgid: u32,
    /// The thread that was there first.
    pub tid: u32,
    /// Its name.
    pub comm: String,
    /// The program counter.
    pub pc: u64,
    /// The stack pointer.
    pub sp: u64,
    /// The frame pointer, or whatever that register had.
    pub bp: u64,
    /// Top of the stack, in hexadecimal digits.
    pub stack: String,
}

/// The waits of one place at one word.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FutexRow {
    /// The word.
    pub address: u64,
    /// The lock that the word may stand for, if it is one of the waiting thread; else 0.
    pub object: u64,
    /// The process.
    pub tgid: u32,
    /// The place that waited; 0: not known.
    pub place: u64,
    /// The place that first woke the word after the begin of these waits; 0: not known, or none did.
    pub waker: u64,
    /// Waits.
    pub count: u64,
    /// Time waited, ns.
    pub total_ns: u64,
    /// The longest wait, ns.
    pub max_ns: u64,
    /// Waits that timed out.
    pub timed_out: u64,
    /// Waits that did not begin, as the word had changed; not among the others.
    pub refused: u64,
    /// Waits that began before counting did, which is what they are counted from.
    pub before: u64,
    /// Waits that ended with their thread.
    pub ended: u64,
}

/// A wait that was not over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StillWaiting {
    /// The word.
    pub address: u64,
    /// The lock that the word may stand for, if it is one of the waiting thread; else 0.
    pub object: u64,
    /// The process.
    pub tgid: u32,
    /// The place that waits; 0: not known.
    pub place: u64,
    /// The thread.
    pub tid: u32,
    /// How long by then, ns.
    pub for_ns: u64,
    /// It began before counting did, which is what it is counted from.
    pub before: bool,
}

/// Waits for futexes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Futexes {
    /// Time from the first moment to the last, ns.
    pub elapsed_ns: u64,
    /// The rows, in no order.
    pub rows: Vec<FutexRow>,
    /// Waits that were not over.
    pub waiting: Vec<StillWaiting>,
    /// Calls that ended.
    pub calls: u64,
    /// Calls that woke, and how many threads.
    pub wakes: (u64, u64),
    /// The lost counts.
    pub lost: Lost,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_and_comes_back() {
        let row = KernelRow {
            lock: u64::MAX,
            flags: 33,
            stack: vec![1, u64::MAX],
            tid: 1,
            tgid: 2,
            comm: "a\nb".into(),
            count: 3,
            total_ns: 4,
            max_ns: 5,
        };
        let kernel = Kernel { rows: vec![row], ..Kernel::default() };
        for message in [Message::Ready, Message::Kernel(kernel), Message::Place(Place::default())] {
            let line = serde_json::to_string(&message).unwrap();
            assert!(!line.contains('\n'));
            assert_eq!(serde_json::from_str::<Message>(&line).unwrap(), message);
        }
    }
}
