//! The libraries that a program begins with, as its own loader lists them for ldd(1).

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Libraries of a program.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Modules {
    /// Their files.
    pub files: Vec<PathBuf>,
    /// Names of those that are not there.
    pub missing: Vec<String>,
}

impl Modules {
    /// What `loader` would load for `file`; nothing of the program is run. `None` if it does not
    /// say: then it is not known whether the loader itself is one to be trusted with that.
    pub fn of_file(file: &Path, loader: &Path) -> Option<Self> {
        let own = crate::run::target::find(Path::new("/proc/self/exe")).ok()?.loader?;
        // Run with a program's name, a stranger's loader could do anything.
        if loader.canonicalize().ok()? != own.canonicalize().ok()? {
            return None;
        }
        let mut command = Command::new(loader);
        command.arg("--list").arg(file).env_remove("LD_PRELOAD").stdin(Stdio::null());
        let output = command.output().ok()?;
        let modules = Self::parse(&String::from_utf8_lossy(&output.stdout));
        (output.status.success() || !modules.missing.is_empty()).then_some(modules)
    }

    /// `name => path (address)`, `path (address)`, `name => not found`.
    fn parse(listing: &str) -> Self {
        let mut modules = Self::default();
        for line in listing.lines().map(str::trim) {
            let (name, found) = line.split_once(" => ").unwrap_or((line, line));
            if found == "not found" {
                modules.missing.push(name.to_owned());
            } else if let Some((path, _)) = found.rsplit_once(" (") {
                modules.files.extend(path.starts_with('/').then(|| PathBuf::from(path)));
            }
        }
        modules
    }

    /// What a process has mapped, from the text of `/proc/PID/maps`.
    pub fn of_maps(maps: &str) -> Self {
        let mut files: Vec<PathBuf> = Vec::new();
        for line in maps.lines() {
            // Address, mode, offset, device, inode, path: only the last may have blanks in it.
            let mut rest = line;
            for _ in 0..5 {
                rest = rest.trim_start().split_once(' ').map_or("", |(_, rest)| rest);
            }
            let path = Path::new(rest.trim());
            let mode = line.split(' ').nth(1).unwrap_or_default();
            let is_code = mode.contains('x') && path.is_absolute();
            if is_code && files.iter().all(|file| file != path) {
                files.push(path.to_owned());
            }
        }
        Self { files, missing: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_loader_says() {
        let modules = Modules::parse(
            "\tlinux-vdso.so.1 (0x00007fd772bbe000)\n\
             \tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007fd772ac8000)\n\
             \tlibgone.so.1 => not found\n\
             \t/lib64/ld-linux-x86-64.so.2 (0x00007fd772bc0000)\n",
        );
        let files = ["/lib/x86_64-linux-gnu/libm.so.6", "/lib64/ld-linux-x86-64.so.2"];
        assert_eq!(modules.files, files.map(PathBuf::from));
        assert_eq!(modules.missing, ["libgone.so.1"]);
    }

    #[test]
    fn what_a_process_has_mapped() {
        let maps = "\
55d0-55d1 r--p 00000000 fe:00 12   /opt/my server/bin
55d1-55d2 r-xp 00001000 fe:00 12   /opt/my server/bin
7f00-7f01 rw-p 00000000 00:00 0
7f01-7f02 r-xp 00000000 fe:00 13                         /lib/libm.so.6
7ffc-7ffd r-xp 00000000 00:00 0                          [vdso]
";
        let files = ["/opt/my server/bin", "/lib/libm.so.6"];
        assert_eq!(Modules::of_maps(maps).files, files.map(PathBuf::from));
    }

    #[test]
    fn this_programs_own() {
        let own = Path::new("/proc/self/exe").canonicalize().unwrap();
        let target = crate::run::target::find(&own).unwrap();
        let modules = Modules::of_file(&target.file, &target.loader.unwrap()).unwrap();
        let has_libc = |file: &PathBuf| file.file_name().is_some_and(|name| name == "libc.so.6");
        assert!(modules.files.iter().any(has_libc), "{modules:?}");
    }
}
