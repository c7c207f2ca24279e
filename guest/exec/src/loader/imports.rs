//! The imports of an object: the words in it that the loader sets to functions' addresses, as
//! the ELF specification and its supplement for the machine have them.

use core::ffi::CStr;
use core::sync::atomic::AtomicUsize;

use super::object::Object;
use crate::arch::{GLOB_DAT, JUMP_SLOT};

/// A word of an object that is the address of another's function.
pub struct Import<'a> {
    /// The function's name.
    pub name: &'a CStr,
    /// The word. Until the function's first call it may be an address in the object itself.
    pub word: &'a AtomicUsize,
    /// The number of the symbol.
    symbol: usize,
}

impl Object {
    /// Calls `f` with each word that is the address of another object's symbol.
    ///
    /// # Safety
    /// The object stays meanwhile.
    pub unsafe fn imports(&self, f: &mut dyn FnMut(Import<'_>)) {
        let (relocations, bytes) = self.relocations;
        let size = size_of::<libc::Elf64_Rela>();
        // Those that name no symbol come first.
        let relative = self.relative.min(bytes / size);
        for (table, from, bytes) in
            [(relocations, relative, bytes), (self.calls.0, 0, self.calls.1)]
        {
            if table.is_null() || self.symbols.is_null() || self.names.is_null() {
                continue;
            }
            for at in from..bytes / size {
                // SAFETY: the table has as many, and its symbols and names are where it says.
                unsafe {
                    let entry = &*table.add(at);
                    let kind = entry.r_info & 0xffff_ffff;
                    let symbol = (entry.r_info >> 32) as usize;
                    let what = &*self.symbols.add(symbol);
                    let is_import = kind == GLOB_DAT || kind == JUMP_SLOT;
                    if is_import && symbol != 0 && what.st_shndx == 0 {
                        let name = CStr::from_ptr(self.names.add(what.st_name as usize));
                        let word = self.loaded(entry.r_offset) as *mut usize;
                        f(Import { name, word: AtomicUsize::from_ptr(word), symbol });
                    }
                }
            }
        }
    }

    /// The version of the function that is asked for, if it is one.
    ///
    /// # Safety
    /// An import of this object, which stays.
    pub unsafe fn version_of(&self, import: &Import<'_>) -> Option<&CStr> {
        // SAFETY: the caller promises an import of this object, so the index is one of its symbols.
        unsafe { self.needed_version(import.symbol) }
    }
}
