//! Users' locks, of the libraries that `--lock-library` names.

use std::path::{Path, PathBuf};

use lockwright_console::error::{Error, Result, exit};
use lockwright_sim::library::{self, LibraryLock, Refused};
use lockwright_sim::{explore, locks};

/// Loads them all.
///
/// # Errors
/// If one cannot be used, or a lock of it has the name of another lock.
pub fn load(paths: &[PathBuf]) -> Result<Vec<LibraryLock>> {
    library::on_misuse(|what| {
        eprintln!("error: the library of locks {what}");
        std::process::exit(exit::USAGE.into());
    });
    let mut all: Vec<LibraryLock> = Vec::new();
    for path in paths {
        for lock in library::load(path).map_err(|refused| unused(path, &refused))? {
            let name = lock.name;
            let taken = locks::Kind::named(name).is_some()
                || explore::Kind::named(name).is_some()
                || name == "all"
                || all.iter().any(|other| other.name == name);
            if taken {
                let why = "is called as another one is: give it a name of its own".to_owned();
                return Err(unused(path, &Refused::Lock(name.to_owned(), why)));
            }
            all.push(lock);
        }
    }
    Ok(all)
}

fn unused(path: &Path, why: &Refused) -> Error {
    let what = format!("cannot use the lock library {}: {why}", path.display());
    let error = Error::with_code(exit::USAGE, what);
    match why {
        Refused::NoEntry | Refused::Count(_) => error.help(
            "in C name its locks by LW_SIM_LIBRARY of lockwright/sim.h, in Rust by \
             lockwright::lock_library!",
        ),
        Refused::Version(_) | Refused::Newer => {
            error.help("build it with the header or the crate of this lockwright")
        }
        Refused::NotLoaded(_) => {
            error.help("name a shared object: cc -shared -fPIC ... -o FILE.so")
        }
        Refused::Lock(..) => error,
    }
}
