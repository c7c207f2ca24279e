//! What kind of executable a file is, from its first bytes and its program headers.

use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use lockwright_ledger::file;
use object::elf;
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, ReadCache, ReadRef};

/// What kind of executable a file is.
#[derive(Debug, PartialEq, Eq)]
pub enum Image {
    /// An ELF executable.
    Elf {
        /// 64-bit.
        wide: bool,
        /// `e_machine`.
        machine: elf::Machine,
        /// The dynamic loader it asks for; `None` in a static executable.
        loader: Option<PathBuf>,
        /// Names of the libraries that it needs.
        libraries: Vec<String>,
    },
    /// `#!`.
    Script {
        /// The interpreter it names.
        interpreter: PathBuf,
        /// The rest of the line, which the kernel passes on as one argument.
        argument: Option<String>,
    },
    /// Neither, and no text: exec fails, and shells refuse it.
    Binary,
    /// Text: exec fails, and execvp has it run by the shell.
    Other,
}

/// Looks into a file.
///
/// # Errors
/// If it cannot be read.
pub fn open(path: &Path) -> std::io::Result<Image> {
    match file::open(path) {
        Ok(file) => Ok(inspect(&ReadCache::new(file))),
        // Such as a script names for its interpreter; the kernel says what it thinks of that.
        Err(error) if error.kind() == std::io::ErrorKind::IsADirectory => Ok(Image::Other),
        Err(error) => Err(error),
    }
}

/// Tells what an executable is from its bytes; a damaged one is [`Image::Binary`].
pub fn inspect<'data>(data: impl ReadRef<'data>) -> Image {
    let Ok(ident) = data.read_bytes_at(0, 5) else {
        return script(data).unwrap_or_else(|| text(data));
    };
    if ident[..4] != elf::ELFMAG {
        return script(data).unwrap_or_else(|| text(data));
    }
    let image = match elf::FileClass(ident[4]) {
        elf::ELFCLASS32 => inspect_elf::<elf::FileHeader32<Endianness>>(data, false),
        _ => inspect_elf::<elf::FileHeader64<Endianness>>(data, true),
    };
    image.unwrap_or(Image::Binary)
}

/// Whether what is no script could yet be one for the shell: as bash decides it, by its first line.
fn text<'data>(data: impl ReadRef<'data>) -> Image {
    const LOOK: u64 = 80;
    let len = data.len().unwrap_or(0).min(LOOK);
    let start = data.read_bytes_at(0, len).unwrap_or_default();
    let line = start.split(|&b| b == b'\n').next().unwrap_or_default();
    if line.contains(&0) || line.starts_with(&elf::ELFMAG) { Image::Binary } else { Image::Other }
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
    let libraries = libraries(header, endian, data).unwrap_or_default();
    Some(Image::Elf { wide, machine: header.e_machine(endian), loader, libraries })
}

/// Names of the libraries that it needs. Nothing else is read: a large program has megabytes of symbols.
fn libraries<'data, H>(
    header: &H,
    endian: Endianness,
    data: impl ReadRef<'data>,
) -> Option<Vec<String>>
where
    H: FileHeader<Endian = Endianness>,
{
    let table = header.sections(endian, data).ok()?.dynamic_table(endian, data).ok()?;
    let needed = table.iter().filter(|entry| entry.tag == elf::DT_NEEDED);
    let names = needed.filter_map(|entry| table.string(entry).ok());
    Some(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}

fn script<'data>(data: impl ReadRef<'data>) -> Option<Image> {
    // The kernel looks at no more than this.
    let len = data.len().ok()?.min(256);
    let start = data.read_bytes_at(0, len).ok()?.strip_prefix(b"#!")?;
    let line = start.split(|&b| b == b'\n').next()?;
    let line = line.trim_ascii();
    let blank = line.iter().position(|b| b" \t".contains(b)).unwrap_or(line.len());
    let (interpreter, rest) = line.split_at(blank);
    let argument = String::from_utf8_lossy(rest.trim_ascii()).into_owned();
    (!interpreter.is_empty()).then(|| Image::Script {
        interpreter: PathBuf::from(std::ffi::OsStr::from_bytes(interpreter)),
        argument: Some(argument).filter(|argument| !argument.is_empty()),
    })
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A 64-bit little-endian ELF header and, if `loader` is given, its PT_INTERP.
    pub fn elf64(machine: elf::Machine, loader: Option<&str>) -> Vec<u8> {
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

    #[test]
    fn damaged_files_are_no_programs() {
        let own = elf64(elf::EM_X86_64, Some("/lib64/ld-linux-x86-64.so.2"));
        for len in 0..own.len() {
            // Whatever it is called, it is no panic.
            inspect(&own[..len]);
        }
        assert_eq!(inspect(&own[..40]), Image::Binary);
        assert_eq!(inspect(&own[..4]), Image::Binary);
        assert_eq!(inspect(&b"\0\x01"[..]), Image::Binary);
        assert_eq!(inspect(&b"first line\n\0\x01"[..]), Image::Other, "an archive behind a script");
        assert_eq!(inspect(&b"\x7fEL"[..]), Image::Other);
        assert_eq!(inspect(&b""[..]), Image::Other);
    }

    #[test]
    fn scripts_name_their_interpreter() {
        let script = |text: &str| inspect(text.as_bytes());
        let named = |interpreter: &str, argument: Option<&str>| Image::Script {
            interpreter: interpreter.into(),
            argument: argument.map(str::to_owned),
        };
        assert_eq!(script("#!/bin/sh\n"), named("/bin/sh", None));
        let env = named("/usr/bin/env", Some("-S python3 -u"));
        assert_eq!(script("#! /usr/bin/env \t-S python3 -u \nx"), env);
        assert_eq!(script("#!"), Image::Other);
        assert_eq!(script("echo hello\n"), Image::Other);
    }
}
