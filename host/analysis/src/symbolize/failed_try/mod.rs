//! What a program does when a lock that it tries is taken, by its code: whether a trylock is but the first step of a lock that
//! waits. A run in which no try failed does not show that.
//!
//! From the return of the call on, the ways through the function are followed on which the try has failed, with what
//! registers and stack slots are known to have: a way ends where it waits for the same lock, or tries it again at the same
//! place, or returns. A call of an unknown function ends it, too, as that may release other locks. Only code for x86-64 is read.

mod called;
mod follows;
mod function;
mod values;
mod walk;

use std::path::Path;

use object::Architecture;
use object::read::Object;

use super::elf::with_elf_and_file;
use called::Imports;
pub use follows::FailedTry;
use function::Function;
use walk::Walk;

/// A function is looked at up to so many bytes.
const MOST_BYTES: u64 = 1 << 16;

/// What follows where the call that returns to `offset` in the file's address space has failed to take its lock. `function` is
/// the one that it is in, as symbols have it: its first address and its size.
pub fn after(path: &Path, offset: u64, function: Option<(u64, u64)>) -> Option<FailedTry> {
    with_elf_and_file(path, |elf, file| {
        if elf.architecture() != Architecture::X86_64 {
            return None;
        }
        let (start, size) =
            function.or_else(|| function::unwound(elf, file, offset.checked_sub(1)?))?;
        if size > MOST_BYTES || !(start..start.checked_add(size)?).contains(&offset) {
            return None;
        }
        let code = Function::read(elf, file, start, size)?;
        let imports = Imports::new(elf, file);
        Walk::new(&code, &imports).after(offset)
    })?
}
