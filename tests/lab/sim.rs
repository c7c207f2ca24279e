//! `lockwright-lab sim`: what it says, and that it says the same each time.

mod library;

use std::fs;

use serde_json::Value;

use crate::harness::{Run, Scratch, run, tool};

fn sim(arguments: &[&str]) -> Run {
    let mut command = tool();
    command.arg("sim").args(arguments);
    run(command)
}

/// The JSON of a short run.
fn json(arguments: &[&str]) -> String {
    let run = sim(&[&["--seconds", "0.001", "-o", "/dev/null", "--json", "-"], arguments].concat());
    assert_eq!(run.code(), 0, "{}", run.stderr);
    run.text()
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn the_same_command_gives_the_same_figures() {
    let command = ["--lock", "hybrid,mutex,mcs", "--vcpus", "8,12", "--cpus", "8"];
    let first = json(&command);
    assert_eq!(first, json(&command));
    assert_ne!(first, json(&[&command[..], &["--seed", "2"]].concat()));
    let figures = parsed(&first);
    assert_eq!(figures["runs"].as_array().map(Vec::len), Some(6));
    assert_eq!(figures["runs"][5]["operations"].as_array().map(Vec::len), Some(12));
}

/// Virtual time: these are as good as constants.
#[test]
fn locks_that_all_write_to_collapse() {
    let figures = parsed(&json(&["--lock", "mcs,ticket,tas", "--threads", "36"]));
    let rate = |run: usize| figures["runs"][run]["operations_per_second"].as_f64().expect("a rate");
    assert!(rate(0) > 2.0 * rate(1) && rate(0) > 2.0 * rate(2), "{figures}");
    let places = figures["runs"][2]["traffic"].as_array().expect("places");
    assert!(places.iter().any(|place| place["place"] == "the lock"), "{figures}");
}

#[test]
fn what_is_no_lock_fails() {
    let run = sim(&["--lock", "busted", "--threads", "4", "--seconds", "0.001"]);
    assert_eq!(run.code(), 101, "{}", run.stderr);
    assert!(run.text().contains("!!! it did not exclude: "), "{}", run.text());
}

#[test]
fn all_that_is_listed_can_be_simulated() {
    let list = sim(&["--list"]).text();
    let names = |title: &str| -> Vec<String> {
        let section = list.split(&format!("{title}\n")).nth(1).expect("a section").lines();
        let rows = section.take_while(|line| line.starts_with("  "));
        rows.map(|line| line.split_whitespace().next().expect("a name").to_owned()).collect()
    };
    let machines = names("machines:");
    assert!(machines.len() > 5, "{list}");
    for machine in &machines {
        let figures = json(&["--machine", machine, "--cpus", "4", "--lock", "qspinlock"]);
        assert_eq!(parsed(&figures)["machine"], **machine);
    }
    for workload in names("workloads:") {
        json(&["--workload", &workload, "--cpus", "4"]);
    }
    let locks: Vec<String> = names("locks:").into_iter().filter(|lock| lock != "busted").collect();
    assert!(locks.len() > 10, "{list}");
    json(&["--lock", &locks.join(","), "--cpus", "4"]);
}

#[test]
fn a_machine_is_a_file_that_can_be_changed() {
    let scratch = Scratch::new();
    let file = scratch.join("mine.toml");
    let text = sim(&["--machine", "epyc-9654", "--print-machine"]).text();
    fs::write(&file, &text).expect("a file");
    let path = file.to_str().expect("UTF-8");
    let command = ["--cpus", "4", "--lock", "hybrid", "--machine"];
    assert_eq!(
        json(&[&command[..], &[path]].concat()),
        json(&[&command[..], &["epyc-9654"]].concat())
    );

    fs::write(&file, text.replace("sockets = 2", "sockets = 0")).expect("a file");
    let wrong = sim(&["--machine", path]);
    assert_eq!(wrong.code(), 2, "{}", wrong.stderr);
    let line = text.lines().position(|line| line.starts_with("sockets = ")).expect("a line") + 1;
    assert!(
        wrong.stderr.contains(&format!("mine.toml:{line}: `shape.sockets`")),
        "{}",
        wrong.stderr
    );
}

#[test]
fn a_sweep_is_drawn() {
    let scratch = Scratch::new();
    let file = scratch.join("sweep.svg");
    let path = file.to_str().expect("UTF-8");
    let sweep = ["--lock", "mcs,ticket", "--sweep", "cpus=1..8", "--plot", path];
    json(&sweep);
    let svg = fs::read_to_string(&file).expect("a drawing");
    for said in ["<svg", "micro on e5-2699v3", "\nmcs\n", "\nticket\n", "\nCPUs\n", "\n8\n"] {
        assert!(svg.contains(said), "{said}: {svg}");
    }
    // A line for each lock, of as many points as there are numbers of CPUs.
    let lines = svg.lines().filter(|line| line.starts_with("<polyline") && line.contains("#"));
    let points =
        |line: &str| line.split("points=").nth(1).map(|points| points.matches(',').count());
    assert_eq!(lines.filter(|line| points(line) == Some(4)).count(), 2, "{svg}");
    let again = sim(&[&["--seconds", "0.001"], &sweep[..]].concat());
    assert_eq!((again.code(), again.stderr.as_str()), (0, ""), "progress is for terminals");
    assert_eq!(svg, fs::read_to_string(&file).expect("a drawing"), "the same each time");

    let nowhere = scratch.join("no-such/sweep.svg");
    for (arguments, said) in [
        (&["--threads", "4", "--plot", path][..], "need several numbers of CPUs or threads"),
        (&["--threads", "2,4", "--plot", "sweep.png"], "--plot draws SVG"),
        (&["--threads", "2,4", "--plot", nowhere.to_str().expect("UTF-8")], "cannot write"),
    ] {
        let run = sim(arguments);
        assert_ne!(run.code(), 0, "{arguments:?}");
        assert!(run.stderr.contains(said), "{arguments:?}: {}", run.stderr);
    }
}

#[test]
fn what_is_not_there_is_told() {
    for (arguments, said) in [
        (&["--machine", "no-such"][..], "there is no machine `no-such`"),
        (&["--machine", "./no-such.toml"], "cannot read the machine ./no-such.toml"),
        (&["--machine", "/dev/zero"], "it is no regular file"),
        (&["--workload", "no-such"], "there is no workload `no-such`"),
        (&["--lock", "no-such"], "workload `micro` has no lock `no-such`"),
        (&["--cpus", "37"], "e5-2699v3 has 36 CPUs, not 37"),
        (&["--sweep", "cpus=4..1"], "write `cpus=FROM..TO`"),
        (&["--seconds", "0"], "must be a number from"),
    ] {
        let run = sim(arguments);
        assert_eq!(run.code(), 2, "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(said), "{arguments:?}: {}", run.stderr);
    }
}

/// A short form of the comparison with what was published: too short to be right, but no time may be
/// lost, no lock may fail, and it is the same each time.
#[test]
fn what_was_published_is_compared_the_same_each_time() {
    let truth = || {
        let run = sim(&["--truth=0.001", "-o", "/dev/null", "--json", "-"]);
        assert_eq!(run.code(), 0, "{}", run.stderr);
        run.text()
    };
    let first = truth();
    assert_eq!(first, truth());
    let figures = parsed(&first);
    let of = |document: u64| {
        let all = figures["figures"].as_array().expect("figures").iter();
        all.filter(|figure| figure["document"] == document).count()
    };
    assert_eq!([0, 2, 3, 4].map(of), [6, 8, 7, 45], "{figures:#}");
    let all = figures["figures"].as_array().expect("figures").iter();
    let of = |source: &str| all.clone().filter(|figure| figure["source"] == source).count();
    assert_eq!(["CNA", "parking_lot", "zio"].map(of), [2, 11, 3], "{figures:#}");
    assert!(figures["failed"].as_array().is_some_and(Vec::is_empty), "{figures:#}");
}

#[test]
fn what_was_published_is_shown_beside_what_is_simulated() {
    let run = sim(&["--truth=0.0001"]);
    assert_eq!(run.code(), 0, "{}", run.stderr);
    let text = run.text();
    for part in
        ["hybrid over unfair, 108 virtual CPUs", "1.590", "figures that no constant was fitted to"]
    {
        assert!(text.contains(part), "{text}");
    }
}
