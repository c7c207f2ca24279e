//! Whether a program is started with the library in it. Its parent decides, or the process that
//! becomes it, before it is executed: a program that cannot load the library would end with an
//! error of its loader's, or print one.
//!
//! A program that ignores LD_PRELOAD, as a static one does, keeps it: it passes the environment on
//! to programs that can be watched.

use core::ffi::c_int;

use lockwright_exec::{Name, Program, environment};

use super::{follow, run_dir};
use crate::libc::real::Strings;

/// How a program is started.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// With the environment that it is given.
    AsGiven,
    /// Without the library, which would not work in it.
    Unable,
    /// Without the library, as it cannot be reached: another file system is mounted over it, or the
    /// root directory is another one.
    Hidden,
    /// Without the library: nobody that it starts is to be watched either (`--follow=none`).
    LeftOut,
}

impl Start {
    /// Decides for what is executed under that name. `is_first`: by the process that lockwright has
    /// started itself, which is watched in any case. `passes`: the environment is that of this run.
    ///
    /// # Safety
    /// A valid environment.
    pub unsafe fn of(name: Name<'_>, environment: Strings, is_first: bool, passes: bool) -> Self {
        // SAFETY: the caller promises a valid environment, as `preloaded` asks.
        let preloaded = unsafe { environment::preloaded(environment) };
        let Some(library) =
            environment::entries(preloaded).find(|entry| environment::is_ours(entry))
        else {
            return Self::AsGiven;
        };
        match lockwright_exec::program(name, preloaded, None) {
            // The kernel says what is wrong with it.
            Program::Missing => Self::AsGiven,
            Program::Refusing => Self::Unable,
            _ if passes && run_dir::is_hidden() || lockwright_exec::is_hidden(library) => {
                Self::Hidden
            }
            Program::Ignoring => Self::AsGiven,
            Program::Loading | Program::Unknown => {
                if passes && !is_first && follow::is_nobody() {
                    Self::LeftOut
                } else {
                    Self::AsGiven
                }
            }
        }
    }

    /// Has `execute` do it, with the environment for it.
    ///
    /// # Safety
    /// As for [`Self::of`].
    pub unsafe fn go(
        self,
        environment: Strings,
        execute: &mut dyn FnMut(Strings) -> c_int,
    ) -> c_int {
        let goes: fn(&[u8]) -> bool = match self {
            Self::AsGiven => return execute(environment),
            Self::Unable | Self::Hidden => environment::is_ours,
            // What replaces locks is somebody else's wish.
            Self::LeftOut => environment::is_for_watching,
        };
        // SAFETY: the caller promises a valid environment, as `without` asks.
        unsafe { environment::without(goes, environment, execute) }
    }
}
