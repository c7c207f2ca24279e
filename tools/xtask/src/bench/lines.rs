//! `cargo xtask bench lines`: which cache lines a lock and its release touch under the engines, exactly.
//! A line that one thread writes to and another touches costs more the more CPUs there are; others do not.
//! So this is what scaling to machines larger than this one rests on, and what `lockwright-lab sim
//! --workload=watched` takes over.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde_json::{Value, json};

use super::arm::{Arm, Bench, installed, said};
use super::comparison::{BenchOptions, conclude, machine};

/// What is traced: the program's word for it, and ours.
const CASES: [(&str, &str); 4] = [
    ("own", "a mutex of the thread's own"),
    ("shared", "a mutex that both threads take"),
    ("new", "a mutex that is new"),
    (COUNTED, "control: a counter that both write to"),
];
/// The planted fault: one line other than the lock's must be found.
const COUNTED: &str = "counted";
/// In what.
const ARMS: [(Arm, &str); 3] =
    [(Arm::Native, "native"), (Arm::Check, "check"), (Arm::Meter, "meter")];
/// Rounds of a turn, and turns of a thread. The difference between two lengths has neither start nor end
/// in it.
const ROUNDS: [u32; 2] = [20, 120];
const TURNS: u32 = 3;
/// Bytes of a cache line, as a power of two.
const LINE: u32 = 6;
/// What is done less often than once in so many rounds is no part of one.
const SELDOM: f64 = 2.0;

/// How often each of two threads wrote to a line, and read it.
#[derive(Clone, Copy, Default)]
struct Touched {
    writes: [f64; 2],
    reads: [f64; 2],
}

impl Touched {
    /// One thread writes to it, and the other touches it.
    fn is_shared(&self) -> bool {
        let often = |count: f64| count * SELDOM >= 1.0;
        let touches = |who: usize| often(self.writes[who]) || often(self.reads[who]);
        (0..2).any(|who| often(self.writes[who]) && touches(1 - who))
    }

    /// Some thread writes to it, and no other touches it.
    fn is_one_writers(&self) -> bool {
        !self.is_shared() && self.writes.iter().any(|writes| writes * SELDOM >= 1.0)
    }
}

/// What rounds of one case touched.
struct Row {
    case: &'static str,
    arm: &'static str,
    /// Lines that a thread wrote to and no other touched: the larger of the two threads' numbers.
    own: usize,
    /// Lines that both touched and one wrote to, without the shared lock's.
    shared: usize,
    /// How often both wrote to those in a round.
    writes: f64,
}

/// Runs it.
pub fn run(bench: &'static Bench, options: &BenchOptions) -> Result<(), String> {
    let mut rows = Vec::new();
    let mut skipped = None;
    match installed("valgrind", "valgrind") {
        Err(why) => skipped = Some(why),
        Ok(valgrind) => {
            let program = bench.build("turns", &[])?;
            // What must hold, once: nothing for a new mutex, and a shared one is taken as a thread's own.
            let wanted = |case: &str, arm: &str| {
                options.only.as_ref().is_none_or(|text| case.contains(text.as_str()))
                    && (!options.smoke || (["shared", COUNTED].contains(&case) && arm != "native"))
            };
            for (case, _) in CASES {
                for (arm, name) in ARMS.into_iter().filter(|(_, arm)| wanted(case, arm)) {
                    eprintln!("{case}, {name} ...");
                    rows.push(Row::of(bench, &valgrind, &program, case, (arm, name))?);
                }
            }
        }
    }
    print!("{}", text(&rows));
    if let Some(why) = &skipped {
        println!("skipped: {why}");
    }
    let json = json!({
        "machine": machine(),
        "rows": rows.iter().map(Row::json).collect::<Vec<_>>(),
    });
    conclude(options, &json, skipped.is_none())?;
    judge(&rows)
}

/// What must hold wherever it runs: these are counts, no times.
fn judge(rows: &[Row]) -> Result<(), String> {
    let faults: Vec<_> = rows
        .iter()
        .filter(|row| match row.case {
            "own" | "shared" => row.shared != 0,
            COUNTED => row.shared != 1,
            _ => false,
        })
        .map(|row| format!("{}, {}: {} lines that threads share", row.case, row.arm, row.shared))
        .collect();
    if faults.is_empty() { Ok(()) } else { Err(faults.join("; ")) }
}

impl Row {
    fn of(
        bench: &Bench,
        valgrind: &Path,
        program: &Path,
        case: &'static str,
        (arm, name): (Arm, &'static str),
    ) -> Result<Self, String> {
        let [short, long] = ROUNDS;
        let mut lines: BTreeMap<usize, Touched> = BTreeMap::new();
        let mut of_lock = 0..=0;
        for (rounds, sign) in [(short, -1.0), (long, 1.0)] {
            let trace = bench.work.join("lines.trace");
            let mut command = bench.command(arm, valgrind);
            command.args(["--tool=lackey", "--trace-mem=yes"]);
            command.arg(format!("--log-file={}", trace.display()));
            command.arg(program).args([case, &rounds.to_string()]);
            let said = said(&mut command)?;
            let (marks, lock) = addresses(&said).ok_or_else(|| format!("no addresses: {said}"))?;
            // A mutex has 40 bytes.
            of_lock = lock >> LINE..=(lock + 39) >> LINE;
            let file = File::open(&trace).map_err(|e| format!("{}: {e}", trace.display()))?;
            let each = sign / f64::from((long - short) * TURNS);
            count(BufReader::new(file), marks, each, &mut lines)?;
        }
        lines.retain(|line, _| !of_lock.contains(line));
        let number = |is: fn(&Touched) -> bool| lines.values().filter(|line| is(line)).count();
        let shared = lines.values().filter(|line| line.is_shared());
        Ok(Self {
            case,
            arm: name,
            own: number(Touched::is_one_writers).div_ceil(2),
            shared: number(Touched::is_shared),
            writes: shared.flat_map(|line| line.writes).sum::<f64>() / 2.0 + 0.0,
        })
    }

    fn json(&self) -> Value {
        json!({
            "case": self.case,
            "arm": self.arm,
            "lines_of_one_thread": self.own,
            "lines_of_both": self.shared,
            "writes_to_lines_of_both": self.writes,
        })
    }
}

/// The addresses that the program prints: of the marks, and of the shared mutex.
fn addresses(said: &str) -> Option<(usize, usize)> {
    said.lines().find_map(|line| {
        let (marks, lock) = line.split_once(' ')?;
        let address = |text: &str| usize::from_str_radix(text.strip_prefix("0x")?, 16).ok();
        Some((address(marks)?, address(lock)?))
    })
}

/// Counts what a trace has of the turns of each thread, each access as `each`.
fn count(
    trace: impl BufRead,
    marks: usize,
    each: f64,
    lines: &mut BTreeMap<usize, Touched>,
) -> Result<(), String> {
    let mut turn = None;
    for line in trace.split(b'\n') {
        let line = line.map_err(|e| format!("a trace: {e}"))?;
        let Some((kind, address, size)) = access(&line) else { continue };
        if let Some(who) = address.checked_sub(marks).filter(|who| *who < 2 && kind != b'L') {
            turn = if turn.is_none() { Some(who) } else { None };
            continue;
        }
        let Some(who) = turn else { continue };
        for line in address >> LINE..=(address + size - 1) >> LINE {
            let touched = lines.entry(line).or_default();
            if kind != b'L' {
                touched.writes[who] += each;
            }
            if kind != b'S' {
                touched.reads[who] += each;
            }
        }
    }
    match turn {
        None => Ok(()),
        Some(_) => Err("a trace ends within a turn".to_owned()),
    }
}

/// A data access of a trace: whether it loads (`L`), stores (`S`) or does both (`M`), where, and how many bytes.
fn access(line: &[u8]) -> Option<(u8, usize, usize)> {
    // " S 0010c140,4"; instructions begin with an I, and messages with "==".
    let [b' ', kind @ (b'L' | b'S' | b'M'), b' ', rest @ ..] = line else { return None };
    let (address, size) = std::str::from_utf8(rest).ok()?.split_once(',')?;
    let size = size.parse().ok().filter(|size| *size > 0)?;
    Some((*kind, usize::from_str_radix(address, 16).ok()?, size))
}

fn text(rows: &[Row]) -> String {
    let mut text = String::from(
        "cache lines of a round: written to by the thread alone, and written to by one thread and touched by \
         another (without the lock's own)\n\n",
    );
    let row = |text: &mut String, cells: [&str; 5]| {
        let [case, arm, own, shared, writes] = cells;
        let _ = writeln!(text, "  {case:<38} {arm:<7} {own:>5} {shared:>7} {writes:>7}");
    };
    row(&mut text, ["", "", "alone", "shared", "writes"]);
    for Row { case, arm, own, shared, writes } in rows {
        let about = CASES.iter().find(|known| known.0 == *case).map_or(*case, |known| known.1);
        let [own, shared] = [own, shared].map(ToString::to_string);
        row(&mut text, [about, arm, &own, &shared, &format!("{writes:.1}")]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_trace_are_accesses_or_not() {
        assert_eq!(access(b" S 0010c140,4"), Some((b'S', 0x10_c140, 4)));
        assert_eq!(access(b" M 04a67110,8"), Some((b'M', 0x4a6_7110, 8)));
        for other in [&b"I  04001234,3"[..], b"==12== Lackey", b"", b" S zz,4", b" L 10,0"] {
            assert_eq!(access(other), None);
        }
    }

    #[test]
    fn what_both_touch_and_one_writes_to_is_shared() {
        // Thread 0 writes to lines 4 and 8, thread 1 reads line 4 and writes to line 9. Both read line 7.
        let turns = |rounds: usize| {
            let mut trace = String::new();
            for (who, body) in
                [(0, " S 100,4\n L 1c0,8\n S 23f,1\n"), (1, " L 100,4\n L 1c0,8\n M 240,4\n")]
            {
                let mark = format!(" S {:x},1\n", 0x80 + who);
                trace += &format!("{mark}{}{mark}", body.repeat(rounds));
            }
            trace
        };
        let mut lines = BTreeMap::new();
        for (rounds, each) in [(3, -0.1), (13, 0.1)] {
            count(turns(rounds).as_bytes(), 0x80, each, &mut lines).unwrap();
        }
        let those = |is: fn(&Touched) -> bool| -> Vec<usize> {
            lines.iter().filter(|(_, touched)| is(touched)).map(|(line, _)| *line).collect()
        };
        assert_eq!(those(Touched::is_shared), [4]);
        assert_eq!(those(Touched::is_one_writers), [8, 9]);
        let error = count(&b" S 80,1\n"[..], 0x80, 1.0, &mut lines);
        assert!(error.unwrap_err().contains("within a turn"));
    }

    #[test]
    fn addresses_are_found_among_other_words() {
        assert_eq!(addresses("words\n0x10c100 0x10c180\n"), Some((0x10_c100, 0x10_c180)));
        assert_eq!(addresses("words only"), None);
    }

    #[test]
    fn a_line_that_is_shared_is_a_fault_and_a_control_without_one_too() {
        let row = |case, shared| Row { case, arm: "check", own: 3, shared, writes: 0.0 };
        assert!(judge(&[row("own", 0), row("shared", 0), row("new", 5), row(COUNTED, 1)]).is_ok());
        for fault in [row("own", 1), row("shared", 1), row(COUNTED, 0)] {
            assert!(judge(&[fault]).is_err());
        }
    }
}
