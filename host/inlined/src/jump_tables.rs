//! Where a function's jump tables lead.
//!
//! A table's entries are distances from the table itself, as in `lea table(%rip), %rcx; movslq (%rcx,%rax,4), %rax; add %rcx, %rax;
//! jmp *%rax`. How long one is cannot be seen at once, so each address in constants that the function names counts as a table for as
//! long as its entries lead into the function. Entries too many only cost places.

use std::collections::HashSet;

use iced_x86::{FlowControl, Instruction, Mnemonic, OpKind, Register};

use crate::module::{Bounds, Module};

/// Entries of a table at most.
const MOST_ENTRIES: usize = 4096;

/// How far before its jump an entry's distance is added, in instructions.
const REACH: usize = 8;

/// The addresses that tables lead to. `None`: some jump is by a table that was not found.
pub fn targets(module: &Module<'_>, bounds: Bounds, code: &[Instruction]) -> Option<HashSet<u64>> {
    let mut targets = HashSet::new();
    let mut jumps = (0..code.len()).filter(|&at| jumps_by_table(code, at)).peekable();
    if jumps.peek().is_none() {
        return Some(targets);
    }
    let is_at = |address: u64| code.binary_search_by_key(&address, Instruction::ip).is_ok();
    for instruction in code {
        if instruction.mnemonic() != Mnemonic::Lea || !instruction.is_ip_rel_memory_operand() {
            continue;
        }
        let table = instruction.ip_rel_memory_address();
        let entries = module.constants_from(table).unwrap_or_default().chunks_exact(4);
        for entry in entries.take(MOST_ENTRIES) {
            let distance = i32::from_le_bytes(entry.try_into().expect("it has 4 bytes"));
            let target = table.wrapping_add_signed(distance.into());
            if !(bounds.start..bounds.end).contains(&target) || !is_at(target) {
                break;
            }
            targets.insert(target);
        }
    }
    (!targets.is_empty()).then_some(targets)
}

/// Whether the instruction jumps to a computed address: other jumps through registers and memory are calls at a function's end.
fn jumps_by_table(code: &[Instruction], at: usize) -> bool {
    let jump = &code[at];
    if jump.flow_control() != FlowControl::IndirectBranch {
        return false;
    }
    match jump.op0_kind() {
        OpKind::Register => code[at.saturating_sub(REACH)..at].iter().rev().any(|before| {
            before.mnemonic() == Mnemonic::Add && before.op0_register() == jump.op0_register()
        }),
        // Entries that are addresses themselves, of a program that is always loaded at the same place.
        OpKind::Memory => jump.memory_index() != Register::None && !jump.is_ip_rel_memory_operand(),
        _ => false,
    }
}
