//! The program that a file comes down to, past scripts, and whether the preload library can get into it
//! at all. A program that would silently go unwatched is refused, with the reason.

pub mod contents;
mod image;
mod obstacle;
mod privileges;

use std::path::{Path, PathBuf};

pub use obstacle::Obstacle;

use super::path_search;
use image::Image;
use lockwright_console::error::{Error, Result, exit};

/// Scripts name interpreters that may be scripts; the kernel stops there too.
const MAX_INTERPRETERS: usize = 5;

/// What the kernel loads where a program is executed.
#[derive(Debug)]
pub struct Target {
    /// Scripts on the way there, the first one first.
    pub scripts: Vec<PathBuf>,
    /// The executable: the program itself, or the last interpreter.
    pub file: PathBuf,
    /// The dynamic loader it asks for.
    pub loader: Option<PathBuf>,
    /// Why the preload library cannot get into it; `None` if it can.
    pub obstacle: Option<Obstacle>,
}

/// Refuses a program that the preload library cannot get into.
///
/// # Errors
/// Static, of another architecture, with privileges of its own (126), or unreadable.
pub fn check(program: &Path) -> Result<()> {
    let target = find(program)?;
    target.obstacle.map_or(Ok(()), |obstacle| Err(obstacle.refusal(&target.file)))
}

/// Follows scripts to the executable behind them.
///
/// # Errors
/// If a file on the way cannot be read or run (126).
pub fn find(program: &Path) -> Result<Target> {
    let mut scripts = Vec::new();
    let mut file = program.to_owned();
    for _ in 0..MAX_INTERPRETERS {
        let image = image::open(&file).map_err(|error| {
            // Execute permission without read permission is rare but legal; exec will tell.
            Error::with_code(
                exit::NOT_RUNNABLE,
                format!("cannot read `{}`: {error}", file.display()),
            )
            .help("lockwright must read a program to tell whether it can be watched")
        })?;
        match image {
            Image::Elf { wide, machine, loader, libraries } => {
                let obstacle = Obstacle::of_header(wide, machine, loader.as_deref(), || {
                    contents::is_go(&file)
                })
                .or_else(|| privileges::gained(&file).map(Obstacle::Privileged))
                .or_else(|| Obstacle::of_libraries(&libraries));
                return Ok(Target { scripts, file, loader, obstacle });
            }
            Image::Script { interpreter, argument } => {
                if !interpreter.exists() {
                    // As shells and env(1) have it.
                    return Err(Error::with_code(
                        exit::NOT_FOUND,
                        format!(
                            "cannot run `{}`: no interpreter `{}`",
                            file.display(),
                            interpreter.display()
                        ),
                    )
                    .help("correct the first line of the script"));
                }
                let next = env_program(&interpreter, argument.as_deref()).unwrap_or(interpreter);
                scripts.push(std::mem::replace(&mut file, next));
            }
            Image::Binary => {
                let shown = file.display();
                return Err(Error::with_code(
                    exit::NOT_RUNNABLE,
                    format!(
                        "cannot run `{shown}`: it is neither a program for this system nor a script"
                    ),
                )
                .help(format!("see what it is: `file {shown}`; it may be damaged")));
            }
            Image::Other => scripts.push(std::mem::replace(&mut file, PathBuf::from("/bin/sh"))),
        }
    }
    Err(Error::with_code(exit::NOT_RUNNABLE, format!("cannot run `{}`", program.display()))
        .note("its interpreter is a script, whose interpreter is a script, and so on"))
}

/// The program that `#!/usr/bin/env NAME` runs, if it is there.
fn env_program(interpreter: &Path, argument: Option<&str>) -> Option<PathBuf> {
    if interpreter.file_name()? != "env" {
        return None;
    }
    let mut words = argument?.split_ascii_whitespace();
    let name = words.find(|word| !word.starts_with('-') && !word.contains('='))?;
    path_search::find(name.as_ref(), std::env::var_os("PATH").as_deref()).ok()
}
