//! Call stacks from .eh_frame, without a lock, an allocation or the loader's help.
//!
//! For one return address the rule that leads to the caller's frame never changes; it is looked up
//! once (by `gimli`, in the tables of the module that the address lies in) and then cached.

use core::sync::atomic::Ordering::Relaxed;

use gimli::{BaseAddresses, EhFrame, EhFrameHdr, EndianSlice, NativeEndian, UnwindSection};

use lockwright_ledger::inlined::DEPTH;

use super::cfi::{Cfa, Kept, Rules, rules_at};
use super::{blocks, checked_read, modules, rule_cache, stack_bounds};
use crate::arch::{
    self, Arrived, CALL_BYTES, FP, LONGEST_CALL, Packed, SP, UNKNOWN, VENDOR, code_address,
    ends_in_call, kind, place,
};
pub use crate::arch::{Rule, Saved};

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
const OF_BLOCK: Rule = Rule::of_block(DEPTH as i32);

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
        let mut section = EhFrame::new(eh_frame_bytes, NativeEndian);
        section.set_vendor(VENDOR);
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
        let is_part = entered != Cfa::Register(SP, CALL_BYTES as i64);
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
    // Lost: the outermost frame.
    let Kept::AtCfa(return_address) = rules.return_address else { return Some(Rule::End) };
    let fp = match rules.fp {
        Kept::AtCfa(offset) => Saved::AtCfa(i16::try_from(offset).ok()?),
        Kept::Unsaid | Kept::Lost | Kept::Same => Saved::Same,
        Kept::At(expression) => {
            let expression = expression.get(section).ok()?;
            let (register, offset, deref) = simple(expression, fde)?;
            if register != FP || deref {
                return None;
            }
            Saved::AtFp(i16::try_from(offset).ok()?)
        }
        Kept::Elsewhere => return None,
    };
    let rule = match rules.cfa {
        Cfa::Register(register, offset) => {
            let cfa = i32::try_from(offset).ok()?;
            match register {
                SP => Rule::Sp { cfa, fp },
                FP => Rule::Fp { cfa, fp },
                _ => return None,
            }
        }
        Cfa::Expression(expression) => match simple(expression.get(section).ok()?, fde)? {
            (FP, offset, true) => Rule::FpDeref { cfa: i32::try_from(offset).ok()?, fp },
            // The PLT's expression: its first entries push one word halfway through. We never
            // return into the middle of a PLT entry, so any answer does.
            _ => return None,
        },
    };
    Some(rule.at(return_address).unwrap_or(Rule::End))
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
    pub sp: u64,
    /// Frame pointer.
    pub fp: u64,
}

impl Frame {
    /// Where this is called.
    #[inline(always)]
    pub fn here() -> Self {
        // `pc` is an address inside the function: as good as a return address.
        let [pc, sp, fp] = arch::here();
        Self { pc, sp, fp }
    }

    /// That of the call that has `arrived` at one of our functions, with its caller's frame pointer.
    ///
    /// # Safety
    /// The call has not returned.
    #[inline(always)]
    pub unsafe fn arrived(arrived: Arrived, fp: u64) -> Self {
        // SAFETY: as the caller promises.
        let pc = unsafe { arrived.site() };
        Self { pc, sp: arrived.stack() as u64 + CALL_BYTES, fp }
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
        let Self { pc, sp, fp } = self;
        let rule = rule(pc);
        if rule.kind() == kind::END {
            return None;
        }
        if rule.kind() != kind::SP {
            reads.uses_fp();
        }
        let base = if rule.kind() == kind::SP { sp } else { fp };
        let mut cfa = base.wrapping_add_signed(rule.cfa());
        if rule.kind() == kind::FP_DEREF {
            if !is_plausible(cfa, sp) {
                return None;
            }
            let at = cfa;
            // SAFETY: a slot of a live frame, by the module's own unwind table.
            cfa = unsafe { (at as *const u64).read() };
            reads.pointer(at, cfa);
        }
        let at = cfa.wrapping_add_signed(rule.return_address());
        if !is_plausible(at, sp) {
            return None;
        }
        // SAFETY: the return address of a live frame, by the module's own unwind table.
        let word = unsafe { (at as *const u64).read() };
        reads.return_address(at, word);
        let pc = code_address(word);
        let mut caller = Self { pc, sp: cfa, fp };
        if rule.fp_place() != place::SAME {
            if rule.fp_place() == place::AT_FP {
                reads.uses_fp();
            }
            let base = if rule.fp_place() == place::AT_CFA { cfa } else { fp };
            let at = base.wrapping_add_signed(rule.fp_offset());
            if !is_plausible(at, sp) {
                return None;
            }
            // SAFETY: the module's own unwind table names this place in a live frame for the saved
            // fp.
            caller.fp = unsafe { (at as *const u64).read() };
            reads.saved_fp(at, caller.fp);
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
    fn saved_fp(&mut self, at: u64, word: u64);
    /// From here on the way depends on the frame pointer that the frame has.
    fn uses_fp(&mut self);
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
    fn saved_fp(&mut self, _: u64, _: u64) {}
    #[inline(always)]
    fn uses_fp(&mut self) {}
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
    let Frame { pc, sp, fp } = frame;
    if rule(pc).0 & UNKNOWN == 0 || Entry::of(pc - 1).is_some() || !fp.is_multiple_of(8) || fp < sp
    {
        return None;
    }
    if !stack_bounds::has_now(fp) || !stack_bounds::has_now(fp + 15) {
        return None;
    }
    // SAFETY: on the calling thread's own stack, above what runs: whatever it is, it is there.
    let [caller_fp, pc] = unsafe { *(fp as *const [u64; 2]) };
    let pc = code_address(pc);
    // Not a frame pointer, then. Generated code may be called by more of it.
    if modules::find(pc).is_none() && !follows_call(pc) {
        return None;
    }
    Some(Frame { pc, sp: fp + 16, fp: caller_fp })
}

/// Whether the instruction before `pc` is a call, wherever that is. The kernel is asked for the bytes:
/// there may be none.
fn follows_call(pc: u64) -> bool {
    let mut before = [0; LONGEST_CALL];
    checked_read::copy(pc.wrapping_sub(LONGEST_CALL as u64), &mut before) && ends_in_call(before)
}

/// `at` is an aligned slot above the stack pointer and not absurdly far up.
#[inline(always)]
pub fn is_plausible(at: u64, sp: u64) -> bool {
    at.is_multiple_of(8) && at.wrapping_sub(sp) < MAX_FRAME_BYTES
}
