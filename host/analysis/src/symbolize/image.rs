//! One module's file with everything that can be said about its addresses: symbol tables and DWARF,
//! from the file itself or from its separate debug file.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use addr2line::Loader;
use gimli::{Range, constants as dw};
use lockwright_glibc::library::is_c_library;
use object::read::{Object, ObjectSection};

use super::debug_file::DebugDirs;
use super::debug_info::DebugInfo;
use super::demangle::{demangle, is_mangled};
use super::elf::with_elf;
use super::frame_variables::variables_last;
use super::inlined_names;
use super::lock_owner::{Call, Owner, Owners};
use super::members::{MemberPlace, Variables};
use super::merged_calls::CallsLeft;
use super::path::clean;
use super::symtab::{Symbol, SymbolTable};
use crate::finding::Frame;

/// What the file on disk turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The file that ran, as far as its build id tells.
    Same,
    /// There is no readable file.
    Missing,
    /// Another build lies there now.
    Changed,
}

/// A module, opened.
pub struct Image {
    /// Whether the module's own file could be used.
    pub status: Status,
    /// Anything at all could be read: the file or a debug file.
    pub readable: bool,
    /// What it had when it ran, if that is known.
    pub build_id: Option<Arc<[u8]>>,
    /// When the module's file was written.
    pub built: Option<SystemTime>,
    symbols: SymbolTable,
    dwarf: Option<Dwarf>,
    /// It is the C library, or was part of it.
    is_libc: bool,
    /// Go's linker made it: names have dots that mean something.
    is_go: bool,
}

/// Debug information that is read when it is first asked for: it may have to be unpacked, and the C
/// library's is some ten MiB.
struct Dwarf {
    file: PathBuf,
    supplement: Option<PathBuf>,
    loaded: OnceCell<Option<Loader>>,
    info: OnceCell<Option<DebugInfo>>,
    variables: OnceCell<Variables>,
    owners: OnceCell<Owners>,
}

impl Dwarf {
    fn loader(&self) -> Option<&Loader> {
        let load = || Loader::new_with_sup(&self.file, self.supplement.as_deref()).ok();
        self.loaded.get_or_init(load).as_ref()
    }

    fn info(&self) -> Option<&DebugInfo> {
        let read = || DebugInfo::read(&self.file, self.supplement.as_deref());
        self.info.get_or_init(read).as_ref()
    }

    fn member(&self, start: u64, offset: u64) -> Option<MemberPlace> {
        let info = self.info()?;
        self.variables.get_or_init(|| Variables::new(info)).member(info, start, offset)
    }

    fn owner(&self, call: Call<'_>) -> Option<(Owner, Option<CallsLeft>)> {
        let info = self.info()?;
        self.owners.get_or_init(|| Owners::new(info)).owner(info, call)
    }

    /// See [`inlined_names::names`].
    fn inlined_names(&self, address: u64) -> Vec<Option<String>> {
        let Some(info) = self.info() else { return Vec::new() };
        let owners = self.owners.get_or_init(|| Owners::new(info));
        owners
            .function(info, address, |files, function| {
                inlined_names::names(files, function, address)
            })
            .unwrap_or_default()
    }

    fn variables_last(&self, address: u64) -> bool {
        let Some(info) = self.info() else { return false };
        let owners = self.owners.get_or_init(|| Owners::new(info));
        owners.own_function(info, address, variables_last).unwrap_or(false)
    }
}

/// Functions of the C library that every stack ends in: where a program or a thread begins. Their
/// names say all there is, so nobody unpacks the C library's debug information for their lines.
pub const BEGINNINGS: &[&str] = &[
    "__libc_start_call_main",
    "__libc_start_main",
    "__libc_start_main_impl",
    "clone",
    "clone3",
    "__clone",
    "__clone3",
    "start_thread",
];

impl Image {
    /// Opens the module at `path`, which had `build_id` when it ran (empty: it had none, or it is
    /// not known). A file with another build id is not read; a debug file found by the recorded
    /// build id still is.
    pub fn open(path: &Path, build_id: &[u8], dirs: &DebugDirs) -> Self {
        let mut symbols = SymbolTable::default();
        let mut dwarf_from: Option<PathBuf> = None;
        let mut link = None;
        let mut is_go = false;
        let own = with_elf(path, |file| {
            let found = file.build_id().ok().flatten();
            if !build_id.is_empty() && found != Some(build_id) {
                return Status::Changed;
            }
            symbols.add(file);
            is_go = file.section_by_name(".gopclntab").is_some();
            if has_dwarf(file) {
                dwarf_from = Some(path.to_owned());
            }
            link = file.gnu_debuglink().ok().flatten().map(|(name, crc)| (name.to_vec(), crc));
            Status::Same
        });
        let status = own.unwrap_or(Status::Missing);
        let mut readable = status == Status::Same;
        if dwarf_from.is_none() {
            let link = link.as_ref().map(|(name, crc)| (name.as_slice(), *crc));
            if let Some(debug) = dirs.find(path, build_id, link) {
                let more = with_elf(&debug, |file| {
                    symbols.add(file);
                    has_dwarf(file)
                });
                readable |= more.is_some();
                if more == Some(true) {
                    dwarf_from = Some(debug);
                }
            }
        }
        symbols.finish();
        let dwarf = dwarf_from.map(|file| {
            let supplement = dirs.supplement(&file);
            Dwarf {
                file,
                supplement,
                loaded: OnceCell::new(),
                info: OnceCell::new(),
                variables: OnceCell::new(),
                owners: OnceCell::new(),
            }
        });
        let is_libc = is_c_library(&path.file_name().unwrap_or_default().to_string_lossy());
        let built = path.metadata().and_then(|file| file.modified()).ok();
        let build_id = (!build_id.is_empty()).then(|| build_id.into());
        Self { status, readable, build_id, built, symbols, dwarf, is_libc, is_go }
    }

    /// The frames at `address` (in the file's address space), innermost first: inlined calls, then
    /// the function itself. At least one, though it may know nothing but the address. `module` and
    /// `offset` are left to the caller.
    pub fn frames(&self, address: u64) -> Vec<Frame> {
        let symbol = self.symbols.function(address);
        let is_beginning = self.is_libc && symbol.is_some_and(begins_stacks);
        let mut frames = match is_beginning {
            true => Vec::new(),
            false => self.dwarf_frames(address).unwrap_or_default(),
        };
        if frames.is_empty() {
            frames.push(Frame::default());
        }
        let last = frames.len() - 1;
        for frame in &mut frames[..last] {
            frame.inlined = true;
        }
        let outer = &mut frames[last];
        if let Some(symbol) = symbol {
            // DWARF has an unscoped name where it has no linkage name (lambdas, clones of
            // constructors); the symbol table then knows better.
            if outer.function.is_none() || is_mangled(&symbol.name) {
                outer.function = Some(self.name(&symbol.name));
            }
            outer.function_offset = Some(address - symbol.start);
            outer.function_size = (symbol.size > 0).then_some(symbol.size);
        }
        frames
    }

    /// A function's name as people write it.
    fn name(&self, symbol: &str) -> String {
        match symbol.strip_suffix(".abi0") {
            Some(name) if self.is_go => name.to_owned(),
            None if self.is_go => symbol.to_owned(),
            _ => demangle(symbol),
        }
    }

    /// The variable that covers `address`.
    pub fn object(&self, address: u64) -> Option<&Symbol> {
        self.symbols.object(address)
    }

    /// Which member lies `offset` bytes into the variable at `start`.
    pub fn member(&self, start: u64, offset: u64) -> Option<MemberPlace> {
        self.dwarf.as_ref()?.member(start, offset)
    }

    /// What the lock of a call is by the types of what the source names.
    pub fn owner(&self, call: Call<'_>) -> Option<(Owner, Option<CallsLeft>)> {
        self.dwarf.as_ref()?.owner(call)
    }

    /// Whether the function with the code at `address` has variables on the stack, and all last as long as its call.
    pub fn variables_last(&self, address: u64) -> bool {
        self.dwarf.as_ref().is_some_and(|dwarf| dwarf.variables_last(address))
    }

    /// The lines of source that the code is of, each once.
    pub fn lines(&self, code: &[Range]) -> BTreeSet<(String, u32)> {
        let mut lines = BTreeSet::new();
        let Some(loader) = self.dwarf.as_ref().and_then(Dwarf::loader) else { return lines };
        for range in code {
            let Ok(found) = loader.find_location_range(range.begin, range.end) else { continue };
            let places = found.filter_map(|(.., place)| Some((clean(place.file?), place.line?)));
            lines.extend(places);
        }
        lines
    }

    /// There are names of functions.
    pub fn has_names(&self) -> bool {
        self.dwarf.is_some() || !self.symbols.is_empty()
    }

    /// `None` where there is no DWARF or it is damaged; what could be read before the damage is
    /// kept.
    fn dwarf_frames(&self, address: u64) -> Option<Vec<Frame>> {
        let mut found = self.dwarf.as_ref()?.loader()?.find_frames(address).ok()?;
        let mut frames: Vec<Frame> = Vec::new();
        let mut lacks_scope = false;
        while let Ok(Some(frame)) = found.next() {
            let name = frame.function.as_ref().and_then(|function| function.raw_name().ok());
            let place = frame.location.as_ref();
            let language = frame.function.as_ref().and_then(|function| function.language);
            lacks_scope |= language.is_some_and(has_scopes)
                && name.as_ref().is_some_and(|name| !is_mangled(name));
            frames.push(Frame {
                function: name.map(|name| self.name(&name)),
                file: place.and_then(|place| place.file).map(clean),
                line: place.and_then(|place| place.line).filter(|&line| line > 0),
                column: place.and_then(|place| place.column).filter(|&column| column > 0),
                ..Frame::default()
            });
            // Inlining nests as deep as people write it; more is a cycle in damaged data.
            if frames.len() == 256 {
                break;
            }
        }
        if lacks_scope && frames.len() > 1 {
            let names = self.dwarf.as_ref()?.inlined_names(address);
            if names.len() + 1 == frames.len() {
                for (frame, name) in frames.iter_mut().zip(names) {
                    frame.function = name.or(frame.function.take());
                }
            }
        }
        Some(frames)
    }
}

/// Whether functions without a linkage name may be in scopes that their own names lack.
fn has_scopes(language: gimli::DwLang) -> bool {
    matches!(
        language,
        dw::DW_LANG_C_plus_plus
            | dw::DW_LANG_C_plus_plus_03
            | dw::DW_LANG_C_plus_plus_11
            | dw::DW_LANG_C_plus_plus_14
            | dw::DW_LANG_C_plus_plus_17
            | dw::DW_LANG_C_plus_plus_20
    )
}

/// Whether it is one of [`BEGINNINGS`].
fn begins_stacks(symbol: &Symbol) -> bool {
    // The symbols of a shared library may have versions.
    let name = symbol.name.split('@').next().unwrap_or_default();
    BEGINNINGS.contains(&name)
}

/// Whether there is debug information in the file itself.
pub fn has_dwarf<'data>(file: &impl Object<'data>) -> bool {
    // A file made by `strip` or `--only-keep-debug` may keep an empty header of the section.
    [".", ".z"].iter().any(|prefix| {
        let name = format!("{prefix}debug_info");
        file.section_by_name(&name)
            .is_some_and(|section| section.file_range().is_some_and(|(_, size)| size > 0))
    })
}
