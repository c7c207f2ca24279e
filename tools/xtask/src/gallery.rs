//! `cargo xtask gallery`: the reports of docs/gallery.md, as the tool of now makes them.
//!
//! Each is a script in `tools/xtask/gallery`, which runs a program under the tool. Its text and screenshot go
//! between the marks of its name in the document; the text about it stands outside them, and people
//! write it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;

use crate::workspace::{cargo_command, output, read, root, succeeds};

/// Programs run in folders of their own in here: a socket's path has room for 107 bytes only.
const WORK: &str = "/tmp/lockwright-gallery";

/// Lines of a report that are shown, unless its script says otherwise.
const LINES: usize = 48;

/// The size of a screenshot, in pixels, likewise.
const HEIGHT: usize = 1300;
const WIDTH: usize = 1200;

/// Colours of a screenshot: pages have few.
const COLOURS: &str = "32";

/// A picture may not have more bytes.
const LIMIT: u64 = 150_000;

/// Runs the programs of docs/gallery.md under the tool, and writes their reports and screenshots.
#[derive(Debug, Args)]
pub struct GalleryArgs {
    /// Which: icecast2, mariadb, ...; all of them if none is named.
    #[arg(value_name = "NAME")]
    pub only: Vec<String>,

    /// The tool; built as it is released if not given.
    #[arg(long, value_name = "FILE")]
    pub lockwright: Option<PathBuf>,
}

/// Runs them, one after the other.
///
/// # Errors
/// What went wrong: a program that is not installed, a script that fails, marks that are not there.
pub fn run(args: &GalleryArgs) -> Result<(), String> {
    let scripts = root().join("tools/xtask/gallery");
    let document = root().join("docs/gallery.md");
    let names = names(&read(&document)?);
    if let Some(unknown) = args.only.iter().find(|name| !names.contains(name)) {
        return Err(format!("there is no {unknown:?}; there are: {}", names.join(", ")));
    }
    let lockwright = match &args.lockwright {
        Some(file) => fs::canonicalize(file).map_err(|e| format!("{}: {e}", file.display()))?,
        None => {
            let mut cargo = cargo_command();
            succeeds(cargo.args(["build", "--release", "--package", "lockwright-cli"]))?;
            root().join("target/release/lockwright")
        }
    };
    for name in names.iter().filter(|name| args.only.is_empty() || args.only.contains(name)) {
        eprintln!("{name}");
        let script = read(scripts.join(name).with_extension("sh"))?;
        let out = report(&scripts, name, &lockwright)?;
        let picture = format!("screenshots/gallery/{name}.png");
        screenshot(&out, &script, &root().join("docs").join(&picture))?;
        let shown = Shown {
            ran_on: ran_on(&lockwright, &script)?,
            command: read(out.join("command"))?,
            report: read(out.join("report.txt"))?,
            lines: number(&script, "lines").unwrap_or(LINES),
            picture,
        };
        let text = replaced(&read(&document)?, name, &shown.markdown())?;
        fs::write(&document, text).map_err(|e| format!("{}: {e}", document.display()))?;
    }
    Ok(())
}

/// Runs the script; the folder with what the tool wrote.
fn report(scripts: &Path, name: &str, lockwright: &Path) -> Result<PathBuf, String> {
    let folder = Path::new(WORK).join(name);
    let (work, out) = (folder.join("work"), folder.join("out"));
    let _ = fs::remove_dir_all(&folder);
    for made in [&work, &out] {
        fs::create_dir_all(made).map_err(|e| format!("{}: {e}", made.display()))?;
    }
    let run = format!(". '{0}/common.sh'; . '{0}/{name}.sh'", scripts.display());
    let mut bash = Command::new("bash");
    bash.args(["-e", "-c", &run]).current_dir(&work).stdin(Stdio::null());
    bash.env("LOCKWRIGHT", lockwright).env("OUT", &out).env("REPOSITORY", root());
    output(bash)?;
    Ok(out)
}

/// Writes the first screen of a page.
fn screenshot(out: &Path, script: &str, to: &Path) -> Result<(), String> {
    let height = number(script, "height").unwrap_or(HEIGHT);
    let taken = out.join("page.png");
    let at = value(script, "at").unwrap_or_default();
    let mut chromium = Command::new("chromium");
    chromium
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"])
        .arg(format!("--user-data-dir={}", out.join("profile").display()))
        .arg(format!("--window-size={WIDTH},{height}"))
        .arg(format!("--screenshot={}", taken.display()))
        .arg(format!("file://{}{at}", out.join("page.html").display()));
    output(chromium)?;
    let folder = to.parent().unwrap_or(to);
    fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut pngquant = Command::new("pngquant");
    output({
        pngquant.args([COLOURS, "--force", "--strip", "--output"]).args([to, &taken]);
        pngquant
    })?;
    let bytes = fs::metadata(to).map_err(|e| format!("{}: {e}", to.display()))?.len();
    match bytes <= LIMIT {
        true => Ok(()),
        false => Err(format!("{} has {bytes} bytes, more than {LIMIT}", to.display())),
    }
}

/// The tool, the program's packages and the machine.
fn ran_on(lockwright: &Path, script: &str) -> Result<String, String> {
    let said = |program: &Path| {
        let mut command = Command::new(program);
        command.arg("--version");
        let text = output(command)?;
        Ok::<_, String>(text.lines().next().unwrap_or_default().to_owned())
    };
    let mut versions = vec![said(lockwright)?];
    let packages: Vec<_> =
        value(script, "packages").unwrap_or_default().split_whitespace().collect();
    let facts = lockwright_measure::machine::describe(&packages);
    let fact = |name: &str| {
        facts.iter().find(|(fact, _)| fact == name).map_or("?", |(_, value)| value.as_str())
    };
    for package in &packages {
        versions.push(match fact(package) {
            // None of Debian's.
            "?" => said(Path::new(package))?,
            version => format!("{package} {version}"),
        });
    }
    let machine = format!(
        "{} {}CPUs ({}), {}, {}",
        fact("cpus"),
        if fact("virtual") == "yes" { "virtual " } else { "" },
        fact("cpu"),
        fact("kernel"),
        fact("glibc"),
    );
    Ok(format!("{}; {machine}", versions.join(", ")))
}

/// What the document has of a report.
struct Shown {
    ran_on: String,
    command: String,
    report: String,
    lines: usize,
    picture: String,
}

impl Shown {
    fn markdown(&self) -> String {
        let mut text = format!("\n    {}\n\n", self.command.trim());
        for line in shortened(&self.report, self.lines) {
            text += format!("    {line}").trim_end();
            text.push('\n');
        }
        text + &format!("\n![Its page]({})\n\n*{}*\n\n", self.picture, self.ran_on)
    }
}

/// The first lines and the last one, which sums up; the others are counted.
fn shortened(report: &str, lines: usize) -> Vec<String> {
    let all: Vec<_> = report.trim_end().lines().map(str::to_owned).collect();
    if all.len() <= lines + 2 {
        return all;
    }
    let left_out = format!("[... {} lines left out ...]", all.len() - lines - 1);
    let (first, last) = (&all[..lines], &all[all.len() - 1..]);
    [first, &[left_out], last].concat()
}

/// The names that the document has marks for, in its order.
fn names(document: &str) -> Vec<String> {
    let marked = document.lines().filter_map(|line| line.strip_prefix("<!-- gallery: "));
    marked.filter_map(|rest| rest.strip_suffix(" -->")).map(str::to_owned).collect()
}

/// The document with another text between the marks of a name.
fn replaced(document: &str, name: &str, text: &str) -> Result<String, String> {
    let (begin, end) =
        (format!("<!-- gallery: {name} -->\n"), format!("<!-- end of gallery: {name} -->\n"));
    document
        .split_once(&begin)
        .and_then(|(before, rest)| {
            let (_, after) = rest.split_once(&end)?;
            Some(format!("{before}{begin}{text}{end}{after}"))
        })
        .ok_or_else(|| format!("no marks for {name}"))
}

/// What a line `# KEY: VALUE` of a script says.
fn value<'s>(script: &'s str, key: &str) -> Option<&'s str> {
    let line = script.lines().find_map(|l| l.strip_prefix("# ")?.strip_prefix(key))?;
    line.strip_prefix(": ")
}

fn number(script: &str, key: &str) -> Option<usize> {
    value(script, key)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_marks_is_replaced() {
        let document = "One\n<!-- gallery: a -->\nold\n<!-- end of gallery: a -->\nTwo\n";
        assert_eq!(names(document), ["a"]);
        let new = replaced(document, "a", "new\n").unwrap();
        assert_eq!(new, document.replace("old", "new"));
        assert!(replaced(document, "b", "new\n").is_err());
    }

    #[test]
    fn long_reports_say_how_much_is_left_out() {
        assert_eq!(shortened("1\n2\n3\n4\n", 2), ["1", "2", "3", "4"]);
        assert_eq!(shortened("1\n2\n3\n4\n5\n", 2), ["1", "2", "[... 2 lines left out ...]", "5"]);
    }

    #[test]
    fn every_script_is_in_the_document() {
        let names = names(&read(root().join("docs/gallery.md")).unwrap());
        let scripts = fs::read_dir(root().join("tools/xtask/gallery")).unwrap();
        let scripts = scripts.map(|entry| entry.unwrap().path().with_extension(""));
        let mut scripts: Vec<_> =
            scripts.map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect();
        scripts.retain(|name| name != "common");
        scripts.sort();
        let mut sorted = names;
        sorted.sort();
        assert_eq!(sorted, scripts);
    }
}
