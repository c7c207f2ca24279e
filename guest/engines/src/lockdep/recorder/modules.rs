//! Modules as they come and go: which were there before, and addresses that last.
//!
//! An address in code has a meaning as long as its module is there. What is recorded for good, as a class or a context is, is
//! found again by keys, and these are made of *lasting* addresses. A module's begin where it was loaded first. If another
//! module had been there before it, they begin where no code can be. Loaded again, the module has the same lasting addresses
//! wherever it lies; so its locks keep their classes, and a module that lies where another was has none of the other's.
//!
//! Until a module has come to lie where another was, or elsewhere than before, lasting addresses are addresses: then nothing is
//! looked up. And until one is unloaded, nothing is kept but rows. Those have addresses as they are, and their epoch.

use lockwright_ledger::Writer;
use lockwright_ledger::rows::{Module, Stack};

use crate::capture::MAX_FRAMES;
use crate::index::{Index, hash};
use crate::lockdep::key::text_hash;

/// How far the lasting address of what is at an address lies above it (modulo 2^64). `None` if no module is there.
pub type Shift = fn(u64) -> Option<u64>;

/// A module that the host has found.
#[derive(Clone, Copy, Debug)]
pub struct Image<'a> {
    /// Where it lies. Its texts and epochs are left out.
    pub at: Module,
    /// Its path.
    pub path: &'a [u8],
    /// Its build id, empty if it has none.
    pub build_id: &'a [u8],
    /// Something that was a module lies there.
    pub is_over: bool,
}

/// A module that was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Its row, 0 if there was no room.
    pub row: u32,
    /// See [`Shift`].
    pub shift: u64,
}

/// Lasting addresses where no code can be begin here, those of each module at a multiple of [`APART`].
const ELSEWHERE: u64 = 1 << 55;
/// Modules are not larger.
const APART: u64 = 1 << 31;

/// Modules of one file that are there at a time, and are known when they come again.
const MOST_COPIES: u64 = 16;

/// Bytes of a path that tell files apart, as does its length.
const MOST_OF_PATH: usize = 512;
/// Bytes of a build id that do.
const MOST_OF_ID: usize = 64;

/// The recorded modules.
pub(crate) struct Modules {
    shift: Option<Shift>,
    /// By file and copy: the first row of the module.
    first: Index,
    /// By file and copy: its last row.
    last: Index,
    /// By row, if it is not the module's first: that.
    firsts: Index,
    /// By first row: its lasting addresses are where no code can be.
    elsewhere: Index,
    /// Where modules were that are gone: between these.
    gone: [u64; 2],
    /// Epoch of the newest row.
    newest: u32,
    /// Some lasting addresses are not the addresses.
    have_moved: bool,
}

impl Modules {
    pub(super) const fn new() -> Self {
        Self {
            shift: None,
            first: Index::new(),
            last: Index::new(),
            firsts: Index::new(),
            elsewhere: Index::new(),
            gone: [u64::MAX, 0],
            newest: 0,
            have_moved: false,
        }
    }

    /// Has shifts looked up by `shift`.
    pub(crate) fn set_shift(&mut self, shift: Shift) {
        self.shift = Some(shift);
    }

    /// Some module is gone.
    pub(super) fn were_unloaded(&self) -> bool {
        self.gone[1] != 0
    }

    /// Some lasting addresses are not the addresses.
    pub(super) fn have_moved(&self) -> bool {
        self.have_moved
    }

    /// Records that a module was found, in this epoch.
    pub(crate) fn load(&mut self, writer: &mut Writer, image: &Image<'_>, epoch: u32) -> Loaded {
        let (row, first) = match self.were_unloaded() {
            true => self.load_known(writer, image, epoch),
            false => self.load_new(writer, image, epoch),
        };
        if row == 0 {
            return Loaded::default();
        }
        let shift = self.begin(writer, first).wrapping_sub(image.at.start);
        self.have_moved |= shift != 0;
        Loaded { row, shift }
    }

    /// A module that may have been there before. Its row, and its first row.
    fn load_known(&mut self, writer: &mut Writer, image: &Image<'_>, epoch: u32) -> (u32, u32) {
        let size = image.at.end.wrapping_sub(image.at.start);
        let file = file_key(image.path, image.path.len(), image.build_id, size);
        let last = |key| self.last.get(writer, key).and_then(|row| writer.get::<Module>(row));
        let is_there = |key: &u64| last(*key).is_some_and(|last| last.unload_epoch == 0);
        let Some(key) = copies(file).find(|key| !is_there(key)) else {
            return self.load_new(writer, image, epoch);
        };
        let rows = match self.first.get(writer, key) {
            Some(first) => (self.load_again(writer, image, key, first, epoch), first),
            None => self.load_new(writer, image, epoch),
        };
        if rows.0 != 0 {
            self.first.insert(writer, key, rows.1);
            self.last.insert(writer, key, rows.0);
        }
        rows
    }

    /// A module that was not there before.
    fn load_new(&mut self, writer: &mut Writer, image: &Image<'_>, epoch: u32) -> (u32, u32) {
        let was_other = self.was_other(writer, image);
        let row = self.push(writer, image, None, epoch);
        if was_other {
            self.elsewhere.insert(writer, hash(&[u64::from(row)]), 1);
        }
        (row, row)
    }

    /// Has in its indexes what is recorded.
    fn learn(&mut self, writer: &mut Writer) {
        for id in 1..writer.len_of::<Module>() {
            let Some(&row) = writer.get::<Module>(id) else { continue };
            let (mut path, mut build_id) = ([0; MOST_OF_PATH], [0; MOST_OF_ID]);
            let path = writer.read_text(row.path, &mut path);
            let build_id = writer.read_text(row.build_id, &mut build_id);
            let size = row.end.wrapping_sub(row.start);
            let file = file_key(path, row.path.len as usize, build_id, size);
            if let Some(key) = copies(file).find(|&key| self.first.get(writer, key).is_none()) {
                self.first.insert(writer, key, id);
                self.last.insert(writer, key, id);
            }
        }
    }

    /// Whether another module was where this one is.
    fn was_other(&self, writer: &Writer, image: &Image<'_>) -> bool {
        let Image { at, is_over, .. } = image;
        let [from, to] = self.gone;
        let overlaps = |row: &Module| row.start < at.end && at.start < row.end;
        (*is_over || at.start < to && from < at.end)
            && (1..writer.len_of::<Module>()).any(|id| writer.get(id).is_some_and(overlaps))
    }

    /// Records a module of a process's parent, in this epoch.
    pub(crate) fn inherit(&mut self, writer: &mut Writer, row: Module) -> u32 {
        self.newest = row.load_epoch;
        writer.push(row).unwrap_or(0)
    }

    /// A module is there again of which `first` is the first row.
    fn load_again(
        &mut self,
        writer: &mut Writer,
        image: &Image<'_>,
        key: u64,
        first: u32,
        epoch: u32,
    ) -> u32 {
        let last = self.last.get(writer, key).unwrap_or(first);
        let Some(&before) = writer.get::<Module>(last) else { return 0 };
        let is_same = |a: &Module, b: &Module| (a.start, a.end, a.bias) == (b.start, b.end, b.bias);
        // Nothing new has come since it went. So nothing else has been there in its place, and its row still holds. (Where
        // something has, the newer of the two rows is younger than the other's end, for good.)
        if is_same(&before, &image.at) && self.newest < before.unload_epoch {
            writer.update::<Module>(last, |row| {
                row.unload_epoch = 0;
                row.inlined = image.at.inlined;
                (row.inlined_watched, row.inlined_acquisitions) = (0, 0);
            });
            return last;
        }
        let row = self.push(writer, image, Some(&before), epoch);
        self.firsts.insert(writer, hash(&[u64::from(row)]), first);
        row
    }

    /// A new row. Its texts are those of `before`, if it was there before.
    fn push(
        &mut self,
        writer: &mut Writer,
        image: &Image<'_>,
        before: Option<&Module>,
        epoch: u32,
    ) -> u32 {
        let (path, build_id) = match before {
            Some(before) => (before.path, before.build_id),
            None => (writer.text(image.path), writer.text(image.build_id)),
        };
        self.newest = epoch;
        writer.push(Module { load_epoch: epoch, path, build_id, ..image.at }).unwrap_or(0)
    }

    /// Records that a module is gone from this epoch on.
    pub(crate) fn unload(&mut self, writer: &mut Writer, row: u32, epoch: u32) {
        let Some(&Module { start, end, .. }) = writer.get(row) else { return };
        if !self.were_unloaded() {
            self.learn(writer);
        }
        writer.update::<Module>(row, |row| row.unload_epoch = epoch);
        self.gone = [self.gone[0].min(start), self.gone[1].max(end)];
    }

    /// The first row of the module of this row.
    pub(super) fn first_row(&self, writer: &Writer, row: u32) -> u32 {
        self.firsts.get(writer, hash(&[u64::from(row)])).unwrap_or(row)
    }

    /// Where the lasting addresses of a module begin, by its first row.
    fn begin(&self, writer: &Writer, first: u32) -> u64 {
        match self.elsewhere.get(writer, hash(&[u64::from(first)])) {
            Some(_) => ELSEWHERE.wrapping_add(APART.wrapping_mul(first.into())),
            None => writer.get::<Module>(first).map_or(0, |row| row.start),
        }
    }

    /// How far the lasting address of what is at `address` now lies above it; `None` if that is in no module.
    pub(super) fn shift(&self, address: u64) -> Option<u64> {
        self.shift.and_then(|shift| shift(address))
    }

    /// The lasting address of what is at `address` now, which is in no module or in one that is there.
    pub(crate) fn lasting(&self, address: u64) -> u64 {
        match self.have_moved {
            true => address.wrapping_add(self.shift(address).unwrap_or(0)),
            false => address,
        }
    }

    /// A hash of the lasting addresses of what is at `frames` now.
    pub(super) fn lasting_hash(&self, frames: &[u64]) -> u64 {
        if !self.have_moved {
            return hash(frames);
        }
        let mut lasting = [0; MAX_FRAMES];
        let n = frames.len().min(MAX_FRAMES);
        for (lasting, &frame) in lasting.iter_mut().zip(&frames[..n]) {
            *lasting = self.lasting(frame);
        }
        hash(&lasting[..n])
    }

    /// The lasting address of what was at `address` when `stack` was taken.
    pub(super) fn lasting_of(&self, writer: &Writer, stack: &Stack, address: u64) -> u64 {
        if !self.have_moved {
            return address;
        }
        let was_there = |row: &Module| {
            (row.start..row.end).contains(&address)
                && row.load_epoch <= stack.epoch
                && (row.unload_epoch == 0 || stack.epoch < row.unload_epoch)
        };
        let rows = (1..writer.len_of::<Module>())
            .rev()
            .filter_map(|id| Some((id, writer.get::<Module>(id).filter(|row| was_there(row))?)));
        rows.into_iter().next().map_or(address, |(id, row)| {
            let begin = self.begin(writer, self.first_row(writer, id));
            address.wrapping_sub(row.start).wrapping_add(begin)
        })
    }
}

/// What tells files apart.
fn file_key(path: &[u8], path_len: usize, build_id: &[u8], size: u64) -> u64 {
    let path = &path[..path.len().min(MOST_OF_PATH)];
    let build_id = &build_id[..build_id.len().min(MOST_OF_ID)];
    hash(&[text_hash(path), path_len as u64, text_hash(build_id), size])
}

/// The keys of modules of one file.
fn copies(file: u64) -> impl Iterator<Item = u64> {
    (0..MOST_COPIES).map(move |copy| hash(&[file, copy]))
}
