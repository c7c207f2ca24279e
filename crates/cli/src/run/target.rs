//! Looks at the program before it runs: can the preload library get into it at all? A program that
//! would silently go unwatched is refused, with the reason.

use std::fs::File;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use object::elf;
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, ReadCache, ReadRef};

use crate::error::{Error, Result, exit};
use crate::ledger_dir::ignores_setuid;

/// Scripts name interpreters that may be scripts; the kernel stops there too.
const MAX_INTERPRETERS: usize = 5;

/// What kind of executable a file is.
#[derive(Debug, PartialEq, Eq)]
enum Image {
    /// An ELF executable.
    Elf {
        /// 64-bit.
        wide: bool,
        /// `e_machine`.
        machine: elf::Machine,
        /// The dynamic loader it asks for; `None` in a static executable.
        loader: Option<PathBuf>,
    },
    /// `#!`, with the interpreter it names.
    Script(PathBuf),
    /// Neither: exec fails, and execvp has it run by the shell.
    Other,
}

/// The `e_machine` that this binary's own preload library is for.
const MACHINE: elf::Machine = if cfg!(target_arch = "x86_64") {
    elf::EM_X86_64
} else if cfg!(target_arch = "aarch64") {
    elf::EM_AARCH64
} else {
    elf::EM_NONE
};

/// Refuses a program that the preload library cannot get into.
///
/// # Errors
/// Static, of another architecture, with privileges of its own (126), or unreadable.
pub fn check(program: &Path) -> Result<()> {
    let mut file = program.to_owned();
    for _ in 0..MAX_INTERPRETERS {
        let image = open(&file).map_err(|error| {
            // Execute permission without read permission is rare but legal; exec will tell.
            Error::with_code(
                exit::NOT_RUNNABLE,
                format!("cannot read `{}`: {error}", file.display()),
            )
            .help("lockwright must read a program to tell whether it can be watched")
        })?;
        match image {
            Image::Elf { wide, machine, loader } => {
                check_elf(&file, wide, machine, loader.as_deref())?;
                return check_privileges(&file);
            }
            Image::Script(interpreter) => {
                if !interpreter.exists() {
                    return Err(Error::with_code(
                        exit::NOT_RUNNABLE,
                        format!(
                            "cannot run `{}`: no interpreter `{}`",
                            file.display(),
                            interpreter.display()
                        ),
                    )
                    .help("correct the first line of the script"));
                }
                file = interpreter;
            }
            Image::Other => file = PathBuf::from("/bin/sh"),
        }
    }
    Err(Error::with_code(exit::NOT_RUNNABLE, format!("cannot run `{}`", program.display()))
        .note("its interpreter is a script, whose interpreter is a script, and so on"))
}

fn open(file: &Path) -> std::io::Result<Image> {
    let cache = ReadCache::new(File::open(file)?);
    Ok(inspect(&cache))
}

/// Tells what an executable is from its bytes; a damaged one is [`Image::Other`].
fn inspect<'data>(data: impl ReadRef<'data>) -> Image {
    let Ok(ident) = data.read_bytes_at(0, 5) else {
        return script(data).unwrap_or(Image::Other);
    };
    if ident[..4] != elf::ELFMAG {
        return script(data).unwrap_or(Image::Other);
    }
    let image = match elf::FileClass(ident[4]) {
        elf::ELFCLASS32 => inspect_elf::<elf::FileHeader32<Endianness>>(data, false),
        _ => inspect_elf::<elf::FileHeader64<Endianness>>(data, true),
    };
    image.unwrap_or(Image::Other)
}

fn inspect_elf<'data, H>(data: impl ReadRef<'data>, wide: bool) -> Option<Image>
where
    H: FileHeader<Endian = Endianness>,
{
    let header = H::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let mut loader = None;
    for segment in header.program_headers(endian, data).ok()? {
        if let Ok(Some(path)) = segment.interpreter(endian, data) {
            loader = Some(PathBuf::from(std::ffi::OsString::from_vec(path.to_vec())));
        }
    }
    Some(Image::Elf { wide, machine: header.e_machine(endian), loader })
}

fn script<'data>(data: impl ReadRef<'data>) -> Option<Image> {
    // The kernel looks at no more than this.
    let len = data.len().ok()?.min(256);
    let start = data.read_bytes_at(0, len).ok()?.strip_prefix(b"#!")?;
    let line = start.split(|&b| b == b'\n').next()?;
    let interpreter = line.split(|b| b" \t".contains(b)).find(|word| !word.is_empty())?;
    Some(Image::Script(PathBuf::from(std::ffi::OsStr::from_bytes(interpreter))))
}

fn check_elf(file: &Path, wide: bool, machine: elf::Machine, loader: Option<&Path>) -> Result<()> {
    let refuse = |what: &str| {
        Error::with_code(exit::NOT_RUNNABLE, format!("cannot watch `{}`: {what}", file.display()))
    };
    if machine != MACHINE || !wide {
        let what = match (machine, wide) {
            (elf::EM_386 | elf::EM_ARM, _) => "it is a 32-bit program",
            (elf::EM_X86_64, false) => "it is an x32 program, with 32-bit pointers",
            _ => "it is a program for another processor architecture",
        };
        return Err(refuse(what)
            .note(format!("this lockwright watches {} programs", std::env::consts::ARCH))
            .help("build the program for this machine, 64-bit"));
    }
    let Some(loader) = loader else {
        return Err(refuse("it is statically linked")
            .note("locks are watched through a preloaded library, which only the dynamic loader can add")
            .help("link it dynamically: without -static, -static-pie or a musl target"));
    };
    let name = loader.file_name().unwrap_or_default().as_bytes();
    if name.starts_with(b"ld-musl") {
        return Err(refuse("it uses the C library musl")
            .note(format!("its loader is {}", loader.display()))
            .help("build it for glibc, for example Rust's *-linux-gnu targets"));
    }
    if !loader.exists() {
        return Err(Error::with_code(
            exit::NOT_RUNNABLE,
            format!("cannot run `{}`: its loader {} is missing", file.display(), loader.display()),
        )
        .help("run it on, or in a container with, the system it was built for"));
    }
    Ok(())
}

/// Who runs the program, and what the file would change about that.
#[derive(Clone, Copy, Debug)]
struct Privileges {
    mode: u32,
    owner: u32,
    group: u32,
    capabilities: bool,
    uid: u32,
    gid: u32,
}

/// Why the loader would ignore LD_PRELOAD (AT_SECURE), as the kernel decides it.
fn secure_execution(p: Privileges) -> Option<&'static str> {
    if p.mode & libc::S_ISUID != 0 && p.owner != p.uid {
        return Some("set-user-id");
    }
    // Without group execute permission the bit means something else.
    let setgid = libc::S_ISGID | libc::S_IXGRP;
    if p.mode & setgid == setgid && p.group != p.gid {
        return Some("set-group-id");
    }
    // Root gains nothing by capabilities.
    (p.capabilities && p.uid != 0).then_some("file capabilities")
}

fn check_privileges(file: &Path) -> Result<()> {
    let Ok(meta) = file.metadata() else { return Ok(()) };
    let privileges = Privileges {
        mode: meta.mode(),
        owner: meta.uid(),
        group: meta.gid(),
        capabilities: has_capabilities(file),
        // SAFETY: these have no preconditions and cannot fail.
        uid: unsafe { libc::getuid() },
        // SAFETY: as above.
        gid: unsafe { libc::getgid() },
    };
    let Some(why) = secure_execution(privileges).filter(|_| !ignores_setuid(file)) else {
        return Ok(());
    };
    let shown = file.display();
    Err(Error::with_code(exit::NOT_RUNNABLE, format!("cannot watch `{shown}`: it has {why}"))
        .note("a program that gains privileges ignores LD_PRELOAD")
        .help("run lockwright as the user that the program becomes, for example with sudo, or")
        .help(format!("watch a copy, which has no privileges: `cp {shown} /tmp/`")))
}

fn has_capabilities(file: &Path) -> bool {
    let Ok(path) = std::ffi::CString::new(file.as_os_str().as_bytes()) else { return false };
    let name = c"security.capability".as_ptr();
    // SAFETY: terminated strings; with size 0 nothing is written.
    unsafe { libc::getxattr(path.as_ptr(), name, std::ptr::null_mut(), 0) > 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A 64-bit little-endian ELF header and, if `loader` is given, its PT_INTERP.
    fn elf64(machine: elf::Machine, loader: Option<&str>) -> Vec<u8> {
        let mut file = vec![0u8; 64];
        file[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        file[16] = 2;
        file[18..20].copy_from_slice(&machine.0.to_le_bytes());
        file[20] = 1;
        file[52] = 64;
        file[54] = 56;
        if let Some(loader) = loader {
            file[32] = 64;
            file[56] = 1;
            let mut segment = vec![0u8; 56];
            segment[0] = 3;
            segment[8] = 120;
            segment[32] = loader.len() as u8 + 1;
            file.extend(segment);
            file.extend(loader.bytes());
            file.push(0);
        }
        file
    }

    fn verdict(image: &Image) -> String {
        let Image::Elf { wide, machine, loader } = image else { panic!("{image:?}") };
        match check_elf(Path::new("prog"), *wide, *machine, loader.as_deref()) {
            Ok(()) => "fine".to_owned(),
            Err(error) => error.to_string(),
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
    fn damaged_files_are_no_programs() {
        let own = elf64(MACHINE, Some("/lib64/ld-linux-x86-64.so.2"));
        for len in 0..own.len() {
            // Whatever it is called, it is no panic.
            inspect(&own[..len]);
        }
        assert_eq!(inspect(&b"\x7fEL"[..]), Image::Other);
        assert_eq!(inspect(&b""[..]), Image::Other);
    }

    #[test]
    fn scripts_name_their_interpreter() {
        let script = |text: &str| inspect(text.as_bytes());
        assert_eq!(script("#!/bin/sh\n"), Image::Script("/bin/sh".into()));
        assert_eq!(script("#! /usr/bin/env python3\nx"), Image::Script("/usr/bin/env".into()));
        assert_eq!(script("#!"), Image::Other);
        assert_eq!(script("echo hello\n"), Image::Other);
    }

    #[test]
    fn secure_execution_is_as_the_kernel_has_it() {
        let plain = Privileges {
            mode: 0o755,
            owner: 0,
            group: 0,
            capabilities: false,
            uid: 1000,
            gid: 1000,
        };
        assert_eq!(secure_execution(plain), None);
        assert_eq!(secure_execution(Privileges { mode: 0o4755, ..plain }), Some("set-user-id"));
        assert_eq!(secure_execution(Privileges { mode: 0o4755, owner: 1000, ..plain }), None);
        assert_eq!(secure_execution(Privileges { mode: 0o2755, ..plain }), Some("set-group-id"));
        assert_eq!(secure_execution(Privileges { mode: 0o2745, ..plain }), None);
        let capable = Privileges { capabilities: true, ..plain };
        assert_eq!(secure_execution(capable), Some("file capabilities"));
        assert_eq!(secure_execution(Privileges { uid: 0, ..capable }), None);
    }
}
