//! The callers of a thread that sleeps in a system call. They are found by the tables with which
//! C++ unwinds exceptions (.eh_frame, or .debug_frame). The stack pointer and the program counter
//! must do: the kernel shows no more of a thread that is not stopped.
//!
//! Functions that keep their frame in rbp need its value, and a callee may not have saved it. Then
//! the frame is sought on the stack: where the address lies behind a call of just this function. We
//! do not guess a frame from less evidence: the stack ends there.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use gimli::{
    BaseAddresses, CfaRule, DebugFrame, EhFrame, EhFrameHdr, EndianSlice, FrameDescriptionEntry,
    LittleEndian, Register, RegisterRule, UnwindContext, UnwindSection,
};
use object::read::{Object, ObjectSection};

use super::maps::Maps;
use super::memory::Memory;
use crate::symbolize::elf::with_elf;

/// The most frames of a stack.
const MOST_FRAMES: usize = 96;

/// How far up the stack a frame is sought, in bytes.
const FARTHEST: usize = 64 << 10;

/// DWARF's numbers of x86-64's registers.
const RBP: usize = 6;
const RSP: usize = 7;
const RETURN: usize = 16;

/// Those that functions keep for their callers.
const KEPT: [usize; 6] = [3, RBP, 12, 13, 14, 15];

type Slice<'d> = EndianSlice<'d, LittleEndian>;

/// Where a stack begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// The program counter.
    pub pc: u64,
    /// The stack pointer.
    pub sp: u64,
    /// The frame pointer, if it is known.
    pub bp: Option<u64>,
}

/// A module's tables.
#[derive(Debug, Default)]
struct Tables {
    frames: Vec<u8>,
    is_debug_frame: bool,
    index: Vec<u8>,
    bases: BaseAddresses,
}

/// A table's rule for one place.
struct Rule {
    /// First address of the function, in the file.
    function: u64,
    /// Register that the frame is counted from, and how far off it is.
    cfa: (usize, i64),
    /// Registers that lie so far from the frame.
    saved: Vec<(usize, i64)>,
    /// Nobody called it.
    is_outermost: bool,
}

/// Unwinds stacks of one process.
#[derive(Debug)]
pub struct Unwinder<'m> {
    maps: &'m Maps,
    root: PathBuf,
    tables: RefCell<HashMap<usize, Rc<Tables>>>,
}

impl<'m> Unwinder<'m> {
    /// The tables of the process with these mappings, whose root directory is `root`.
    pub fn new(maps: &'m Maps, root: &Path) -> Self {
        Self { maps, root: root.to_owned(), tables: RefCell::default() }
    }

    /// The program counter, and the addresses that its callers return to, innermost first.
    pub fn stack(&self, start: Start, memory: &impl Memory) -> Vec<u64> {
        let mut registers = [None; RETURN + 1];
        (registers[RSP], registers[RBP]) = (Some(start.sp), start.bp);
        let (mut pc, mut stack) = (start.pc, vec![start.pc]);
        while stack.len() < MOST_FRAMES {
            // A call may be the last instruction of its function.
            let at = if stack.len() == 1 { pc } else { pc.wrapping_sub(1) };
            let Some(next) = self.step(at, &mut registers, memory) else { break };
            let is_code = self.maps.at(next).is_some_and(|mapping| mapping.is_code);
            if !is_code {
                break;
            }
            stack.push(next);
            pc = next;
        }
        stack
    }

    /// From a frame to its caller's: where it returns to, and the registers then.
    fn step(
        &self,
        at: u64,
        registers: &mut [Option<u64>; RETURN + 1],
        memory: &impl Memory,
    ) -> Option<u64> {
        let sp = registers[RSP]?;
        let Some((index, module)) = self.maps.module(at) else {
            // Code that was generated: with a frame pointer, or not at all.
            self.maps.at(at).filter(|mapping| mapping.is_code)?;
            let bp = registers[RBP].filter(|&bp| is_above(bp, sp))?;
            *registers = [None; RETURN + 1];
            (registers[RSP], registers[RBP]) = (Some(bp.checked_add(16)?), memory.u64(bp));
            return memory.u64(bp.checked_add(8)?);
        };
        let rule = self.tables(index).rule(at.wrapping_sub(module.bias))?;
        if rule.is_outermost {
            return None;
        }
        let (base, offset) = rule.cfa;
        let known = registers.get(base).copied().flatten();
        let cfa = match known.map(|base| base.wrapping_add_signed(offset)) {
            Some(cfa) if cfa > sp && cfa - sp <= 1 << 30 => cfa,
            _ if base == RBP => {
                let function = rule.function.wrapping_add(module.bias);
                self.seek(sp, function, offset, memory)?
            }
            _ => return None,
        };
        let mut next = [None; RETURN + 1];
        for register in KEPT {
            next[register] = match rule.saved.iter().find(|(saved, _)| *saved == register) {
                Some((_, offset)) => memory.u64(cfa.wrapping_add_signed(*offset)),
                None => registers[register],
            };
        }
        // Its value was not known: now that the frame is, it is.
        if base == RBP && !rule.saved.iter().any(|(saved, _)| *saved == RBP) {
            next[RBP] = Some(cfa.wrapping_add_signed(-offset));
        }
        next[RSP] = Some(cfa);
        let (_, back) = *rule.saved.iter().find(|(saved, _)| *saved == RETURN)?;
        *registers = next;
        memory.u64(cfa.wrapping_add_signed(back))
    }

    /// The frame of `function` where its place is not known: the word below it lies behind a direct
    /// call of the function; or, if there is none, behind a call by pointer, with a frame pointer
    /// that may be one below that.
    fn seek(&self, sp: u64, function: u64, offset: i64, memory: &impl Memory) -> Option<u64> {
        let mut bytes = vec![0; FARTHEST];
        // As much as there is of the stack.
        let stack = self.maps.at(sp)?;
        bytes.truncate(usize::try_from(stack.end - sp).ok()?.min(FARTHEST));
        while !bytes.is_empty() && !memory.read(sp, &mut bytes) {
            bytes.truncate(bytes.len() / 2);
        }
        let word = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        // Its registers lie between: at the least the saved frame pointer.
        let first = usize::try_from(offset).ok()?.checked_sub(8)?;
        let mut by_pointer = None;
        for at in (first..bytes.len()).step_by(8) {
            let Some(back) = word(at) else { break };
            if !self.maps.at(back).is_some_and(|mapping| mapping.is_code) {
                continue;
            }
            let cfa = sp + at as u64 + 8;
            let mut code = [0; 7];
            if !memory.read(back.wrapping_sub(7), &mut code) {
                continue;
            }
            if code[2] == 0xe8 {
                let distance = i32::from_le_bytes([code[3], code[4], code[5], code[6]]);
                if back.wrapping_add_signed(distance.into()) == function {
                    return Some(cfa);
                }
            } else if by_pointer.is_none() && is_call_by_pointer(&code) {
                let saved = word(at - 8)?;
                by_pointer = (saved <= 1 || is_above(saved, cfa - 8)).then_some(cfa);
            }
        }
        by_pointer
    }

    fn tables(&self, module: usize) -> Rc<Tables> {
        let mut tables = self.tables.borrow_mut();
        let read = || {
            let module = &self.maps.modules[module];
            Rc::new(Tables::read(&module.file(&self.root), &module.build_id))
        };
        Rc::clone(tables.entry(module).or_insert_with(read))
    }
}

/// Whether it may be a frame pointer of a caller.
fn is_above(bp: u64, sp: u64) -> bool {
    bp.is_multiple_of(8) && bp >= sp && bp - sp <= 8 << 20
}

/// Whether the last of these bytes are `call *...`: FF /2, two, three, six or seven bytes.
fn is_call_by_pointer(code: &[u8; 7]) -> bool {
    let is_call = |at: usize| code[at] == 0xff && code[at + 1] & 0o70 == 0o20;
    [5, 4, 1, 0].into_iter().any(is_call)
}

impl Tables {
    /// Those of a file, if it is the one that was built so.
    fn read(path: &Path, build_id: &[u8]) -> Self {
        let read = with_elf(path, |file| {
            let own = file.build_id().ok().flatten().unwrap_or_default();
            if !build_id.is_empty() && own != build_id {
                return Self::default();
            }
            let section = |name: &str| {
                let section = file.section_by_name(name)?;
                let data = section.uncompressed_data().ok()?.into_owned();
                (!data.is_empty()).then(|| (section.address(), data))
            };
            let mut tables = Self::default();
            let mut bases = BaseAddresses::default();
            if let Some((address, _)) = section(".text") {
                bases = bases.set_text(address);
            }
            if let Some((address, data)) = section(".eh_frame_hdr") {
                bases = bases.set_eh_frame_hdr(address);
                tables.index = data;
            }
            if let Some((address, data)) = section(".eh_frame") {
                bases = bases.set_eh_frame(address);
                tables.frames = data;
            } else if let Some((_, data)) = section(".debug_frame") {
                (tables.frames, tables.is_debug_frame) = (data, true);
            }
            tables.bases = bases;
            tables
        });
        read.unwrap_or_default()
    }

    /// Their rule for the instruction at `address`, in the file.
    fn rule(&self, address: u64) -> Option<Rule> {
        if self.is_debug_frame {
            let mut section = DebugFrame::new(&self.frames, LittleEndian);
            section.set_address_size(8);
            let entry =
                section.fde_for_address(&self.bases, address, DebugFrame::cie_from_offset).ok()?;
            return self.rule_of(&section, &entry, address);
        }
        let mut section = EhFrame::new(&self.frames, LittleEndian);
        section.set_address_size(8);
        let index = EhFrameHdr::new(&self.index, LittleEndian).parse(&self.bases, 8).ok();
        let table = index.as_ref().and_then(|index| index.table());
        let entry = match table {
            Some(table) => {
                table.fde_for_address(&section, &self.bases, address, EhFrame::cie_from_offset)
            }
            None => section.fde_for_address(&self.bases, address, EhFrame::cie_from_offset),
        };
        self.rule_of(&section, &entry.ok()?, address)
    }

    fn rule_of<'d, S: UnwindSection<Slice<'d>>>(
        &self,
        section: &S,
        entry: &FrameDescriptionEntry<Slice<'d>>,
        address: u64,
    ) -> Option<Rule> {
        let mut context = UnwindContext::new();
        let row =
            entry.unwind_info_for_address(section, &self.bases, &mut context, address).ok()?;
        let CfaRule::RegisterAndOffset { register, offset } = row.cfa() else { return None };
        let mut saved = Vec::new();
        let mut is_outermost = false;
        for &(register, ref rule) in row.registers() {
            match rule {
                RegisterRule::Offset(offset) => saved.push((number(register), *offset)),
                RegisterRule::Undefined if number(register) == RETURN => is_outermost = true,
                _ => {}
            }
        }
        let cfa = (number(*register), *offset);
        Some(Rule { function: entry.initial_address(), cfa, saved, is_outermost })
    }
}

fn number(register: Register) -> usize {
    register.0.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_known_by_their_bytes() {
        // call *%rax; call *0x8(%rdi); call *0x2fe2(%rip); call *0x100(%rax,%rbx,8)
        assert!(is_call_by_pointer(&[0, 0, 0, 0, 0, 0xff, 0xd0]));
        assert!(is_call_by_pointer(&[0, 0, 0, 0, 0xff, 0x57, 0x08]));
        assert!(is_call_by_pointer(&[0, 0xff, 0x15, 0xe2, 0x2f, 0, 0]));
        assert!(is_call_by_pointer(&[0xff, 0x94, 0xd8, 0, 1, 0, 0]));
        // jmp *%rax, and nothing.
        assert!(!is_call_by_pointer(&[0, 0, 0, 0, 0, 0xff, 0xe0]));
        assert!(!is_call_by_pointer(&[0x90; 7]));
    }

    #[test]
    fn a_file_that_is_no_module_has_no_tables() {
        let tables = Tables::read(Path::new("/proc/self/maps"), &[]);
        assert!(tables.rule(0).is_none());
        let other = Tables::read(&std::env::current_exe().unwrap(), b"another build");
        assert!(other.frames.is_empty(), "never those of another build");
    }
}
