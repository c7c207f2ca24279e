//! What registers and stack slots have along one way through a function, as far as copies and sums with constants show it.

use iced_x86::{
    Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register, UsedRegister,
};

use crate::function::is_call;

/// A value: a number, or something unknown with a number added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// A constant.
    Number(i64),
    /// Something unknown, and what has been added to it.
    Sum(Unknown, i64),
}

/// Something unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Unknown(u32);

impl Value {
    fn plus(self, number: i64) -> Self {
        match self {
            Self::Number(value) => Self::Number(value.wrapping_add(number)),
            Self::Sum(of, value) => Self::Sum(of, value.wrapping_add(number)),
        }
    }
}

/// How an address is made of two registers.
type Indexed = (Value, Value, u32);

/// The values at a point of the way.
pub struct Values {
    /// By number of the register.
    registers: [Value; 16],
    /// Words of the stack, by their address.
    stack: Vec<(Value, Value)>,
    /// Words of other memory that have been read, which nothing has been stored to since.
    memory: Vec<(Value, Value)>,
    indexed: Vec<(Indexed, Value)>,
    unknown: u32,
    info: InstructionInfoFactory,
}

/// The values of `rsp` and `rbp` at the beginning: what is addressed by them is the stack.
const STACK: [usize; 2] = [4, 5];

impl Values {
    /// Nothing is known.
    pub fn new() -> Self {
        Self {
            registers: std::array::from_fn(|number| Value::Sum(Unknown(number as u32), 0)),
            stack: Vec::new(),
            memory: Vec::new(),
            indexed: Vec::new(),
            unknown: 16,
            info: InstructionInfoFactory::new(),
        }
    }

    /// What a register has, if all of it or its lower half is meant.
    pub fn register(&self, register: Register) -> Option<Value> {
        let value = self.registers[number(register)?];
        match (register.size(), value) {
            (8, value) => Some(value),
            (4, Value::Number(value)) => Some(Value::Number(value & 0xffff_ffff)),
            (1, Value::Number(value)) if is_low(register) => Some(Value::Number(value & 0xff)),
            _ => None,
        }
    }

    /// The address of an instruction's operand in memory.
    pub fn address(&mut self, instruction: &Instruction) -> Option<Value> {
        if instruction.segment_prefix() != Register::None {
            return None;
        }
        let displacement = instruction.memory_displacement64().cast_signed();
        let base = match instruction.memory_base() {
            Register::None | Register::RIP => Value::Number(0),
            base if base.size() == 8 => self.register(base)?,
            _ => return None,
        };
        if instruction.memory_index() == Register::None {
            return Some(base.plus(displacement));
        }
        let index = self.register(instruction.memory_index())?;
        let key = (base, index, instruction.memory_index_scale());
        let known = self.indexed.iter().find(|(known, _)| *known == key).map(|known| known.1);
        let sum = known.unwrap_or_else(|| {
            let sum = self.fresh();
            self.indexed.push((key, sum));
            sum
        });
        Some(sum.plus(displacement))
    }

    /// Goes past an instruction.
    pub fn step(&mut self, instruction: &Instruction) {
        if is_call(instruction) {
            self.memory.clear();
            for register in SCRATCH {
                self.set(register, None);
            }
            return;
        }
        use Mnemonic::{Add, Dec, Inc, Lea, Mov, Pop, Push, Sub, Xor};
        let to = instruction.op0_register();
        let is_whole = instruction.op0_kind() == OpKind::Register && to.size() >= 4;
        match instruction.mnemonic() {
            Mov if is_whole => {
                let value = match instruction.op1_kind() {
                    OpKind::Register => self.register(instruction.op1_register()),
                    OpKind::Memory if to.size() == 8 => self.load(instruction),
                    OpKind::Memory => None,
                    _ => Some(Value::Number(instruction.immediate(1).cast_signed())),
                };
                self.set(to, value);
            }
            Mov if instruction.op0_kind() == OpKind::Memory => self.store(instruction),
            Xor if is_whole
                && instruction.op1_kind() == OpKind::Register
                && instruction.op1_register() == to =>
            {
                self.set(to, Some(Value::Number(0)));
            }
            Lea if is_whole => {
                let address = self
                    .address(instruction)
                    .filter(|address| to.size() == 8 || matches!(address, Value::Number(_)));
                self.set(to, address);
            }
            Add | Sub if is_whole && is_number(instruction.op1_kind()) => {
                let number = instruction.immediate(1).cast_signed();
                let number =
                    if instruction.mnemonic() == Sub { number.wrapping_neg() } else { number };
                let sum = self.register(to).map(|value| value.plus(number));
                self.set(to, sum);
            }
            Inc | Dec if is_whole => {
                let number = if instruction.mnemonic() == Inc { 1 } else { -1 };
                let sum = self.register(to).map(|value| value.plus(number));
                self.set(to, sum);
            }
            Push => {
                let top = self.registers[STACK[0]].plus(-8);
                let value = self.register(instruction.op0_register());
                self.registers[STACK[0]] = top;
                let value = value.unwrap_or_else(|| self.fresh());
                self.put(top, 8, value);
            }
            Pop if instruction.op0_kind() == OpKind::Register => {
                let top = self.registers[STACK[0]];
                let value = self.stack.iter().find(|(at, _)| *at == top).map(|known| known.1);
                self.set(to, value);
                self.registers[STACK[0]] = top.plus(8);
            }
            _ => self.forget(instruction),
        }
    }

    /// Whatever the instruction writes is unknown afterwards.
    fn forget(&mut self, instruction: &Instruction) {
        let info = self.info.info(instruction);
        let is_stored = info.used_memory().iter().any(|memory| is_written(memory.access()));
        let written: Vec<_> =
            info.used_registers().iter().copied().filter(is_register_written).collect();
        if is_stored {
            self.store(instruction);
        }
        for register in written {
            self.set(register.register(), None);
        }
    }

    fn load(&mut self, instruction: &Instruction) -> Option<Value> {
        let address = self.address(instruction)?;
        let known = self.stack.iter().chain(&self.memory).find(|(at, _)| *at == address);
        if let Some(known) = known {
            return Some(known.1);
        }
        let value = self.fresh();
        let words = if self.is_on_stack(address) { &mut self.stack } else { &mut self.memory };
        words.push((address, value));
        Some(value)
    }

    fn store(&mut self, instruction: &Instruction) {
        let Some(address) = self.address(instruction) else {
            self.memory.clear();
            return;
        };
        if !self.is_on_stack(address) {
            self.memory.clear();
            return;
        }
        let is_word = instruction.memory_size().size() == 8
            && instruction.mnemonic() == Mnemonic::Mov
            && instruction.op1_kind() == OpKind::Register;
        let value = if is_word { self.register(instruction.op1_register()) } else { None };
        let value = value.unwrap_or_else(|| self.fresh());
        let size = instruction.memory_size().size().max(8);
        self.put(address, size as i64, value);
    }

    /// Sets some bytes of the stack, of which the first eight are a value. Words that overlap them are unknown afterwards, and those
    /// that another register leads to, which may.
    fn put(&mut self, address: Value, size: i64, value: Value) {
        let Value::Sum(base, first) = address else { return };
        self.stack.retain(|(word, _)| match *word {
            Value::Sum(of, at) => {
                of == base && (at >= first.saturating_add(size) || at.saturating_add(8) <= first)
            }
            Value::Number(_) => false,
        });
        self.stack.push((address, value));
    }

    fn is_on_stack(&self, address: Value) -> bool {
        matches!(address, Value::Sum(Unknown(of), _) if STACK.contains(&(of as usize)))
    }

    fn set(&mut self, register: Register, value: Option<Value>) {
        let Some(number) = number(register) else { return };
        let value = match value {
            // The upper half of a register is zero after the lower has been written.
            Some(Value::Number(value)) if register.size() == 4 => {
                Some(Value::Number(value & 0xffff_ffff))
            }
            Some(Value::Sum(..)) if register.size() < 8 => None,
            value => value,
        };
        self.registers[number] = value.unwrap_or_else(|| self.fresh());
    }

    fn fresh(&mut self) -> Value {
        self.unknown += 1;
        Value::Sum(Unknown(self.unknown), 0)
    }
}

/// General registers that a callee may change.
const SCRATCH: [Register; 9] = [
    Register::RAX,
    Register::RCX,
    Register::RDX,
    Register::RSI,
    Register::RDI,
    Register::R8,
    Register::R9,
    Register::R10,
    Register::R11,
];

/// The number of a general register, whatever part of it is meant.
fn number(register: Register) -> Option<usize> {
    register.is_gpr().then(|| register.full_register().number())
}

fn is_low(register: Register) -> bool {
    !matches!(register, Register::AH | Register::BH | Register::CH | Register::DH)
}

fn is_number(kind: OpKind) -> bool {
    !matches!(kind, OpKind::Register | OpKind::Memory)
}

/// Whether an access leaves something else there.
pub fn is_written(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

/// Whether an instruction writes the register.
pub fn is_register_written(used: &UsedRegister) -> bool {
    is_written(used.access())
}

#[cfg(test)]
mod tests {
    use iced_x86::{Decoder, DecoderOptions};

    use super::*;

    fn after(bytes: &[u8]) -> Values {
        let mut values = Values::new();
        for instruction in Decoder::with_ip(64, bytes, 0x1000, DecoderOptions::NONE) {
            values.step(&instruction);
        }
        values
    }

    #[test]
    fn copies_and_sums_are_followed() {
        // lea rax,[rsi+8]; mov rdi,rax; mov [rsp+8],rdi; mov rbx,[rsp+8]; sub rbx,8
        let values = after(&[
            0x48, 0x8d, 0x46, 0x08, 0x48, 0x89, 0xc7, 0x48, 0x89, 0x7c, 0x24, 0x08, 0x48, 0x8b,
            0x5c, 0x24, 0x08, 0x48, 0x83, 0xeb, 0x08,
        ]);
        assert_eq!(values.register(Register::RBX), values.register(Register::RSI));
        assert_ne!(values.register(Register::RDI), values.register(Register::RSI));
    }

    #[test]
    fn what_is_stored_over_is_unknown() {
        // mov [rsp+8],rdi; mov dword [rsp+12],1; mov rbx,[rsp+8]
        let values = after(&[
            0x48, 0x89, 0x7c, 0x24, 0x08, 0xc7, 0x44, 0x24, 0x0c, 1, 0, 0, 0, 0x48, 0x8b, 0x5c,
            0x24, 0x08,
        ]);
        assert_ne!(values.register(Register::RBX), values.register(Register::RDI));
    }

    #[test]
    fn constants_are_known() {
        // mov edi,0xca; xor eax,eax; mov ecx,1; dec ecx
        let values = after(&[0xbf, 0xca, 0, 0, 0, 0x31, 0xc0, 0xb9, 1, 0, 0, 0, 0xff, 0xc9]);
        assert_eq!(values.register(Register::EDI), Some(Value::Number(0xca)));
        assert_eq!(values.register(Register::EAX), Some(Value::Number(0)));
        assert_eq!(values.register(Register::ECX), Some(Value::Number(0)));
    }
}
