//! Names and source lines: not needed to watch, but to read the report.

use std::fs;
use std::path::Path;

use super::diagnosis::{Effect, Finding};
use crate::run::target::contents::Contents;
use lockwright_analysis::symbolize::DebugDirs;

/// What is missing, if anything, and where to get it.
pub fn examine(program: &Contents) -> Option<Finding> {
    if program.has_dwarf {
        return None;
    }
    let link = program.debug_link.as_ref().map(|(name, crc)| (name.as_slice(), *crc));
    if DebugDirs::from_env().find(&program.file, &program.build_id, link).is_some() {
        return None;
    }
    let what = match program.has_symbols {
        true => {
            "there is no debug information: the report will have names of functions, but no source lines"
        }
        false => {
            "it is stripped and there is no debug information: the report will have few names and no source lines"
        }
    };
    let mut finding = Finding::new("no-debug-info", Effect::Note, what);
    if let Some(package) = debian_package(&program.file) {
        finding = finding.help(format!("install `{package}-dbgsym`, from Debian's debug archive"));
    } else {
        finding = finding
            .help("if you build it: compile with -g and do not strip it (Rust: debug = \"line-tables-only\" in the profile)");
    }
    if !program.build_id.is_empty() {
        let id: String = program.build_id.iter().map(|byte| format!("{byte:02x}")).collect();
        let (first, rest) = id.split_at(2);
        finding = finding.help(format!(
            "or name servers that have the file of this build ({id}) in DEBUGINFOD_URLS, or put it in DIR/.build-id/{first}/{rest}.debug with {}=DIR",
            DebugDirs::VARIABLE
        ));
    }
    Some(finding)
}

/// The package that the file is from, as dpkg's own lists have it. What is now in /usr may be
/// listed without.
fn debian_package(file: &Path) -> Option<String> {
    let path = file.to_str()?;
    let names = [path, path.strip_prefix("/usr").unwrap_or(path)];
    for entry in fs::read_dir("/var/lib/dpkg/info").ok()?.flatten() {
        let list = entry.path();
        if list.extension().is_none_or(|extension| extension != "list") {
            continue;
        }
        let Ok(text) = fs::read_to_string(&list) else { continue };
        if text.lines().any(|line| names.contains(&line)) {
            let package = list.file_stem()?.to_str()?;
            // If there are several architectures: `libc6:amd64`.
            return Some(package.split(':').next()?.to_owned());
        }
    }
    None
}
