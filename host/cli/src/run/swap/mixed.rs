//! Programs that would take some of their locks past the swap library: a lock that two sorts of
//! code take is none. They are refused.

use std::path::Path;

use crate::run::doctor::modules::Modules;
use crate::run::target;
use crate::run::target::contents::{Contents, Mark};
use lockwright_console::error::{Error, Result, exit};
use lockwright_glibc::library::is_c_library;

/// Refuses a program that has the functions that take locks in itself, or in a library that it
/// begins with.
///
/// # Errors
/// If it is such a program (126).
pub fn check(program: &Path) -> Result<()> {
    let target = target::find(program)?;
    let modules =
        target.loader.as_deref().and_then(|loader| Modules::of_file(&target.file, loader));
    let libraries = modules.map(|modules| modules.files).unwrap_or_default();
    let files =
        std::iter::once(&target.file).chain(libraries.iter().filter(|file| !is_glibc(file)));
    match files.filter_map(|file| Contents::read(file)).find(has_own) {
        None => Ok(()),
        Some(contents) => Err(refusal(&target.file, &contents)),
    }
}

/// The C library has them by right; before 2.34, in a library of its own.
fn is_glibc(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    is_c_library(&name)
}

fn has_own(contents: &Contents) -> bool {
    contents.has(Mark::PthreadInside) || contents.has(Mark::OwnPthread)
}

fn refusal(program: &Path, contents: &Contents) -> Error {
    let shown = program.display();
    let what = if contents.file == program { "it".to_owned() } else { contents.name() };
    let message =
        format!("cannot replace the locks of `{shown}`: {what} has its own pthread_mutex_lock");
    Error::with_code(exit::NOT_RUNNABLE, message)
        .note(
            "what it takes by that, and others by the C library's name, would be taken in two ways",
        )
        .help("link it with the C library dynamically")
}
