//! Finds the separate debug file of a module, where gdb would: by build id, then by the file name
//! in `.gnu_debuglink`, both under the debug directories, and from the servers that the user names; and the
//! shared part that `dwz` split off.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use lockwright_ledger::file;
use object::read::Object;

use super::debuginfod::Servers;
use super::elf::{own_build_id, with_elf};

/// Directories that mirror the file system with debug files, `/usr/lib/debug` by default; and servers,
/// if the user names some.
#[derive(Clone, Debug)]
pub struct DebugDirs {
    dirs: Vec<PathBuf>,
    servers: Option<Servers>,
}

impl DebugDirs {
    /// Environment variable with further directories, separated by colons.
    pub const VARIABLE: &'static str = "LOCKWRIGHT_DEBUG_DIRS";

    /// The directories given, in order of preference.
    pub fn new(dirs: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { dirs: dirs.into_iter().collect(), servers: None }
    }

    /// Those of [`Self::VARIABLE`], then the system's, then the servers of `DEBUGINFOD_URLS`.
    pub fn from_env() -> Self {
        let mut dirs = Vec::new();
        if let Some(value) = std::env::var_os(Self::VARIABLE) {
            dirs.extend(std::env::split_paths(&value).filter(|path| path.is_absolute()));
        }
        dirs.push(PathBuf::from("/usr/lib/debug"));
        Self { dirs, servers: Servers::from_env() }
    }

    /// The debug file of the module at `path` with this build id (empty if it has none). `link` is
    /// its `.gnu_debuglink`: file name and CRC.
    pub fn find(
        &self,
        path: &Path,
        build_id: &[u8],
        link: Option<(&[u8], u32)>,
    ) -> Option<PathBuf> {
        self.by_build_id(build_id)
            .or_else(|| self.by_link(path, build_id, link?))
            .or_else(|| self.servers.as_ref()?.debug_file(build_id))
    }

    /// `<dir>/.build-id/ab/cdef.debug`. The name is the proof; only a file that says otherwise is
    /// turned away.
    fn by_build_id(&self, build_id: &[u8]) -> Option<PathBuf> {
        let (first, rest) = build_id.split_first()?;
        if rest.is_empty() {
            return None;
        }
        let hex: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
        let name = format!(".build-id/{first:02x}/{hex}.debug");
        self.dirs
            .iter()
            .map(|dir| dir.join(&name))
            .find(|path| path.is_file() && own_build_id(path).is_none_or(|found| found == build_id))
    }

    /// In the module's directory, in `.debug` there, and under each debug directory. A debug file
    /// of another build often lies under the same name, so its build id or, lacking that, its CRC
    /// decides.
    fn by_link(&self, path: &Path, build_id: &[u8], (name, crc): (&[u8], u32)) -> Option<PathBuf> {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let dir = real.parent()?;
        let name = Path::new(OsStr::from_bytes(name)).file_name()?;
        let below = dir.strip_prefix("/").unwrap_or(dir);
        let mut candidates = vec![dir.join(name), dir.join(".debug").join(name)];
        candidates.extend(self.dirs.iter().map(|root| root.join(below).join(name)));
        candidates.into_iter().filter(|candidate| *candidate != real).find(|candidate| {
            candidate.is_file()
                && match own_build_id(candidate) {
                    Some(found) if !build_id.is_empty() => found == build_id,
                    _ => crc32(candidate) == Some(crc),
                }
        })
    }

    /// The `dwz` file that the debug information in `path` refers to, if it does.
    pub fn supplement(&self, path: &Path) -> Option<PathBuf> {
        let (name, build_id) = with_elf(path, |file| {
            let (name, id) = file.gnu_debugaltlink().ok()??;
            Some((PathBuf::from(OsStr::from_bytes(name)), id.to_vec()))
        })??;
        // A relative name is relative to the file that names it.
        let named = path.canonicalize().ok()?.parent()?.join(name);
        if own_build_id(&named).is_some_and(|found| found == build_id) {
            return Some(named);
        }
        self.by_build_id(&build_id)
    }
}

/// The CRC-32 that `.gnu_debuglink` carries (ISO-HDLC, as zlib's), of a whole file.
fn crc32(path: &Path) -> Option<u32> {
    let mut file = file::open_solid(path).ok()?;
    let mut buffer = vec![0; 1 << 16];
    let mut crc = !0u32;
    loop {
        match file.read(&mut buffer).ok()? {
            0 => return Some(!crc),
            n => {
                for &byte in &buffer[..n] {
                    crc = (crc >> 8) ^ CRC_TABLE[((crc ^ u32::from(byte)) & 0xff) as usize];
                }
            }
        }
    }
}

const CRC_TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let mut value = i as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { 0xedb8_8320 ^ (value >> 1) } else { value >> 1 };
            bit += 1;
        }
        table[i] = value;
        i += 1;
    }
    table
};
