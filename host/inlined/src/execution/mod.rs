//! The code of places, run on the processor: what the module's instructions do where they are, and what they do with a call put there,
//! must be the same in all registers, flags and memory that are in use. The hooks change all that they may.
//!
//! `LOCKWRIGHT_INLINED_CASES` is how many cases are made up.

mod processor;

use iced_x86::{Code, ConditionCode, Encoder, Instruction, MemoryOperand, Mnemonic, Register};
use lockwright_ledger::inlined::{DEPTH, HOOKS, Hook, Keeps, scratch, slot};

use crate::block::Block;
use crate::function::flags_are_used;
use crate::operations::{self, Call, InUse, Moved, Outcome, Target};
use crate::registers::Registers;
use crate::rejoin;
use processor::{Processor, State, WORD};

/// Cases of a short test.
const CASES: usize = 20_000;

/// The flags that arithmetic sets.
const STATUS: u64 = 0x8d5;

const GENERAL: [Register; 16] = [
    Register::RAX,
    Register::RCX,
    Register::RDX,
    Register::RBX,
    Register::RSP,
    Register::RBP,
    Register::RSI,
    Register::RDI,
    Register::R8,
    Register::R9,
    Register::R10,
    Register::R11,
    Register::R12,
    Register::R13,
    Register::R14,
    Register::R15,
];
const CALLEE_KEEPS: [usize; 7] = [3, 4, 5, 12, 13, 14, 15];
const CALLEE_CHANGES: [u8; 9] = [0, 1, 2, 6, 7, 8, 9, 10, 11];
const RAX: usize = 0;
const RDX: usize = 2;
const RSP: usize = 4;
const RSI: usize = 6;
const RDI: usize = 7;
const ALL_HOOKS: [Hook; HOOKS] =
    [Hook::Acquired, Hook::Wants, Hook::Waits, Hook::Got, Hook::GaveUp, Hook::Releases];
const ALL_KEEPS: [Keeps; 3] = [Keeps::Callee, Keeps::General, Keeps::All];

fn cases() -> usize {
    let wanted = std::env::var("LOCKWRIGHT_INLINED_CASES").ok();
    wanted.map_or(CASES, |wanted| wanted.parse().expect("LOCKWRIGHT_INLINED_CASES is a number"))
}

/// A processor with hooks and exits.
struct Bench {
    processor: Processor,
    rng: fastrand::Rng,
    /// Where the function goes on, and where its cold half is.
    exits: [u64; 2],
    /// The address and record of each slot's hook.
    hooks: Vec<(u64, usize)>,
    /// Functions that return nothing, zero, and one.
    originals: [(u64, usize); 3],
    fault: Fault,
}

/// What is wrong with the code, on purpose.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    Depth,
    Register,
}

impl Bench {
    fn new(seed: u64, fault: Fault) -> Self {
        let mut processor = Processor::new();
        let exits = [0, 1].map(|number| processor.exit(number));
        // The call of the hook has put one word more there.
        let up = DEPTH as i32 + 8;
        let mut hooks = vec![(0, 0); HOOKS * ALL_KEEPS.len()];
        for hook in ALL_HOOKS {
            for keeps in ALL_KEEPS {
                let changes =
                    if keeps == Keeps::Callee { &CALLEE_CHANGES[..] } else { scratch(hook) };
                let stub = processor.stub(up, changes, keeps != Keeps::All, None);
                hooks[slot(hook, keeps)] = stub;
            }
        }
        let mut original = |rax| processor.stub(up, &CALLEE_CHANGES, true, Some(rax));
        let originals = [original(0x77), original(0x1200), original(0x1201)];
        let rng = fastrand::Rng::with_seed(seed);
        Self { processor, rng, exits, hooks, originals, fault }
    }

    fn block(&self) -> Block {
        let mut block = Block::new();
        block.forgets_depth = self.fault == Fault::Depth;
        block.forgets_register = self.fault == Fault::Register;
        block
    }

    /// A register that is none of some.
    fn register(&mut self, but: &[usize]) -> usize {
        loop {
            let number = self.rng.usize(..16);
            if number != RSP && !but.contains(&number) {
                return number;
            }
        }
    }

    fn state(&mut self) -> State {
        let mut state = State::default();
        for word in state.registers.iter_mut().chain(state.vectors.as_flattened_mut()) {
            *word = self.rng.u64(..);
        }
        state.flags = self.rng.u64(..) & STATUS | 0x202;
        state.registers[RSP] = self.processor.stack();
        state
    }

    /// Fills the locks and the stack.
    fn fill(&mut self) {
        let (locks, len) = self.processor.locks();
        let bytes: Vec<_> = (0..len).map(|_| self.rng.u8(..)).collect();
        self.processor.put(locks, &bytes);
        let bytes: Vec<_> = (0..STACK_BYTES).map(|_| self.rng.u8(..)).collect();
        self.processor.put(self.processor.stack(), &bytes);
    }

    fn memory(&self) -> [Vec<u8>; 2] {
        let (locks, len) = self.processor.locks();
        [self.processor.get(locks, len), self.processor.get(self.processor.stack(), STACK_BYTES)]
    }

    fn restore(&mut self, memory: &[Vec<u8>; 2]) {
        let locks = self.processor.locks().0;
        self.processor.put(locks, &memory[0]);
        self.processor.put(self.processor.stack(), &memory[1]);
    }

    /// Puts the block where it runs, and relocates it.
    fn load(&mut self, block: &Block) {
        let base = self.processor.block();
        let mut code = block.code.clone();
        for (slot, (hook, _)) in self.hooks.iter().enumerate() {
            code[8 * slot..8 * slot + 8].copy_from_slice(&hook.to_le_bytes());
        }
        for relocation in &block.relocations {
            let at = relocation.at as usize;
            let distance = relocation.target.wrapping_sub(base + u64::from(relocation.next));
            let distance = i32::try_from(distance.cast_signed()).expect("the pages are near");
            code[at..at + 4].copy_from_slice(&distance.to_le_bytes());
        }
        self.processor.put(base, &code);
    }

    /// Puts a call over some bytes at the beginning of the native code.
    fn patch(&mut self, entry: usize, len: usize) {
        let native = self.processor.native();
        let mut call = vec![0x90; len];
        let distance = (self.processor.block() + entry as u64).wrapping_sub(native + 5);
        call[0] = 0xe8;
        call[1..5].copy_from_slice(&(distance as u32).to_le_bytes());
        self.processor.put(native, &call);
    }

    /// The operand of an atomic instruction, whose address is in the state's registers now.
    fn operand(&mut self, state: &mut State, but: &[usize]) -> (MemoryOperand, Vec<usize>, u64) {
        let (locks, len) = self.processor.locks();
        let address = locks + self.rng.u64(..len as u64 - 8);
        let mut displacement = match self.rng.u8(..3) {
            0 => 0,
            1 => i64::from(self.rng.i8(..)),
            _ => i64::from(self.rng.i32(..)),
        };
        let size = u32::from(displacement != 0);
        let form = self.rng.u8(..5);
        match form {
            0 => {
                displacement = self.rng.i64(0..STACK_BYTES as i64 - 8);
                let operand = MemoryOperand::with_base_displ(Register::RSP, displacement);
                let stack = state.registers[RSP];
                (operand, vec![RSP], stack.wrapping_add_signed(displacement))
            }
            1 => {
                let operand = relative(address);
                (operand, Vec::new(), address)
            }
            2 => {
                let base = self.register(but);
                state.registers[base] = address.wrapping_add_signed(-displacement);
                let operand =
                    MemoryOperand::with_base_displ_size(GENERAL[base], displacement, size);
                (operand, vec![base], address)
            }
            form => {
                let index = self.register(but);
                let scale = [1, 2, 4, 8][self.rng.usize(..4)];
                let base = if form == 3 { RSP } else { self.register(&[but, &[index]].concat()) };
                if base == RSP {
                    let distance = address.wrapping_sub(state.registers[RSP]);
                    let times = distance.cast_signed().div_euclid(scale);
                    displacement = distance.cast_signed().rem_euclid(scale);
                    state.registers[index] = times.cast_unsigned();
                } else {
                    let times = state.registers[index].wrapping_mul(scale.cast_unsigned());
                    state.registers[base] =
                        address.wrapping_sub(times).wrapping_add_signed(-displacement);
                }
                let operand = MemoryOperand::with_base_index_scale_displ_size(
                    GENERAL[base],
                    GENERAL[index],
                    scale as u32,
                    displacement,
                    u32::from(displacement != 0),
                );
                (operand, vec![base, index], address)
            }
        }
    }

    /// Instructions that compilers put round atomic ones. They write none of some registers.
    fn others(&mut self, most: usize, but: &[usize], stack_from: i64) -> Vec<Instruction> {
        let number = self.rng.usize(..=most);
        let mut code = Vec::new();
        for _ in 0..number {
            let to = GENERAL[self.register(but)];
            let from = GENERAL[self.register(&[])];
            let number = self.rng.i32(..);
            let far = self.rng.bool();
            let slot = stack_from + self.rng.i64(0..if far { 200 } else { 64 });
            let slot = MemoryOperand::with_base_displ(Register::RSP, slot);
            let near = self.processor.locks().0 + self.rng.u64(..200);
            let near = relative(near);
            let instruction = match self.rng.u8(..8) {
                0 => Instruction::with2(Code::Mov_r64_rm64, to, from),
                1 => Instruction::with2(Code::Mov_r32_imm32, half(to), number),
                2 => Instruction::with2(Code::Lea_r64_m, to, slot),
                3 => Instruction::with2(Code::Mov_r64_rm64, to, slot),
                4 => Instruction::with2(Code::Cmp_rm32_imm8, half(from), number & 0x7f),
                5 => Instruction::with2(Code::Mov_r64_rm64, to, near),
                6 => Instruction::with2(Code::Cmp_rm32_imm32, near, number),
                _ => Instruction::with1(Code::Dec_rm32, half(to)),
            };
            code.push(instruction.expect("the operands fit"));
        }
        code
    }

    /// Writes instructions from the beginning of the native code on, with their addresses.
    fn assemble(&mut self, code: &mut [Instruction]) {
        let mut encoder = Encoder::new(64);
        let mut address = self.processor.native();
        for instruction in code.iter_mut() {
            instruction.set_ip(address);
            let len = encoder.encode(instruction, address).expect("it can be encoded");
            instruction.set_len(len);
            instruction.set_next_ip(address + len as u64);
            address += len as u64;
        }
        let bytes = encoder.take_buffer();
        let len = bytes.len();
        self.processor.put(self.processor.native(), &bytes);
        // What follows is the rest of the function.
        let distance = self.exits[0].wrapping_sub(address + 5) as u32;
        self.processor.put(address, &[&[0xe9][..], &distance.to_le_bytes()].concat());
        // As the file has them: decoded.
        let native = self.processor.get(self.processor.native(), len);
        let decoder = iced_x86::Decoder::with_ip(64, &native, self.processor.native(), 0);
        code.copy_from_slice(&decoder.into_iter().collect::<Vec<_>>());
    }

    /// The stubs that were called, in their order.
    fn called(&self) -> Vec<(Option<Hook>, Keeps, processor::Record)> {
        let mut called = Vec::new();
        for hook in ALL_HOOKS {
            for keeps in ALL_KEEPS {
                let record = self.processor.record(self.hooks[slot(hook, keeps)].1);
                called.push((Some(hook), keeps, record));
            }
        }
        for (_, number) in self.originals {
            called.push((None, Keeps::Callee, self.processor.record(number)));
        }
        called.retain(|(_, _, record)| record.count > 0);
        called.sort_by_key(|(_, _, record)| record.order);
        called
    }
}

/// Bytes of the stack that are in use.
const STACK_BYTES: usize = 512;

/// An operand that is named by its distance.
fn relative(address: u64) -> MemoryOperand {
    MemoryOperand::with_base_displ_size(Register::RIP, address.cast_signed(), 8)
}

fn half(register: Register) -> Register {
    Register::EAX + register.number() as u32
}

fn low(register: Register) -> Register {
    // spl to dil come after ah to bh.
    let number = register.number() as u32;
    if number < 4 { Register::AL + number } else { Register::SPL + (number - 4) }
}

/// A made-up place for an atomic instruction. What is wrong with it, if anything is.
fn atomic_place(bench: &mut Bench) -> Result<(), String> {
    bench.fill();
    let mut state = bench.state();
    let acquires = bench.rng.bool();
    let (operand, used, address) = bench.operand(&mut state, &[RAX]);
    let source = GENERAL[bench.register(if acquires { &[RAX] } else { &[] })];
    let kind = bench.rng.u8(..4);
    let (atomic, is_byte) = if acquires {
        match bench.rng.u8(..3) {
            0 => (Instruction::with2(Code::Cmpxchg_rm8_r8, operand, low(source)), true),
            1 => (Instruction::with2(Code::Cmpxchg_rm64_r64, operand, source), false),
            _ => (Instruction::with2(Code::Cmpxchg_rm32_r32, operand, half(source)), false),
        }
    } else {
        match kind {
            0 => (Instruction::with2(Code::Xchg_rm32_r32, operand, half(source)), false),
            1 => (Instruction::with2(Code::Xadd_rm32_r32, operand, half(source)), false),
            2 => (Instruction::with2(Code::Sub_rm32_imm8, operand, 1), false),
            _ => (Instruction::with1(Code::Dec_rm32, operand), false),
        }
    };
    let mut atomic = atomic.expect("the operands fit");
    atomic.set_has_lock_prefix(atomic.mnemonic() != Mnemonic::Xchg);
    // Often the lock is free.
    if acquires && bench.rng.bool() {
        let word = bench.processor.get(address, 8);
        let word = u64::from_le_bytes(word.try_into().expect("it has 8 bytes"));
        state.registers[RAX] =
            if is_byte { state.registers[RAX] & !0xff | word & 0xff } else { word };
        if atomic.code() == Code::Cmpxchg_rm32_r32 {
            state.registers[RAX] = word & 0xffff_ffff;
        }
    }
    let keeps_operand = [&used[..], &[RAX]].concat();
    let before = bench.others(2, &keeps_operand, 0);
    let place_of_atomic = before.len();
    let mut code = before;
    code.push(atomic);
    let gives_back = bench.rng.u8(..4) == 0;
    if gives_back {
        let bytes = 8 * bench.rng.i32(1..20);
        code.push(Instruction::with2(Code::Add_rm64_imm32, Register::RSP, bytes).expect("it fits"));
        let number = bench.rng.i32(0..0x7f);
        code.push(Instruction::with2(Code::Cmp_rm32_imm8, Register::EBX, number).expect("it fits"));
    }
    let has_jump = !gives_back && bench.rng.bool();
    if has_jump {
        let condition = match bench.rng.u8(..4) {
            0 => Code::Je_rel32_64,
            1 if !acquires => Code::Jo_rel32_64,
            2 if !acquires => Code::Jb_rel32_64,
            _ => Code::Jne_rel32_64,
        };
        if !acquires && kind == 0 {
            code.push(Instruction::with2(Code::Cmp_rm32_imm8, half(source), 2).expect("they fit"));
        }
        code.push(Instruction::with_branch(condition, bench.exits[1]).expect("it fits"));
    }
    // Instructions after the jump must be those of the fast way, and use what hooks of all kinds keep.
    let rest = bench.others(2, &[RAX], 0);
    let keeps = ALL_KEEPS[if acquires { bench.rng.usize(..3) } else { bench.rng.usize(1..3) }];
    if keeps != Keeps::Callee {
        code.extend(rest);
    }
    bench.assemble(&mut code);
    // What comes after the atomic instruction may stay where it is.
    let in_place = bench.rng.usize(place_of_atomic + 1..=code.len());
    let len = (code[in_place - 1].next_ip() - bench.processor.native()) as usize;
    if len < 5 {
        return Ok(());
    }
    let flags = bench.rng.u32(..128);
    let mut block = bench.block();
    let entry = block.len();
    let moved = Moved { code: &code[..in_place], atomic: place_of_atomic };
    // What is in use at the end, besides what the instructions after the hook read.
    let numbers: Vec<_> =
        CALLEE_CHANGES.into_iter().filter(|_| keeps != Keeps::Callee && bench.rng.bool()).collect();
    let at_end = Registers::of(&numbers);
    let after_hook = &code[place_of_atomic + usize::from(acquires)..];
    let registers = after_hook.iter().rev().fold(at_end, |mut in_use, instruction| {
        in_use.add(at_end);
        rejoin::before(instruction, in_use)
    });
    let in_use = InUse {
        keeps,
        registers: if keeps == Keeps::Callee { Registers::default() } else { registers },
        flags: !acquires && flags_are_used(&code[place_of_atomic..]),
    };
    let made = if acquires {
        operations::acquire(&mut block, moved, flags, in_use)
    } else {
        operations::release(&mut block, moved, in_use)
    };
    if made.is_err() {
        return Ok(());
    }
    let memory = bench.memory();
    let native = bench.processor.native();
    let (exit, expected) = bench.processor.run(native, &state);
    let expected_memory = bench.memory();
    bench.restore(&memory);
    bench.load(&block);
    bench.patch(entry, len);
    let (patched_exit, after) = bench.processor.run(native, &state);
    let wrong = |what: &str| {
        let code: Vec<_> =
            code.iter().map(|instruction| format!("{:?}", instruction.code())).collect();
        Err(format!("{what}: {code:?} {operand:?} {keeps:?}"))
    };
    if exit != patched_exit {
        return wrong("it goes elsewhere");
    }
    // What lies below the stack pointer is given back.
    let in_use = (expected.registers[RSP] - bench.processor.stack()) as usize;
    let memory = bench.memory();
    if expected_memory[0] != memory[0] || expected_memory[1][in_use..] != memory[1][in_use..] {
        return wrong("memory");
    }
    // The whole of it is compared with what the code says; a failed one has no hook.
    let called = bench.called();
    let [(hook, kept, record)] = called[..] else {
        let has_failed = acquires && called.is_empty();
        return if has_failed {
            compare(&expected, &after, Keeps::All, Registers::ALL).or_else(|what| wrong(&what))
        } else {
            wrong("hooks")
        };
    };
    let wanted = if acquires { Hook::Acquired } else { Hook::Releases };
    if hook != Some(wanted) || kept != keeps || record.count != 1 {
        return wrong("the hook");
    }
    let has_flags = !acquires || record.rsi as u32 == flags;
    if record.rdi != address || !has_flags || record.word != native + 5 {
        return wrong("the hook's arguments");
    }
    let mut kept = Registers::ALL;
    if keeps != Keeps::Callee {
        let set: &[u8] = if acquires { &[RSI as u8, RDI as u8] } else { &[RDI as u8] };
        kept = kept.without(Registers::of(&[scratch(wanted), set].concat()));
        kept.add(at_end);
    }
    compare(&expected, &after, keeps, kept).or_else(|what| wrong(&what))
}

/// Compares what is in use after a hook that keeps so much, of registers that callees need not keep only `kept`.
fn compare(expected: &State, after: &State, keeps: Keeps, kept: Registers) -> Result<(), String> {
    for (number, register) in GENERAL.iter().enumerate() {
        let is_kept = CALLEE_KEEPS.contains(&number)
            || keeps != Keeps::Callee && kept.has_number(number as u8);
        if is_kept && expected.registers[number] != after.registers[number] {
            return Err(format!("{register:?}"));
        }
    }
    if keeps == Keeps::All && expected.vectors != after.vectors {
        return Err("vector registers".to_owned());
    }
    if (expected.flags ^ after.flags) & STATUS != 0 {
        return Err("flags".to_owned());
    }
    Ok(())
}

/// A made-up place for a call. What is wrong with it, if anything is.
fn call_place(bench: &mut Bench) -> Result<(), String> {
    bench.fill();
    let mut state = bench.state();
    let is_last = bench.rng.bool();
    let by_word = bench.rng.bool();
    let nth = bench.rng.usize(..3);
    let (original, number) = bench.originals[nth];
    let native = bench.processor.native();
    if is_last {
        state.registers[RSP] += 8;
        bench.processor.put(state.registers[RSP], &bench.exits[0].to_le_bytes());
    }
    let word = bench.processor.address(WORD);
    bench.processor.put(word, &original.to_le_bytes());
    let (mut bytes, target) = if by_word {
        (vec![0xff, if is_last { 0x25 } else { 0x15 }], word)
    } else {
        (vec![if is_last { 0xe9 } else { 0xe8 }], original)
    };
    let next = native + bytes.len() as u64 + 4;
    bytes.extend((target.wrapping_sub(next) as u32).to_le_bytes());
    let len = bytes.len();
    let distance = bench.exits[0].wrapping_sub(next + 5) as u32;
    bytes.push(0xe9);
    bytes.extend(distance.to_le_bytes());
    bench.processor.put(native, &bytes);
    let call = Call {
        target: if by_word { Target::Word(target) } else { Target::Address(target) },
        is_last,
    };
    let flags = bench.rng.u32(..128);
    let mut block = bench.block();
    let entry = block.len();
    let succeeds = bench.originals[nth].0 != bench.originals[1].0;
    let kind = bench.rng.u8(..6);
    let is_exchange = kind == 2;
    let (before, after_call) = match kind {
        0 => {
            operations::wait(&mut block, call, Hook::Waits, flags, Outcome::Always);
            (Some(Hook::Waits), Some(Hook::Got))
        }
        1 => {
            operations::wait(&mut block, call, Hook::Wants, flags, Outcome::Success);
            (Some(Hook::Wants), Some(if succeeds { Hook::Got } else { Hook::GaveUp }))
        }
        2 => {
            // It returns zero if it has succeeded.
            operations::exchange(&mut block, call, flags);
            (None, (!succeeds).then_some(Hook::Acquired))
        }
        3 => {
            operations::attempt(&mut block, call, flags);
            (None, succeeds.then_some(Hook::Acquired))
        }
        _ => {
            operations::unlock(&mut block, call);
            (Some(Hook::Releases), None)
        }
    };
    let memory = bench.memory();
    let (exit, expected) = bench.processor.run(native, &state);
    let expected_memory = bench.memory();
    let expected_record = bench.processor.record(number);
    bench.restore(&memory);
    bench.load(&block);
    bench.patch(entry, len);
    let (patched_exit, after) = bench.processor.run(native, &state);
    let wrong = |what: &str| Err(format!("{what}: {call:?} {before:?} {after_call:?}"));
    if exit != patched_exit || expected_memory[0] != bench.memory()[0] {
        return wrong("it goes elsewhere");
    }
    let record = bench.processor.record(number);
    let arguments =
        |of: processor::Record| (of.count, of.rdi, of.rsi, of.rdx, of.rcx, of.stack % 16);
    if arguments(record) != arguments(expected_record) {
        return wrong("the call's arguments or stack");
    }
    let called = bench.called();
    let order: Vec<_> = called.iter().map(|called| called.0).collect();
    let wanted: Vec<_> =
        before.map(Some).into_iter().chain([None]).chain(after_call.map(Some)).collect();
    if order != wanted {
        return wrong("the order of hooks");
    }
    for (hook, _, record) in &called {
        // What is called last returns to the place, or to the function's caller.
        let returns_elsewhere = hook.is_none() && before == Some(Hook::Releases);
        if record.word != native + 5 && !returns_elsewhere {
            return wrong("the site");
        }
        let has_flags = *hook == Some(Hook::Releases) || record.rsi as u32 == flags;
        let are_right = record.rdi == state.registers[RDI] && has_flags;
        if hook.is_some() && !are_right {
            return wrong("a hook's arguments");
        }
    }
    // All have their result in `rax`, and exchanges more in `rdx`.
    let results = if is_exchange { &[RAX, RDX][..] } else { &[RAX] };
    for &number in CALLEE_KEEPS.iter().chain(results) {
        if expected.registers[number] != after.registers[number] {
            return wrong(&format!("{:?}", GENERAL[number]));
        }
    }
    Ok(())
}

fn try_all(mut bench: Bench, case: fn(&mut Bench) -> Result<(), String>) -> Result<(), String> {
    for nth in 0..cases() {
        case(&mut bench).map_err(|what| format!("case {nth}: {what}"))?;
    }
    Ok(())
}

#[test]
fn atomic_instructions_do_the_same_in_the_block() {
    try_all(Bench::new(1, Fault::None), atomic_place).unwrap();
}

#[test]
fn calls_do_the_same_in_the_block() {
    try_all(Bench::new(2, Fault::None), call_place).unwrap();
}

/// The planted fault: operands on the stack are moved as they are.
#[test]
fn a_forgotten_depth_of_the_stack_is_found() {
    let found = try_all(Bench::new(1, Fault::Depth), atomic_place);
    assert!(found.is_err(), "the fault was not found");
}

/// The planted fault: one register that is in use is not kept.
#[test]
fn a_forgotten_register_is_found() {
    let found = try_all(Bench::new(1, Fault::Register), atomic_place);
    assert!(found.is_err(), "the fault was not found");
}

/// Conditions are encoded by their numbers.
#[test]
fn conditions_have_the_numbers_of_their_codes() {
    let conditions = [ConditionCode::o, ConditionCode::no, ConditionCode::b, ConditionCode::g];
    assert_eq!(conditions.map(|condition| condition as u8 - 1), [0, 1, 2, 15]);
}
