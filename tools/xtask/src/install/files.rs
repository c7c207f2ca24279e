//! The installed files, and their places.

use std::path::{Path, PathBuf};

use clap_complete::Shell;

use crate::builds::LIBRARY;
use crate::man;
use crate::programs::{PROGRAMS, Program};
use crate::workspace::root;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What programs that are linked with the library ask for; locks/capi/build.rs gives it to the
/// library.
pub const SONAME: &str = "liblockwright.so.0";

/// The system's libraries that the static one needs, as `rustc --print native-static-libs` has
/// them, except gcc's own: compilers add that themselves, and choose the one that fits, as only
/// some can be linked statically.
const NATIVE: &[&str] = &["-lutil", "-lrt", "-lpthread", "-lm", "-ldl", "-lc"];

/// A file to be installed.
pub struct File {
    /// Where, under the prefix.
    pub to: PathBuf,
    /// What it holds.
    pub what: What,
}

/// What a file holds.
pub enum What {
    /// The same as this one.
    Copy(PathBuf),
    /// A program, the same as this one.
    Program(PathBuf),
    /// This text.
    Text(Vec<u8>),
    /// A link to a file in the same directory.
    Link(String),
}

/// All of them, of what was built in the target directory `built`.
///
/// # Errors
/// When a manual page cannot be made.
pub fn all(built: &Path) -> Result<Vec<File>, String> {
    let program =
        |name: &str| file(format!("bin/{name}"), What::Program(built.join("release").join(name)));
    let mut files =
        vec![program("lockwright"), program("lockwright-bpf"), program("lockwright-lab")];
    files.extend(libraries(&built.join(LIBRARY)));
    files.extend(headers());
    files.extend(for_builds());
    for page in man::pages()? {
        files.push(file(format!("share/man/man1/{}", page.file_name()), What::Text(page.text)));
    }
    for program in PROGRAMS {
        files.extend(COMPLETIONS.iter().map(|&(shell, to)| {
            file(to.replace("PROGRAM", program.name), What::Text(completions(program, shell)))
        }));
    }
    for name in ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "CHANGELOG.md"] {
        files.push(file(format!("share/doc/lockwright/{name}"), What::Copy(root().join(name))));
    }
    Ok(files)
}

fn file(to: impl Into<PathBuf>, what: What) -> File {
    File { to: to.into(), what }
}

fn libraries(built: &Path) -> Vec<File> {
    let real = format!("liblockwright.so.{VERSION}");
    vec![
        file(format!("lib/{real}"), What::Program(built.join("liblockwright.so"))),
        file(format!("lib/{SONAME}"), What::Link(real)),
        file("lib/liblockwright.so", What::Link(SONAME.into())),
        file("lib/liblockwright.a", What::Copy(built.join("liblockwright.a"))),
    ]
}

fn headers() -> impl Iterator<Item = File> {
    let names = [
        "lockwright.h",
        "lockwright.hpp",
        "lockwright/locks.h",
        "lockwright/objects.h",
        "lockwright/sim.h",
        "lockwright/tsan.h",
    ];
    names.into_iter().map(|name| {
        let to = Path::new("include").join(name);
        File { what: What::Copy(root().join(&to)), to }
    })
}

/// What builds find the library by.
fn for_builds() -> [File; 3] {
    macro_rules! template {
        ($name:literal, $between:literal) => {
            What::Text(
                include_str!(concat!("../../../../locks/capi/packaging/", $name, ".in"))
                    .replace("@VERSION@", VERSION)
                    .replace("@SONAME@", SONAME)
                    .replace("@NATIVE@", &NATIVE.join($between))
                    .into_bytes(),
            )
        };
    }
    [
        file("lib/pkgconfig/lockwright.pc", template!("lockwright.pc", " ")),
        file(
            "lib/cmake/lockwright/lockwright-config.cmake",
            template!("lockwright-config.cmake", ";"),
        ),
        file(
            "lib/cmake/lockwright/lockwright-config-version.cmake",
            template!("lockwright-config-version.cmake", " "),
        ),
    ]
}

/// Where each shell looks for a program's.
const COMPLETIONS: &[(Shell, &str)] = &[
    (Shell::Bash, "share/bash-completion/completions/PROGRAM"),
    (Shell::Zsh, "share/zsh/site-functions/_PROGRAM"),
    (Shell::Fish, "share/fish/vendor_completions.d/PROGRAM.fish"),
    (Shell::Elvish, "share/elvish/lib/PROGRAM.elv"),
];

fn completions(program: &Program, shell: Shell) -> Vec<u8> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut (program.definition)(), program.name, &mut text);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// lockwright.h includes the headers in its directory: a header that is not installed would not
    /// be missed.
    #[test]
    fn all_headers_are_installed() {
        let dir = root().join("include/lockwright");
        let entries = std::fs::read_dir(dir).expect("headers").map(|entry| entry.expect("a file"));
        let mut there: Vec<_> =
            entries.map(|entry| Path::new("include/lockwright").join(entry.file_name())).collect();
        there.extend(["include/lockwright.h", "include/lockwright.hpp"].map(PathBuf::from));
        there.sort();
        let mut installed: Vec<_> = headers().map(|file| file.to).collect();
        installed.sort();
        assert_eq!(installed, there);
    }
}
