//! All objects of a process, and the operations on one.

use core::ptr::null_mut;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32};

use super::bucket::{BUCKETS, CHUNK_SHIFT, Chain, of_chunk};
use super::descr::{Descr, Fixup};
use super::fault::{Fault, Place};
use super::local::{Busy, Local};
use super::lock::{Guard, Locked, Patience};
use super::pool::stack::List;
use super::pool::{Env, Pools, Source, Switches, Trouble};
use super::stats::{Counters, Stats, raise};
use super::table::{Operation, Rules, State, Step, TABLE, Table, step};
use super::tracker::{BY_STATIC, Tracked, Tracker};

/// [`Objects::enabled`]: it was turned off.
const OFF: u32 = 2;
/// [`Objects::enabled`]: it is on.
const ON: u32 = 1;

/// The objects of a process. Lives in a static; all methods may be called by any thread at any time.
pub struct Objects {
    enabled: AtomicU32,
    switches: AtomicU32,
    source: AtomicPtr<Source>,
    /// Counts forks: what this process' locks are taken in, and its moments made.
    era: AtomicU32,
    pub(super) table: &'static Table,
    buckets: [Locked<Chain>; BUCKETS],
    pub(super) pools: Pools,
    pub(super) counters: Counters,
}

// SAFETY: chains are reached under their buckets' locks only.
unsafe impl Sync for Objects {}

/// An operation on an object.
#[derive(Clone, Copy)]
pub struct Act {
    /// The object's type.
    pub descr: &'static Descr,
    /// The object.
    pub addr: u64,
    /// What is done to it.
    pub op: Operation,
    /// Who does it.
    pub place: Place,
    /// Of the object's bytes as they are; 0 where the type's rules need none.
    pub fingerprint: u64,
    /// `ActiveState`: the program's own state as it should be, and as it is to be.
    pub counts: (u32, u32),
}

impl Default for Objects {
    fn default() -> Self {
        Self::new()
    }
}

impl Objects {
    /// Off until it is started.
    pub const fn new() -> Self {
        Self::with_table(&TABLE)
    }

    /// With a table of the caller's: tests break it.
    #[doc(hidden)]
    pub const fn with_table(table: &'static Table) -> Self {
        Self {
            enabled: AtomicU32::new(0),
            switches: AtomicU32::new(Switches::PATCHED.0),
            source: AtomicPtr::new(null_mut()),
            era: AtomicU32::new(1),
            table,
            buckets: [const { Locked::new(Chain::new()) }; BUCKETS],
            pools: Pools::new(),
            counters: Counters::new(),
        }
    }

    /// Turns it on. Once; other threads see it on when they see it.
    pub fn start(&self, source: &'static Source, switches: Switches) {
        self.switches.store(switches.0, Relaxed);
        self.source.store((&raw const *source).cast_mut(), Relaxed);
        // Release pairs with the Acquire in `env`: who sees it on has its source.
        self.enabled.store(ON, Release);
    }

    /// It tracks.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.enabled.load(Relaxed) == ON
    }

    /// It was on, and is so no more.
    pub fn was_turned_off(&self) -> bool {
        self.enabled.load(Relaxed) == OFF
    }

    /// It tracks no more: no operation does anything from now on.
    pub fn turn_off(&self) {
        // Whoever is within an operation ends it.
        let _ = self.enabled.compare_exchange(ON, OFF, Relaxed, Relaxed);
    }

    /// What an operation works with, if it is on.
    pub(super) fn env(&self, local: Option<&Local>) -> Option<Env> {
        // Acquire pairs with the Release in `start`.
        (self.enabled.load(Acquire) == ON).then(|| self.env_anyway(local)).flatten()
    }

    fn env_anyway(&self, local: Option<&Local>) -> Option<Env> {
        // SAFETY: what `start` was given.
        let source: &'static Source = unsafe { self.source.load(Relaxed).as_ref() }?;
        let yields = if local.is_some() { Patience::LONG } else { Patience::SHORT };
        let patience = Patience { yields, relax: source.relax, era: self.era.load(Relaxed) };
        Some(Env { source, switches: Switches(self.switches.load(Relaxed)), patience })
    }

    /// An operation could not be done. One without a thread's own part may have interrupted whoever has the lock.
    pub(super) fn give_up(&self, trouble: Trouble, local: Option<&Local>) {
        match trouble {
            Trouble::Stuck if local.is_none() => self.lose(),
            _ => self.turn_off(),
        }
    }

    pub(super) fn warn(&self) {
        self.counters.warnings.fetch_add(1, Relaxed);
    }

    pub(super) fn lose(&self) {
        self.counters.lost.fetch_add(1, Relaxed);
    }

    pub(super) fn bucket(&self, i: usize, env: &Env) -> Result<Guard<'_, Chain>, Trouble> {
        self.buckets[i].lock(&env.patience).ok_or(Trouble::Stuck)
    }

    fn bucket_of(&self, addr: u64, env: &Env) -> Result<Guard<'_, Chain>, Trouble> {
        self.bucket(of_chunk(addr >> CHUNK_SHIFT), env)
    }

    // --- operations ------------------------------------------------------------------------------

    /// Does `op` to the object at `addr`. What is wrong with that, after its fixup; [`Objects::act`] tells before it.
    ///
    /// `local` is the calling thread's own part. `fingerprint` says what the object's bytes are, for types under
    /// [`Rules::FINGERPRINT`].
    pub fn apply(
        &self,
        local: Option<&Local>,
        descr: &'static Descr,
        addr: u64,
        op: Operation,
        place: Place,
        fingerprint: u64,
    ) -> Option<Fault> {
        self.apply_once(local, Act { descr, addr, op, place, fingerprint, counts: (0, 0) })
    }

    /// Moves an active object on in the program's own count of states: it has to be in `expect`, and then is in
    /// `next`.
    pub fn active_state(
        &self,
        local: Option<&Local>,
        descr: &'static Descr,
        addr: u64,
        (expect, next): (u32, u32),
        place: Place,
    ) -> Option<Fault> {
        let op = Operation::ActiveState;
        let counts = (expect, next);
        self.apply_once(local, Act { descr, addr, op, place, fingerprint: 0, counts })
    }

    fn apply_once(&self, local: Option<&Local>, act: Act) -> Option<Fault> {
        let mut found = None;
        self.act(local, act, &mut |fault| found = Some(*fault));
        found
    }

    /// Does what `act` says, and returns whether all is well after that.
    ///
    /// `tell` hears of a fault before its fixup is called, from which there may be no return; and of the same fault
    /// again, as [`Fault::fixed`], if that has repaired the object.
    pub fn act(&self, local: Option<&Local>, act: Act, tell: &mut dyn FnMut(&Fault)) -> bool {
        let mut found = None;
        self.apply_telling(local, act, &mut |fault| found = Some(*fault));
        let Some(fault) = found else { return true };
        tell(&fault);
        // The caller's descriptor: the one that the object was initialised by may be gone with its module.
        let fixed = self.fix(fixup_of(act.descr, &fault), &fault);
        if fixed {
            tell(&Fault { fixed, ..fault });
        }
        fixed
    }

    /// As [`Objects::apply`], telling of a fault where the switches say, without fixups: a benchmark's.
    #[doc(hidden)]
    pub fn apply_with(
        &self,
        local: Option<&Local>,
        descr: &'static Descr,
        (addr, op): (u64, Operation),
        place: Place,
        tell: &mut dyn FnMut(&Fault),
    ) {
        self.apply_telling(
            local,
            Act { descr, addr, op, place, fingerprint: 0, counts: (0, 0) },
            tell,
        );
    }

    fn apply_telling(&self, local: Option<&Local>, act: Act, tell: &mut dyn FnMut(&Fault)) {
        let Some(env) = self.env(local) else { return };
        let Some(busy) = Local::begin(local) else { return self.lose() };
        if let Err(trouble) = self.operate(local, &busy, &env, act, tell) {
            self.give_up(trouble, local);
        }
    }

    fn operate(
        &self,
        local: Option<&Local>,
        busy: &Busy<'_>,
        env: &Env,
        act: Act,
        tell: &mut dyn FnMut(&Fault),
    ) -> Result<(), Trouble> {
        self.pools.fill(env)?;
        let mut given = List::new();
        let mut done = self.attempt(local, env, act, None, &mut given, tell)?;
        if let Attempt::Ask = done {
            // The type's own function may do anything: no lock is held, and the thread may begin operations.
            let is_static = busy.pause(|| act.descr.is_static(act.addr));
            done = self.attempt(local, env, act, Some(is_static), &mut given, tell)?;
        }
        if given.len() > 0 {
            // SAFETY: the thread's own, and busy.
            unsafe { self.pools.give(local, given, env)? };
        }
        self.pools.free_excess(act.place.time_ns, env)?;
        if let Attempt::Faulty(fault) = done {
            busy.pause(|| tell(&fault));
        }
        Ok(())
    }

    /// Looks the object up and has it go through the operation, under its bucket's lock.
    fn attempt(
        &self,
        local: Option<&Local>,
        env: &Env,
        act: Act,
        is_static: Option<bool>,
        given: &mut List,
        tell: &mut dyn FnMut(&Fault),
    ) -> Result<Attempt, Trouble> {
        let mut chain = self.bucket_of(act.addr, env)?;
        let (mut at, seen) = chain.find(act.addr, act.descr.type_id);
        raise(&self.counters.max_chain, seen);
        // SAFETY: what a chain has is live, and changed under its lock only.
        if let Some(tracker) = unsafe { at.as_mut() } {
            tracker.enter(env.patience.era);
            if tracker.is_other(&act) {
                chain.remove(at);
                // SAFETY: nobody's now.
                unsafe { given.push(at.cast()) };
                at = null_mut();
            }
        }
        // SAFETY: as above.
        let known = unsafe { at.as_ref() };
        let state = match (known, is_static) {
            (Some(tracker), _) => tracker.state,
            (None, None) => State::None,
            (None, Some(true)) => State::Init,
            (None, Some(false)) => State::NotAvailable,
        };
        let due = if act.op == Operation::ActiveState { act.counts.0 } else { 0 };
        let counts = known.is_none_or(|tracker| tracker.count == due);
        let Step::To(next, kind) = step(self.table, state, act.op, act.descr.rules, counts) else {
            return Ok(Attempt::Ask);
        };
        let fault = kind.map(|kind| {
            let unknown = Tracker { state, ..Tracker::new(act.addr, act.descr, env.patience.era) };
            let mut fault = known.unwrap_or(&unknown).fault(kind, act.op, act.place);
            fault.expected.0 = due;
            fault
        });
        if next == State::None || next == State::NotAvailable {
            if !at.is_null() {
                chain.remove(at);
                // SAFETY: nobody's now.
                unsafe { given.push(at.cast()) };
            }
        } else {
            if at.is_null() {
                // SAFETY: the thread's own, and busy.
                at = unsafe { self.pools.take(local, env)? }.cast();
                let mut new = Tracker::new(act.addr, act.descr, env.patience.era);
                (new.state, new.flags) = (State::Init, BY_STATIC);
                // SAFETY: a record is large enough for a tracker, and this one is ours.
                unsafe {
                    at.write(new);
                    chain.insert(at);
                }
            }
            // SAFETY: in the chain, whose lock we have.
            unsafe { (*at).goes(&act, next, kind.is_some()) };
        }
        let Some(fault) = fault else { return Ok(Attempt::Done) };
        self.warn();
        if env.switches.has(Switches::TELL_UNLOCKED) {
            return Ok(Attempt::Faulty(fault));
        }
        tell(&fault);
        Ok(Attempt::Done)
    }

    /// Calls a fixup and counts it if it repaired something. No lock is held.
    pub(super) fn fix(&self, fixup: Option<Fixup>, fault: &Fault) -> bool {
        let fixed = Descr::fix(fixup, fault.addr, fault.was);
        self.counters.fixups.fetch_add(u64::from(fixed), Relaxed);
        fixed
    }

    // --- what is known -----------------------------------------------------------------------------

    /// What is known of an object.
    pub fn state(&self, local: Option<&Local>, type_id: u32, addr: u64) -> Option<Tracked> {
        let env = self.env(local)?;
        let Some(_busy) = Local::begin(local) else {
            self.lose();
            return None;
        };
        match self.bucket_of(addr, &env) {
            Ok(chain) => {
                // SAFETY: what a chain has is live, and changed under its lock only.
                let tracker = unsafe { chain.find(addr, type_id).0.as_mut() }?;
                tracker.enter(env.patience.era);
                Some(Tracked::from(&*tracker))
            }
            Err(trouble) => {
                self.give_up(trouble, local);
                None
            }
        }
    }

    /// Shows all objects. `see` is called under a bucket's lock: it calls nothing here.
    pub fn for_each(&self, local: Option<&Local>, see: &mut dyn FnMut(&Tracked)) {
        let Some(env) = self.env(local) else { return };
        let Some(_busy) = Local::begin(local) else { return self.lose() };
        for i in 0..BUCKETS {
            let chain = match self.bucket(i, &env) {
                Ok(chain) => chain,
                Err(trouble) => return self.give_up(trouble, local),
            };
            for tracker in chain.iter() {
                // SAFETY: what a chain has is live, and changed under its lock only.
                let tracker = unsafe { &mut *tracker };
                tracker.enter(env.patience.era);
                see(&Tracked::from(&*tracker));
            }
        }
    }

    /// Statistics.
    pub fn stats(&self) -> Stats {
        let pools = self.env_anyway(None).map(|env| self.pools.stats(&env)).unwrap_or_default();
        Stats {
            max_chain: self.counters.max_chain.load(Relaxed),
            max_checked: self.counters.max_checked.load(Relaxed),
            warnings: self.counters.warnings.load(Relaxed),
            fixups: self.counters.fixups.load(Relaxed),
            lost: self.counters.lost.load(Relaxed),
            ..pools
        }
    }

    // --- threads and processes -----------------------------------------------------------------------

    /// The own part of a thread that begins; null: it is to do without.
    pub fn start_local(&self) -> *mut Local {
        let Some(env) = self.env(None) else { return null_mut() };
        self.pools.start_local(&env).unwrap_or_else(|trouble| {
            self.give_up(trouble, None);
            null_mut()
        })
    }

    /// Ends a thread's own part: its records go back.
    ///
    /// # Safety
    /// It is null or from [`Objects::start_local`], and is not used any more.
    pub unsafe fn end_local(&self, local: *mut Local) {
        if local.is_null() {
            return;
        }
        let Some(env) = self.env(None) else { return };
        // SAFETY: the caller's promise.
        if let Err(trouble) = unsafe { self.pools.end_local(local, &env) } {
            self.give_up(trouble, None);
        }
    }

    /// In a forked child, before its first operation: `mine` is the own part of its only thread, or null. The
    /// parent's objects are the child's; threads and stacks of the parent's ledger are unknown (0).
    ///
    /// # Safety
    /// There is no other thread.
    pub unsafe fn forked(&self, mine: *mut Local) {
        let parent = self.era.load(Relaxed);
        // 0 is no era: it is what a free lock is.
        self.era.store(parent.wrapping_add(1).max(1), Relaxed);
        if let Some(env) = self.env_anyway(None) {
            self.pools.forked(mine, parent, &env);
        }
    }
}

/// What came of looking.
enum Attempt {
    Done,
    /// Told of after the lock was let go.
    Faulty(Fault),
    /// The type has to be asked.
    Ask,
}

impl Tracker {
    /// It is of an object that was destroyed, and there is another now in its memory.
    fn is_other(&self, act: &Act) -> bool {
        self.state == State::Destroyed
            && act.descr.rules.has(Rules::FINGERPRINT)
            && act.op != Operation::NoObjFreed
            && self.fingerprint != act.fingerprint
    }
}

/// What may repair the object of a fault.
fn fixup_of(descr: &Descr, fault: &Fault) -> Option<Fixup> {
    match (fault.op, fault.was) {
        (Operation::Init | Operation::InitOnStack, State::Active) => descr.fixup_init,
        (Operation::Activate, State::Active | State::NotAvailable) => descr.fixup_activate,
        (Operation::Destroy, State::Active) => descr.fixup_destroy,
        (Operation::Free | Operation::NoObjFreed, State::Active) => descr.fixup_free,
        (Operation::AssertInit, State::NotAvailable) => descr.fixup_assert_init,
        _ => None,
    }
}
