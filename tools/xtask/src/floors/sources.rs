//! The sources of a crate.

use std::path::{Path, PathBuf};

use proc_macro2::TokenStream;

use crate::workspace::{read, root};

/// A file of a crate.
pub struct Source {
    /// Where it lies in the folder `src`.
    pub file: String,
    /// Its module, outermost first: none for the root.
    pub module: Vec<String>,
    pub tokens: TokenStream,
}

impl Source {
    /// # Errors
    /// When the text is no Rust.
    pub fn new(file: &Path, text: &str) -> Result<Self, String> {
        let tokens = text.parse().map_err(|e| format!("{}: {e}", file.display()))?;
        Ok(Self { file: file.display().to_string(), module: module_of(file), tokens })
    }
}

/// The sources of the crate in a folder.
///
/// # Errors
/// When a file cannot be read, or is no Rust.
pub fn sources(dir: &str) -> Result<Vec<Source>, String> {
    let src = root().join(dir).join("src");
    let mut found = Vec::new();
    let mut dirs = vec![src.clone()];
    while let Some(dir) = dirs.pop() {
        let failed = |e| format!("{}: {e}", dir.display());
        for entry in std::fs::read_dir(&dir).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(Source::new(path.strip_prefix(&src).unwrap_or(&path), &read(&path)?)?);
            }
        }
    }
    found.sort_by(|a, b| a.file.cmp(&b.file));
    Ok(found)
}

/// `a/b.rs` and `a/b/mod.rs` are a::b.
fn module_of(path: &Path) -> Vec<String> {
    let path: PathBuf = path.with_extension("");
    let mut parts: Vec<String> =
        path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if parts.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        parts.pop();
    }
    parts
}
