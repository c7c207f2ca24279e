//! A function's instructions, and the ways between them.

use std::collections::{HashMap, HashSet};

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, OpKind, Register, RflagsBits};

use crate::jump_tables;
use crate::landing_pads;
use crate::module::{Bounds, Module};

/// A function, decoded.
pub struct Function {
    /// Its instructions, by address.
    pub code: Vec<Instruction>,
    /// Which instructions jump to an address.
    jumps: HashMap<u64, Vec<usize>>,
    /// Addresses that are gone to in other ways: by tables, or by the unwinder.
    entries: HashSet<u64>,
    /// Whether all that can go to an address are known.
    pub is_whole: bool,
    /// Which of its instructions call a function that is a compare-and-exchange.
    pub exchanges: HashSet<usize>,
    /// Whether it keeps values below its stack pointer, where a call would overwrite them.
    pub uses_red_zone: bool,
}

impl Function {
    /// Decodes a function.
    pub fn read(module: &Module<'_>, bounds: Bounds) -> Option<Self> {
        let len = usize::try_from(bounds.end - bounds.start).ok()?;
        let bytes = module.code_from(bounds.start)?.get(..len)?;
        let code: Vec<_> =
            Decoder::with_ip(64, bytes, bounds.start, DecoderOptions::NONE).into_iter().collect();
        let mut jumps = HashMap::<_, Vec<_>>::new();
        for (at, instruction) in code.iter().enumerate() {
            let is_jump = matches!(
                instruction.flow_control(),
                FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
            );
            if is_jump {
                jumps.entry(instruction.near_branch_target()).or_default().push(at);
            }
        }
        let pads = landing_pads::landing_pads(module, bounds);
        let tables = jump_tables::targets(module, bounds, &code);
        let is_whole = pads.is_some() && tables.is_some();
        let mut entries = tables.unwrap_or_default();
        entries.extend(pads.into_iter().flatten().chain([bounds.start]));
        let uses_red_zone = uses_red_zone(&code);
        let exchanges = code.iter().enumerate().filter(|(_, call)| {
            let named = match call.flow_control() {
                FlowControl::Call => call.near_branch_target(),
                FlowControl::IndirectCall if call.is_ip_rel_memory_operand() => {
                    call.ip_rel_memory_address()
                }
                _ => return false,
            };
            module.exchanges.contains(&named)
        });
        let exchanges = exchanges.map(|(at, _)| at).collect();
        Some(Self { exchanges, code, jumps, entries, is_whole, uses_red_zone })
    }

    /// The instruction that begins at an address.
    pub fn at(&self, address: u64) -> Option<usize> {
        self.code.binary_search_by_key(&address, Instruction::ip).ok()
    }

    /// Whether anything else than the instruction before it can go to an instruction.
    pub fn is_target(&self, at: usize) -> bool {
        let address = self.code[at].ip();
        self.jumps.contains_key(&address) || self.entries.contains(&address)
    }

    /// Whether an instruction is gone to in other ways than by jumps: it is the first, or named by a table, or by the unwinder.
    pub fn is_entry(&self, at: usize) -> bool {
        self.entries.contains(&self.code[at].ip())
    }

    /// The instructions that go to one: the one before it, and jumps.
    pub fn before(&self, at: usize) -> impl Iterator<Item = usize> + '_ {
        let jumps = self.jumps.get(&self.code[at].ip()).into_iter().flatten().copied();
        self.falls_into(at).into_iter().chain(jumps)
    }

    /// The instruction before one, if it goes on there.
    pub fn falls_into(&self, at: usize) -> Option<usize> {
        at.checked_sub(1).filter(|&before| goes_on(&self.code[before]))
    }
}

/// Whether the instruction after it can be next.
pub fn goes_on(instruction: &Instruction) -> bool {
    matches!(
        instruction.flow_control(),
        FlowControl::Next
            | FlowControl::Call
            | FlowControl::IndirectCall
            | FlowControl::ConditionalBranch
    )
}

/// Whether it is a call.
pub fn is_call(instruction: &Instruction) -> bool {
    matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall)
}

/// A function that calls no other may keep up to 128 bytes below its stack pointer. Compilers have it do so only then.
fn uses_red_zone(code: &[Instruction]) -> bool {
    !code.iter().any(is_call)
        && code.iter().any(|instruction| {
            let has_memory = (0..instruction.op_count())
                .any(|operand| instruction.op_kind(operand) == OpKind::Memory);
            let is_on_stack = matches!(instruction.memory_base(), Register::RSP | Register::RBP);
            has_memory && is_on_stack && instruction.memory_displacement64().cast_signed() < 0
        })
}

/// Whether flags that were set before an instruction can be in use after it.
pub fn flags_are_used(code: &[Instruction]) -> bool {
    for instruction in code {
        if instruction.rflags_read() != 0 || instruction.flow_control() != FlowControl::Next {
            return true;
        }
        // All six that arithmetic sets.
        const ALL: u32 = RflagsBits::OF
            | RflagsBits::SF
            | RflagsBits::ZF
            | RflagsBits::AF
            | RflagsBits::CF
            | RflagsBits::PF;
        if instruction.rflags_modified() & ALL == ALL {
            return false;
        }
    }
    true
}
