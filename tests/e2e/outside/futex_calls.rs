//! What `meter --pid` and `--system` say about single waits of known programs: whose they are, where they end, and
//! whether they are for a lock.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::by_kernel::{meter, nothing_lost, path, traced, written};
use crate::harness::{Run, Scratch};
use crate::kinds::futexes::parking_lot;

/// Measures `futex_owners.c` from the moment on at which it waits for input; gives the document, the report and what the
/// program printed.
fn measured(tool: &Path, kind: &str) -> (Value, String, String) {
    let mut program = Command::new(path("futex_owners.c"))
        .arg(kind)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program");
    let mut output = BufReader::new(program.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let (document, text) = until_its_end(tool, &mut program, |program| {
        program.stdin.take().unwrap().write_all(b"x").unwrap();
    });
    let mut said = String::new();
    output.read_to_string(&mut said).unwrap();
    nothing_lost(&document);
    (document, text, said)
}

/// Measures a program that may have ended before anybody has looked where its code lies; then again. Its map is not to be had,
/// either, while its threads map memory all the time.
fn known(tool: &Path, option: &str, program: &str, function: &str) -> (Run, Value) {
    let measure = || meter(tool, &[option, "--top", "0"], &[program]);
    let is_known = |(run, _): &(Run, Value)| {
        let is_whole = option == "--system" || !run.stderr.contains(": no module+");
        run.stderr.contains(function) && is_whole
    };
    let found = (0..6).map(|_| measure()).find(is_known).expect("the function in one run of six");
    assert_eq!(found.0.code(), 0, "{}", found.0.stderr);
    found
}

fn until_its_end(tool: &Path, program: &mut Child, start: impl Fn(&mut Child)) -> (Value, String) {
    let scratch = Scratch::new();
    let json = scratch.join("traced.json");
    let mut meter = Command::new(tool)
        .args(["meter", "--pid", &program.id().to_string(), "--top", "0", "--json"])
        .arg(&json)
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool");
    let mut report = BufReader::new(meter.stderr.take().unwrap());
    let mut text = String::new();
    report.read_line(&mut text).unwrap();
    assert!(text.contains("measuring the futexes of process"), "{text}");
    start(program);
    assert!(program.wait().unwrap().success());
    report.read_to_string(&mut text).unwrap();
    assert!(meter.wait().unwrap().success(), "{text}");
    (written(&json).expect("a document"), text)
}

/// The entry for the lock of this name.
fn lock<'d>(document: &'d Value, name: &str) -> &'d Value {
    let mut locks = document["locks"].as_array().unwrap().iter();
    locks.find(|lock| lock["lock"] == name).unwrap_or_else(|| panic!("{name}: {document:#}"))
}

fn number(of: &Value, what: &str) -> u64 {
    of.pointer(what).and_then(Value::as_u64).unwrap_or_else(|| panic!("{what}: {of:#}"))
}

/// Waits by one of these functions, which is on the stack.
fn by(all: &Value, functions: &[&str]) -> Vec<(String, u64)> {
    let of = |site: &Value| {
        let frames = site["stack"].as_array().unwrap().iter();
        let mut names = frames.filter_map(|frame| frame["function"].as_str());
        let name = names.find(|name| functions.contains(name)).unwrap_or("?");
        (name.to_owned(), number(site, "/waits/count"))
    };
    let mut all: Vec<_> = all.as_array().unwrap().iter().map(of).collect();
    all.sort();
    all
}

/// Two waits began while one thread had the mutex, and one of these waiters gave it to the other: that is not its doing.
#[test]
fn a_wait_is_for_the_owner_at_its_begin() {
    let Some(tool) = traced() else { return };
    let (document, text, _) = measured(tool, "owners");
    let held = lock(&document, "held");
    assert_eq!(number(held, "/waits/count"), 3, "{text}");
    assert_eq!(held["wakers_are_owners"], true);
    let owners = by(&held["wakers"], &["slow_owner", "fast_owner", "takes"]);
    assert_eq!(owners, [("fast_owner".into(), 1), ("slow_owner".into(), 2)], "{text}");
    assert!(text.contains("held by slow_owner ("), "{text}");
}

#[test]
fn a_wait_that_signals_and_a_stop_cut_is_one() {
    let Some(tool) = traced() else { return };
    let (document, text, said) = measured(tool, "cut");
    let held = lock(&document, "held");
    assert_eq!(number(held, "/waits/count"), 1, "{text}");
    let (total, max) = (number(held, "/waits/total_ns"), number(held, "/waits/max_ns"));
    assert_eq!(total, max);
    let limits: Vec<u64> = said.split_whitespace().map(|word| word.parse().unwrap()).collect();
    assert!((limits[0]..=limits[1]).contains(&total), "{total} {limits:?}");
    assert_eq!(by(&held["wakers"], &["slow_owner"]), [("slow_owner".into(), 1)], "{text}");
}

/// The twin: a signal ends the first wait, and what follows is another.
#[test]
fn a_wait_that_a_signal_ended_is_not_the_next_one() {
    let Some(tool) = traced() else { return };
    let (document, text, _) = measured(tool, "gone_on");
    let semaphores = document["others"].as_array().unwrap().iter();
    let functions = ["interrupted", "goes_on"];
    let waits = semaphores.flat_map(|semaphore| by(&semaphore["sites"], &functions));
    let mut waits: Vec<_> = waits.filter(|(name, _)| name != "?").collect();
    waits.sort();
    assert_eq!(waits, [("goes_on".into(), 1), ("interrupted".into(), 1)], "{text}");
}

#[test]
fn a_wait_that_began_before_is_counted_from_the_begin_of_the_measurement() {
    let Some(tool) = traced() else { return };
    let (document, text, _) = measured(tool, "before");
    let held = lock(&document, "held");
    assert_eq!(number(held, "/waits/count"), 1, "{text}");
    assert_eq!((number(held, "/began_before"), number(held, "/ended_with_thread")), (1, 0));
    let waited = number(held, "/waits/total_ns");
    assert!(waited > 0 && waited <= number(&document, "/elapsed_ns"), "{text}");
    assert_eq!(by(&held["sites"], &["takes"]), [("takes".into(), 1)], "{text}");
    assert_eq!(by(&held["wakers"], &["slow_owner"]), [("slow_owner".into(), 1)], "{text}");
    assert!(text.contains("1 began before measuring did"), "{text}");
}

#[test]
fn waits_that_the_end_of_the_process_ends_are_counted() {
    let Some(tool) = traced() else { return };
    let (document, text, _) = measured(tool, "ended");
    let held = lock(&document, "held");
    assert_eq!(number(held, "/waits/count"), 2, "{text}");
    assert_eq!((number(held, "/began_before"), number(held, "/ended_with_thread")), (1, 2));
    assert_eq!(by(&held["sites"], &["takes"]), [("takes".into(), 2)], "{text}");
    assert_eq!(held["wakers"].as_array().unwrap().len(), 0, "nobody gave the mutex up: {text}");
    assert_eq!(document["waiting"].as_array().unwrap().len(), 0, "{text}");
    assert!(text.contains("2 waits ended with their threads"), "{text}");
}

/// The C library's own locks: no function that takes them is called from outside.
#[test]
fn a_lock_within_the_c_library_is_in_the_one_table() {
    let Some(tool) = traced() else { return };
    let program = path("stream_lock.c");
    let (run, document) = known(tool, "--with-kernel", &program, "writes_little (");
    let rows = document["every_wait"].as_array().unwrap().iter();
    let futexes = rows.filter(|row| row["of"] == "futex");
    let futexes: Vec<(&str, u64)> =
        futexes.map(|row| (row["what"].as_str().unwrap(), number(row, "/waits/count"))).collect();
    let [(what, 10)] = futexes[..] else { panic!("{futexes:?} {}", run.stderr) };
    assert!(what.starts_with("C library's internal lock "), "{what}");
    assert!(run.stderr.contains(": writes_little ("), "{}", run.stderr);
}

/// The clean twin: waits that the library measures itself are there once.
#[test]
fn a_lock_whose_calls_are_seen_is_in_the_one_table_once() {
    let Some(tool) = traced() else { return };
    let program = path("every_wait.c");
    let (run, document) = known(tool, "--with-kernel", &program, "takes_table (");
    let rows = document["every_wait"].as_array().unwrap().iter();
    let rows = rows.filter(|row| row["of"] != "kernel");
    let mut names: Vec<&str> = rows.map(|row| row["what"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names.len(), 2, "{names:?} {}", run.stderr);
}

/// Stack pointers, and what else differs from thread to thread, tell no place.
#[test]
fn waits_of_500_threads_are_all_in_one_row() {
    let Some(tool) = traced() else { return };
    let (document, text, said) = measured(tool, "crowd");
    let word = lock(&document, "word");
    let counted = (number(word, "/waits/count"), number(word, "/refused"));
    let said: Vec<u64> = said.split_whitespace().map(|word| word.parse().unwrap()).collect();
    assert_eq!(counted, (said[0], said[1]), "{text}");
    assert_eq!(word["sites"].as_array().unwrap().len(), 1, "{text}");
}

#[test]
fn a_mutex_of_parking_lot_is_one_row_with_its_name() {
    let Some(tool) = traced() else { return };
    let program = parking_lot().to_str().unwrap();
    // Another test may run the program at the same time, once.
    let own = |document: &Value| {
        let locks = document["locks"].as_array().unwrap().iter();
        let own = |lock: &&Value| lock["lock"].as_str().is_some_and(|name| name.contains("SHARED"));
        locks.filter(own).cloned().collect::<Vec<Value>>()
    };
    let mut runs = (0..3).map(|_| known(tool, "--system", program, "wants ("));
    let alone = runs.find(|(_, document)| own(document).len() == 1);
    let (run, document) = alone.expect("one row in one run of three");
    let own = own(&document);
    assert_eq!(number(&own[0], "/waits/count"), 50, "as often as the program has a thread wait");
    assert_eq!(own[0]["addresses"].as_array().unwrap().len(), 1);
    assert!(
        run.stderr.contains("the parking_lot Mutex `futex_parking_lot::SHARED`"),
        "{}",
        run.stderr
    );
    // Which thread's word it is that was woken tells no owner.
    assert_eq!(own[0]["wakers_are_owners"], false);
}

#[test]
fn waits_for_values_and_semaphores_of_cxx_are_for_no_lock() {
    let Some(tool) = traced() else { return };
    let (run, document) = known(tool, "--system", &path("futex_atomic.cc"), "acquires (");
    let functions = ["waits", "acquires"];
    let of = |which: &str| {
        let all = document[which].as_array().unwrap().iter();
        let sites = all.flat_map(|entry| by(&entry["sites"], &functions));
        let mut sites: Vec<_> = sites.filter(|(name, _)| name != "?").collect();
        sites.sort();
        sites
    };
    assert_eq!(of("others"), [("acquires".into(), 20), ("waits".into(), 20)], "{}", run.stderr);
    assert_eq!(of("locks"), [], "{}", run.stderr);
}
