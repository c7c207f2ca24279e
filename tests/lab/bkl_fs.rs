//! `lockwright-lab bench tables` of Hansen's 2002 BKL patches: published and measured figures of the example of a file
//! system under a big kernel lock.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::bkl_program::program;
use crate::harness::{Scratch, run, tool};

/// The tables of Hansen's 2002 patches after two short rounds.
fn tables(parts: Option<&Path>) -> (String, Value) {
    let scratch = Scratch::new();
    let json = scratch.join("page.json");
    let mut command = tool();
    command.args(["bench", "tables", "--smoke", "--only", "2", "--json"]).arg(&json);
    if let Some(parts) = parts {
        command.arg("--parts").arg(parts);
    }
    let run = run(command);
    assert_eq!(run.code() == 0, parts.is_some(), "{}", run.stderr);
    let json = serde_json::from_slice(&fs::read(json).expect("a report")).expect("JSON");
    (run.text(), json)
}

#[test]
fn published_and_measured_stand_side_by_side() {
    let (text, page) = tables(program().parent());
    let document = &page["documents"][0];
    let comparisons = document["comparisons"].as_array().expect("comparisons");
    let rows: Vec<_> = comparisons.iter().flat_map(|of| of["rows"].as_array().unwrap()).collect();
    let row = |what: &str| {
        rows.iter().find(|row| row["what"] == what).unwrap_or_else(|| panic!("no {what}: {text}"))
    };
    let acquisitions = row("acquisitions, after over before");
    assert!((acquisitions["published"].as_f64().unwrap() - 0.516).abs() < 1e-3);
    let ratio = acquisitions["here"]["median"].as_f64().expect("measured");
    assert!((0.4..0.6).contains(&ratio), "{acquisitions:#}");
    let lseek = row("sys_lseek")["here"]["median"].as_f64().expect("measured");
    assert!((40.0..60.0).contains(&lseek), "{lseek}");
    for name in ["do_exit+0x", "sem_exit+0x", "ext2_get_block+0x", "ext2_new_block+0x"] {
        assert!(text.contains(name), "{name}: {text}");
    }
    // All rows of sites.
    let sites = |when: &str| {
        let title = format!("Sites {when}");
        let all = document["sections"].as_array().expect("sections").iter();
        let of = all.clone().find(|of| of["title"].as_str().is_some_and(|it| it.contains(&title)));
        of.unwrap_or_else(|| panic!("no {title}: {text}"))["results"].as_array().unwrap().len()
    };
    assert_eq!((sites("before"), sites("after")), (22, 24), "{text}");
    let mean = row("mean hold, after over before");
    assert_eq!(mean["published"].as_f64().unwrap(), 1.2, "it rose");
}

#[test]
fn without_the_program_its_rows_say_so() {
    let (text, page) = tables(None);
    assert!(text.contains("cargo xtask bench tables"), "{text}");
    assert_eq!(page["documents"][0]["verdicts"], Value::Array(Vec::new()));
}
