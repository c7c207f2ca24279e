//! The rules in a function's call frame information for two registers, the return address and the
//! frame pointer, and for the caller's stack. `gimli` reads the instructions; its own evaluation of
//! them keeps the rules of all registers, which takes kilobytes of the stack of a program's thread
//! (DWARF 5, section 6.4).

use gimli::{
    BaseAddresses, CallFrameInstruction as Instruction, CallFrameInstructionIter, EhFrame,
    EndianSlice, FrameDescriptionEntry, NativeEndian, Register, UnwindExpression,
};

use crate::arch::{FP, RETURN_ADDRESS, SP, moves_nothing};

type Slice<'a> = EndianSlice<'a, NativeEndian>;

/// How the caller's stack pointer is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cfa {
    /// Register + offset.
    Register(Register, i64),
    /// What an expression says.
    Expression(UnwindExpression<usize>),
}

/// Where the caller's value of a register is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// There is no rule for it.
    Unsaid,
    /// It is lost.
    Lost,
    /// In the register still.
    Same,
    /// At the caller's stack pointer + offset.
    AtCfa(i64),
    /// Where an expression says.
    At(UnwindExpression<usize>),
    /// Elsewhere: in another register, or it is to be calculated.
    Elsewhere,
}

/// The rules at one instruction of the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    pub cfa: Cfa,
    pub return_address: Kept,
    pub fp: Kept,
}

/// Rules that are put aside at a time. Compilers nest none.
const MOST_ASIDE: usize = 4;

/// The rules at `pc`, which the function described by `fde` contains. `None` if they cannot be
/// understood.
pub fn rules_at(
    fde: &FrameDescriptionEntry<Slice<'_>>,
    section: &EhFrame<Slice<'_>>,
    bases: &BaseAddresses,
    pc: u64,
) -> Option<Rules> {
    let cie = fde.cie();
    let mut evaluation = Evaluation {
        now: Rules { cfa: Cfa::Register(SP, 0), return_address: Kept::Unsaid, fp: Kept::Unsaid },
        first: None,
        aside: [None; MOST_ASIDE],
        location: fde.initial_address(),
        code_factor: cie.code_alignment_factor(),
        data_factor: cie.data_alignment_factor(),
    };
    evaluation.run(cie.instructions(section, bases), u64::MAX)?;
    evaluation.first = Some(evaluation.now);
    evaluation.location = fde.initial_address();
    evaluation.run(fde.instructions(section, bases), pc)?;
    Some(evaluation.now)
}

struct Evaluation {
    now: Rules,
    /// What there was before the function's own instructions.
    first: Option<Rules>,
    /// The last is the last but the free ones.
    aside: [Option<Rules>; MOST_ASIDE],
    location: u64,
    code_factor: u64,
    data_factor: i64,
}

impl Evaluation {
    /// Follows the instructions up to those for what comes after `pc`.
    fn run(
        &mut self,
        mut instructions: CallFrameInstructionIter<'_, Slice<'_>>,
        pc: u64,
    ) -> Option<()> {
        while let Some(instruction) = instructions.next().ok()? {
            match instruction {
                Instruction::SetLoc { address } => self.location = address,
                Instruction::AdvanceLoc { delta } => {
                    let bytes = u64::from(delta).checked_mul(self.code_factor)?;
                    self.location = self.location.checked_add(bytes)?;
                }
                instruction => self.apply(instruction)?,
            }
            if self.location > pc {
                break;
            }
        }
        Some(())
    }

    fn apply(&mut self, instruction: Instruction<usize>) -> Option<()> {
        match instruction {
            Instruction::DefCfa { register, offset } => {
                self.now.cfa = Cfa::Register(register, i64::try_from(offset).ok()?);
            }
            Instruction::DefCfaSf { register, factored_offset } => {
                self.now.cfa = Cfa::Register(register, self.data(factored_offset)?);
            }
            Instruction::DefCfaRegister { register } => {
                let Cfa::Register(_, offset) = self.now.cfa else { return None };
                self.now.cfa = Cfa::Register(register, offset);
            }
            Instruction::DefCfaOffset { offset } => {
                let Cfa::Register(register, _) = self.now.cfa else { return None };
                self.now.cfa = Cfa::Register(register, i64::try_from(offset).ok()?);
            }
            Instruction::DefCfaOffsetSf { factored_offset } => {
                let Cfa::Register(register, _) = self.now.cfa else { return None };
                self.now.cfa = Cfa::Register(register, self.data(factored_offset)?);
            }
            Instruction::DefCfaExpression { expression } => {
                self.now.cfa = Cfa::Expression(expression);
            }
            Instruction::Undefined { register } => self.keep(register, Kept::Lost),
            Instruction::SameValue { register } => self.keep(register, Kept::Same),
            Instruction::Offset { register, factored_offset } => {
                let offset = self.data(i64::try_from(factored_offset).ok()?)?;
                self.keep(register, Kept::AtCfa(offset));
            }
            Instruction::OffsetExtendedSf { register, factored_offset } => {
                let offset = self.data(factored_offset)?;
                self.keep(register, Kept::AtCfa(offset));
            }
            Instruction::Expression { register, expression } => {
                self.keep(register, Kept::At(expression));
            }
            Instruction::ValOffset { register, .. }
            | Instruction::ValOffsetSf { register, .. }
            | Instruction::ValExpression { register, .. } => self.keep(register, Kept::Elsewhere),
            Instruction::Register { dest_register, .. } => {
                self.keep(dest_register, Kept::Elsewhere);
            }
            Instruction::Restore { register } => {
                let first = self.first?;
                match register {
                    RETURN_ADDRESS => self.now.return_address = first.return_address,
                    FP => self.now.fp = first.fp,
                    _ => {}
                }
            }
            Instruction::RememberState => {
                *self.aside.iter_mut().find(|aside| aside.is_none())? = Some(self.now);
            }
            Instruction::RestoreState => {
                self.now = self.aside.iter_mut().rev().find_map(Option::take)?;
            }
            Instruction::ArgsSize { .. } | Instruction::Nop => {}
            instruction if moves_nothing(&instruction) => {}
            // Another machine's.
            _ => return None,
        }
        Some(())
    }

    fn data(&self, factored: i64) -> Option<i64> {
        factored.checked_mul(self.data_factor)
    }

    fn keep(&mut self, register: Register, kept: Kept) {
        match register {
            RETURN_ADDRESS => self.now.return_address = kept,
            FP => self.now.fp = kept,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use gimli::{
        CfaRule, CieOrFde, RegisterRule, UnwindContext, UnwindContextStorage, UnwindSection,
        UnwindTableRow,
    };

    use super::*;

    struct Large;
    impl UnwindContextStorage<usize> for Large {
        type Rules = [(Register, RegisterRule<usize>); 32];
        type Stack = [UnwindTableRow<usize, Self>; 8];
    }

    fn kept(rule: Option<RegisterRule<usize>>) -> Kept {
        match rule {
            None => Kept::Unsaid,
            Some(RegisterRule::Undefined) => Kept::Lost,
            Some(RegisterRule::SameValue) => Kept::Same,
            Some(RegisterRule::Offset(offset)) => Kept::AtCfa(offset),
            Some(RegisterRule::Expression(expression)) => Kept::At(expression),
            Some(_) => Kept::Elsewhere,
        }
    }

    /// The section of a file, and where it is to be.
    fn eh_frame(file: &[u8]) -> (&[u8], u64) {
        let number = |at: usize, bytes: usize| {
            file[at..at + bytes].iter().rev().fold(0u64, |value, &b| value << 8 | u64::from(b))
        };
        // Section headers of ELF64, and their names.
        let (headers, count) = (number(0x28, 8) as usize, number(0x3c, 2) as usize);
        let header = |i: usize| headers + 64 * i;
        let names = number(header(number(0x3e, 2) as usize) + 0x18, 8) as usize;
        (0..count)
            .map(header)
            .find(|&at| file[names + number(at, 4) as usize..].starts_with(b".eh_frame\0"))
            .map(|at| {
                let (offset, len) = (number(at + 0x18, 8) as usize, number(at + 0x20, 8) as usize);
                (&file[offset..offset + len], number(at + 0x10, 8))
            })
            .expect("call frame information")
    }

    /// Every function of the C library and of what else is loaded here, at each of its instructions
    /// that changes rules.
    #[test]
    fn rules_are_those_of_gimlis_own_evaluation() {
        let maps = std::fs::read_to_string("/proc/self/maps").expect("maps");
        let mut files: Vec<&str> =
            maps.lines().filter_map(|line| line.split_whitespace().nth(5)).collect();
        files.retain(|file| file.starts_with('/'));
        files.sort_unstable();
        files.dedup();
        let mut compared = 0;
        for file in files {
            let bytes = std::fs::read(file).expect("an image");
            let (section, at) = eh_frame(&bytes);
            let section = EhFrame::new(section, NativeEndian);
            let bases = BaseAddresses::default().set_eh_frame(at);
            let mut entries = section.entries(&bases);
            while let Some(entry) = entries.next().expect("an entry") {
                let CieOrFde::Fde(partial) = entry else { continue };
                let fde = partial.parse(|section, bases, at| section.cie_from_offset(bases, at));
                let fde = fde.expect("a function");
                let mut context = UnwindContext::<usize, Large>::new_in();
                let mut table = fde.rows(&section, &bases, &mut context).expect("rules");
                while let Some(row) = table.next_row().expect("rules") {
                    let expected = Rules {
                        cfa: match *row.cfa() {
                            CfaRule::RegisterAndOffset { register, offset } => {
                                Cfa::Register(register, offset)
                            }
                            CfaRule::Expression(expression) => Cfa::Expression(expression),
                        },
                        return_address: kept(row.register(RETURN_ADDRESS)),
                        fp: kept(row.register(FP)),
                    };
                    let found = rules_at(&fde, &section, &bases, row.start_address());
                    assert_eq!(found, Some(expected), "{file} {:#x}", row.start_address());
                    compared += 1;
                }
            }
        }
        assert!(compared > 10_000, "{compared}");
    }
}
