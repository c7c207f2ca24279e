//! Call sites past wrappers: who wanted a lock that was taken through a function made for taking
//! locks.
//!
//! A call site is a return address, that of the lock call. Taken through a function that is not
//! inlined (SQLite's `pthreadMutexEnter`, a program's own `lock`, `std::mutex::lock` in a debug
//! build) every lock would have one and the same. Such a function is not known by its name but by
//! what it does: it returns with the lock. That makes its return address a **wrapper**'s, and its
//! caller's the one to ask next. The site is then a hash of the return addresses from the lock call
//! to the first that is no wrapper's.
//!
//! Nothing is known of an address at first. While it is **undecided**, each lock taken there makes
//! it a candidate: the lock's entry remembers the frame that the address is in, and its release,
//! which takes the slow path, sees whether that frame is still there. Once it was not, or it was a
//! few times, the address is decided for good. Until then, each call chain is a site of its own, so
//! that the records are right either way.
//!
//! Only a plain address is ever remembered as such by a thread's fast path. So it knows nothing of
//! all this: it misses for every other, and [`deep`] is asked, without a lock. What that has
//! answered the thread then knows by the whole site, and [`known_past`] finds it in a few steps
//! from wrapper to wrapper: one table maps a return address to "wrapper, frame size".

pub mod current_stack;
pub mod releases;
mod site_limit;
mod step;
mod verdict;

use lockwright_engines::Trial;
use lockwright_engines::lockdep::ThreadState;
use lockwright_ledger::site;

use self::verdict::Verdict;
pub use self::verdict::start;
use crate::arch::CALL_BYTES;
use crate::os::upcall::Upcall;
use crate::stack::unwind::Frame;

/// Wrappers that are looked past, one calling the other.
const MOST_LEVELS: u32 = 8;

/// A lock taken by the call that returns to an address was released, after the function had
/// returned (true) or before, and the address [was recorded](releases::record).
pub static RELEASED: Upcall<fn(u64, bool)> = Upcall::none();

/// Frames further apart than this are not of one stack.
const SAME_STACK: u64 = 8 << 20;

/// Frames between a lock's release and the function that took it, at most.
const MOST_BETWEEN: u32 = 64;

/// A call site, past wrappers.
#[derive(Clone, Copy)]
pub struct Site {
    /// Return address of the lock call if that is plain, else as [`site`] says.
    pub id: u64,
    /// What the release of the lock will decide.
    pub trial: Option<Trial>,
}

impl Site {
    fn plain(id: u64) -> Self {
        Self { id, trial: None }
    }

    /// The site is about to be recorded, for the call at `address`: there may be too many.
    pub fn admitted(self, address: u64) -> Self {
        match self.id == address || site_limit::admit(self.id) {
            true => self,
            false => Self { id: address, ..self },
        }
    }
}

/// Where the call of one of our functions returns to, as its stub passes it on. To be used from
/// within that call only.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Return {
    /// Where on the stack the return address is; null if that is not known.
    stack: *const u64,
    /// The caller's frame pointer; anything if that is not known, it is not believed then.
    fp: u64,
}

impl Return {
    /// It was not kept.
    pub const UNKNOWN: Self = Self::on_stack(core::ptr::null());

    /// The return address is at `stack`, which may be null; the caller's frame pointer was not
    /// kept.
    pub const fn on_stack(stack: *const u64) -> Self {
        Self::at(stack, 0)
    }

    /// The return address is at `stack`, and the caller's frame pointer is `fp`.
    pub const fn at(stack: *const u64, fp: u64) -> Self {
        Self { stack, fp }
    }

    /// The frame of the call that returns to `address`. To be asked from within that call.
    pub fn call(self, address: u64) -> Option<Frame> {
        // Without its frame pointer, the way out of our own frames finds both. There is no way
        // out through a stub that calls one of our functions and goes on; but what it passed on is
        // true, and the frame pointer just is 0.
        let frame = self.frame(address);
        frame.filter(|call| call.fp != 0).or_else(Frame::outside).or(frame)
    }

    /// The caller's frame, to which `address` is the way back. Its frame pointer may be anything.
    #[inline(always)]
    pub fn frame(self, address: u64) -> Option<Frame> {
        let sp = self.stack as u64 + CALL_BYTES;
        (!self.stack.is_null()).then_some(Frame { pc: address, sp, fp: self.fp })
    }
}

/// The site of the lock call that returns to `address`. To be asked from within that call.
pub fn deep(address: u64) -> Site {
    deep_from(address, Frame::outside)
}

/// As [`deep`], where `call` finds that call's frame.
pub fn deep_from(address: u64, call: impl FnOnce() -> Option<Frame>) -> Site {
    if verdict::of(address) == Verdict::Plain {
        return Site::plain(address);
    }
    match call() {
        Some(call) if call.pc == address => deep_in(call),
        // No call, but one that is recorded later.
        _ => Site::plain(address),
    }
}

/// As [`deep`], from the frame that called on.
fn deep_in(call: Frame) -> Site {
    loop {
        let walk = Walk::past_wrappers(call);
        if walk.verdict != Verdict::Undecided {
            return Site::plain(walk.id(call));
        }
        let address = walk.frame.pc;
        if verdict::tried(address) == Verdict::Undecided {
            let caller = walk.frame.caller();
            let trial = caller.map(|caller| Trial { address, frame: encode(caller) });
            return Site { trial, ..Site::plain(walk.finish().id(call)) };
        }
    }
}

/// Finds a lock call past wrappers that is known: that `known` has something for. It is asked for
/// the site of each caller in turn, of whose bits it must not mind the highest eight; the answer
/// comes with the whole site.
///
/// A known site was recorded, so its addresses were decided; and the walk passes only decided ones.
/// `None` means only that [`deep`] is needed.
///
/// # Safety
/// `stack` is where the call that returns to `address` has put that on its stack.
#[inline(always)]
pub unsafe fn known_past<T>(
    address: u64,
    stack: *const u64,
    known: impl Fn(u64) -> Option<T>,
) -> Option<(u64, T)> {
    let (mut address, mut hash, mut returns) = (address, address, stack.cast::<u8>());
    for wrappers in 1..MOST_LEVELS + 1 {
        let size = verdict::step(address).size()?;
        returns = returns.wrapping_add(size as usize);
        // SAFETY: the return address of a live frame, by the step over the one below.
        address = unsafe { returns.cast::<u64>().read() };
        hash = site::extend(hash, address);
        if let Some(found) = known(hash) {
            return Some((site::deep(wrappers, hash), found));
        }
    }
    None
}

/// As [`known_past`], also past functions with a frame pointer.
///
/// # Safety
/// `call` is a frame whose call has not returned.
#[inline(always)]
pub unsafe fn known_past_frames<T>(
    call: Frame,
    known: impl Fn(u64) -> Option<T>,
) -> Option<(u64, T)> {
    let (mut frame, mut hash) = (call, call.pc);
    for wrappers in 1..=MOST_LEVELS {
        // SAFETY: `frame` is a live call's, as the call that began the walk has not returned; the
        // step is for its `pc`.
        frame = unsafe { verdict::step(frame.pc).take(frame) }?;
        hash = site::extend(hash, frame.pc);
        if let Some(found) = known(hash) {
            return Some((site::deep(wrappers, hash), found));
        }
    }
    None
}

/// As both of them, of the call that returns to `address` by way of `back`.
///
/// # Safety
/// That call has not returned.
#[inline(always)]
pub unsafe fn known_past_return<T>(
    address: u64,
    back: Return,
    known: impl Fn(u64) -> Option<T>,
) -> Option<(u64, T)> {
    let call = back.frame(address)?;
    // SAFETY: the caller promises a live call, and the stub saw its return address at `back.stack`.
    match unsafe { known_past(address, back.stack, &known) } {
        // SAFETY: `call` is the frame of the same live call, by the stub's registers.
        None => unsafe { known_past_frames(call, known) },
        found => found,
    }
}

/// A walk from a lock call outwards.
struct Walk {
    /// Where it stands.
    frame: Frame,
    /// Frames that it has passed.
    levels: u32,
    /// Wrappers among them.
    wrappers: u32,
    /// Hash of their return addresses.
    hash: u64,
    /// On where it stands. Without a frame beyond it, or too far out, it is plain.
    verdict: Verdict,
}

impl Walk {
    fn past_wrappers(call: Frame) -> Self {
        let verdict = Verdict::Plain;
        let mut walk = Self { frame: call, levels: 0, wrappers: 0, hash: 0, verdict };
        loop {
            let verdict = verdict::of(walk.frame.pc);
            if verdict != Verdict::Wrapper {
                return Self { verdict, ..walk };
            }
            verdict::learn(walk.frame.pc);
            if !walk.step() {
                return walk;
            }
            walk.wrappers += 1;
        }
    }

    fn finish(mut self) -> Self {
        while self.step() {}
        self
    }

    fn step(&mut self) -> bool {
        if self.levels == MOST_LEVELS {
            return false;
        }
        let Some(caller) = self.frame.caller() else { return false };
        self.hash = site::extend(self.hash, self.frame.pc);
        self.levels += 1;
        self.frame = caller;
        true
    }

    fn id(&self, call: Frame) -> u64 {
        if self.levels == 0 && self.verdict == Verdict::Plain {
            return call.pc;
        }
        let id = site::deep(self.wrappers, site::extend(self.hash, self.frame.pc));
        if site_limit::is_open(id) { id } else { call.pc }
    }
}

/// The frame of a function that a call returns to: the latter's stack pointer, and above its 48
/// bits the low bits of the return address.
fn encode(caller: Frame) -> u64 {
    caller.pc << 48 | (caller.sp & ((1 << 48) - 1))
}

/// Whether the function whose frame returned as `encoded` tells has returned, as seen from a call
/// to us; `None` if that cannot be seen.
///
/// To compare stack pointers is not enough: what unlocks is often a function too, with its frame
/// where the other was. But it was called elsewhere, and so returns elsewhere. A function that ends
/// with a jump to us has not returned; then we are the ones who return as it would.
fn has_returned(encoded: u64, call: Frame) -> Option<bool> {
    let (end, pc) = (encoded & ((1 << 48) - 1), (encoded >> 48) as u16);
    if call.sp.abs_diff(end) > SAME_STACK {
        return None;
    }
    let mut frame = call;
    for _ in 0..MOST_BETWEEN {
        if frame.sp >= end {
            return Some(frame.sp > end || frame.pc as u16 != pc);
        }
        frame = frame.caller()?;
    }
    None
}

/// The held lock at `addr` has been released, and is about to be taken off.
#[cold]
pub fn released(thread: &ThreadState, addr: u64) {
    if let Some(trial) = thread.trial_of(addr) {
        judge(trial);
    }
}

/// A condition wait is about to give up the held lock at `addr`, and to take it again.
#[cold]
pub fn given_up(thread: &ThreadState, addr: u64) {
    if let Some(trial) = thread.trial_of(addr) {
        judge_given_up(trial);
    }
}

/// A lock whose call site is a candidate is being released: to be asked from within that call.
#[cold]
pub fn judge(trial: Trial) {
    match Frame::outside().and_then(|call| has_returned(trial.frame, call)) {
        Some(true) => {
            verdict::escaped(trial.address);
            was_released(trial.address, true);
        }
        Some(false) => {
            verdict::stayed(trial.address);
            was_released(trial.address, false);
        }
        None => {}
    }
}

/// A condition wait gives up a lock whose call site is a candidate. The function that still runs may
/// return with the lock, which the wait takes again. So the wait shows only that a function has
/// returned. To be called within the wait.
#[cold]
pub fn judge_given_up(trial: Trial) {
    if Frame::outside().and_then(|call| has_returned(trial.frame, call)) == Some(true) {
        verdict::escaped(trial.address);
        was_released(trial.address, true);
    }
}

/// A lock that was taken by the call that returns to `address` has been released: `outside` of the
/// function, which had returned, or before that.
pub fn was_released(address: u64, outside: bool) {
    let is_news = match outside {
        true => releases::outside(address),
        false => releases::inside(address),
    };
    if is_news && let Some(tell) = RELEASED.get() {
        tell(address, outside);
    }
}

/// Forgets what is known of addresses in `[from, to)`: other code may come to lie there.
pub fn forget(from: u64, to: u64) {
    verdict::forget(from, to);
    releases::forget(from, to);
}

/// The functions that may have wanted a held lock, by their frames on the stack where it was taken.
#[derive(Clone, Copy)]
pub struct Wanted {
    /// The innermost that no release has shown to be called for its locks.
    pub first: usize,
    /// The innermost that may not be a wrapper at all.
    pub level: usize,
    /// The outermost that is known to be of this call.
    pub last: usize,
}

/// The functions that may have wanted a lock that is held, which was taken at `site` on the stack `frames`. `None` if
/// that cannot be known.
pub fn wanted_by(site: u64, frames: &[u64]) -> Option<Wanted> {
    let first = frames.iter().position(|&address| !releases::of(address).outside)?;
    let level = frames.iter().position(|&address| !is_excused(address)).unwrap_or(first);
    // Other callers may have come to a plain site by another way.
    let last = if frames.first() == Some(&site) { 0 } else { MOST_LEVELS as usize };
    let last = last.min(frames.len() - 1);
    (first <= last).then_some(Wanted { first, level: level.min(last), last })
}

/// The function that `address` is in may return with the lock by right, for its callers to release it. That a lock was
/// merely held when it had returned says nothing, where it releases others itself.
pub fn is_excused(address: u64) -> bool {
    let releases = releases::of(address);
    releases.outside || (releases.inside == 0 && verdict::of(address) == Verdict::Wrapper)
}

/// A lock is taken with others held: some may have outlived the functions that took them. `call`
/// finds the frame of the call that takes it.
pub fn look_at_held(trials: impl Iterator<Item = Trial>, call: impl Fn() -> Option<Frame>) {
    for trial in trials {
        // It has shown that already.
        if verdict::of(trial.address) == Verdict::Wrapper {
            continue;
        }
        let Some(call) = call() else { return };
        if has_returned(trial.frame, call) == Some(true) {
            verdict::escaped(trial.address);
        }
    }
}
