//! What a program does when a lock that it tries is taken, by its code: whether a trylock is but the first step of a lock that
//! waits. A run in which no try failed does not show that.
//!
//! From the return of the call on, the ways through the function are followed on which the try has failed, with what
//! registers and stack slots are known to have: a way ends where it waits for the same lock, or tries it again at the same
//! place, or returns. A call of an unknown function ends it, too, as that may release other locks. Only code for x86-64 is read.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use gimli::{BaseAddresses, EhFrame, LittleEndian, UnwindSection};
use iced_x86::{ConditionCode, Decoder, DecoderOptions, FlowControl, Instruction};
use iced_x86::{InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};
use object::Architecture;
use object::read::{Object, ObjectSection, ObjectSymbol, RelocationTarget};

use super::elf::{section_bytes, with_elf_and_file};

/// What follows a try that has failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailedTry {
    /// The caller goes on without the lock, as far as is known.
    #[default]
    GivesUp,
    /// It waits for the lock, whatever happens.
    Waits,
    /// It waits, but not for ever.
    WaitsForATime,
    /// It waits for the lock after it has released others: those that one call takes together.
    BacksOff,
}

/// A function is looked at up to so many bytes.
const MOST_BYTES: u64 = 1 << 16;

/// Instructions that are followed at most.
const MOST_STEPS: usize = 5_000;

/// What a called function does to the lock that is its first argument, or to the way on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    Tries,
    Waits,
    WaitsForATime,
    Releases,
    /// Nothing to any lock.
    Nothing,
    /// It does not return.
    Ends,
    /// It is not known.
    Unknown,
}

/// What functions do, by their names in symbol tables.
const FUNCTIONS: &[(Does, &[&str])] = &[
    (
        Does::Tries,
        &[
            "pthread_mutex_trylock",
            "pthread_spin_trylock",
            "pthread_rwlock_tryrdlock",
            "pthread_rwlock_trywrlock",
            "sem_trywait",
            "mtx_trylock",
        ],
    ),
    (
        Does::Waits,
        &[
            "pthread_mutex_lock",
            "pthread_spin_lock",
            "pthread_rwlock_rdlock",
            "pthread_rwlock_wrlock",
            "sem_wait",
            "mtx_lock",
        ],
    ),
    (
        Does::WaitsForATime,
        &[
            "pthread_mutex_timedlock",
            "pthread_mutex_clocklock",
            "pthread_rwlock_timedrdlock",
            "pthread_rwlock_timedwrlock",
            "pthread_rwlock_clockrdlock",
            "pthread_rwlock_clockwrlock",
            "sem_timedwait",
            "sem_clockwait",
            "mtx_timedlock",
        ],
    ),
    (
        Does::Releases,
        &[
            "pthread_mutex_unlock",
            "pthread_spin_unlock",
            "pthread_rwlock_unlock",
            "sem_post",
            "mtx_unlock",
            "pthread_cond_wait",
        ],
    ),
    (
        Does::Nothing,
        &[
            "sched_yield",
            "pthread_yield",
            "usleep",
            "sleep",
            "nanosleep",
            "clock_nanosleep",
            "clock_gettime",
            "gettimeofday",
            "time",
            "pthread_self",
            "gettid",
            "__errno_location",
            "thrd_yield",
            "thrd_sleep",
        ],
    ),
    (
        Does::Ends,
        &[
            "abort",
            "exit",
            "_exit",
            "_Exit",
            "__assert_fail",
            "__stack_chk_fail",
            "__cxa_throw",
            "_Unwind_Resume",
            "_ZSt9terminatev",
            "_ZSt20__throw_system_errori",
            "__cxa_throw_bad_array_new_length",
        ],
    ),
];

fn does(name: &str) -> Does {
    let is_it = |(_, names): &&(Does, &[&str])| names.contains(&name);
    FUNCTIONS.iter().find(is_it).map_or(Does::Unknown, |(does, _)| *does)
}

/// What follows where the call that returns to `offset` in the file's address space has failed to take its lock. `function` is
/// the one that it is in, as symbols have it: its first address and its size.
pub fn after(path: &Path, offset: u64, function: Option<(u64, u64)>) -> Option<FailedTry> {
    with_elf_and_file(path, |elf, file| {
        if elf.architecture() != Architecture::X86_64 {
            return None;
        }
        let (start, size) = function.or_else(|| unwound(elf, file, offset.checked_sub(1)?))?;
        if size > MOST_BYTES || !(start..start.checked_add(size)?).contains(&offset) {
            return None;
        }
        let code = Function { bytes: bytes(elf, file, start, size)?, start };
        let imports = Imports::new(elf, file);
        Walk::new(&code, &imports).after(offset)
    })?
}

/// The function that covers an address, as the unwind tables have it: a stripped file has those, too.
fn unwound<'data>(elf: &impl Object<'data>, file: &File, address: u64) -> Option<(u64, u64)> {
    let section = elf.section_by_name(".eh_frame")?;
    let bytes = section_bytes(&section, file)?;
    let frames = EhFrame::new(&bytes, LittleEndian);
    let bases = BaseAddresses::default().set_eh_frame(section.address());
    let entry = frames.fde_for_address(&bases, address, EhFrame::cie_from_offset).ok()?;
    Some((entry.initial_address(), entry.len()))
}

/// Bytes of a function, or of a stub of the linker's.
fn bytes<'data>(elf: &impl Object<'data>, file: &File, start: u64, size: u64) -> Option<Vec<u8>> {
    let has = |section: &_| {
        let (at, len) = (ObjectSection::address(section), ObjectSection::size(section));
        start >= at && start.checked_add(size).is_some_and(|end| end <= at.saturating_add(len))
    };
    let section = elf.sections().find(has)?;
    let (from, _) = section.file_range()?;
    let mut bytes = vec![0; size.try_into().ok()?];
    file.read_exact_at(&mut bytes, from.checked_add(start - section.address())?).ok()?;
    Some(bytes)
}

/// A function's code.
struct Function {
    bytes: Vec<u8>,
    start: u64,
}

impl Function {
    fn decoder(&self, at: u64) -> Option<Decoder<'_>> {
        let from = usize::try_from(at.checked_sub(self.start)?).ok()?;
        let bytes = self.bytes.get(from..).filter(|bytes| !bytes.is_empty())?;
        Some(Decoder::with_ip(64, bytes, at, DecoderOptions::NONE))
    }

    fn has(&self, at: u64) -> bool {
        at.checked_sub(self.start).is_some_and(|from| (from as usize) < self.bytes.len())
    }
}

/// The functions of other modules that a module calls, and its own by their addresses.
struct Imports {
    /// By address of the slot that has a function's address.
    slots: HashMap<u64, String>,
    /// By their first addresses.
    own: HashMap<u64, String>,
    /// The linker's stubs: first address and bytes.
    stubs: Vec<Function>,
}

impl Imports {
    fn new<'data>(elf: &impl Object<'data>, file: &File) -> Self {
        let mut slots = HashMap::new();
        for (slot, relocation) in elf.dynamic_relocations().into_iter().flatten() {
            let RelocationTarget::Symbol(symbol) = relocation.target() else { continue };
            let table = elf.dynamic_symbol_table();
            let name = table.and_then(|table| {
                let symbol =
                    object::read::ObjectSymbolTable::symbol_by_index(&table, symbol).ok()?;
                symbol.name().ok().map(str::to_owned)
            });
            slots.extend(name.filter(|name| does(name) != Does::Unknown).map(|name| (slot, name)));
        }
        let known = |symbol: &_| {
            let name = ObjectSymbol::name(symbol).ok()?;
            let is_here = ObjectSymbol::address(symbol) != 0 && does(name) != Does::Unknown;
            is_here.then(|| (ObjectSymbol::address(symbol), name.to_owned()))
        };
        let own = elf.symbols().filter_map(|symbol| known(&symbol)).collect();
        let is_stub = |name: &str| name.starts_with(".plt");
        let sections = elf.sections().filter(|section| section.name().is_ok_and(is_stub));
        let stubs = sections.filter_map(|section| {
            let (start, size) = (section.address(), section.size().min(1 << 20));
            Some(Function { bytes: bytes(elf, file, start, size)?, start })
        });
        Self { slots, own, stubs: stubs.collect() }
    }

    /// What the function at an address does; a stub does what it jumps to.
    fn at(&self, target: u64) -> Does {
        if let Some(name) = self.own.get(&target) {
            return does(name);
        }
        let Some(stub) = self.stubs.iter().find(|stub| stub.has(target)) else {
            return Does::Unknown;
        };
        // `endbr64`, and a jump by the slot.
        let instructions = stub.decoder(target).into_iter().flatten().take(2);
        let mut jumps = instructions.filter(|it| it.flow_control() == FlowControl::IndirectBranch);
        jumps.next().map_or(Does::Unknown, |jump| self.by_slot(&jump))
    }

    /// What an indirect call or jump does.
    fn by_slot(&self, call: &Instruction) -> Does {
        let is_slot = call.op0_kind() == OpKind::Memory && call.is_ip_rel_memory_operand();
        let slot = is_slot.then(|| call.ip_rel_memory_address());
        slot.and_then(|slot| self.slots.get(&slot)).map_or(Does::Unknown, |name| does(name))
    }

    /// What a call, or a jump out of the function, does.
    fn of(&self, call: &Instruction) -> Does {
        match call.flow_control() {
            FlowControl::Call | FlowControl::UnconditionalBranch => {
                self.at(call.near_branch_target())
            }
            _ => self.by_slot(call),
        }
    }
}

/// What a register or a slot has, as far as it is known: equal numbers are equal values.
type Value = u32;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Made {
    /// What a register had at the function's begin.
    First(Register),
    Constant(u64),
    Sum(Value, i64),
    /// What is in memory there.
    At(Value),
    /// Whether it is 0.
    IsZero(Value),
    /// Something of its own.
    New(u32),
}

#[derive(Default)]
struct Values {
    known: HashMap<Made, Value>,
    made: Vec<Made>,
}

impl Values {
    fn of(&mut self, made: Made) -> Value {
        let Self { known, made: all } = self;
        *known.entry(made).or_insert_with(|| {
            all.push(made);
            all.len() as Value - 1
        })
    }

    fn new_one(&mut self) -> Value {
        self.of(Made::New(self.made.len() as u32))
    }

    fn sum(&mut self, value: Value, more: i64) -> Value {
        match self.made[value as usize] {
            _ if more == 0 => value,
            Made::Sum(base, offset) => self.sum(base, offset.wrapping_add(more)),
            Made::Constant(number) => self.of(Made::Constant(number.wrapping_add_signed(more))),
            _ => self.of(Made::Sum(value, more)),
        }
    }
}

/// What is known at an instruction.
#[derive(Clone, Default)]
struct State {
    registers: HashMap<Register, Value>,
    /// By address.
    slots: HashMap<Value, Value>,
    /// What was compared with 0 last.
    compared: Option<Value>,
    /// Another lock was released on the way.
    has_released: bool,
    /// The way went back to before the try: what is there may depend on other things by now.
    went_back: bool,
}

struct Walk<'a> {
    code: &'a Function,
    imports: &'a Imports,
    values: Values,
    info: InstructionInfoFactory,
}

impl<'a> Walk<'a> {
    fn new(code: &'a Function, imports: &'a Imports) -> Self {
        Self { code, imports, values: Values::default(), info: InstructionInfoFactory::new() }
    }

    fn after(mut self, offset: u64) -> Option<FailedTry> {
        let mut state = State::default();
        let mut found = None;
        for instruction in self.code.decoder(self.code.start)? {
            if instruction.next_ip() == offset {
                found = (self.imports.of(&instruction) == Does::Tries).then_some(instruction);
                break;
            }
            if instruction.is_invalid() || instruction.ip() >= offset {
                break;
            }
            // As if every instruction before it were on the way.
            match instruction.flow_control() {
                FlowControl::Call | FlowControl::IndirectCall => self.called(&mut state),
                _ => self.step(&mut state, &instruction),
            }
        }
        found?;
        let lock = self.register(&mut state, Register::RDI);
        self.called(&mut state);
        let result = self.values.new_one();
        state.registers.insert(Register::RAX, result);
        Some(self.follow(offset, state, lock, result))
    }

    /// Follows every way from the try that returned to `from` and has failed to take `lock`.
    fn follow(&mut self, from: u64, state: State, lock: Value, result: Value) -> FailedTry {
        let (mut waits, mut timed, mut others, mut released) = (false, false, false, false);
        let mut open = vec![(from, state)];
        let mut seen = HashSet::new();
        let mut steps = 0;
        while let Some((at, mut state)) = open.pop() {
            let mut decoder = match self.code.decoder(at) {
                Some(decoder) if seen.insert((at, state.has_released, state.went_back)) => decoder,
                Some(_) => continue,
                None => {
                    others = true;
                    continue;
                }
            };
            while decoder.can_decode() {
                let instruction = decoder.decode();
                steps += 1;
                if instruction.is_invalid() || steps > MOST_STEPS {
                    others = true;
                    break;
                }
                let flow = instruction.flow_control();
                let target = instruction.near_branch_target();
                let leaves = flow == FlowControl::UnconditionalBranch && !self.code.has(target);
                match flow {
                    FlowControl::Next => {
                        self.step(&mut state, &instruction);
                        continue;
                    }
                    FlowControl::ConditionalBranch => {
                        let fails = fails_on(&instruction, &state, result, &self.values);
                        if fails != Some(false) {
                            let went_back = state.went_back || target < from;
                            open.push((target, State { went_back, ..state.clone() }));
                        }
                        if fails != Some(true) {
                            open.push((instruction.next_ip(), state));
                        }
                        break;
                    }
                    FlowControl::UnconditionalBranch if !leaves => {
                        state.went_back |= target < from;
                        open.push((target, state));
                        break;
                    }
                    FlowControl::Call | FlowControl::IndirectCall => {}
                    FlowControl::UnconditionalBranch | FlowControl::IndirectBranch => {}
                    FlowControl::Interrupt | FlowControl::Exception => break,
                    _ => {
                        others = true;
                        break;
                    }
                }
                let is_same = self.register(&mut state, Register::RDI) == lock;
                let is_again = instruction.next_ip() == from;
                match self.imports.of(&instruction) {
                    Does::Waits if is_same && !state.went_back => waits = true,
                    Does::Tries if is_same && is_again => waits = true,
                    Does::WaitsForATime if is_same && !state.went_back => timed = true,
                    Does::Releases => {
                        state.has_released = true;
                        self.called(&mut state);
                        if flow != FlowControl::Call && flow != FlowControl::IndirectCall {
                            others = true;
                            break;
                        }
                        continue;
                    }
                    Does::Ends => break,
                    Does::Waits | Does::Nothing
                        if matches!(flow, FlowControl::Call | FlowControl::IndirectCall) =>
                    {
                        self.called(&mut state);
                        continue;
                    }
                    _ => {
                        others = true;
                        break;
                    }
                }
                released |= state.has_released;
                break;
            }
        }
        match (waits || timed, released) {
            // It depends on something that the caller may have asked for.
            _ if others && !released => FailedTry::GivesUp,
            (false, _) => FailedTry::GivesUp,
            (true, true) => FailedTry::BacksOff,
            (true, false) if timed => FailedTry::WaitsForATime,
            (true, false) => FailedTry::Waits,
        }
    }

    fn register(&mut self, state: &mut State, register: Register) -> Value {
        let full = register.full_register();
        *state.registers.entry(full).or_insert_with(|| self.values.of(Made::First(full)))
    }

    /// The address of a memory operand, if it is one of a register and a number.
    fn address(&mut self, state: &mut State, instruction: &Instruction) -> Option<Value> {
        if instruction.is_ip_rel_memory_operand() {
            return Some(self.values.of(Made::Constant(instruction.ip_rel_memory_address())));
        }
        let base = instruction.memory_base();
        let is_plain = instruction.memory_index() == Register::None
            && instruction.segment_prefix() == Register::None;
        let offset = instruction.memory_displacement64() as i64;
        match base {
            _ if !is_plain => None,
            Register::None => Some(self.values.of(Made::Constant(offset as u64))),
            _ => {
                let base = self.register(state, base);
                Some(self.values.sum(base, offset))
            }
        }
    }

    /// What an operand has.
    fn operand(&mut self, state: &mut State, instruction: &Instruction, at: u32) -> Option<Value> {
        match instruction.op_kind(at) {
            OpKind::Register => Some(self.register(state, instruction.op_register(at))),
            OpKind::Memory => {
                let address = self.address(state, instruction)?;
                let known = state.slots.get(&address).copied();
                Some(known.unwrap_or_else(|| self.values.of(Made::At(address))))
            }
            _ => {
                let number = instruction.try_immediate(at).ok()?;
                Some(self.values.of(Made::Constant(number)))
            }
        }
    }

    /// A function was called: what it may change is not known any more.
    fn called(&mut self, state: &mut State) {
        use Register::{R8, R9, R10, R11, RAX, RCX, RDI, RDX, RSI};
        for register in [RAX, RCX, RDX, RSI, RDI, R8, R9, R10, R11] {
            state.registers.insert(register, self.values.new_one());
        }
        state.compared = None;
    }

    /// An instruction that only computes or moves.
    fn step(&mut self, state: &mut State, instruction: &Instruction) {
        let mnemonic = instruction.mnemonic();
        let moved = match mnemonic {
            Mnemonic::Mov | Mnemonic::Movzx | Mnemonic::Movsxd | Mnemonic::Movsx => {
                self.operand(state, instruction, 1)
            }
            Mnemonic::Lea => self.address(state, instruction),
            Mnemonic::Sete => state.compared.map(|value| self.values.of(Made::IsZero(value))),
            Mnemonic::Xor
                if instruction.op0_kind() == OpKind::Register
                    && instruction.op1_kind() == OpKind::Register
                    && instruction.op0_register() == instruction.op1_register() =>
            {
                Some(self.values.of(Made::Constant(0)))
            }
            Mnemonic::Add | Mnemonic::Sub if instruction.op0_kind() == OpKind::Register => {
                let by = instruction.try_immediate(1).ok().map(|number| number as i64);
                let before = self.register(state, instruction.op0_register());
                let sign = if mnemonic == Mnemonic::Add { 1 } else { -1 };
                by.map(|by| self.values.sum(before, by.wrapping_mul(sign)))
            }
            _ => None,
        };
        match mnemonic {
            Mnemonic::Test
                if instruction.op0_kind() == OpKind::Register
                    && instruction.op1_kind() == OpKind::Register
                    && instruction.op0_register() == instruction.op1_register() =>
            {
                state.compared = self.operand(state, instruction, 0);
                return;
            }
            Mnemonic::Cmp if instruction.try_immediate(1).is_ok_and(|it| it == 0) => {
                state.compared = self.operand(state, instruction, 0);
                return;
            }
            Mnemonic::Push => {
                let value = self.operand(state, instruction, 0);
                let top = self.register(state, Register::RSP);
                let top = self.values.sum(top, -8);
                state.registers.insert(Register::RSP, top);
                state.slots.extend(value.map(|value| (top, value)));
                return;
            }
            Mnemonic::Pop => {
                let top = self.register(state, Register::RSP);
                let value = state.slots.get(&top).copied();
                let value = value.unwrap_or_else(|| self.values.of(Made::At(top)));
                let above = self.values.sum(top, 8);
                state.registers.insert(Register::RSP, above);
                state.registers.insert(instruction.op0_register().full_register(), value);
                return;
            }
            _ => {}
        }
        let info = self.info.info(instruction);
        let is_written = |access: OpAccess| {
            matches!(
                access,
                OpAccess::Write
                    | OpAccess::CondWrite
                    | OpAccess::ReadWrite
                    | OpAccess::ReadCondWrite
            )
        };
        let written: Vec<Register> = info
            .used_registers()
            .iter()
            .filter(|used| is_written(used.access()))
            .map(|used| used.register().full_register())
            .collect();
        let to_memory = instruction.op_count() > 0
            && instruction.op0_kind() == OpKind::Memory
            && is_written(info.op0_access());
        if instruction.rflags_modified() != 0 {
            state.compared = None;
        }
        if to_memory && let Some(address) = self.address(state, instruction) {
            let value = moved.unwrap_or_else(|| self.values.new_one());
            state.slots.insert(address, value);
        }
        for register in written {
            let is_first = instruction.op0_kind() == OpKind::Register
                && instruction.op0_register().full_register() == register;
            let value = moved.filter(|_| is_first).unwrap_or_else(|| self.values.new_one());
            state.registers.insert(register, value);
        }
    }
}

/// Whether a conditional jump is taken if the try has failed: it gave something other than 0. `None` if the jump is for something
/// else.
fn fails_on(jump: &Instruction, state: &State, result: Value, values: &Values) -> Option<bool> {
    let compared = state.compared?;
    let is_it = compared == result;
    let is_success = values.made[compared as usize] == Made::IsZero(result);
    let is_zero = match jump.condition_code() {
        ConditionCode::e => true,
        ConditionCode::ne => false,
        _ => return None,
    };
    match (is_it, is_success) {
        (true, _) => Some(!is_zero),
        (_, true) => Some(is_zero),
        _ => None,
    }
}
