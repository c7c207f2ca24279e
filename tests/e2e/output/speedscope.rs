//! speedscope, its released page in a browser, opens what `meter` exports, with the same numbers.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::harness::{Scratch, program, skip, target_tmp, under};
use crate::programs::browser::Browser;

/// Total and own weight, as shown, by the frame's name.
type Shown = Vec<(String, String, String)>;

/// What `.ci/readers` has fetched into `folder`.
pub fn fetched(folder: &str, file: &str) -> Option<PathBuf> {
    let path = target_tmp().with_file_name(folder).join("package").join(file);
    if path.is_file() {
        return Some(path);
    }
    let why = format!("there is no {} (.ci/readers fetches it)", path.display());
    let is_set = |variable| std::env::var_os(variable).is_some();
    assert!(!is_set("LOCKWRIGHT_CI") || is_set("LOCKWRIGHT_NO_READERS"), "{why}");
    skip(&why);
    None
}

/// Opens a file as speedscope's own command does, by a script that hands over its bytes, and reads
/// the table of frames. `None` where there is no browser.
fn open(page: &Path, file: &Path, scratch: &Scratch) -> Option<Shown> {
    let name = file.file_name().expect("a name").to_str().expect("UTF-8");
    let bytes = fs::read(file).expect("the export");
    let script = scratch.join(format!("{name}.js"));
    let text = format!(
        "speedscope.loadFileFromBase64({name:?}, btoa(String.fromCharCode(...{})))",
        json!(bytes)
    );
    fs::write(&script, text).expect("a script");
    let url =
        format!("file://{}#view=sandwich&localProfilePath={}", page.display(), script.display());
    let mut browser = Browser::visit(&url, true)?;
    // Rows out of sight are not there: all of them have to fit.
    let tall = json!({ "width": 1000, "height": 4000, "deviceScaleFactor": 1, "mobile": false });
    browser.call("Emulation.setDeviceMetricsOverride", tall);
    browser.becomes("document.querySelectorAll('td').length > 0", &json!(true));
    browser.becomes("document.title", &json!(format!("{name} - speedscope")));
    let rows = browser.eval(
        "[...document.querySelectorAll('tr')].filter(row => row.querySelector('td'))\
         .map(row => [...row.cells].map(cell => cell.textContent))",
    );
    let text = |cell: &serde_json::Value| cell.as_str().expect("text").to_owned();
    let rows = rows.as_array().expect("rows").iter();
    Some(rows.map(|row| (text(&row[2]), text(&row[0]), text(&row[1]))).collect())
}

/// Total and own weight of each frame of folded stacks.
fn weigh(folded: &str) -> BTreeMap<String, (u64, u64)> {
    let mut frames: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for line in folded.lines() {
        let (stack, weight) = line.rsplit_once(' ').expect("a weight");
        let weight: u64 = weight.parse().expect("a number");
        for frame in stack.split(';').collect::<HashSet<_>>() {
            frames.entry(frame.to_owned()).or_default().0 += weight;
        }
        let innermost = stack.rsplit(';').next().expect("a frame").to_owned();
        frames.entry(innermost).or_default().1 += weight;
    }
    frames
}

/// The number of `1,234 (50%)`.
fn number(cell: &str) -> u64 {
    let number = cell.split(' ').next().expect("a number").replace(',', "");
    number.parse().unwrap_or_else(|_| panic!("{cell}"))
}

/// The nanoseconds of `68.20ms (50%)`, and what the last digit that is shown may be off.
fn nanoseconds(cell: &str) -> (f64, f64) {
    let time = cell.split(' ').next().expect("a time");
    for (unit, ns) in [("ns", 1.0), ("\u{b5}s", 1e3), ("\u{3bc}s", 1e3), ("ms", 1e6), ("s", 1e9)] {
        if let Some(number) = time.strip_suffix(unit) {
            let number: f64 = number.parse().unwrap_or_else(|_| panic!("{cell}"));
            return (number * ns, 0.01 * ns + 2.0);
        }
    }
    panic!("no time: {cell}");
}

#[test]
fn speedscope_opens_the_exports() {
    let Some(page) = fetched("speedscope", "dist/release/index.html") else { return };
    let scratch = Scratch::new();
    let (wait, hold, pprof) =
        (scratch.join("wait.folded"), scratch.join("hold.folded"), scratch.join("wait.pb.gz"));
    let options = [
        format!("--folded=wait={}", wait.display()),
        format!("--folded=hold={}", hold.display()),
        format!("--pprof={}", pprof.display()),
    ];
    let run = under("meter", &options, program("meter_command.c")).run();
    assert_eq!(run.code(), 3, "{}", run.stderr);

    for (file, lock) in [(&wait, "[gate]"), (&hold, "[counter_lock]")] {
        let expected = weigh(&fs::read_to_string(file).expect("folded stacks"));
        assert!(expected.contains_key(lock), "{expected:?}");
        let Some(shown) = open(&page, file, &scratch) else { return };
        let seen: BTreeMap<String, (u64, u64)> = shown
            .iter()
            .map(|(name, total, own)| (name.clone(), (number(total), number(own))))
            .collect();
        assert_eq!(seen, expected, "{}", file.display());
    }

    // The profile has the same waits, and lines: a function is a row for each place it calls from.
    let expected = weigh(&fs::read_to_string(&wait).expect("folded stacks"));
    let Some(shown) = open(&page, &pprof, &scratch) else { return };
    let mut seen: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for (name, total, _) in &shown {
        let (ns, off) = nanoseconds(total);
        let sum = seen.entry(name).or_default();
        *sum = (sum.0 + ns, sum.1 + off);
    }
    // A function without a name is an offset in both, but not written alike; the lock is no frame.
    let named = |name: &str| !name.starts_with('[') && !name.contains("+0x");
    for (name, (total, _)) in expected.iter().filter(|(name, _)| named(name)) {
        let (ns, off) = seen.get(name.as_str()).unwrap_or_else(|| panic!("no {name}: {shown:?}"));
        assert!((ns - *total as f64).abs() <= *off, "{name}: {total} ns, not {ns}: {shown:?}");
    }
    assert!(seen.contains_key("worker"), "{shown:?}");
}

/// What speedscope does not take fails the test above, and does not hang it.
#[test]
fn what_is_no_profile_is_refused() {
    let Some(page) = fetched("speedscope", "dist/release/index.html") else { return };
    let scratch = Scratch::new();
    let file = scratch.join("broken.pb.gz");
    fs::write(&file, "no profile").expect("a file");
    match catch_unwind(AssertUnwindSafe(|| open(&page, &file, &scratch))) {
        Ok(None) => {}
        Ok(Some(shown)) => panic!("it is taken: {shown:?}"),
        Err(why) => {
            let why = why.downcast::<String>().expect("a message");
            assert!(why.contains("Unrecognized format"), "{why}");
        }
    }
}
