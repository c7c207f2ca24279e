//! `lockwright man`: the pages where `man` looks for them.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::executable;
use crate::harness::{Run, Scratch, run};

const COMMAND: &str = env!("CARGO_BIN_EXE_lockwright");

fn man(command: &Path, options: &[&str]) -> Run {
    let mut man = Command::new(command);
    man.arg("man").args(options);
    run(man)
}

#[test]
fn man_pages_are_written_where_man_looks_for_those_of_the_command() {
    let scratch = Scratch::new();
    let moved = scratch.join("bin/lockwright");
    fs::create_dir_all(scratch.join("bin")).expect("a folder");
    executable::copy(Path::new(COMMAND), &moved);
    // Twice: those of another version are replaced.
    let pages = scratch.join("share/man/man1");
    for _ in 0..2 {
        let run = man(&moved, &[]);
        assert_eq!((run.code(), run.stderr.as_str()), (0, ""));
        assert!(
            run.text().contains(&format!("pages are in {}", pages.display())),
            "{}",
            run.text()
        );
        let page = fs::read_to_string(pages.join("lockwright-check.1")).expect("a page");
        assert!(page.contains(".SH \"EXIT STATUS\""), "{page}");
        fs::write(pages.join("lockwright-check.1"), "of another version").expect("a page");
    }
}

#[test]
fn man_pages_need_a_directory_where_man_looks_for_none() {
    let scratch = Scratch::new();
    let moved = scratch.join("lockwright");
    executable::copy(Path::new(COMMAND), &moved);
    let unknown = man(&moved, &[]);
    assert_eq!(unknown.code(), 125);
    assert!(unknown.stderr.contains("--dir DIR"), "{}", unknown.stderr);
    let pages = scratch.join("pages");
    let named = man(&moved, &["--dir", pages.to_str().expect("text")]);
    assert_eq!(named.code(), 0, "{}", named.stderr);
    assert!(pages.join("lockwright.1").exists());
    let file = pages.join("lockwright.1/below");
    let impossible = man(&moved, &["--dir", file.to_str().expect("text")]);
    assert_eq!(impossible.code(), 125);
    assert!(impossible.stderr.contains("cannot write"), "{}", impossible.stderr);
}
