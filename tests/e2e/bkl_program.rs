//! The example of a file system under a big kernel lock, built.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::c_library::library;
use crate::harness::{target_tmp, tests_dir};

/// As its Makefile builds it, in a copy.
pub fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let sources = tests_dir().join("../examples/c/bkl_fs");
        let copy = target_tmp().join("bkl_fs");
        let _ = fs::remove_dir_all(&copy);
        fs::create_dir_all(&copy).expect("a folder for the example");
        for file in fs::read_dir(sources).expect("the example").flatten() {
            fs::copy(file.path(), copy.join(file.file_name())).expect("a copy");
        }
        let include = tests_dir().join("../include");
        let library = library().display();
        let mut make = Command::new("make");
        make.arg("--silent").arg("--directory").arg(&copy).arg("bkl_fs");
        make.arg(format!(
            "CFLAGS=-std=c11 -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror -pthread -I{}",
            include.display()
        ));
        make.arg(format!("LDFLAGS=-L{library} -Wl,-rpath,{library}")).arg("LDLIBS=-llockwright");
        // What runs us may be a make.
        make.env_remove("MAKEFLAGS").env_remove("MAKELEVEL");
        assert!(make.status().expect("make").success(), "{make:?} failed");
        copy.join("bkl_fs")
    })
}
