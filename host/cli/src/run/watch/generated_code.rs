//! Names of code that programs make while they run. What makes it (Node.js with --perf-basic-prof,
//! CPython with -X perf, agents of the JVM) writes them for perf, to /tmp/perf-PID.map: begin,
//! length and name, a line each. They are read when the program has ended, as the file may be gone
//! later; a run that is kept has those that its ledgers need.
//!
//! Anybody can make a file of that name. So it is only read where it is a regular file, of the user
//! whose process it was, no link, written after the process began, and not too large; and the names
//! are as little trusted as any others.

use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use lockwright_ledger::rows::{Module, Stack};
use lockwright_ledger::{GeneratedCode, Ledger, file, layout};

use crate::ledger_dir::{self, RunDir};

/// Where perf has such files looked for, whatever TMPDIR says.
const PLACE: &str = "/tmp";

/// The file's name in the run's directory.
pub const NAME: &str = "generated.json";

/// Most bytes of a perf map that are read.
const MOST_BYTES: u64 = 256 << 20;

/// Most bytes of a name.
const MOST_NAME: usize = 512;

/// Most bytes that a run keeps, and so most that are read of what it kept.
const MOST_KEPT: u64 = 16 << 20;

/// The code of each process, by its ledger's token: begin, length and name.
pub type Found = Vec<(u64, Vec<(u64, u64, String)>)>;

/// Gives the ledgers of processes that have just ended the names of such code on their stacks.
pub fn find(ledgers: &mut [Ledger]) -> Found {
    let mut found = Found::new();
    for ledger in ledgers {
        let wanted = wanted(ledger);
        if wanted.is_empty() {
            continue;
        }
        let path = Path::new(PLACE).join(format!("perf-{}.map", ledger.header().pid));
        // Without one, or with one that cannot be read, there are no names.
        let Ok(code) = read(&path, ledger.header().start_realtime_ns, &wanted) else { continue };
        ledger.set_generated_code(code.iter().map(of_tuple).collect());
        found.push((ledger.header().token, code));
    }
    found
}

/// Keeps what was found.
///
/// # Errors
/// If it cannot be written.
pub fn keep(found: &Found, dir: &RunDir) -> io::Result<()> {
    if found.is_empty() {
        return Ok(());
    }
    dir.write(NAME, &(serde_json::to_string(found)? + "\n"))
}

/// Gives the ledgers of runs that the user's arguments name what these have kept.
pub fn recall(ledgers: &mut [Ledger], arguments: &[PathBuf]) {
    let dirs = arguments.iter().filter_map(|argument| match argument.is_dir() {
        true => Some(argument.as_path()),
        false => ledger_dir::run_of(argument),
    });
    let kept = dirs.filter_map(|dir| {
        let bytes = ledger_dir::read_own_up_to(dir, NAME, MOST_KEPT)?;
        serde_json::from_slice::<Found>(&bytes).ok()
    });
    for (token, code) in kept.flatten() {
        if let Some(ledger) = ledgers.iter_mut().find(|ledger| ledger.header().token == token) {
            ledger.set_generated_code(code.iter().map(of_tuple).collect());
        }
    }
}

fn of_tuple((start, len, name): &(u64, u64, String)) -> GeneratedCode {
    GeneratedCode { start: *start, len: *len, name: name.clone() }
}

/// Calls on the stacks that lie in no module, sorted.
fn wanted(ledger: &Ledger) -> Vec<u64> {
    let modules: Vec<Module> = ledger.rows::<Module>().map(|(_, module)| module).collect();
    let is_in_module =
        |at: u64| modules.iter().any(|module| (module.start..module.end).contains(&at));
    let mut wanted: Vec<u64> = ledger
        .rows::<Stack>()
        .filter_map(|(id, _)| Some(ledger.stack(id)?.0))
        .flatten()
        .filter(|&frame| layout::interpreted(frame).is_none())
        .map(|address| address.saturating_sub(1))
        .collect();
    wanted.sort_unstable();
    wanted.dedup();
    wanted.retain(|&at| !is_in_module(at));
    wanted
}

/// The map's entries for code at one of these addresses, in its order.
fn read(path: &Path, began_ns: u64, wanted: &[u64]) -> io::Result<Vec<(u64, u64, String)>> {
    let file = file::open_own(path, ledger_dir::own_user())?;
    let meta = file.metadata()?;
    let changed_ns = meta.mtime() as u64 * 1_000_000_000 + meta.mtime_nsec() as u64;
    // It is of an earlier process of that number, then. File systems keep coarse time: that of the
    // last tick of the kernel's clock.
    if changed_ns.saturating_add(20_000_000) < began_ns {
        return Ok(Vec::new());
    }
    let mut lines = BufReader::new(file.take(MOST_BYTES));
    let (mut code, mut line, mut kept) = (Vec::new(), Vec::new(), 0);
    loop {
        line.clear();
        // A line without an end is not held in memory.
        if lines.by_ref().take(1 << 16).read_until(b'\n', &mut line)? == 0 {
            return Ok(code);
        }
        let Some((start, len, name)) = parse(&line) else { continue };
        let first = wanted.partition_point(|&at| at < start);
        let is_wanted = wanted.get(first).is_some_and(|&at| at - start < len);
        kept += if is_wanted { 64 + name.len() as u64 } else { 0 };
        if is_wanted && kept < MOST_KEPT / 2 {
            code.push((start, len, name));
        }
    }
}

/// Begin and length in hex, and the rest of the line.
fn parse(line: &[u8]) -> Option<(u64, u64, String)> {
    let text = String::from_utf8_lossy(line);
    let mut fields = text.trim_end_matches(['\n', '\r']).splitn(3, ' ');
    let mut number = || {
        let digits = fields.next()?;
        u64::from_str_radix(digits.strip_prefix("0x").unwrap_or(digits), 16).ok()
    };
    let (start, len) = (number()?, number()?);
    let mut name = fields.next()?.to_owned();
    let end = (0..=MOST_NAME.min(name.len())).rev().find(|&end| name.is_char_boundary(end));
    name.truncate(end.unwrap_or(0));
    (!name.is_empty()).then_some((start, len, name))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn lines_are_taken_as_they_come() {
        assert_eq!(
            parse(b"1f00 20 JS:~f a.js:1:2\n"),
            Some((0x1f00, 0x20, "JS:~f a.js:1:2".into()))
        );
        assert_eq!(parse(b"0x10 0x2 stub"), Some((0x10, 2, "stub".into())));
        for bad in [&b""[..], b"\n", b"10 2\n", b"10 2 \n", b"x 2 f\n", b"10 -2 f\n", b"\xff\xff\n"]
        {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
        let long = format!("1 2 {}", "\u{e4}".repeat(400));
        assert_eq!(parse(long.as_bytes()).unwrap().2.len(), 512);
    }

    #[test]
    fn only_a_file_of_ones_own_and_of_that_process_is_read() {
        let dir = std::env::temp_dir().join(format!("lockwright-test-map-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let (map, link) = (dir.join("perf-1.map"), dir.join("perf-2.map"));
        fs::write(&map, "100 10 old\n100 10 new\n200 10 far\nrubbish\n").unwrap();
        symlink(&map, &link).unwrap();
        let all = read(&map, 0, &[0x108, 0x300]).unwrap();
        let names: Vec<&str> = all.iter().map(|(_, _, name)| name.as_str()).collect();
        assert_eq!(names, ["old", "new"]);
        assert!(read(&link, 0, &[0x108]).is_err(), "a link");
        assert!(read(&dir, 0, &[0x108]).is_err(), "a directory");
        assert_eq!(read(&map, u64::MAX, &[0x108]).unwrap(), [], "of an earlier process");
        fs::remove_dir_all(dir).unwrap();
    }
}
