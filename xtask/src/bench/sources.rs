//! Sources of Debian's packages, without a change to the system: apt has directories of its own for
//! this, and entries for sources where the system's have those of packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::arm::said;

/// Puts what upstream released of a package into `into`, downloaded once into `cache`.
///
/// # Errors
/// Why that cannot be had: no network, no apt.
pub fn fetch(package: &str, cache: &Path, into: &Path) -> Result<(), String> {
    if into.is_dir() {
        return Ok(());
    }
    let release = match released(package, cache) {
        Some(release) => release,
        None => {
            download(package, cache)?;
            released(package, cache)
                .ok_or(format!("apt-get source {package} has left no release"))?
        }
    };
    let unfinished = into.with_extension("unfinished");
    let _ = fs::remove_dir_all(&unfinished);
    make_dir(&unfinished)?;
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--strip-components=1", "--file"]).arg(release);
    said(tar.arg("--directory").arg(&unfinished))?;
    fs::rename(&unfinished, into).map_err(|e| format!("{}: {e}", into.display()))
}

/// Upstream's archive, if it is there.
fn released(package: &str, cache: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(cache).ok()?.flatten().map(|entry| entry.path());
    files.into_iter().find(|file| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(&format!("{package}_"))
            && name.contains(".orig.tar.")
            && !name.ends_with(".asc")
    })
}

fn download(package: &str, cache: &Path) -> Result<(), String> {
    let apt = cache.join("apt");
    for dir in ["sources.d", "lists/partial", "cache/archives/partial"] {
        make_dir(&apt.join(dir))?;
    }
    write_entries(&apt)?;
    let of_ours = |name: &str, path: &str| format!("{name}={}", apt.join(path).display());
    let options = [
        of_ours("Dir::Etc::SourceList", "sources.list"),
        of_ours("Dir::Etc::SourceParts", "sources.d"),
        of_ours("Dir::State::Lists", "lists"),
        of_ours("Dir::Cache", "cache"),
        // Where root runs it, its own user may not get at our directory.
        "APT::Sandbox::User=root".to_owned(),
        "Acquire::Retries=2".to_owned(),
        "Acquire::http::Timeout=20".to_owned(),
    ];
    let apt_get = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.current_dir(cache).args(["--quiet", "--assume-yes"]);
        for option in &options {
            command.arg("--option").arg(option);
        }
        said(command.args(arguments))
    };
    // It fails if any entry has no sources; ours may be in another.
    let updated = apt_get(&["update"]);
    let had = apt_get(&["source", "--download-only", package]);
    had.map(drop).map_err(|why| match updated {
        Ok(_) => format!("the sources of {package} are not to be had: {}", last_lines(&why)),
        Err(no_list) => format!(
            "no lists of sources are to be had (is there a network?): {}",
            last_lines(&no_list)
        ),
    })
}

/// The system's entries, each for sources.
fn write_entries(apt: &Path) -> Result<(), String> {
    let write = |file: PathBuf, text: String| {
        fs::write(&file, text).map_err(|e| format!("{}: {e}", file.display()))
    };
    let list = fs::read_to_string("/etc/apt/sources.list").unwrap_or_default();
    write(apt.join("sources.list"), for_sources(&list))?;
    let entries = fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let kind = Path::new(&name).extension().unwrap_or_default();
        if kind == "list" || kind == "sources" {
            let text = fs::read_to_string(entry.path()).unwrap_or_default();
            write(apt.join("sources.d").join(name), for_sources(&text))?;
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

fn make_dir(dir: &Path) -> Result<(), String> {
    fs::create_dir_all(dir).map_err(|e| format!("{}: {e}", dir.display()))
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
