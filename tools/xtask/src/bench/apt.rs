//! Debian's packages without a change to the system: apt with directories of its own, which needs
//! no root.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::arm::said;

/// What is fetched.
#[derive(Clone, Copy)]
pub enum Kind {
    /// What upstream released, and Debian's changes.
    Sources,
    /// What is installed.
    Packages,
}

/// An apt that keeps everything in a directory.
pub struct Apt {
    dir: PathBuf,
    options: Vec<String>,
    /// The message about lists that could not be fetched.
    no_lists: Option<String>,
}

impl Apt {
    /// In `cache`, with new lists.
    ///
    /// # Errors
    /// If a directory cannot be made.
    pub fn new(cache: &Path, kind: Kind) -> Result<Self, String> {
        let apt = cache.join("apt");
        for dir in ["sources.d", "lists/partial", "cache/archives/partial"] {
            let dir = apt.join(dir);
            fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
        }
        write_entries(&apt, kind)?;
        let of_ours = |name: &str, path: &str| format!("{name}={}", apt.join(path).display());
        let options = vec![
            of_ours("Dir::Etc::SourceList", "sources.list"),
            of_ours("Dir::Etc::SourceParts", "sources.d"),
            of_ours("Dir::State::Lists", "lists"),
            of_ours("Dir::Cache", "cache"),
            // Where root runs it, its own user may not get at our directory.
            "APT::Sandbox::User=root".to_owned(),
            "Acquire::Retries=2".to_owned(),
            "Acquire::http::Timeout=20".to_owned(),
        ];
        let mut apt = Self { dir: cache.to_owned(), options, no_lists: None };
        // It fails if any entry has no list; what is wanted may be in another's.
        apt.no_lists = apt.get(&["update"]).err();
        Ok(apt)
    }

    /// Runs `apt-get`; what it downloads lies in the directory then.
    ///
    /// # Errors
    /// What it said.
    pub fn get(&self, arguments: &[&str]) -> Result<String, String> {
        said(self.command("apt-get").args(["--quiet", "--assume-yes"]).args(arguments))
    }

    /// The packages that `package` depends on, itself first.
    ///
    /// # Errors
    /// What apt said.
    pub fn with_dependencies(&self, package: &str) -> Result<Vec<String>, String> {
        let depends = ["depends", "--no-recommends", "--no-suggests", package];
        let text = said(self.command("apt-cache").args(depends))?;
        let names = text.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
        Ok(std::iter::once(package).chain(names).map(str::to_owned).collect())
    }

    /// Why `what` cannot be fetched, by apt's message `said`.
    pub fn why(&self, what: &str, said: &str) -> String {
        match &self.no_lists {
            None => format!("{what} is not to be had: {}", last_lines(said)),
            Some(no_lists) => format!(
                "no lists for {what} are to be had (is there a network?): {}",
                last_lines(no_lists)
            ),
        }
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.dir);
        for option in &self.options {
            command.arg("--option").arg(option);
        }
        command
    }
}

/// The system's entries, each for what is wanted.
fn write_entries(apt: &Path, kind: Kind) -> Result<(), String> {
    let write = |file: PathBuf, text: String| {
        fs::write(&file, text).map_err(|e| format!("{}: {e}", file.display()))
    };
    let entries_for = |text: &str| match kind {
        Kind::Sources => for_sources(text),
        Kind::Packages => text.to_owned(),
    };
    let list = fs::read_to_string("/etc/apt/sources.list").unwrap_or_default();
    write(apt.join("sources.list"), entries_for(&list))?;
    let entries = fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let kind = Path::new(&name).extension().unwrap_or_default();
        if kind == "list" || kind == "sources" {
            let text = fs::read_to_string(entry.path()).unwrap_or_default();
            write(apt.join("sources.d").join(name), entries_for(&text))?;
        }
    }
    Ok(())
}

/// An apt sources file, of one or the other format, with every entry for sources.
fn for_sources(text: &str) -> String {
    let line = |line: &str| match line.split_once([' ', '\t']) {
        Some(("deb" | "deb-src", rest)) => format!("deb-src {rest}\n"),
        Some(("Types:", _)) => "Types: deb-src\n".to_owned(),
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

fn last_lines(text: &str) -> String {
    let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(2)..].join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_formats_of_entries_become_entries_of_sources() {
        let list = "# ours\ndeb http://deb.debian.org/debian bookworm main\ndeb-src http://x y z\n";
        let expected =
            "# ours\ndeb-src http://deb.debian.org/debian bookworm main\ndeb-src http://x y z\n";
        assert_eq!(for_sources(list), expected);
        let stanza = "Types: deb deb-src\nURIs: http://deb.debian.org/debian\n";
        assert_eq!(for_sources(stanza), "Types: deb-src\nURIs: http://deb.debian.org/debian\n");
    }
}
