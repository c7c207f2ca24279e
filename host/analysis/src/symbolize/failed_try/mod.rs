//! What a program does when a lock that it tries is taken, by its code: whether a trylock is but the first step of a lock that
//! waits. A run in which no try failed does not show that.
//!
//! From the return of the call on, the ways through the function are followed on which the try has failed, with what
//! registers and stack slots are known to have: a way ends where it waits for the same lock, or tries it again at the same
//! place, or returns. A call of an unknown function ends it, too, as that may release other locks. Only code for x86-64 is read.

mod called;
mod flag;
mod follows;
mod function;
mod releases;
mod values;
mod walk;

use std::fs::File;
use std::path::Path;

use iced_x86::FlowControl;
use object::Architecture;
use object::read::Object;

use super::elf::with_elf_and_file;
use called::Imports;
use flag::Flag;
pub use follows::FailedTry;
use function::{Function, MOST_BYTES};
use releases::Code;
use walk::Walk;

/// What follows where the call that returns to `offset` in the file's address space has failed to take its lock. `function` is
/// the one that it is in, as symbols have it: its first address and its size.
pub fn after(path: &Path, offset: u64, function: Option<(u64, u64)>) -> Option<FailedTry> {
    with_elf_and_file(path, |elf, file| {
        let code = code_at(elf, file, offset, function)?;
        let imports = Imports::new(elf, file);
        Walk::new(&code, &imports).after(offset, &mut Code::new(elf, file, &imports))
    })?
}

/// Whether the function that a call at `offset` returns to releases locks on some of its ways; `None` if its code does not say.
pub fn releases(path: &Path, offset: u64, function: Option<(u64, u64)>) -> Option<bool> {
    with_elf_and_file(path, |elf, file| {
        let code = code_at(elf, file, offset, function)?;
        Code::new(elf, file, &Imports::new(elf, file)).releases(&code)
    })?
}

/// Whether the function that the call which returns to `offset` is in waits for a flag behind the mutex that it has taken by that;
/// `None` if it returns with the mutex, or its code does not say.
pub fn waits_for_flag(path: &Path, offset: u64, function: Option<(u64, u64)>) -> Option<bool> {
    with_elf_and_file(path, |elf, file| {
        let code = code_at(elf, file, offset, function)?;
        let imports = Imports::new(elf, file);
        match Walk::new(&code, &imports).flag_after(offset, &mut Code::new(elf, file, &imports))? {
            Flag::Waits => Some(true),
            Flag::None => Some(false),
            Flag::Returns => None,
        }
    })?
}

/// Where the call goes to that returns to `offset`, if its code names a place; that may be the linker's stub.
pub fn called_at(path: &Path, offset: u64) -> Option<u64> {
    /// Bytes of a call of a place that is named by its distance.
    const BYTES: u64 = 5;
    with_elf_and_file(path, |elf, file| {
        let is_read = elf.architecture() == Architecture::X86_64;
        let start = offset.checked_sub(BYTES).filter(|_| is_read)?;
        let call = Function::read(elf, file, start, BYTES)?.decoder(start)?.decode();
        let is_it = call.next_ip() == offset && call.flow_control() == FlowControl::Call;
        is_it.then(|| call.near_branch_target())
    })?
}

/// The code of the function that the call that returns to `offset` is in.
fn code_at<'data>(
    elf: &impl Object<'data>,
    file: &File,
    offset: u64,
    function: Option<(u64, u64)>,
) -> Option<Function> {
    if elf.architecture() != Architecture::X86_64 {
        return None;
    }
    let (start, size) =
        function.or_else(|| function::unwound(elf, file, offset.checked_sub(1)?))?;
    if size > MOST_BYTES || !(start..=start.checked_add(size)?).contains(&offset) {
        return None;
    }
    Function::read(elf, file, start, size)
}
