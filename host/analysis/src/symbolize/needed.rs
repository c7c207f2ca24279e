//! Which libraries a library is linked against, by its file.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;

use object::Endianness;
use object::elf::DT_NEEDED;
use object::read::elf::{Dyn, ElfFile64};
use object::read::{File as Elf, ReadRef};

use super::elf::with_elf;

/// What files say that they need; each is read once.
#[derive(Default)]
pub struct Needed {
    /// By path.
    names: RefCell<HashMap<String, Vec<String>>>,
}

impl Needed {
    /// Whether the library at `path` is linked against that at `other`, which may have the longer
    /// name of its version. Not of a file that cannot be read.
    pub fn needs(&self, path: &str, other: &str) -> bool {
        let Some(file) = file_name(other) else { return false };
        let mut known = self.names.borrow_mut();
        let names = known.entry(path.to_owned()).or_insert_with(|| {
            let names = with_elf(Path::new(path), |elf| match elf {
                Elf::Elf64(elf) => names(elf),
                _ => None,
            });
            names.flatten().unwrap_or_default()
        });
        names.iter().any(|name| {
            // What was linked by its path, and has no name of its own, is needed by its path.
            let version = file_name(name).and_then(|name| file.strip_prefix(name));
            version.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }
}

fn file_name(path: &str) -> Option<&str> {
    Path::new(path).file_name().and_then(|name| name.to_str())
}

fn names<'data, R: ReadRef<'data>>(elf: &ElfFile64<'data, Endianness, R>) -> Option<Vec<String>> {
    let (endian, data, sections) = (elf.endian(), elf.data(), elf.elf_section_table());
    let (entries, strings) = sections.dynamic(endian, data).ok()??;
    let strings = sections.strings(endian, data, strings).ok()?;
    let needed =
        entries.iter().filter(|entry| entry.tag32(endian).map(i64::from) == Some(DT_NEEDED.0));
    let name = |entry: &_| strings.get(Dyn::val32(entry, endian)?).ok();
    let names = needed.filter_map(name).map(|name| String::from_utf8_lossy(name).into_owned());
    Some(names.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_need_the_c_library() {
        let program = std::env::current_exe().unwrap();
        let (program, needed) = (program.to_str().unwrap(), Needed::default());
        assert!(needed.needs(program, "/lib/x86_64-linux-gnu/libc.so.6"));
        assert!(needed.needs(program, "/elsewhere/libc.so.6.1.2"));
        assert!(!needed.needs(program, "/lib/x86_64-linux-gnu/libc.so.60"));
        assert!(!needed.needs(program, program));
        assert!(!needed.needs("/no/such/file", "/lib/x86_64-linux-gnu/libc.so.6"));
    }
}
