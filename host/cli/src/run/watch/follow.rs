//! `--follow`: which of the processes that the program starts are watched. The preload library
//! decides, in each; it leaves a record of those that are not (`unwatched.rs`).

use std::process::Command;

use crate::args::RunArgs;

/// Which processes to watch.
#[derive(Debug)]
pub struct Follow {
    /// Patterns, or `none`; `None`: everybody.
    names: Option<String>,
}

impl Follow {
    /// What the user wants.
    pub fn of(args: &RunArgs) -> Self {
        if args.follow.iter().any(|name| name == "all") {
            return Self { names: None };
        }
        // `none` together with names adds nothing.
        let names: Vec<&str> =
            args.follow.iter().map(String::as_str).filter(|name| *name != "none").collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(",") };
        Self { names: Some(names) }
    }

    /// Tells the library in `command`.
    pub fn tell(&self, command: &mut Command) {
        if let Some(names) = &self.names {
            command.env("LOCKWRIGHT_FOLLOW", names);
            command.env("LOCKWRIGHT_STARTER", std::process::id().to_string());
        }
    }
}
