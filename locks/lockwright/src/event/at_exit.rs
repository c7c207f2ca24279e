//! The table of lock events, written when the program exits.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::{env, fs};

use super::Events;
use crate::platform::linux::Linux;

/// Names the file.
const VARIABLE: &str = "LOCKWRIGHT_EVENTS";

/// Runs at `exit`, after the program's own handlers.
#[used]
// SAFETY: the C library calls what stands in this section with C's calling convention.
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = {
    extern "C" fn at_exit() {
        let file = env::var_os(VARIABLE).filter(|file| !file.is_empty());
        if let Some((file, Err(error))) = file.map(|file| (file.clone(), write(&file))) {
            // If standard error is closed, nobody wants to know.
            let name = file.to_string_lossy();
            let _ = writeln!(io::stderr(), "lockwright: {VARIABLE}={name}: {error}");
        }
    }
    at_exit
};

fn write(file: &OsStr) -> io::Result<()> {
    fs::write(file, std::format!("{}", Events::of::<Linux>()))
}
