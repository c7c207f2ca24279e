//! The processes of a report of several: which were watched, what they did, and which were not.

use super::stack::shorten;
use crate::prose::words::{count, number, plain};
use lockwright_analysis::finding::coverage::Note;
use lockwright_analysis::finding::{Process, Unwatched};
use lockwright_analysis::lockmeter::model::Process as MeteredProcess;
use lockwright_analysis::process_end::ProcessEnd;

/// Processes shown; of more, those that took most locks.
const MOST: usize = 20;

/// A watched process, of whichever report.
#[derive(Clone, Copy, Debug)]
pub struct Row<'r> {
    /// Process id.
    pub pid: u32,
    /// Executable.
    pub exe: &'r str,
    /// Command line.
    pub command: &'r [String],
    /// How it ended.
    pub end: ProcessEnd,
    /// Threads that used a lock.
    pub threads: u64,
    /// Locks.
    pub locks: u64,
    /// Acquisitions.
    pub acquisitions: u64,
    /// Notes on how it was watched.
    pub notes: &'r [Note],
}

impl<'r> From<&'r Process> for Row<'r> {
    fn from(process: &'r Process) -> Self {
        let Process { pid, exe, command, end, threads, locks, acquisitions, notes, .. } = process;
        let (pid, end) = (*pid, *end);
        let (threads, locks, acquisitions) = (*threads, *locks, *acquisitions);
        Self { pid, exe, command, end, threads, locks, acquisitions, notes }
    }
}

impl<'r> From<&'r MeteredProcess> for Row<'r> {
    fn from(process: &'r MeteredProcess) -> Self {
        let MeteredProcess { pid, exe, command, end, threads, locks, acquisitions, notes, .. } =
            process;
        let (pid, end) = (*pid, *end);
        let (threads, locks, acquisitions) = (*threads, *locks, *acquisitions);
        Self { pid, exe, command, end, threads, locks, acquisitions, notes }
    }
}

impl Row<'_> {
    /// Its command line, as far as there is room for it.
    pub fn command(&self) -> String {
        match self.command {
            [] => plain(self.exe),
            words => shorten(&plain(&words.join(" "))),
        }
    }

    /// A note of it, which says whose it is where there are several.
    pub fn note(&self, note: &str, many: bool) -> String {
        match many {
            true => format!("process {} ({}): {}", self.pid, plain(self.exe), plain(note)),
            false => plain(note),
        }
    }
}

/// The table, with a line for each executable that was not watched; empty where there is only one
/// process.
pub fn table(rows: &[Row<'_>], unwatched: &[Unwatched]) -> String {
    if rows.len() + unwatched.len() < 2 {
        return String::new();
    }
    let has_locks = |row: &Row<'_>| row.locks > 0 || row.acquisitions > 0;
    let mut shown: Vec<usize> = (0..rows.len()).filter(|&i| has_locks(&rows[i])).collect();
    let with_locks = shown.len();
    shown.sort_by_key(|&i| std::cmp::Reverse(rows[i].acquisitions));
    shown.truncate(MOST);
    // In order of start, as they came.
    shown.sort_unstable();
    let mut text = String::from("processes:\n");
    if !shown.is_empty() {
        text += "     pid  threads    locks  acquisitions  end         command\n";
    }
    for row in shown.into_iter().map(|i| &rows[i]) {
        text += &format!(
            "{:>8} {:>8} {:>8} {:>13}  {:<10}  {}\n",
            row.pid,
            number(row.threads),
            number(row.locks),
            number(row.acquisitions),
            row.end.short(),
            row.command(),
        );
    }
    let more = with_locks.saturating_sub(MOST);
    if more > 0 {
        text += &format!("  and {} with fewer acquisitions\n", count(more as u64, "process"));
    }
    let without = rows.len() - with_locks;
    if without > 0 {
        let and = if with_locks > 0 { "and " } else { "" };
        text += &format!("  {and}{} without locks\n", count(without as u64, "process"));
    }
    for group in unwatched.chunk_by(|a, b| (&a.exe, &a.why) == (&b.exe, &b.why)) {
        let processes = count(group.len() as u64, "process");
        let (exe, why) = (plain(&group[0].exe), plain(&group[0].why));
        text += &match group[0].reason {
            "follow" => format!("  not watched, {why}: {exe} ({processes})\n"),
            _ => format!("  not watched: {exe} ({processes}): {why}\n"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(pid: u32, command: &[String], acquisitions: u64) -> Row<'_> {
        let end = ProcessEnd::Exit(Some(0));
        Row { pid, exe: "/bin/x", command, end, threads: 1, locks: 2, acquisitions, notes: &[] }
    }

    #[test]
    fn one_process_needs_no_table() {
        assert_eq!(table(&[row(1, &[], 5)], &[]), "");
    }

    #[test]
    fn who_was_watched_and_who_was_not() {
        let of = |pid| Unwatched {
            pid,
            exe: "/usr/bin/cc1".into(),
            reason: "follow",
            why: "by --follow".into(),
        };
        let lost = Unwatched {
            pid: 60,
            exe: "./busybox".into(),
            reason: "static",
            why: "it is statically linked".into(),
        };
        let command = ["./server".to_owned(), "--fast".to_owned()];
        let killed = Row { end: ProcessEnd::Signal(libc::SIGKILL), ..row(43, &command, 1202) };
        let idle = Row { locks: 0, ..row(44, &[], 0) };
        let text = table(&[row(42, &[], 0), killed, idle], &[of(50), of(51), lost]);
        let expected = "\
processes:
     pid  threads    locks  acquisitions  end         command
      42        1        2             0  exit        /bin/x
      43        1        2         1,202  SIGKILL     ./server --fast
  and 1 process without locks
  not watched, by --follow: /usr/bin/cc1 (2 processes)
  not watched: ./busybox (1 process): it is statically linked
";
        assert_eq!(text, expected);
    }

    #[test]
    fn processes_without_locks_are_counted() {
        let idle = |pid| Row { locks: 0, ..row(pid, &[], 0) };
        assert_eq!(table(&[idle(1), idle(2)], &[]), "processes:\n  2 processes without locks\n");
    }

    #[test]
    fn of_many_the_busiest_are_shown_in_order() {
        let rows: Vec<Row<'_>> = (1..=30).map(|pid| row(pid, &[], pid.into())).collect();
        let text = table(&rows, &[]);
        let pids: Vec<u32> =
            text.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect();
        assert_eq!(pids, (11..=30).collect::<Vec<u32>>());
        assert!(text.contains("and 10 processes with fewer"), "{text}");
    }
}
