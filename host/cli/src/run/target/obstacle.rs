//! Why the preload library cannot get into a program, and the remedy for each reason: `check` refuses a program with
//! it, and `doctor` reports it.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::elf;

use crate::arch::MACHINE;
use lockwright_console::error::{Error, exit};

/// A reason that no preloaded library gets over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// For another machine, or with other pointers: what it is.
    Foreign(&'static str),
    /// Statically linked.
    Static {
        /// By Go, which does so unless it calls C.
        go: bool,
    },
    /// Another C library than glibc, with its loader.
    OtherLibrary(&'static str, PathBuf),
    /// Its loader is not there.
    NoLoader(PathBuf),
    /// By executing it its user gains privileges: by what.
    Privileged(&'static str),
    /// A sanitizer's runtime as a shared library, which does not work behind another one.
    Sanitizer(&'static Runtime),
}

/// The runtime of a sanitizer.
#[derive(Debug, PartialEq, Eq)]
pub struct Runtime {
    /// How the names of its shared library begin.
    library: &'static str,
    /// The sanitizer.
    name: &'static str,
    /// The compiler flag that links it statically.
    flag: &'static str,
}

/// Those that die, or hang their program, if any library comes before theirs (seen with GCC 12's). Linked
/// statically, all of them work; UndefinedBehaviorSanitizer does in any case.
const RUNTIMES: &[Runtime] = &[
    Runtime { library: "libasan.so", name: "AddressSanitizer", flag: "-static-libasan" },
    Runtime { library: "libtsan.so", name: "ThreadSanitizer", flag: "-static-libtsan" },
    Runtime { library: "liblsan.so", name: "LeakSanitizer", flag: "-static-liblsan" },
    Runtime { library: "libhwasan.so", name: "HWAddressSanitizer", flag: "-static-libhwasan" },
    Runtime { library: "libclang_rt.asan", name: "AddressSanitizer", flag: "-static-libsan" },
    Runtime { library: "libclang_rt.tsan", name: "ThreadSanitizer", flag: "-static-libsan" },
];

/// What a loader of another C library than glibc has in its name.
const OTHER_LIBRARIES: &[(&str, &str)] =
    &[("ld-musl", "musl"), ("uClibc", "uClibc"), ("linker64", "Android's Bionic")];

impl Obstacle {
    /// What an ELF header tells. `is_go` is asked of static programs only.
    pub fn of_header(
        wide: bool,
        machine: elf::Machine,
        loader: Option<&Path>,
        is_go: impl FnOnce() -> bool,
    ) -> Option<Self> {
        if machine != MACHINE || !wide {
            return Some(Self::Foreign(match (machine, wide) {
                (elf::EM_386 | elf::EM_ARM, _) => "it is a 32-bit program",
                (elf::EM_X86_64, false) => "it is an x32 program, with 32-bit pointers",
                _ => "it is a program for another processor architecture",
            }));
        }
        let Some(loader) = loader else { return Some(Self::Static { go: is_go() }) };
        let name = loader.file_name().unwrap_or_default().as_bytes();
        let has = |part: &str| name.windows(part.len()).any(|window| window == part.as_bytes());
        if let Some((_, library)) = OTHER_LIBRARIES.iter().find(|(part, _)| has(part)) {
            return Some(Self::OtherLibrary(library, loader.to_owned()));
        }
        (!loader.exists()).then(|| Self::NoLoader(loader.to_owned()))
    }

    /// What the names of the libraries that a program needs tell.
    pub fn of_libraries(needed: &[String]) -> Option<Self> {
        let is_needed =
            |runtime: &&Runtime| needed.iter().any(|name| name.starts_with(runtime.library));
        RUNTIMES.iter().find(is_needed).map(Self::Sanitizer)
    }

    /// Its name in JSON.
    pub fn id(&self) -> &'static str {
        match self {
            Self::Foreign(_) => "foreign-machine",
            Self::Static { .. } => "static",
            Self::OtherLibrary(..) => "other-c-library",
            Self::NoLoader(_) => "no-loader",
            Self::Privileged(_) => "secure-execution",
            Self::Sanitizer(_) => "shared-sanitizer",
        }
    }

    /// What it is, of "it".
    pub fn what(&self) -> String {
        match self {
            Self::Foreign(what) => (*what).to_owned(),
            Self::Static { go: false } => "it is statically linked".to_owned(),
            Self::Static { go: true } => "it is a Go program, statically linked".to_owned(),
            Self::OtherLibrary(library, _) => format!("it uses the C library {library}"),
            Self::NoLoader(loader) => format!("its loader {} is missing", loader.display()),
            Self::Privileged(why) => format!("it has {why}"),
            Self::Sanitizer(runtime) => {
                format!("it was built with {}, in a shared library", runtime.name)
            }
        }
    }

    /// Why that is in the way; empty where it needs no words.
    pub fn why(&self) -> String {
        match self {
            Self::Foreign(_) => format!("this lockwright watches {} programs", std::env::consts::ARCH),
            Self::Static { .. } => "locks are watched through a preloaded library, which only the dynamic loader can add".into(),
            Self::OtherLibrary(_, loader) => format!("its loader is {}", loader.display()),
            Self::NoLoader(_) => String::new(),
            Self::Privileged(_) => "a program that gains privileges ignores LD_PRELOAD".into(),
            Self::Sanitizer(runtime) => format!("{}*, its runtime, works only as the first of all libraries, and so does lockwright's", runtime.library),
        }
    }

    /// What to do about it.
    pub fn help(&self, file: &Path) -> Vec<String> {
        let shown = file.display();
        match self {
            Self::Foreign(_) => vec!["build the program for this machine, 64-bit".into()],
            Self::Static { go: false } => {
                vec!["link it dynamically: without -static, -static-pie or a musl target".into()]
            }
            Self::Static { go: true } => vec![
                "Go's locks are its runtime's own, so linking it dynamically shows only those of C code in it; Go has its own tools: `go build -race`, and the mutex and block profiles of pprof".into(),
            ],
            Self::OtherLibrary(..) => {
                vec!["build it for glibc, for example Rust's *-linux-gnu targets".into()]
            }
            Self::NoLoader(_) => {
                vec!["run it on, or in a container with, the system it was built for".into()]
            }
            Self::Privileged(_) => vec![
                "run lockwright as the user that the program becomes, for example with sudo, or".into(),
                format!("watch a copy, which has no privileges: `cp {shown} /tmp/`"),
            ],
            Self::Sanitizer(runtime) => vec![
                format!("link the runtime into the program: {}", runtime.flag),
                "or build without the sanitizer: it and lockwright look for different faults".into(),
            ],
        }
    }

    /// The error that a program is refused with.
    pub fn refusal(&self, file: &Path) -> Error {
        let verb = if matches!(self, Self::NoLoader(_)) { "run" } else { "watch" };
        let message = format!("cannot {verb} `{}`: {}", file.display(), self.what());
        // If a program's loader is missing, shells say that the program is not there.
        let is_missing = matches!(self, Self::NoLoader(_));
        let code = if is_missing { exit::NOT_FOUND } else { exit::NOT_RUNNABLE };
        let mut error = Error::with_code(code, message);
        if !self.why().is_empty() {
            error = error.note(self.why());
        }
        self.help(file).into_iter().fold(error, Error::help)
    }
}

#[cfg(test)]
mod tests {
    use super::super::image::tests::elf64;
    use super::super::image::{Image, inspect};
    use super::*;

    fn verdict(image: &Image) -> String {
        let Image::Elf { wide, machine, loader, .. } = image else { panic!("{image:?}") };
        match Obstacle::of_header(*wide, *machine, loader.as_deref(), || false) {
            None => "fine".to_owned(),
            Some(obstacle) => obstacle.refusal(Path::new("prog")).to_string(),
        }
    }

    #[test]
    fn dynamic_static_and_foreign_programs() {
        let own = std::fs::read("/proc/self/exe").unwrap();
        assert_eq!(verdict(&inspect(&*own)), "fine");
        assert!(verdict(&inspect(&*elf64(MACHINE, None))).contains("statically linked"));
        let musl = elf64(MACHINE, Some("/lib/ld-musl-x86_64.so.1"));
        assert!(verdict(&inspect(&*musl)).contains("musl"));
        let lost = elf64(MACHINE, Some("/nowhere/ld.so"));
        assert!(verdict(&inspect(&*lost)).contains("/nowhere/ld.so is missing"));
        assert!(verdict(&inspect(&*elf64(elf::EM_RISCV, None))).contains("another processor"));
    }

    #[test]
    fn thirty_two_bit_programs() {
        let mut file = vec![0u8; 52];
        file[..7].copy_from_slice(b"\x7fELF\x01\x01\x01");
        file[18] = elf::EM_386.0 as u8;
        file[20] = 1;
        assert!(verdict(&inspect(&*file)).contains("32-bit"));
    }

    #[test]
    fn sanitizers_must_come_first_or_be_inside() {
        let of = |name: &str| Obstacle::of_libraries(&["libc.so.6".into(), name.into()]);
        let refusal = of("libasan.so.8").unwrap().refusal(Path::new("prog")).to_string();
        assert!(refusal.contains("AddressSanitizer") && refusal.contains("-static-libasan"));
        assert_eq!(of("libubsan.so.1"), None);
        assert_eq!(of("libasan-data.so"), None);
    }

    /// The library decides by the same names before a program is executed.
    #[test]
    fn the_libraries_have_the_same_list() {
        // A link in a checkout, a copy in the package.
        let source = include_str!("../../../preload/guest/exec/src/image.rs");
        let list = |name: &str| {
            let (_, rest) = source.split_once(&format!("pub const {name}: &[&[u8]] = &[")).unwrap();
            let (list, _) = rest.split_once("];").unwrap();
            list.split("b\"").skip(1).map(|entry| entry.split('"').next().unwrap()).collect()
        };
        let sanitizers: Vec<&str> = list("SANITIZERS");
        assert_eq!(sanitizers, RUNTIMES.iter().map(|r| r.library).collect::<Vec<_>>());
        let loaders: Vec<&str> = list("OTHER_LOADERS");
        assert_eq!(loaders, OTHER_LIBRARIES.iter().map(|(part, _)| *part).collect::<Vec<_>>());
    }
}
