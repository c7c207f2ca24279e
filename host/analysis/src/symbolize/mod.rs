//! Addresses become names: modules by their recorded maps and build ids, functions, source lines
//! and inlined calls by symbol tables and DWARF.
//!
//! Everything is opened lazily and once; a file that changed since the run is not read.

pub mod allocator;
mod buffered;
mod debug_file;
mod debug_info;
pub mod debuginfod;
mod demangle;
pub mod elf;
mod failed_try;
mod frame_variables;
pub mod futexes;
mod generated;
mod holders;
mod image;
mod inlined;
pub mod inlined_locks;
mod inlined_names;
pub(crate) mod interpreted;
pub mod lock_expression;
mod lock_member;
mod lock_owner;
mod lock_types;
mod makers;
mod members;
mod merged_calls;
mod modules;
pub mod needed;
mod path;
pub mod portable;
mod seen_wrappers;
pub mod source;
mod symtab;
mod unit_names;
mod unit_walk;
mod waited_member;
pub mod wrapper;

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::Module;

pub use debug_file::DebugDirs;
pub use failed_try::FailedTry;
pub use image::{BEGINNINGS, has_dwarf};
pub use lock_member::LockMember;
pub use members::MemberPlace;

/// File name of the preload library once it is unpacked: how its own frames are known from others.
pub const PRELOAD_FILE_NAME: &str = "liblockwright.so";

/// Whether the module of this path is the preload library.
pub fn is_preload(path: &str) -> bool {
    Path::new(path).file_name().is_some_and(|name| name == PRELOAD_FILE_NAME)
}

use holders::Holders;
use image::{Image, Status};
use interpreted::{Inner, woven};
use makers::Makers;
pub(crate) use modules::Modules;
pub use modules::is_runtime;
use source::Sources;

use crate::finding::{Frame, MissingNames, ModuleNote};

/// A variable of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataSymbol {
    /// Demangled name.
    pub name: String,
    /// First address, in the ELF file's address space.
    pub start: u64,
    /// Bytes.
    pub size: u64,
}

/// Path and build id.
type ImageKey = (PathBuf, Vec<u8>);

/// The frames of one address or stack, shared by all who ask.
type Frames = Rc<[Frame]>;

/// Opened modules. Ledgers of processes that were forked from each other share theirs.
pub struct Images {
    dirs: DebugDirs,
    sources: Sources,
    open: RefCell<HashMap<ImageKey, Rc<Image>>>,
}

impl Images {
    /// No module open yet; debug files are sought in `dirs`.
    pub fn new(dirs: DebugDirs) -> Rc<Self> {
        Rc::new(Self { dirs, sources: Sources::of_this_machine(), open: RefCell::default() })
    }

    /// The variable that has this address in the file of a module; demangled.
    pub fn variable(&self, path: &Path, build_id: &[u8], address: u64) -> Option<String> {
        let image = self.get(path.to_owned(), build_id.to_owned());
        image.object(address).map(|symbol| demangle::demangle(&symbol.name))
    }

    /// What is at this address in the file of a module: calls that were inlined, innermost first,
    /// and the function that they are in.
    pub fn frames(&self, path: &Path, build_id: &[u8], address: u64) -> Vec<Frame> {
        self.get(path.to_owned(), build_id.to_owned()).frames(address)
    }

    fn get(&self, path: PathBuf, build_id: Vec<u8>) -> Rc<Image> {
        let mut open = self.open.borrow_mut();
        let key = (path, build_id);
        if let Some(image) = open.get(&key) {
            return Rc::clone(image);
        }
        let image = Rc::new(Image::open(&key.0, &key.1, &self.dirs));
        open.insert(key, Rc::clone(&image));
        image
    }
}

/// Where a call is in its file.
struct Place {
    /// The module's row.
    row: u32,
    /// Of its return address, in the file's address space.
    offset: u64,
    /// The first address and the size of its function, if there is a symbol.
    function: Option<(u64, u64)>,
    path: PathBuf,
    /// The file is the one that ran.
    is_same: bool,
}

/// Names for the addresses of one ledger.
pub struct Symbols<'l> {
    ledger: &'l Ledger,
    modules: Modules,
    images: Rc<Images>,
    seen_wrappers: HashSet<u64>,
    makers: OnceCell<Makers>,
    holders: OnceCell<Holders>,
    by_row: RefCell<HashMap<u32, Rc<Image>>>,
    by_pc: RefCell<HashMap<(u32, u64), Frames>>,
    by_stack: RefCell<HashMap<u32, Frames>>,
    failed_tries: RefCell<HashMap<(u32, u64), FailedTry>>,
    /// By module row and offset of the call that takes the mutex.
    flags: RefCell<HashMap<(u32, u64), Option<bool>>>,
    notes: RefCell<BTreeSet<ModuleNote>>,
}

impl<'l> Symbols<'l> {
    /// Reads the ledger's module table; opens nothing yet.
    pub fn new(ledger: &'l Ledger) -> Self {
        Self::with_images(ledger, Images::new(DebugDirs::from_env()))
    }

    /// As [`Symbols::new`], sharing opened modules with other ledgers.
    pub fn with_images(ledger: &'l Ledger, images: Rc<Images>) -> Self {
        Self {
            ledger,
            modules: Modules::new(ledger),
            images,
            seen_wrappers: seen_wrappers::addresses(ledger),
            makers: OnceCell::new(),
            holders: OnceCell::new(),
            by_row: RefCell::default(),
            by_pc: RefCell::default(),
            by_stack: RefCell::default(),
            failed_tries: RefCell::default(),
            flags: RefCell::default(),
            notes: RefCell::default(),
        }
    }

    /// The frames of stack `stack_id`, innermost first, inlined calls included, the tool's own left
    /// out. Empty for id 0.
    pub fn stack(&self, stack_id: u32) -> Rc<[Frame]> {
        if let Some(frames) = self.by_stack.borrow().get(&stack_id) {
            return Rc::clone(frames);
        }
        let (addresses, epoch) = self.ledger.stack(stack_id).unwrap_or_default();
        let makers = self.makers.get_or_init(|| {
            Makers::new(self.ledger, |address, epoch| self.return_address(address, epoch))
        });
        let holders = self.holders.get_or_init(|| {
            let frames = |address, epoch| self.return_address(address, epoch);
            Holders::new(self.ledger, &self.seen_wrappers, frames)
        });
        let mut frames = Vec::with_capacity(addresses.len());
        let mut inner = Vec::new();
        let mut wraps = true;
        for address in addresses {
            if let Some(interpreted) = Inner::of(self.ledger, address) {
                inner.push(interpreted);
                continue;
            }
            // What wraps does so where it is called for a lock, not wherever else it is.
            wraps &= self.seen_wrappers.contains(&address);
            let inlined = self.return_address(address, epoch);
            frames.extend(inlined.iter().map(|frame| {
                let is_none = makers.has(frame) || holders.has(frame);
                Frame { wraps, is_no_wrapper: is_none, ..frame.clone() }
            }));
        }
        let frames: Rc<[Frame]> = woven(frames, inner).into();
        self.by_stack.borrow_mut().insert(stack_id, Rc::clone(&frames));
        frames
    }

    /// The frames of the call that returns to `address`. [`Frame::offset`] is that of the return
    /// address itself; names and lines are those of the call, one byte before it, which may be the
    /// last instruction of its function.
    pub fn return_address(&self, address: u64, epoch: u32) -> Rc<[Frame]> {
        let call = address.saturating_sub(1);
        let Some((row, module)) = self.modules.at(call, epoch) else {
            let nameless = || Frame { offset: address, ..Frame::default() };
            return Rc::new([generated::frame(self.ledger, address).unwrap_or_else(nameless)]);
        };
        let offset = address.wrapping_sub(module.bias);
        if let Some(frames) = self.by_pc.borrow().get(&(*row, offset)) {
            return Rc::clone(frames);
        }
        let path = self.ledger.text(module.path);
        // The tool stands between a program and its threads; that is no news to the program's
        // author.
        if is_preload(&path) {
            return Rc::new([]);
        }
        let image = self.image(*row, module);
        let mut frames = image.frames(call.wrapping_sub(module.bias));
        for frame in &mut frames {
            frame.module = Some(path.clone());
            frame.build_id.clone_from(&image.build_id);
            frame.offset = offset;
            frame.function_offset = frame.function_offset.map(|from_call| from_call + 1);
        }
        let frames: Rc<[Frame]> = frames.into();
        self.by_pc.borrow_mut().insert((*row, offset), Rc::clone(&frames));
        frames
    }

    /// The variable that covers ELF address `offset` of module row `module_id`.
    pub fn data(&self, module_id: u32, offset: u64) -> Option<DataSymbol> {
        let module = self.ledger.get::<Module>(module_id)?;
        let image = self.image(module_id, &module);
        let symbol = image.object(offset)?;
        Some(DataSymbol {
            name: demangle::demangle(&symbol.name),
            start: symbol.start,
            size: symbol.size,
        })
    }

    /// Which member of the variable at ELF address `start` of module row `module_id` lies `offset`
    /// bytes into it; `None` where debug information does not say.
    pub fn member(&self, module_id: u32, start: u64, offset: u64) -> Option<MemberPlace> {
        let module = self.ledger.get::<Module>(module_id)?;
        self.image(module_id, &module).member(start, offset)
    }

    /// What follows where the trylock that a stack leads to fails, as far as the code of its caller tells.
    pub fn failed_try(&self, stack_id: u32) -> FailedTry {
        let (addresses, epoch) = self.ledger.stack(stack_id).unwrap_or_default();
        let of_code = addresses.into_iter().find(|&it| Inner::of(self.ledger, it).is_none());
        let Some(address) = of_code else { return FailedTry::GivesUp };
        let after = || {
            let Place { row, offset, function, path, is_same } = self.place(address, epoch)?;
            if let Some(&known) = self.failed_tries.borrow().get(&(row, offset)) {
                return Some(known);
            }
            let follows = failed_try::after(&path, offset, function).filter(|_| is_same);
            let follows = follows.unwrap_or_default();
            self.failed_tries.borrow_mut().insert((row, offset), follows);
            Some(follows)
        };
        after().unwrap_or_default()
    }

    /// Whether the function at frame `level` of a stack, as recorded, releases locks on some of its ways; `None` if its code
    /// does not say.
    pub fn releases(&self, stack_id: u32, level: usize) -> Option<bool> {
        let (addresses, epoch) = self.ledger.stack(stack_id)?;
        let Place { offset, function, path, is_same, .. } =
            self.place(*addresses.get(level)?, epoch)?;
        is_same.then(|| failed_try::releases(&path, offset, function)).flatten()
    }

    /// Whether the function that takes the mutex which a stack leads to, by a guard or itself, then waits for a flag, as far as its
    /// code tells.
    pub fn waits_for_flag(&self, stack_id: u32) -> bool {
        /// Functions of guards, one in the other.
        const MOST_GUARDS: usize = 6;
        let (addresses, epoch) = self.ledger.stack(stack_id).unwrap_or_default();
        let of_level = |&address: &u64| {
            let Place { row, offset, function, path, is_same } = self.place(address, epoch)?;
            let known = self.flags.borrow().get(&(row, offset)).copied();
            known.unwrap_or_else(|| {
                let answer = failed_try::waits_for_flag(&path, offset, function);
                let answer = answer.filter(|_| is_same);
                self.flags.borrow_mut().insert((row, offset), answer);
                answer
            })
        };
        addresses.iter().take(MOST_GUARDS).find_map(of_level).unwrap_or(false)
    }

    /// Whether the call that a stack leads to stands in a function, inlined nowhere, whose variables on the stack all last as long
    /// as its call, as far as debug information says.
    pub fn variables_last(&self, stack_id: u32) -> bool {
        let (addresses, epoch) = self.ledger.stack(stack_id).unwrap_or_default();
        let at = addresses.first().and_then(|&address| self.image_at(address, epoch));
        at.is_some_and(|(image, call)| image.variables_last(call))
    }

    /// The function that is called where a stack's first frame is, if the code there names it. It need not be on the stack: a
    /// function may end with a jump to the next.
    pub fn called_by_first(&self, stack_id: u32) -> Option<Frame> {
        let (addresses, epoch) = self.ledger.stack(stack_id)?;
        let &address = addresses.first()?;
        let Place { offset, path, is_same, .. } = self.place(address, epoch)?;
        let called = failed_try::called_at(&path, offset).filter(|_| is_same)?;
        // As of a call at the function's begin.
        let within = called.wrapping_sub(offset).wrapping_add(address).wrapping_add(1);
        self.return_address(within, epoch).iter().find(|frame| !frame.inlined).cloned()
    }

    /// Where the call that returns to `address` is in its file.
    fn place(&self, address: u64, epoch: u32) -> Option<Place> {
        let (row, module) = self.modules.at(address.saturating_sub(1), epoch)?;
        let frames = self.return_address(address, epoch);
        let code = frames.iter().find(|frame| !frame.inlined)?;
        let offset = address.wrapping_sub(module.bias);
        let start = code.function_offset.and_then(|within| offset.checked_sub(within));
        Some(Place {
            row: *row,
            offset,
            function: start.zip(code.function_size),
            path: PathBuf::from(OsStr::from_bytes(&self.ledger.raw_text(module.path))),
            is_same: self.image(*row, module).status == Status::Same,
        })
    }

    /// Path of module row `module_id`, empty if there is no such row.
    pub fn module_name(&self, module_id: u32) -> String {
        self.ledger.get::<Module>(module_id).map_or_else(String::new, |m| self.ledger.text(m.path))
    }

    /// What a reader of the report should know about the modules that were looked into so far:
    /// files that changed or are gone, and those without names or lines.
    pub fn notes(&self) -> Vec<ModuleNote> {
        self.notes.borrow().iter().cloned().collect()
    }

    fn image(&self, row: u32, module: &Module) -> Rc<Image> {
        if let Some(image) = self.by_row.borrow().get(&row) {
            return Rc::clone(image);
        }
        let path = PathBuf::from(OsStr::from_bytes(&self.ledger.raw_text(module.path)));
        let image = self.images.get(path, self.ledger.raw_text(module.build_id));
        self.note(&self.ledger.text(module.path), &image);
        self.by_row.borrow_mut().insert(row, Rc::clone(&image));
        image
    }

    fn note(&self, path: &str, image: &Image) {
        // The kernel's own page is no file and never was.
        if !path.contains('/') {
            return;
        }
        let missing = match (image.status, image.readable) {
            (Status::Changed, false) => MissingNames::Changed,
            (Status::Missing, false) => MissingNames::Unreadable,
            _ if !image.has_names() => MissingNames::Stripped,
            _ => return,
        };
        self.notes.borrow_mut().insert(ModuleNote { module: path.to_owned(), missing });
    }
}
