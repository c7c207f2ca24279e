//! The timeline: what a program says that it did is there, and the programs that read it find all of it.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::{Run, Scratch, installed, ledgers, program, run, tests_dir, tool, under};
use crate::output::speedscope::fetched;

/// Rounds of `timeline.c`.
const ROUNDS: u64 = 12;

/// A run of a program with a timeline: its files, and its report.
struct Recorded {
    scratch: Scratch,
    run: Run,
}

impl Recorded {
    fn of(command: &str, program: &Path, args: &[&str], options: &[&str]) -> Self {
        let scratch = Scratch::new();
        let files = ["t.pftrace", "t.json"].map(|name| scratch.join(name));
        let mut all = Vec::new();
        for file in &files {
            all.extend(["--timeline", file.to_str().unwrap()]);
        }
        all.extend(options);
        let run = under(command, &all, program).args(args).run();
        Self { scratch, run }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.scratch.join(name)
    }

    /// The measurement; `run` has it in its report.
    fn measured(&self) -> Value {
        let report = self.run.report();
        report.get("meter").unwrap_or(report).clone()
    }

    fn timeline(&self) -> Value {
        self.measured()["timeline"].clone()
    }

    fn number(&self, what: &str) -> u64 {
        self.timeline()[what].as_u64().unwrap()
    }

    /// The markers of Firefox's profile: name, what, begin, end, thread's id.
    fn markers(&self) -> Vec<(String, String, f64, f64, u64)> {
        let text = std::fs::read_to_string(self.file("t.json")).expect("the profile");
        let profile: Value = serde_json::from_str(&text).expect("JSON");
        let mut all = Vec::new();
        for thread in profile["threads"].as_array().unwrap() {
            let strings =
                thread["stringArray"].as_array().or(profile["shared"]["stringArray"].as_array());
            let strings = strings.unwrap();
            let markers = &thread["markers"];
            let tid =
                thread["tid"].as_u64().or(thread["tid"].as_str().and_then(|tid| tid.parse().ok()));
            for i in 0..markers["length"].as_u64().unwrap() as usize {
                let string = |index: &Value| {
                    strings[index.as_u64().unwrap() as usize].as_str().unwrap().to_owned()
                };
                let what = &markers["data"][i]["what"];
                all.push((
                    string(&markers["name"][i]),
                    what.as_str().map_or_else(|| string(what), str::to_owned),
                    markers["startTime"][i].as_f64().unwrap(),
                    markers["endTime"][i].as_f64().unwrap(),
                    tid.unwrap(),
                ));
            }
        }
        all
    }
}

/// The answers of trace_processor; `None` where it, or node, is not there.
fn ask(trace: &Path, queries: &[&str]) -> Option<Vec<Vec<Value>>> {
    let node = installed(&["node"], "nodejs")?;
    let engine = fetched("trace_processor", "trace_processor.wasm")?;
    let mut command = Command::new(node);
    command.arg(tests_dir().join("trace_processor.js")).arg(engine.parent().unwrap()).arg(trace);
    let answers = run({
        command.args(queries);
        command
    });
    assert_eq!(answers.code(), 0, "{}", answers.stderr);
    let answers: Value = serde_json::from_str(&answers.text()).expect("JSON");
    let rows = answers.as_array().unwrap().iter().map(|answer| {
        assert_eq!(answer["error"], Value::Null, "{answer}");
        answer["rows"].as_array().unwrap().clone()
    });
    Some(rows.collect())
}

/// Everything that the report says there is, trace_processor finds; it drops nothing, and all flows are from a release to a wake-up.
fn agrees_with_trace_processor(recorded: &Recorded) {
    let queries = [
        "select category, count(*) n from slice group by category",
        "select count(*) n, sum(a.category = 'hand-over' and b.category = 'wake-up' and a.ts <= b.ts) good \
         from flow join slice a on a.id = slice_out join slice b on b.id = slice_in",
        "select name, value from stats where value != 0 and (severity = 'error' or severity = 'data_loss')",
        "select count(*) n from slice where dur < 0",
        // A slice lies within the one that it nests in.
        "select count(*) n from slice s join slice p on p.id = s.parent_id where s.ts < p.ts or s.ts + s.dur > p.ts + p.dur",
        "select count(*) n from slice where category = 'wait' and name glob 'Lock contention on *'",
        "select min(value) least from counter",
    ];
    let Some(answers) = ask(&recorded.file("t.pftrace"), &queries) else { return };
    let count = |category: &str| {
        let row = answers[0].iter().find(|row| row["category"] == category);
        row.map_or(0, |row| row["n"].as_u64().unwrap())
    };
    let [waits, holds, hand_overs] =
        ["waits", "holds", "hand_overs"].map(|what| recorded.number(what));
    assert_eq!((count("wait"), count("hold")), (waits, holds), "{answers:?}");
    assert_eq!((count("hand-over"), count("wake-up")), (hand_overs, hand_overs), "{answers:?}");
    let flows = &answers[1][0];
    assert_eq!(flows["n"], json!(hand_overs), "{answers:?}");
    assert_eq!(flows["good"].as_u64().unwrap_or(0), hand_overs, "{answers:?}");
    assert_eq!(answers[2], Vec::<Value>::new());
    assert_eq!((&answers[3][0]["n"], &answers[4][0]["n"]), (&json!(0), &json!(0)), "{answers:?}");
    assert!(count("holder") <= holds);
    assert!(answers[6][0]["least"].as_f64().unwrap_or(0.0) >= 0.0);
}

/// What `timeline.c` says that it did is there as often: of the process with this id.
fn agrees_with_the_program(recorded: &Recorded, process: u64, worker: u64) {
    let markers = recorded.markers();
    let of = |name: &str, what: &str, tid: u64| {
        let those = markers.iter().filter(|it| it.0 == name && it.1.contains(what) && it.4 == tid);
        those.map(|it| (it.2, it.3)).collect::<Vec<_>>()
    };
    let waits = of("Lock contention", "gate", worker);
    let holds = of("hold", "gate", process);
    // Once more, when nobody waits for it.
    let rounds = ROUNDS as usize;
    assert_eq!((waits.len(), holds.len()), (rounds, rounds + 1), "{markers:#?}");
    // Each wait is over after the hold that it was for, which began before it; in this order.
    for (wait, hold) in waits.iter().zip(&holds) {
        assert!(hold.0 <= wait.0 && hold.1 <= wait.1 && wait.0 <= hold.1, "{wait:?} {hold:?}");
    }
    assert_eq!(of("wait", "condition `opened`", worker).len(), ROUNDS as usize, "{markers:#?}");
    for (what, tid) in [("semaphore", worker), ("end of a thread", process)] {
        assert_eq!(of("wait", what, tid).len(), 1, "{what}: {markers:#?}");
    }
    let meetings = markers.iter().filter(|it| it.0 == "wait" && it.1.contains("barrier"));
    let meetings: HashSet<u64> = meetings.map(|it| it.4).collect();
    assert!(meetings.is_superset(&HashSet::from([process, worker])), "{markers:#?}");
    // Main sleeps with the lock held in each round: within its hold. When one ended that nobody waited for is read a moment later.
    let sleeps = of("wait", "usleep", process);
    for hold in &holds[..rounds] {
        assert!(sleeps.iter().any(|it| hold.0 <= it.0 && it.1 <= hold.1), "{hold:?}");
    }
    // The report has the same waits as the longest, each ended by main after it began.
    let worst = recorded.timeline()["worst"].as_array().unwrap().clone();
    let worst = worst
        .iter()
        .filter(|it| it["tid"] == json!(worker) && it["holder"]["tid"] == json!(process));
    let by_main: Vec<_> = worst.filter(|it| it["ended_by"]["tid"] == json!(process)).collect();
    assert!(by_main.len() >= ROUNDS as usize, "{by_main:#?}");
    for wait in by_main {
        let [begun, waited] = ["begun_ns", "waited_ns"].map(|what| wait[what].as_u64().unwrap());
        let ended = wait["ended_by"]["at_ns"].as_u64().unwrap();
        assert!((begun..=begun + waited).contains(&ended), "{wait:#?}");
    }
}

/// The arrows that `timeline.c` has once each, from thread to thread; the holds of `gate` and of both twins on their own tracks, those
/// included that nobody waited for; and the name that the worker gave itself at its end.
fn has_arrows_and_holds(recorded: &Recorded, process: u64, worker: u64) {
    let arrows = "select a.name what, x.tid from_tid, y.tid to_tid from flow \
                  join slice a on a.id = slice_out join slice b on b.id = slice_in \
                  join thread_track s on s.id = a.track_id join thread x on x.utid = s.utid \
                  join thread_track u on u.id = b.track_id join thread y on y.utid = u.utid \
                  where a.name glob 'ends a wait for*'";
    let holds = format!(
        "select count(*) n from slice join track t on t.id = track_id where category = 'holder' \
         and t.name glob 'gate*: held by' and slice.name glob '*({process})'"
    );
    let of_twins = format!(
        "select t.name track, count(*) n from slice join track t on t.id = track_id where category = 'holder' \
         and t.name glob 'mutex*timeline.c:*: held by' and slice.name glob '*({process})' group by t.id"
    );
    let name = format!("select name from thread where tid = {worker}");
    let queries = [arrows, &holds, &of_twins, &name];
    let Some(answers) = ask(&recorded.file("t.pftrace"), &queries) else { return };
    let of = |what: &str| -> Vec<(u64, u64)> {
        let those = answers[0].iter().filter(|row| {
            let (from, to) = (&row["from_tid"], &row["to_tid"]);
            let is_its = |tid: &Value| *tid == json!(process) || *tid == json!(worker);
            row["what"].as_str().unwrap().contains(what) && is_its(from) && is_its(to)
        });
        let tid = |row: &Value, name: &str| row[name].as_u64().unwrap();
        those.map(|row| (tid(row, "from_tid"), tid(row, "to_tid"))).collect()
    };
    assert_eq!(of("semaphore"), [(process, worker)], "{answers:?}");
    assert_eq!(of("the end of a thread"), [(worker, process)], "{answers:?}");
    let [(from, to)] = of("barrier")[..] else { panic!("{answers:?}") };
    assert_ne!(from, to);
    assert_eq!(answers[1][0]["n"], json!(ROUNDS + 1), "{answers:?}");
    let twins: Vec<_> = answers[2].iter().map(|row| (&row["track"], &row["n"])).collect();
    let [first, second] = twins[..] else { panic!("a track each: {twins:?}") };
    assert_ne!(first.0, second.0, "by their addresses");
    assert_eq!((first.1, second.1), (&json!(2), &json!(2)), "{twins:?}");
    assert_eq!(answers[3], [json!({ "name": "the worker" })]);
}

/// The process and its thread, as each line of the program's output names them.
fn said(run: &Run) -> Vec<(u64, u64)> {
    let number = |line: &str, after: &str| {
        let (_, rest) = line.split_once(after).unwrap();
        rest.split_whitespace().next().unwrap().parse().unwrap()
    };
    let text = run.text();
    text.lines().map(|line| (number(line, "process "), number(line, "worker "))).collect()
}

#[test]
fn what_the_program_did_is_there_as_often_and_in_order() {
    for command in ["meter", "run"] {
        let recorded = Recorded::of(command, &program("timeline.c"), &[], &[]);
        assert_eq!(recorded.run.code(), 0, "{}", recorded.run.stderr);
        for (process, worker) in said(&recorded.run) {
            agrees_with_the_program(&recorded, process, worker);
            has_arrows_and_holds(&recorded, process, worker);
        }
        let waits = recorded.number("waits");
        assert!(recorded.number("hand_overs") >= 2 * ROUNDS && waits >= 2 * ROUNDS);
        agrees_with_trace_processor(&recorded);
    }
}

/// A hold that nobody waits for, and in which the thread never sleeps, ends on the fast path: it is there all the same.
#[test]
fn a_long_hold_without_sleep_or_waiters_is_there() {
    for command in ["meter", "run"] {
        let recorded = Recorded::of(command, &program("timeline_busy.c"), &[], &[]);
        assert_eq!(recorded.run.code(), 0, "{}", recorded.run.stderr);
        let markers = recorded.markers();
        let is_long = |begin: f64, end: f64| end - begin >= 1.9;
        let holds = markers.iter().filter(|it| it.0 == "hold" && it.1.contains("desk"));
        let long = holds.filter(|it| is_long(it.2, it.3)).count();
        assert!(long >= 5, "{command}: {markers:#?}");
    }
}

#[test]
fn a_forked_child_has_tracks_of_its_own() {
    let recorded = Recorded::of("meter", &program("timeline.c"), &["fork"], &[]);
    let said = said(&recorded.run);
    assert_eq!(said.len(), 2, "{}", recorded.run.text());
    for (process, worker) in said {
        agrees_with_the_program(&recorded, process, worker);
        has_arrows_and_holds(&recorded, process, worker);
    }
    assert_eq!(recorded.timeline()["processes"].as_array().unwrap().len(), 2);
    agrees_with_trace_processor(&recorded);
}

/// What was recorded up to then is there, and the wait that was not over.
#[test]
fn a_killed_program_leaves_its_timeline() {
    let recorded =
        Recorded::of("meter", &program("timeline.c"), &["kill"], &["--allow-incomplete"]);
    let worst = recorded.timeline()["worst"].as_array().unwrap().clone();
    let over = worst.iter().filter(|wait| wait["over"] == json!(true)).count() as u64;
    assert!(over >= ROUNDS - 1, "{worst:#?}");
    let unfinished: Vec<_> = worst.iter().filter(|wait| wait["over"] == json!(false)).collect();
    assert_eq!(unfinished.len(), 1, "{worst:#?}");
    assert_eq!(unfinished[0]["ended_by"], Value::Null);
    agrees_with_trace_processor(&recorded);
}

/// Two threads fight for a lock all the time: the ring is overwritten, short waits are left out, both are said, and what there is is
/// whole.
#[test]
fn a_ring_that_overflows_says_so() {
    let options = ["--timeline-size", "64K"];
    let recorded = Recorded::of("meter", &program("timeline_full.c"), &[], &options);
    assert_eq!(recorded.run.code(), 0, "{}", recorded.run.stderr);
    let ring = recorded.timeline()["processes"][0].clone();
    let number = |what: &str| ring[what].as_u64().unwrap();
    // The ring has 1,024 events, and the longest waits are kept as well.
    assert!((900..=1024 + 64).contains(&number("events")), "{ring}");
    assert!(number("overwritten") > 0, "{ring}");
    assert_eq!(number("torn"), 0, "{ring}");
    agrees_with_trace_processor(&recorded);
    let text = &recorded.run.stderr;
    assert!(text.contains("TIMELINE") && text.contains("overwritten"), "{text}");
}

/// Bytes of a kept ledger that are not what they were: the report comes all the same.
#[test]
fn a_damaged_timeline_is_no_reason_to_fail() {
    let scratch = Scratch::new();
    let mut kept = tool();
    kept.args(["meter", "--keep", "--timeline", "/dev/null", "--ledger-dir"]).arg(scratch.path());
    kept.arg("--").arg(program("timeline.c"));
    assert_eq!(run(kept).code(), 0);
    let ledger = ledgers(scratch.path()).remove(0);
    let whole = std::fs::read(&ledger).map(|mut bytes| {
        bytes.truncate(4 << 20);
        bytes
    });
    let whole = whole.unwrap();
    let mut random = 7u64;
    for _ in 0..6 {
        let mut bytes = whole.clone();
        for _ in 0..3000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = 16384 + (random >> 33) as usize % (bytes.len() - 16384);
            bytes[at] = (random >> 20) as u8;
        }
        let damaged = scratch.join("damaged.lwl");
        std::fs::write(&damaged, &bytes).unwrap();
        let mut report = tool();
        report.args(["report", "--allow-incomplete", "--timeline"]).arg(scratch.join("t.pftrace"));
        report.arg(&damaged);
        let report = run(report);
        assert!(!report.stderr.contains("panicked"), "{}", report.stderr);
    }
}

#[test]
fn the_page_shows_the_longest_waits_of_a_timeline() {
    let scratch = Scratch::new();
    let [page, trace] = ["page.html", "t.pftrace"].map(|name| scratch.join(name));
    let html = ["--html", page.to_str().unwrap()];
    let timeline = ["--timeline", trace.to_str().unwrap()];
    for (options, is_there) in [([html, timeline].concat(), true), (html.to_vec(), false)] {
        let run = under("meter", &options, program("timeline.c")).run();
        let worst = run.report()["timeline"]["worst"].as_array().map_or(0, Vec::len);
        let text = std::fs::read_to_string(&page).expect("a page");
        assert_eq!(text.contains("Worst waits"), is_there);
        // A bar for each.
        assert_eq!(text.matches("<svg class=\"range up\"").count(), worst);
    }
}

#[test]
fn without_the_option_nothing_is_recorded() {
    let run = under("meter", &[] as &[&str], program("timeline.c")).run();
    assert_eq!(run.report().get("timeline"), None);
}
