//! Files that were deleted or replaced on disk while a process runs them, as in an upgrade. The kernel marks their paths, and
//! still has them for who may see them: the executable as /proc/PID/exe, all as /proc/PID/map_files for root.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use lockwright_analysis::attached::maps::{DELETED, Mapping};
use lockwright_analysis::attached::{Maps, Memory};

/// What process `pid` has mapped by the `text` of its /proc/PID/maps; its paths begin at `root`.
pub fn maps_of(pid: u32, text: &[u8], root: &Path, memory: &impl Memory) -> Maps {
    let mut maps = Maps::new(&String::from_utf8_lossy(text), memory);
    maps.keep_deleted(root, |mapping| open(pid, mapping));
    maps
}

fn open(pid: u32, mapping: &Mapping) -> Option<File> {
    let of_mapping = format!("/proc/{pid}/map_files/{:x}-{:x}", mapping.start, mapping.end);
    let is_it = |file: &File| {
        file.metadata().is_ok_and(|it| it.is_file() && it.ino() == mapping.backing.inode)
    };
    let paths = [of_mapping, format!("/proc/{pid}/exe")];
    paths.iter().find_map(|path| File::open(path).ok().filter(is_it))
}

/// The path of a process's executable as it was, by the target of its /proc/PID/exe.
pub fn executable(target: &Path) -> String {
    let path = target.to_string_lossy();
    match path.strip_suffix(DELETED) {
        // A file's name may end so.
        Some(path) if fs::metadata(target).is_err() => path.to_owned(),
        _ => path.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_no_part_of_a_name() {
        assert_eq!(executable(Path::new("/nowhere/app (deleted)")), "/nowhere/app");
        assert_eq!(executable(Path::new("/nowhere/app")), "/nowhere/app");
        let named = std::env::temp_dir().join(format!("app {} (deleted)", std::process::id()));
        fs::write(&named, "").unwrap();
        assert_eq!(executable(&named), named.to_string_lossy());
        fs::remove_file(&named).unwrap();
    }
}
