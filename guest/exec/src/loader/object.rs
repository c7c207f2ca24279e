//! An object that the loader has loaded: its tables of symbols and versions, as the ELF
//! specification and `DT_GNU_HASH` have them.

use core::ffi::{CStr, c_char, c_void};

/// `struct link_map`, as far as it is public.
#[repr(C)]
pub struct LinkMap {
    pub addr: usize,
    _name: *const c_char,
    pub dynamic: *const Dynamic,
    pub next: *const LinkMap,
}

/// An entry of an object's dynamic section.
#[repr(C)]
pub struct Dynamic {
    tag: u64,
    value: usize,
}

const DT_PLTRELSZ: u64 = 2;
const DT_HASH: u64 = 4;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_RELA: u64 = 7;
const DT_RELASZ: u64 = 8;
const DT_RPATH: u64 = 15;
const DT_JMPREL: u64 = 23;
const DT_RUNPATH: u64 = 29;
const DT_GNU_HASH: u64 = 0x6fff_fef5;
const DT_VERSYM: u64 = 0x6fff_fff0;
const DT_RELACOUNT: u64 = 0x6fff_fff9;
const DT_VERDEF: u64 = 0x6fff_fffc;
const DT_VERNEED: u64 = 0x6fff_fffe;

/// A symbol whose value is a function that says where the function is.
const STT_GNU_IFUNC: u8 = 10;

/// A version's number that is none: the symbol has whichever version is asked for.
const VER_NDX_GLOBAL: u16 = 1;
/// In a symbol's version number: programs are linked with another version.
const HIDDEN: u16 = 1 << 15;

#[repr(C)]
struct VersionDefinition {
    _version: u16,
    _flags: u16,
    number: u16,
    _count: u16,
    _hash: u32,
    names: u32,
    next: u32,
}

#[repr(C)]
struct VersionNeed {
    _version: u16,
    _count: u16,
    _file: u32,
    first: u32,
    next: u32,
}

#[repr(C)]
struct NeededVersion {
    _hash: u32,
    _flags: u16,
    number: u16,
    name: u32,
    next: u32,
}

/// A function that was found.
#[derive(Clone, Copy)]
pub struct Function {
    /// Where it is.
    pub at: *mut c_void,
    /// Which object has it: a word of its own of each.
    pub object: usize,
}

/// Which version of a symbol is looked for.
#[derive(Clone, Copy)]
pub enum Version<'a> {
    /// The one of that name.
    Named(&'a CStr),
    /// The one that programs are linked with.
    Default,
    /// The first that is found.
    Any,
}

/// Where the tables of an object are.
pub struct Object {
    map: *const LinkMap,
    base: usize,
    pub(super) symbols: *const libc::Elf64_Sym,
    pub(super) names: *const c_char,
    gnu_hash: *const u32,
    hash: *const u32,
    versions: *const u16,
    definitions: *const u8,
    needs: *const u8,
    /// The relocations of the object's words, except [`Self::calls`], and their size in bytes.
    pub(super) relocations: (*const libc::Elf64_Rela, usize),
    /// The first of [`Self::relocations`] that name no symbol.
    pub(super) relative: usize,
    /// As [`Self::relocations`], of functions that may be looked up at their first call.
    pub(super) calls: (*const libc::Elf64_Rela, usize),
    /// It says where the libraries are that it loads.
    pub has_run_path: bool,
}

impl Object {
    /// # Safety
    /// A loaded object, which stays.
    pub unsafe fn of(map: &LinkMap) -> Self {
        // SAFETY: the caller promises a loaded object that stays, so its dynamic section is mapped.
        unsafe { Self { map, ..Self::at(map.addr, map.dynamic) } }
    }

    /// The object that is loaded so far above its own addresses, by its dynamic section.
    ///
    /// # Safety
    /// A loaded object, which stays.
    pub unsafe fn at(base: usize, dynamic: *const Dynamic) -> Self {
        let mut object = Self {
            map: core::ptr::null(),
            base,
            symbols: core::ptr::null(),
            names: core::ptr::null(),
            gnu_hash: core::ptr::null(),
            hash: core::ptr::null(),
            versions: core::ptr::null(),
            definitions: core::ptr::null(),
            needs: core::ptr::null(),
            relocations: (core::ptr::null(), 0),
            relative: 0,
            calls: (core::ptr::null(), 0),
            has_run_path: false,
        };
        let mut entry = dynamic;
        // SAFETY: the section ends with an entry whose tag is 0.
        while let Some(&Dynamic { tag, value }) = unsafe { entry.as_ref() }.filter(|e| e.tag != 0) {
            // The loader has made addresses of offsets, but not where the section is read-only.
            let at = if value < base { base + value } else { value };
            match tag {
                DT_RELA => object.relocations.0 = at as *const libc::Elf64_Rela,
                DT_RELASZ => object.relocations.1 = value,
                DT_RELACOUNT => object.relative = value,
                DT_JMPREL => object.calls.0 = at as *const libc::Elf64_Rela,
                DT_PLTRELSZ => object.calls.1 = value,
                DT_RPATH | DT_RUNPATH => object.has_run_path = true,
                DT_HASH => object.hash = at as *const u32,
                DT_STRTAB => object.names = at as *const c_char,
                DT_SYMTAB => object.symbols = at as *const libc::Elf64_Sym,
                DT_GNU_HASH => object.gnu_hash = at as *const u32,
                DT_VERSYM => object.versions = at as *const u16,
                DT_VERDEF => object.definitions = at as *const u8,
                DT_VERNEED => object.needs = at as *const u8,
                _ => {}
            }
            // SAFETY: the entry is not the last, which DT_NULL marks, so another one follows.
            entry = unsafe { entry.add(1) };
        }
        object
    }

    /// Where what the file has at `address` is loaded.
    pub(super) fn loaded(&self, address: u64) -> usize {
        self.base.wrapping_add(address as usize)
    }

    /// The function of that name and version that it has.
    pub fn find(&self, name: &CStr, version: Version<'_>) -> Option<Function> {
        // SAFETY: the object's own tables, of the form that ELF and `DT_GNU_HASH` give them.
        let index = unsafe {
            let is_wanted = |index: u32| self.is_wanted(index, name, version);
            // Without these there is nothing to find.
            if self.symbols.is_null() || self.names.is_null() {
                return None;
            }
            match (self.gnu_hash.is_null(), self.hash.is_null()) {
                (false, _) => find_by_gnu_hash(self.gnu_hash, name, is_wanted),
                (true, false) => find_by_hash(self.hash, name, is_wanted),
                (true, true) => None,
            }
        }?;
        // SAFETY: the index is that of one of the table's symbols.
        let symbol = unsafe { &*self.symbols.add(index as usize) };
        let at = self.base.wrapping_add(symbol.st_value as usize);
        let at = match symbol.st_info & 15 {
            // SAFETY: what such a symbol is: a function without arguments, called as the loader
            // calls it.
            STT_GNU_IFUNC => unsafe {
                core::mem::transmute::<usize, extern "C" fn() -> *mut c_void>(at)()
            },
            _ => at as *mut c_void,
        };
        Some(Function { at, object: self.map as usize })
    }

    /// Calls `f` with the name of each function or variable that others may find here.
    ///
    /// # Safety
    /// The object stays meanwhile.
    pub unsafe fn exports(&self, f: &mut dyn FnMut(&CStr)) {
        if self.symbols.is_null() || self.names.is_null() || self.gnu_hash.is_null() {
            return;
        }
        // SAFETY: the object's own tables: the symbols that are hashed come last, and the chain of
        // the last bucket that has one ends with the last of them.
        unsafe {
            let [buckets, first, filters, _] = self.gnu_hash.cast::<[u32; 4]>().read();
            let bucket = self.gnu_hash.add(4).cast::<u64>().add(filters as usize).cast::<u32>();
            let chain = bucket.add(buckets as usize);
            let begins = (0..buckets).map(|at| bucket.add(at as usize).read());
            let Some(mut last) = begins.max().filter(|&last| last >= first) else { return };
            while chain.add((last - first) as usize).read() & 1 == 0 {
                last += 1;
            }
            for index in first..=last {
                let symbol = &*self.symbols.add(index as usize);
                if symbol.st_shndx != 0 {
                    f(CStr::from_ptr(self.names.add(symbol.st_name as usize)));
                }
            }
        }
    }

    /// # Safety
    /// `index` is one of the object's table of symbols.
    unsafe fn is_wanted(&self, index: u32, name: &CStr, version: Version<'_>) -> bool {
        // SAFETY: the caller promises one of the table's indices; names are where the table says.
        unsafe {
            let symbol = &*self.symbols.add(index as usize);
            symbol.st_shndx != 0
                && symbol.st_value != 0
                && CStr::from_ptr(self.names.add(symbol.st_name as usize)) == name
                && self.has_version(index, version)
        }
    }

    /// # Safety
    /// As for [`Self::is_wanted`].
    unsafe fn has_version(&self, index: u32, wanted: Version<'_>) -> bool {
        if self.versions.is_null() {
            return true;
        }
        // SAFETY: there is a number for each symbol.
        let number = unsafe { self.versions.add(index as usize).read() };
        match wanted {
            Version::Any => true,
            Version::Default => number & HIDDEN == 0,
            Version::Named(_) if number <= VER_NDX_GLOBAL => true,
            // SAFETY: the number is of a symbol of this object, whose table of definitions is
            // mapped.
            Version::Named(name) => unsafe { self.version(number & !HIDDEN) == Some(name) },
        }
    }

    /// It was linked with that version of a function. `None` if it was not linked with the
    /// function.
    ///
    /// # Safety
    /// Its tables are still there.
    pub unsafe fn needs(&self, name: &CStr, version: &CStr) -> Option<bool> {
        if self.versions.is_null() || self.symbols.is_null() || self.names.is_null() {
            return None;
        }
        // SAFETY: symbols that are another object's come first, and what is hashed is its own. The
        // older table is of as many entries as there are symbols.
        let symbols = unsafe {
            match (self.gnu_hash.is_null(), self.hash.is_null()) {
                (false, _) => self.gnu_hash.add(1).read(),
                (true, false) => self.hash.add(1).read(),
                (true, true) => 0,
            }
        };
        // SAFETY: the index is below the number of symbols; their names and versions are where the
        // tables say.
        let index = (1..symbols).find(|&index| unsafe {
            let symbol = &*self.symbols.add(index as usize);
            symbol.st_shndx == 0 && CStr::from_ptr(self.names.add(symbol.st_name as usize)) == name
        })?;
        // SAFETY: there is a number for each symbol.
        let number = unsafe { self.versions.add(index as usize).read() } & !HIDDEN;
        // SAFETY: the number is of a symbol of this object, whose table of needed versions is
        // mapped.
        Some(unsafe { self.needed(number) } == Some(version))
    }

    /// The version of the symbol of that index that the object needs of another, if it is one.
    ///
    /// # Safety
    /// As for [`Self::is_wanted`].
    pub(super) unsafe fn needed_version(&self, index: usize) -> Option<&CStr> {
        if self.versions.is_null() {
            return None;
        }
        // SAFETY: there is a number for each symbol; the object's own table.
        unsafe { self.needed(self.versions.add(index).read() & !HIDDEN) }
    }

    /// The version of that number, of those that the object needs of others.
    ///
    /// # Safety
    /// The object is loaded and stays, so its table of needed versions is mapped.
    unsafe fn needed(&self, number: u16) -> Option<&CStr> {
        let mut at = self.needs;
        loop {
            // SAFETY: what is needed of one object, or null.
            let need = unsafe { at.cast::<VersionNeed>().as_ref() }?;
            // SAFETY: the first version is that far from it.
            let mut of_it = unsafe { at.add(need.first as usize) };
            loop {
                // SAFETY: `of_it` points to one of the needed versions, by the offsets of the
                // object's own table.
                let version = unsafe { &*of_it.cast::<NeededVersion>() };
                if version.number & !HIDDEN == number {
                    // SAFETY: an offset in the table of names.
                    return Some(unsafe { CStr::from_ptr(self.names.add(version.name as usize)) });
                }
                if version.next == 0 {
                    break;
                }
                // SAFETY: the next is that far from this one.
                of_it = unsafe { of_it.add(version.next as usize) };
            }
            if need.next == 0 {
                return None;
            }
            // SAFETY: the next is that far from this one.
            at = unsafe { at.add(need.next as usize) };
        }
    }

    /// The version of that number.
    ///
    /// # Safety
    /// The object is loaded and stays, so its table of definitions is mapped.
    unsafe fn version(&self, number: u16) -> Option<&CStr> {
        let mut at = self.definitions;
        loop {
            // SAFETY: `at` is null or points to a definition, by the offsets of the object's own
            // table.
            let definition = unsafe { at.cast::<VersionDefinition>().as_ref() }?;
            if definition.number == number {
                // SAFETY: its first name, by the offset in the table of names.
                return Some(unsafe {
                    let name = at.add(definition.names as usize).cast::<u32>().read();
                    CStr::from_ptr(self.names.add(name as usize))
                });
            }
            if definition.next == 0 {
                return None;
            }
            // SAFETY: the next is that far from this one.
            at = unsafe { at.add(definition.next as usize) };
        }
    }
}

/// By the table that all linkers make today: four words, a Bloom filter, and chains of hashes by
/// bucket.
///
/// # Safety
/// Such a table.
unsafe fn find_by_gnu_hash(
    table: *const u32,
    name: &CStr,
    is_wanted: impl Fn(u32) -> bool,
) -> Option<u32> {
    let hash = name
        .to_bytes()
        .iter()
        .fold(5381u32, |hash, &b| hash.wrapping_mul(33).wrapping_add(b.into()));
    // SAFETY: the caller promises such a table, and all places that are read lie in it.
    unsafe {
        let [buckets, first, filters, shift] = table.cast::<[u32; 4]>().read();
        let filter = table.add(4).cast::<u64>();
        let word = filter.add((hash / 64).checked_rem(filters)? as usize).read();
        if word >> (hash % 64) & word >> ((hash >> shift) % 64) & 1 == 0 {
            return None;
        }
        let bucket = filter.add(filters as usize).cast::<u32>();
        let chain = bucket.add(buckets as usize);
        let mut index = bucket.add(hash.checked_rem(buckets)? as usize).read();
        if index < first {
            return None;
        }
        loop {
            let entry = chain.add((index - first) as usize).read();
            if entry | 1 == hash | 1 && is_wanted(index) {
                return Some(index);
            }
            if entry & 1 != 0 {
                return None;
            }
            index += 1;
        }
    }
}

/// By the table of the ABI's first days, where there is no other.
///
/// # Safety
/// Such a table.
unsafe fn find_by_hash(
    table: *const u32,
    name: &CStr,
    is_wanted: impl Fn(u32) -> bool,
) -> Option<u32> {
    let hash = name.to_bytes().iter().fold(0u32, |hash, &b| {
        let hash = (hash << 4).wrapping_add(b.into());
        let high = hash & 0xf000_0000;
        (hash ^ high >> 24) & !high
    });
    // SAFETY: the caller promises such a table, and all places that are read lie in it.
    unsafe {
        let buckets = table.read();
        let chain = table.add(2 + buckets as usize);
        let mut index = table.add(2 + hash.checked_rem(buckets)? as usize).read();
        while index != 0 {
            if is_wanted(index) {
                return Some(index);
            }
            index = chain.add(index as usize).read();
        }
    }
    None
}
