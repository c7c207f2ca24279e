//! The threads of a process, as a report numbers and names them.

use std::collections::HashMap;

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::{Segment, Thread};

use crate::finding::ThreadInfo;

/// The threads of a process by row id, numbered from 1 in order of creation, which is the program's
/// own; that of the rows is the order in which they came to run.
pub fn thread_numbers(ledger: &Ledger) -> HashMap<u32, u32> {
    let mut first_segments = HashMap::new();
    for (id, segment) in ledger.rows::<Segment>() {
        first_segments.entry(segment.thread).or_insert(id);
    }
    let begun = |id: u32, row: &Thread| match row.parent_segment {
        // Not seen to be created: it began when we first heard of it.
        0 => first_segments.get(&id).copied().unwrap_or(u32::MAX),
        creation => creation,
    };
    let mut threads: Vec<_> =
        ledger.rows::<Thread>().map(|(id, row)| (begun(id, &row), id)).collect();
    threads.sort_unstable();
    threads.iter().zip(1..).map(|(&(_, id), number)| (id, number)).collect()
}

/// The threads of a process by their ids in the kernel; of those that had one id in turn, the last.
pub fn threads_by_id(ledger: &Ledger) -> HashMap<u32, ThreadInfo> {
    let numbers = thread_numbers(ledger);
    let mut all: Vec<ThreadInfo> = ledger
        .rows::<Thread>()
        .map(|(id, row)| thread_info(numbers.get(&id).copied().unwrap_or(id), Some(&row)))
        .collect();
    all.sort_by_key(|thread| thread.number);
    all.into_iter().map(|thread| (thread.tid, thread)).collect()
}

pub fn thread_info(number: u32, row: Option<&Thread>) -> ThreadInfo {
    let Some(row) = row else {
        return ThreadInfo { name: String::new(), tid: 0, number };
    };
    let len = row.name.iter().position(|&b| b == 0).unwrap_or(row.name.len());
    let name = String::from_utf8_lossy(&row.name[..len]).into_owned();
    ThreadInfo { name, tid: row.tid, number }
}
