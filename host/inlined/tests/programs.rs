//! Rust programs at each level of optimisation: each function of theirs that locks has its places.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use lockwright_inlined::{Kind, Table, table};
use lockwright_ledger::inlined::flag;
use object::read::{Object, ObjectSymbol};

/// Where rustc is; the toolchain that builds the test has one.
fn rustc() -> Command {
    Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}

/// Compiles the program with std's locks.
fn compile(dir: &Path, options: &[&str]) -> Vec<u8> {
    compile_one(dir, "locks", options)
}

/// Compiles a program.
fn compile_one(dir: &Path, name: &str, options: &[&str]) -> Vec<u8> {
    let program = dir.join(name);
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs");
    let source = sources.join(name).with_extension("rs");
    let mut rustc = rustc();
    rustc.args(["--edition", "2024", "-C", "codegen-units=1"]).args(options);
    let status = rustc.arg("-o").arg(&program).arg(source).status().expect("rustc runs");
    assert!(status.success(), "rustc {options:?}");
    fs::read(program).expect("rustc has written it")
}

/// How many places are in each of the program's own functions.
fn places_by_function(file: &[u8], table: &Table) -> BTreeMap<String, usize> {
    let elf = object::File::parse(file).expect("it is ELF");
    let mut places = BTreeMap::new();
    for symbol in elf.symbols() {
        let name = format!("{:#}", rustc_demangle::demangle(symbol.name().unwrap_or_default()));
        let Some(name) = name.strip_prefix("locks::locks_") else { continue };
        let own = symbol.address()..symbol.address() + symbol.size();
        let number = table.places.iter().filter(|place| own.contains(&place.address)).count();
        places.insert(name.to_owned(), number);
    }
    places
}

/// Functions of the program, and the fewest places that each has if its locks are inlined: acquisitions, waits, and releases.
const FUNCTIONS: &[(&str, usize)] = &[
    ("array", 3),
    ("field", 3),
    ("global", 3),
    ("read", 3),
    ("two", 6),
    ("write", 3),
    ("waiting", 3),
];

#[test]
fn optimised_programs_have_all_their_places() {
    let dir = tempfile::tempdir().expect("a folder");
    for level in ["1", "2", "3", "s", "z"] {
        for panic in ["unwind", "abort"] {
            let options = [format!("opt-level={level}"), format!("panic={panic}")];
            let file = compile(dir.path(), &["-C", &options[0], "-C", &options[1]]);
            let table = table(&file).expect("it is ELF").expect("it has locks");
            let found = |kind| table.counts.0.get(&kind).map_or(0, |count| count.found);
            for (kind, count) in &table.counts.0 {
                assert_eq!(count.placed, count.found, "{options:?} {kind}: {:x?}", count.unplaced);
            }
            assert!(found(Kind::Acquisition) >= 10, "{options:?} {}", table.counts);
            assert!(found(Kind::Release) >= 10, "{options:?} {}", table.counts);
            // For size, small functions are called.
            if !["s", "z"].contains(&level) {
                let places = places_by_function(&file, &table);
                for (name, least) in FUNCTIONS {
                    let number = places.get(*name).copied().unwrap_or_default();
                    assert!(number >= *least, "{options:?} {name}: {number} of {least}");
                }
            }
        }
    }
}

/// Nothing is inlined then: acquisitions are calls of a function that is a compare-and-exchange.
#[test]
fn a_program_that_is_not_optimised_has_all_its_places() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = compile(dir.path(), &["-C", "opt-level=0"]);
    let table = table(&file).expect("it is ELF").expect("it has locks");
    for (kind, count) in &table.counts.0 {
        assert_eq!(count.placed, count.found, "{kind}: {:x?}", count.unplaced);
    }
    assert!(table.counts.0[&Kind::Acquisition].found >= 10, "{}", table.counts);
}

/// A deadline makes the cold half return whether it has the lock, and stands in the flags of all its places.
#[test]
fn a_lock_of_parking_lot_has_its_places_with_their_deadlines() {
    let dir = tempfile::tempdir().expect("a folder");
    for level in ["1", "2", "3", "s"] {
        let level = format!("opt-level={level}");
        let file = compile_one(dir.path(), "parking_lot", &["-C", &level]);
        let table = table(&file).expect("it is ELF").expect("it has locks");
        for (kind, count) in &table.counts.0 {
            assert_eq!(count.placed, count.found, "{level} {kind}: {:x?}", count.unplaced);
        }
        let elf = object::File::parse(&*file).expect("it is ELF");
        for (name, flags) in [("locks_plain", 0), ("locks_timed", flag::TIMED)] {
            let symbol =
                elf.symbols().find(|symbol| symbol.name().is_ok_and(|of| of.contains(name)));
            let symbol = symbol.expect("the program has it");
            let own = symbol.address()..symbol.address() + symbol.size();
            let places: Vec<_> =
                table.places.iter().filter(|place| own.contains(&place.address)).collect();
            // mov esi, flags
            let sets = [&[0xbe][..], &flags.to_le_bytes()].concat();
            let with_flags = places.iter().filter(|place| {
                let entries = table.places.iter().map(|place| place.entry as usize);
                let entry = place.entry as usize;
                let end = entries.filter(|&other| other > entry).min().unwrap_or(table.code.len());
                table.code[entry..end].windows(5).any(|bytes| bytes == sets)
            });
            let with_flags = with_flags.count();
            // The fast path, the wait, and the release, which has no flags.
            assert!(places.len() >= 3, "{level} {name}: {places:x?}");
            assert!(with_flags >= 2, "{level} {name}: {with_flags} places have the flags");
        }
    }
}

/// Without symbols std's functions are found by their code, and then all is as it is with them.
#[test]
fn a_program_without_symbols_has_the_same_places() {
    let dir = tempfile::tempdir().expect("a folder");
    for level in ["1", "2", "3", "s", "z"] {
        let level = format!("opt-level={level}");
        let named = compile(dir.path(), &["-C", &level]);
        let stripped = compile(dir.path(), &["-C", &level, "-C", "strip=symbols"]);
        let [named, stripped] =
            [named, stripped].map(|file| table(&file).expect("it is ELF").expect("it has locks"));
        assert!(named.has_names && !stripped.has_names);
        assert_eq!(named.counts.to_string(), stripped.counts.to_string(), "{level}");
        assert_eq!(named.places.len(), stripped.places.len(), "{level}");
    }
}

/// All bytes of a table are where its header says, and no place overlaps another.
#[test]
fn the_bytes_of_a_table_are_those_of_the_file() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = compile(dir.path(), &["-C", "opt-level=3"]);
    let table = table(&file).expect("it is ELF").expect("it has locks");
    let bytes = table.to_bytes();
    let sizes = [40, table.places.len() * 40, table.relocations.len() * 16, table.code.len()];
    assert_eq!(bytes.len(), sizes.iter().sum::<usize>());
    for pair in table.places.windows(2) {
        assert!(pair[0].address + u64::from(pair[0].len) <= pair[1].address);
    }
    for place in &table.places {
        assert!(place.len >= 5 && (place.entry as usize) < table.code.len());
    }
    for relocation in &table.relocations {
        assert!(
            relocation.at + 4 <= relocation.next && relocation.next as usize <= table.code.len()
        );
    }
}

/// A file that is damaged anywhere has a table, none, or an error.
#[test]
fn damaged_files_are_errors_and_no_panics() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = compile(dir.path(), &["-C", "opt-level=2", "-C", "strip=debuginfo"]);
    let mut rng = fastrand::Rng::with_seed(7);
    assert!(table(b"").is_err());
    assert!(table(&file[..64]).is_err());
    for _ in 0..60 {
        let mut damaged = file.clone();
        for _ in 0..rng.usize(1..40) {
            // The headers, and anything.
            let at = if rng.bool() { rng.usize(..64) } else { rng.usize(..damaged.len()) };
            damaged[at] = rng.u8(..);
        }
        if rng.bool() {
            damaged.truncate(rng.usize(..damaged.len()));
        }
        drop(table(&damaged));
    }
    // The tables of sections, and of functions, are what is read most.
    let elf = object::File::parse(&*file).expect("it is ELF");
    use object::read::ObjectSection;
    for name in [".eh_frame", ".symtab", ".rela.dyn", ".gcc_except_table", ".text"] {
        let section = elf.section_by_name(name).expect("it has one");
        let (at, len) = section.file_range().expect("it has bytes");
        for _ in 0..20 {
            let mut damaged = file.clone();
            for _ in 0..200 {
                damaged[(at + rng.u64(..len)) as usize] = rng.u8(..);
            }
            drop(table(&damaged));
        }
    }
}
