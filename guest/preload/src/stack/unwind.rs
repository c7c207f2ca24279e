//! Call stacks from .eh_frame, without a lock, an allocation or the loader's help.
//!
//! For one return address the rule that leads to the caller's frame never changes; it is looked up
//! once (by `gimli`, in the tables of the module that the address lies in) and then cached.

use core::arch::asm;
use core::sync::atomic::Ordering::Relaxed;

use gimli::{BaseAddresses, EhFrame, EhFrameHdr, EndianSlice, NativeEndian, UnwindSection, X86_64};

use lockwright_ledger::inlined::DEPTH;

use super::cfi::{Cfa, Kept, Rules, rules_at};
use super::{blocks, checked_read, modules, rule_cache, stack_bounds};

/// How to get from a frame to its caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// No caller, or none that we can find.
    End,
    /// CFA = rsp + offset.
    Rsp { cfa: i32, rbp: Saved },
    /// CFA = rbp + offset.
    Rbp { cfa: i32, rbp: Saved },
    /// CFA = *(rbp + offset): functions that realign their stack.
    RbpDeref { cfa: i32, rbp: Saved },
}

/// Where the caller's rbp is: unchanged, or saved at CFA + offset (or rbp + offset).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saved {
    Same,
    AtCfa(i16),
    AtRbp(i16),
}

impl Rule {
    /// As 64 bits: offset 32, rbp's offset 16, rbp's place 2, kind 2; bit 63 always set.
    fn pack(self) -> u64 {
        let (kind, cfa, rbp) = match self {
            Self::End => (kind::END, 0, Saved::Same),
            Self::Rsp { cfa, rbp } => (kind::RSP, cfa, rbp),
            Self::Rbp { cfa, rbp } => (kind::RBP, cfa, rbp),
            Self::RbpDeref { cfa, rbp } => (kind::RBP_DEREF, cfa, rbp),
        };
        let (place, offset) = match rbp {
            Saved::Same => (place::SAME, 0),
            Saved::AtCfa(offset) => (place::AT_CFA, offset),
            Saved::AtRbp(offset) => (place::AT_RBP, offset),
        };
        1 << 63 | u64::from(cfa as u32) | u64::from(offset as u16) << 32 | place << 48 | kind << 50
    }
}

/// In a packed rule: no table has one, or none that we can follow.
const UNKNOWN: u64 = 1 << 52;

/// [`Rule`]'s variants, packed.
mod kind {
    pub const END: u64 = 0;
    pub const RSP: u64 = 1;
    pub const RBP: u64 = 2;
    pub const RBP_DEREF: u64 = 3;
}

/// [`Saved`]'s variants, packed.
mod place {
    pub const SAME: u64 = 0;
    pub const AT_CFA: u64 = 1;
    pub const AT_RBP: u64 = 2;
}

/// A packed rule. It is taken apart field by field, as it is followed: every frame that is walked
/// over goes through here.
#[derive(Clone, Copy)]
struct Packed(u64);

impl Packed {
    fn kind(self) -> u64 {
        self.0 >> 50 & 3
    }

    fn cfa(self) -> i64 {
        (self.0 as i32).into()
    }

    fn rbp_place(self) -> u64 {
        self.0 >> 48 & 3
    }

    fn rbp_offset(self) -> i64 {
        ((self.0 >> 32) as i16).into()
    }
}

#[inline(always)]
fn rule(pc: u64) -> Packed {
    let [key, bits] = rule_cache::slot(pc);
    let cached = bits.load(Relaxed);
    if cached != 0 && key.load(Relaxed) ^ cached == pc {
        return Packed(cached);
    }
    new_rule(pc)
}

#[cold]
#[inline(never)]
fn new_rule(pc: u64) -> Packed {
    let [key, bits] = rule_cache::slot(pc);
    let packed = look_up(pc).map_or(Rule::End.pack() | UNKNOWN, Rule::pack);
    bits.store(packed, Relaxed);
    key.store(pc ^ packed, Relaxed);
    Packed(packed)
}

/// The rule for return address `pc`, not from the cache: for callers with one of their own.
pub fn rule_of_call(pc: u64) -> Rule {
    look_up(pc).unwrap_or(Rule::End)
}

/// The step from a call in a block of ours to the function at whose place it was entered.
const OF_BLOCK: Rule = Rule::Rsp { cfa: DEPTH as i32 + 8, rbp: Saved::Same };

/// The rule for return address `pc` (so: of the call before it).
#[cold]
fn look_up(pc: u64) -> Option<Rule> {
    if blocks::has(pc) {
        return Some(OF_BLOCK);
    }
    let Entry { fde, section, bases } = Entry::of(pc - 1)?;
    rule_of(rules_at(&fde, &section, &bases, pc - 1)?, &fde, &section)
}

/// What the unwind tables have of a function.
struct Entry {
    fde: gimli::FrameDescriptionEntry<EndianSlice<'static, NativeEndian>>,
    section: EhFrame<EndianSlice<'static, NativeEndian>>,
    bases: BaseAddresses,
}

impl Entry {
    /// The entry of the function that `pc` is in.
    fn of(pc: u64) -> Option<Self> {
        let module = modules::find(pc)?;
        let (hdr, hdr_len) = module.eh_frame_hdr()?;
        // SAFETY: the module is mapped and its program header names this range; modules that go
        // away are taken off the list by our dlclose before anybody can stand in their code again.
        let hdr_bytes = unsafe { core::slice::from_raw_parts(hdr as *const u8, hdr_len) };
        let bases = BaseAddresses::default().set_eh_frame_hdr(hdr);
        let hdr = EhFrameHdr::new(hdr_bytes, NativeEndian).parse(&bases, 8).ok()?;
        let gimli::Pointer::Direct(eh_frame) = hdr.eh_frame_ptr() else { return None };
        let len = module.readable_from(eh_frame)?;
        // SAFETY: the module stays mapped, and `len` reaches to the end of the loadable segment
        // that the section begins in.
        let eh_frame_bytes = unsafe { core::slice::from_raw_parts(eh_frame as *const u8, len) };
        let section = EhFrame::new(eh_frame_bytes, NativeEndian);
        let bases = bases.set_eh_frame(eh_frame);
        let fde = hdr
            .table()?
            .fde_for_address(&section, &bases, pc, |section, bases, offset| {
                section.cie_from_offset(bases, offset)
            })
            .ok()?;
        Some(Self { fde, section, bases })
    }
}

/// The code that a return address is in.
#[derive(Clone, Copy, Debug)]
pub struct Code {
    start: u64,
    end: u64,
    /// It is entered in the middle of a function only, of which it is a part that compilers have
    /// put elsewhere: the frame is there where it begins.
    pub is_part: bool,
}

impl Code {
    /// The step from the call that returns to `pc`, by the unwind tables.
    #[cold]
    pub fn of_call(pc: u64) -> Option<Self> {
        let Entry { fde, section, bases } = Entry::of(pc - 1)?;
        let start = fde.initial_address();
        let entered = rules_at(&fde, &section, &bases, start)?.cfa;
        let is_part = entered != Cfa::Register(X86_64::RSP, 8);
        Some(Self { start, end: start.checked_add(fde.len())?, is_part })
    }

    /// A call that returns to `pc` is in it.
    pub fn has_call(self, pc: u64) -> bool {
        (self.start..self.end).contains(&(pc - 1))
    }
}

/// The call that returns to `pc` is that of a stack's outermost frame, by the unwind tables.
#[cold]
pub fn is_outermost(pc: u64) -> bool {
    look_up(pc) == Some(Rule::End)
}

fn rule_of<'a>(
    rules: Rules,
    fde: &gimli::FrameDescriptionEntry<EndianSlice<'a, NativeEndian>>,
    section: &EhFrame<EndianSlice<'a, NativeEndian>>,
) -> Option<Rule> {
    if rules.return_address != Kept::AtCfa(-8) {
        // Lost: the outermost frame.
        return Some(Rule::End);
    }
    let rbp = match rules.rbp {
        Kept::AtCfa(offset) => Saved::AtCfa(i16::try_from(offset).ok()?),
        Kept::Unsaid | Kept::Lost | Kept::Same => Saved::Same,
        Kept::At(expression) => {
            let expression = expression.get(section).ok()?;
            let (register, offset, deref) = simple(expression, fde)?;
            if register != X86_64::RBP || deref {
                return None;
            }
            Saved::AtRbp(i16::try_from(offset).ok()?)
        }
        Kept::Elsewhere => return None,
    };
    Some(match rules.cfa {
        Cfa::Register(register, offset) => {
            let cfa = i32::try_from(offset).ok()?;
            match register {
                X86_64::RSP => Rule::Rsp { cfa, rbp },
                X86_64::RBP => Rule::Rbp { cfa, rbp },
                _ => return None,
            }
        }
        Cfa::Expression(expression) => match simple(expression.get(section).ok()?, fde)? {
            (X86_64::RBP, offset, true) => Rule::RbpDeref { cfa: i32::try_from(offset).ok()?, rbp },
            // The PLT's expression: its first entries push one word halfway through. We never
            // return into the middle of a PLT entry, so any answer does.
            _ => return None,
        },
    })
}

/// `register + offset`, optionally dereferenced: all that compilers emit for realigned stacks.
fn simple<'a>(
    expression: gimli::Expression<EndianSlice<'a, NativeEndian>>,
    fde: &gimli::FrameDescriptionEntry<EndianSlice<'a, NativeEndian>>,
) -> Option<(gimli::Register, i64, bool)> {
    let mut operations = expression.operations(fde.cie().encoding());
    let gimli::Operation::RegisterOffset { register, offset, .. } = operations.next().ok()?? else {
        return None;
    };
    match operations.next().ok()? {
        None => Some((register, offset, false)),
        Some(gimli::Operation::Deref { .. }) => Some((register, offset, true)),
        Some(_) => None,
    }
}

/// A frame larger than this ends the walk: a rule led us astray.
const MAX_FRAME_BYTES: u64 = 1 << 30;

/// A return address, and the registers as they are on return to it.
#[derive(Clone, Copy)]
pub struct Frame {
    /// Return address.
    pub pc: u64,
    /// Stack pointer after the return.
    pub rsp: u64,
    /// Frame pointer.
    pub rbp: u64,
}

impl Frame {
    /// Where this is called.
    #[inline(always)]
    pub fn here() -> Self {
        let (pc, rsp, rbp): (u64, u64, u64);
        // SAFETY: the instructions only copy registers: no memory, no flags and no stack change.
        unsafe {
            asm!("lea {0}, [rip]", "mov {1}, rsp", "mov {2}, rbp", out(reg) pc, out(reg) rsp, out(reg) rbp,
                 options(nomem, nostack, preserves_flags));
        }
        // `pc` is the address after the lea, still inside the function: as good as a return
        // address.
        Self { pc, rsp, rbp }
    }

    /// The innermost frame outside this library: that of the caller of an interposed function.
    #[inline(never)]
    pub fn outside() -> Option<Self> {
        let mut frame = Self::here();
        for _ in 0..MOST_OWN {
            frame = frame.caller()?;
            if !modules::is_self(frame.pc) && !blocks::has(frame.pc) {
                return Some(frame);
            }
        }
        None
    }

    /// The frame that this one returns to. `None` if there is none, or no rule leads there.
    #[inline(always)]
    pub fn caller(self) -> Option<Self> {
        self.caller_noting(&mut Unnoted)
    }

    /// As [`Frame::caller`], telling `reads` of all that is read of the stack for it.
    #[inline(always)]
    fn caller_noting(self, reads: &mut impl Reads) -> Option<Self> {
        let Self { pc, rsp, rbp } = self;
        let rule = rule(pc);
        if rule.kind() == kind::END {
            return None;
        }
        if rule.kind() != kind::RSP {
            reads.uses_rbp();
        }
        let base = if rule.kind() == kind::RSP { rsp } else { rbp };
        let mut cfa = base.wrapping_add_signed(rule.cfa());
        if rule.kind() == kind::RBP_DEREF {
            if !is_plausible(cfa, rsp) {
                return None;
            }
            let at = cfa;
            // SAFETY: a slot of a live frame, by the module's own unwind table.
            cfa = unsafe { (at as *const u64).read() };
            reads.pointer(at, cfa);
        }
        if !is_plausible(cfa.wrapping_sub(8), rsp) {
            return None;
        }
        // SAFETY: the return address of a live frame, by the module's own unwind table.
        let pc = unsafe { ((cfa - 8) as *const u64).read() };
        reads.return_address(cfa - 8, pc);
        let mut caller = Self { pc, rsp: cfa, rbp };
        if rule.rbp_place() != place::SAME {
            if rule.rbp_place() == place::AT_RBP {
                reads.uses_rbp();
            }
            let base = if rule.rbp_place() == place::AT_CFA { cfa } else { rbp };
            let at = base.wrapping_add_signed(rule.rbp_offset());
            if !is_plausible(at, rsp) {
                return None;
            }
            // SAFETY: the module's own unwind table names this place in a live frame for the saved
            // rbp.
            caller.rbp = unsafe { (at as *const u64).read() };
            reads.saved_rbp(at, caller.rbp);
        }
        (pc != 0).then_some(caller)
    }
}

/// Our own frames on a stack; there are never as many.
const MOST_OWN: usize = 32;

/// Captures the calling thread's stack from the first frame outside this library. Returns the
/// number of return addresses stored, innermost first.
#[inline(never)]
pub fn capture(frames: &mut [u64]) -> usize {
    capture_at(frames, Frame::outside())
}

/// As [`capture_from`], where the frame is known: otherwise nothing is.
pub fn capture_at(frames: &mut [u64], from: Option<Frame>) -> usize {
    from.map_or(0, |from| capture_from(frames, from))
}

/// Captures the stack from a given frame on, that one included.
pub fn capture_from(frames: &mut [u64], from: Frame) -> usize {
    capture_noting(frames, from, &mut Unnoted)
}

/// As [`capture_from`], telling `reads` of all that is read of the stack for it.
pub fn capture_noting(frames: &mut [u64], from: Frame, reads: &mut impl Reads) -> usize {
    let mut frame = from;
    let mut n = 0;
    while n < frames.len() {
        // Blocks of ours are between a function and one that it calls; they are neither's.
        if !blocks::has(frame.pc) {
            frames[n] = frame.pc;
            n += 1;
        }
        if n == frames.len() {
            break;
        }
        let next = frame.caller_noting(reads).or_else(|| {
            if rule(frame.pc).0 & UNKNOWN != 0 {
                reads.anything_else();
            }
            past_generated_code(frame)
        });
        match next {
            Some(next) => frame = next,
            None => return n,
        }
    }
    n
}

/// Is told what an unwinder reads of the stack, and of nothing else does the way out depend.
pub trait Reads {
    /// At `at` it has found the return address `word`.
    fn return_address(&mut self, at: u64, word: u64);
    /// At `at` it has found the pointer `word` to the end of a frame.
    fn pointer(&mut self, at: u64, word: u64);
    /// At `at` it has found the caller's frame pointer.
    fn saved_rbp(&mut self, at: u64, word: u64);
    /// From here on the way depends on the frame pointer that the frame has.
    fn uses_rbp(&mut self);
    /// The way depends on something else, too.
    fn anything_else(&mut self);
}

/// Notes nothing.
struct Unnoted;

impl Reads for Unnoted {
    #[inline(always)]
    fn return_address(&mut self, _: u64, _: u64) {}
    #[inline(always)]
    fn pointer(&mut self, _: u64, _: u64) {}
    #[inline(always)]
    fn saved_rbp(&mut self, _: u64, _: u64) {}
    #[inline(always)]
    fn uses_rbp(&mut self) {}
    #[inline(always)]
    fn anything_else(&mut self) {}
}

/// The frame that this one returns to, where it is of code that no unwind table covers: what a
/// compiler has made while the program runs, and the parts of its runtime that this calls the
/// program by. Those (V8's, the JVM's, CPython's trampolines) keep frame pointers. It is asked at
/// the end of each stack; that has a table, which says that it ends.
#[cold]
#[inline(never)]
fn past_generated_code(frame: Frame) -> Option<Frame> {
    let Frame { pc, rsp, rbp } = frame;
    if rule(pc).0 & UNKNOWN == 0
        || Entry::of(pc - 1).is_some()
        || !rbp.is_multiple_of(8)
        || rbp < rsp
    {
        return None;
    }
    if !stack_bounds::has_now(rbp) || !stack_bounds::has_now(rbp + 15) {
        return None;
    }
    // SAFETY: on the calling thread's own stack, above what runs: whatever it is, it is there.
    let [caller_rbp, pc] = unsafe { *(rbp as *const [u64; 2]) };
    // Not a frame pointer, then. Generated code may be called by more of it.
    if modules::find(pc).is_none() && !follows_call(pc) {
        return None;
    }
    Some(Frame { pc, rsp: rbp + 16, rbp: caller_rbp })
}

/// Whether the instruction before `pc` is a call, wherever that is. The kernel is asked for the bytes:
/// there may be none.
fn follows_call(pc: u64) -> bool {
    let mut before = [0; LONGEST_CALL];
    checked_read::copy(pc.wrapping_sub(LONGEST_CALL as u64), &mut before) && ends_in_call(before)
}

/// Bytes of a call through memory, with an index and a displacement of 32 bits; a prefix of it may be
/// longer, and says nothing.
const LONGEST_CALL: usize = 7;

/// Whether the bytes may end in a call: `e8` with a displacement, or `ff /2`.
fn ends_in_call(bytes: [u8; LONGEST_CALL]) -> bool {
    let is_indirect = |length: &usize| {
        let [opcode, operand] = [bytes[LONGEST_CALL - length], bytes[LONGEST_CALL - length + 1]];
        opcode == 0xff && (operand >> 3) & 7 == 2
    };
    bytes[LONGEST_CALL - 5] == 0xe8 || [2, 3, 4, 6, 7].iter().any(is_indirect)
}

/// `at` is an aligned slot above the stack pointer and not absurdly far up.
#[inline(always)]
pub fn is_plausible(at: u64, rsp: u64) -> bool {
    at.is_multiple_of(8) && at.wrapping_sub(rsp) < MAX_FRAME_BYTES
}

#[cfg(test)]
mod tests {
    use super::ends_in_call;

    #[test]
    fn calls_are_known_by_their_bytes() {
        for call in [
            // call rel32; call rcx; call [rcx]; call [rbp-8]; call [rsp+8]; call [r13+disp32];
            // call [rax*8+disp32]
            [0x90, 0x90, 0xe8, 1, 2, 3, 4],
            [0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd1],
            [0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x11],
            [0x90, 0x90, 0x90, 0x90, 0xff, 0x55, 0xf8],
            [0x90, 0x90, 0x90, 0xff, 0x54, 0x24, 0x08],
            [0x41, 0xff, 0x95, 1, 2, 3, 4],
            [0xff, 0x14, 0xc5, 1, 2, 3, 4],
        ] {
            assert!(ends_in_call(call), "{call:x?}");
        }
        for other in [[0; 7], [0x90; 7], [0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe1]] {
            assert!(!ends_in_call(other), "{other:x?}");
        }
    }
}
