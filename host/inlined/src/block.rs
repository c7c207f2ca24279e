//! The block of code that places call: instructions are appended to it, with relocations where they name the module.

use iced_x86::{
    Code, ConditionCode, Encoder, FlowControl, Instruction, MemoryOperand, OpKind, Register,
};
use lockwright_ledger::inlined::{Hook, Keeps, Relocation, SLOTS, slot};

use crate::counts::Reason;

/// Code for x86-64.
pub struct Block {
    /// Its bytes. Those that relocations fill in are zero.
    pub code: Vec<u8>,
    /// Where it names the module.
    pub relocations: Vec<Relocation>,
    encoder: Encoder,
    /// A fault that tests plant: the depth of the stack is not added.
    #[cfg(test)]
    pub forgets_depth: bool,
    /// Another one: the first register that is to be kept is not.
    #[cfg(test)]
    pub forgets_register: bool,
}

/// Where jumps inside the block go to that have been written before their target.
#[derive(Default)]
#[must_use]
pub struct Label(Vec<usize>);

impl Block {
    /// The table of pointers alone.
    pub fn new() -> Self {
        Self {
            code: vec![0; SLOTS * 8],
            relocations: Vec::new(),
            encoder: Encoder::new(64),
            #[cfg(test)]
            forgets_depth: false,
            #[cfg(test)]
            forgets_register: false,
        }
    }

    /// How long it is.
    pub fn len(&self) -> usize {
        self.code.len()
    }

    /// Takes back all that came after a point.
    pub fn truncate(&mut self, len: usize) {
        self.code.truncate(len);
        self.relocations.retain(|relocation| (relocation.next as usize) <= len);
    }

    /// Appends bytes of code.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.code.extend_from_slice(bytes);
    }

    /// Moves the stack pointer, and leaves the flags as they are.
    pub fn move_stack(&mut self, bytes: i8) {
        // lea rsp, [rsp + bytes]
        self.bytes(&[0x48, 0x8d, 0x64, 0x24, bytes.cast_unsigned()]);
    }

    /// Keeps the register of this number, so many bytes above the stack pointer.
    pub fn keep(&mut self, register: u8, slot: u8) {
        self.move_register(0x89, register, slot);
    }

    /// Gives it back.
    pub fn give_back_register(&mut self, register: u8, slot: u8) {
        self.move_register(0x8b, register, slot);
    }

    /// mov [rsp + slot], register, or the other way round
    fn move_register(&mut self, opcode: u8, register: u8, slot: u8) {
        let prefix = 0x48 | (register >> 3) << 2;
        self.bytes(&[prefix, opcode, 0x44 | (register & 7) << 3, 0x24, slot]);
    }

    /// Gives back some bytes of the stack of the place's function, above which the return address comes to lie then.
    pub fn leave_frame(&mut self, bytes: i32) {
        // pop [rsp + bytes - 8], whose address is computed when the stack pointer is 8 up; lea rsp, [rsp + bytes - 8]
        let distance = (bytes - 8).to_le_bytes();
        self.bytes(&[0x8f, 0x84, 0x24]);
        self.bytes(&distance);
        self.bytes(&[0x48, 0x8d, 0xa4, 0x24]);
        self.bytes(&distance);
    }

    /// Calls a hook through the table.
    pub fn call_hook(&mut self, hook: Hook, keeps: Keeps) {
        self.bytes(&[0xff, 0x15]);
        let distance = (slot(hook, keeps) * 8) as i32 - (self.len() as i32 + 4);
        self.bytes(&distance.to_le_bytes());
    }

    /// Sets `esi`.
    pub fn set_flags(&mut self, flags: u32) {
        self.bytes(&[0xbe]);
        self.bytes(&flags.to_le_bytes());
    }

    /// Sets `rdi` to the address of an instruction's operand, where the stack is deeper than at the instruction.
    pub fn set_lock(&mut self, instruction: &Instruction, depth: i64) -> Result<(), Reason> {
        if instruction.segment_prefix() != Register::None {
            return Err(Reason::Operand);
        }
        let operand = MemoryOperand {
            segment_prefix: Register::None,
            base: instruction.memory_base(),
            index: instruction.memory_index(),
            scale: instruction.memory_index_scale(),
            displacement: instruction.memory_displacement64().cast_signed(),
            displ_size: instruction.memory_displ_size(),
            is_broadcast: false,
        };
        let lea = Instruction::with2(Code::Lea_r64_m, Register::RDI, operand);
        let mut lea = lea.map_err(|_| Reason::Operand)?;
        // Where the instruction was, its distances fit.
        lea.set_ip(instruction.ip());
        self.moved(&lea, depth)
    }

    /// Appends an instruction of the module, where the stack is deeper than there. Jumps are not among those.
    pub fn moved(&mut self, instruction: &Instruction, depth: i64) -> Result<(), Reason> {
        debug_assert_eq!(instruction.flow_control(), FlowControl::Next);
        let mut instruction = *instruction;
        #[cfg(test)]
        let depth = if self.forgets_depth { 0 } else { depth };
        let has_memory = (0..instruction.op_count())
            .any(|operand| instruction.op_kind(operand) == OpKind::Memory);
        if has_memory && instruction.memory_base() == Register::RSP {
            let displacement = instruction.memory_displacement64().cast_signed().checked_add(depth);
            let displacement = displacement.filter(|&sum| i32::try_from(sum).is_ok());
            instruction
                .set_memory_displacement64(displacement.ok_or(Reason::Operand)?.cast_unsigned());
            // A byte if it fits.
            instruction.set_memory_displ_size(1);
        }
        let (at, address) = (self.len(), instruction.ip());
        let is_relative = has_memory && instruction.is_ip_rel_memory_operand();
        let encoded = self.encoder.encode(&instruction, address);
        let bytes = self.encoder.take_buffer();
        encoded.map_err(|_| Reason::Operand)?;
        let offsets = self.encoder.get_constant_offsets();
        self.bytes(&bytes);
        if is_relative {
            let field = at + offsets.displacement_offset();
            self.relocate(field, instruction.ip_rel_memory_address());
        }
        Ok(())
    }

    /// Jumps to an address of the module, from where the stack is as it was there.
    pub fn jump_out(&mut self, target: u64) {
        self.bytes(&[0xe9, 0, 0, 0, 0]);
        self.relocate(self.len() - 4, target);
    }

    /// Calls a function of the module.
    pub fn call_out(&mut self, target: u64) {
        self.bytes(&[0xe8, 0, 0, 0, 0]);
        self.relocate(self.len() - 4, target);
    }

    /// Calls the function whose address a word of the module has.
    pub fn call_through(&mut self, word: u64) {
        self.bytes(&[0xff, 0x15, 0, 0, 0, 0]);
        self.relocate(self.len() - 4, word);
    }

    /// Jumps to the function whose address a word of the module has.
    pub fn jump_through(&mut self, word: u64) {
        self.bytes(&[0xff, 0x25, 0, 0, 0, 0]);
        self.relocate(self.len() - 4, word);
    }

    /// Jumps ahead on a condition.
    pub fn jump_if(&mut self, condition: ConditionCode, label: &mut Label) {
        // The conditions are in the order of their codes, from the first that is one.
        let code = condition as u8 - ConditionCode::o as u8;
        self.bytes(&[0x0f, 0x80 | code, 0, 0, 0, 0]);
        label.0.push(self.len());
    }

    /// Here is where jumps go to.
    pub fn bind(&mut self, label: Label) {
        for next in label.0 {
            let distance = (self.len() - next) as i32;
            self.code[next - 4..next].copy_from_slice(&distance.to_le_bytes());
        }
    }

    /// Goes back to the place.
    pub fn give_back(&mut self) {
        self.bytes(&[0xc3]);
    }

    /// The four bytes at `field`, which must be the displacement, come to name `target`. An instruction that ends with an immediate
    /// has that after them.
    fn relocate(&mut self, field: usize, target: u64) {
        self.code[field..field + 4].fill(0);
        let (at, next) = (field as u32, self.len() as u32);
        self.relocations.push(Relocation { target, at, next });
    }
}
