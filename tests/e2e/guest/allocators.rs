//! Programs whose malloc is another than the C library's: nothing of it is called on the way of
//! `free`, so that they run as they would alone; and what is freed with locks in it is noticed.

use std::path::{Path, PathBuf};

use crate::harness::{
    Job, Run, Scratch, build, check, check_with, due, installed, native, program, under,
};
use crate::surroundings::{MALLOCS, installed_library};

const COMMANDS: [&str; 3] = ["check", "meter", "run"];

/// The program, and what is to be preloaded: of each allocator preloaded, and of each linked into
/// the program.
fn programs() -> Vec<(PathBuf, Option<PathBuf>)> {
    programs_of(|_| true)
}

/// Likewise, of the allocators whose library is wanted.
fn programs_of(is_wanted: impl Fn(&str) -> bool) -> Vec<(PathBuf, Option<PathBuf>)> {
    let mut programs = Vec::new();
    for (file, package) in MALLOCS.into_iter().filter(|(file, _)| is_wanted(file)) {
        let Some(library) = installed_library(file, package) else { continue };
        programs.push((program("allocators.c"), Some(library)));
        let library = format!("-l:{file}");
        programs.push((build("allocators.c", &["-Wl,--no-as-needed", &library]), None));
    }
    programs
}

fn with(job: Job, preload: Option<&PathBuf>) -> Job {
    match preload {
        Some(library) => job.env("LD_PRELOAD", library),
        None => job,
    }
}

/// An allocator of these that forgets its threads at a fork: the child of a process in which a thread
/// allocates then may wait for ever, also alone (oneTBB 2021.8).
const NOT_FOR_FORKS: &str = "tbbmalloc";

/// Runs it alone and under each of the tool's commands.
fn runs_as_alone(how: &str) {
    for (program, preload) in
        programs_of(|library| how != "fork" || !library.contains(NOT_FOR_FORKS))
    {
        let alone = with(native(&program), preload.as_ref()).arg(how).run();
        assert_eq!(alone.code(), 0, "{how} {preload:?}: {}", alone.stderr);
        assert!(alone.text().ends_with("the end\n"), "{how} {preload:?}: {}", alone.text());
        for command in due(COMMANDS, COMMANDS.len()) {
            let run = with(under(command, &[] as &[&str], &program), preload.as_ref());
            let run = run.arg(how).run();
            let about =
                format!("{command} {how} {} {preload:?}: {}", program.display(), run.stderr);
            assert_eq!(run.text(), alone.text(), "{about}");
            assert_eq!(run.code(), 0, "{about}");
        }
    }
}

#[test]
fn many_short_threads_at_once_with_another_malloc() {
    runs_as_alone("short");
}

#[test]
fn threads_that_come_and_go_with_another_malloc() {
    runs_as_alone("churn");
}

#[test]
fn forks_of_threaded_programs_with_another_malloc() {
    runs_as_alone("fork");
}

#[test]
fn locks_in_blocks_that_move_with_another_malloc() {
    runs_as_alone("blocks");
}

/// A run of the program with an allocator.
fn checked(program: &Path, preload: Option<&PathBuf>, options: &[&str], how: &[&str]) -> Run {
    let run = with(check_with(options, program), preload).args(how).run();
    assert_eq!(run.text(), "the end\n", "{how:?} {preload:?}: {}", run.stderr);
    run
}

#[test]
fn held_locks_in_blocks_of_another_malloc_are_found() {
    const FREED: (&str, &str) = ("held-lock-freed", "likely");
    for (program, preload) in programs() {
        for options in [&[] as &[&str], &["--track-allocations"]] {
            for size in due(["48", "4000", "100000"], 3) {
                let run = checked(&program, preload.as_ref(), options, &["held", size]);
                assert_eq!(run.verdicts(), [FREED], "{size} {preload:?}: {}", run.stderr);
            }
        }
    }
}

#[test]
fn locks_at_one_place_in_blocks_of_another_malloc_are_two() {
    for (program, preload) in programs() {
        // An allocator has locks of its own, as many in both runs.
        let locks =
            |made| checked(&program, preload.as_ref(), &[], &["again", made]).count("locks");
        assert_eq!(locks("9") - locks("1"), 8, "{} {preload:?}", program.display());
    }
    let run = check(program("allocators.c")).args(["again", "2"]).run();
    assert_eq!(run.count("locks"), 2, "{}", run.stderr);
}

/// Numbers that look random and are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// A genome, and reads of it with faults.
fn genome_and_reads() -> (String, String) {
    const LETTERS: [char; 4] = ['A', 'C', 'G', 'T'];
    let mut numbers = Numbers(1);
    let genome: String = (0..100_000).map(|_| LETTERS[numbers.below(4)]).collect();
    let mut reads = String::new();
    for n in 0..400 {
        let at = numbers.below(genome.len() - 1000);
        let mut read: Vec<char> = genome[at..at + 1000].chars().collect();
        for _ in 0..20 {
            let at = numbers.below(read.len());
            read[at] = LETTERS[numbers.below(4)];
        }
        reads += &format!(">read{n}\n{}\n", String::from_iter(read));
    }
    (format!(">genome\n{genome}\n"), reads)
}

#[test]
fn minimap2_and_samtools_with_jemalloc() {
    let (Some(minimap2), Some(samtools), Some(jemalloc)) = (
        installed(&["minimap2"], "minimap2"),
        installed(&["samtools"], "samtools"),
        installed_library(MALLOCS[0].0, MALLOCS[0].1),
    ) else {
        return;
    };
    let folder = Scratch::new();
    let (genome, reads) = genome_and_reads();
    std::fs::write(folder.join("genome.fa"), genome).expect("a genome");
    std::fs::write(folder.join("reads.fa"), reads).expect("reads");
    // What maps the reads, and what sorts them; neither says how it was called.
    let map = |job: Job| {
        let files = [folder.join("genome.fa"), folder.join("reads.fa")];
        with(job, Some(&jemalloc)).args(["-t8", "-K20k"]).args(files).run()
    };
    let mapped =
        native(&minimap2).arg("-a").args([folder.join("genome.fa"), folder.join("reads.fa")]);
    let mapped = mapped.run().text();
    std::fs::write(folder.join("mapped.sam"), mapped).expect("mapped reads");
    let sort = |job: Job| {
        let sorted = ["sort", "-@12", "-m1M", "--no-PG", "-O", "sam"];
        with(job, Some(&jemalloc)).args(sorted).arg(folder.join("mapped.sam")).run()
    };
    let (map_alone, sort_alone) = (map(native(&minimap2)), sort(native(&samtools)));
    for (alone, least) in [(&map_alone, 400), (&sort_alone, 400)] {
        assert_eq!(alone.code(), 0, "{}", alone.stderr);
        assert!(alone.text().lines().count() >= least, "{}", alone.text());
    }
    for command in due(COMMANDS, COMMANDS.len()) {
        let options: &[&str] = if command == "meter" { &[] } else { &["--exit-code", "0"] };
        for (alone, run) in [
            (&map_alone, map(under(command, options, &minimap2))),
            (&sort_alone, sort(under(command, options, &samtools))),
        ] {
            assert_eq!(run.code(), 0, "{command}: {}", run.stderr);
            assert!(run.text() == alone.text(), "{command} changes what the program says");
        }
    }
}
