//! All objects of a process, and the operations on one.

use core::ptr::null_mut;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32};

use lockwright_ledger::rows::object::ObjectPools;

use super::act::Act;
use super::bucket::{Buckets, CHUNK_SHIFT, Chain, of_chunk};
use super::descr::{Descr, Fixup};
use super::fault::{Fault, Place};
use super::line::Line;
use super::local::{Busy, Local};
use super::lock::{Guard, Patience};
use super::pool::stack::List;
use super::pool::{Env, Pools, Source, Switches, Trouble};
use super::publish::Publisher;
use super::stats::{Counters, Stats, raise};
use super::table::{Operation, Rules, State, Step, TABLE, Table, step};
use super::tracker::{BY_STATIC, Tracked, Tracker};

/// [`Objects::enabled`]: it was turned off because there was no memory.
const NO_MEMORY: u32 = 2;
/// [`Objects::enabled`]: it was turned off, as a lock's holder was gone.
const STUCK: u32 = 3;
/// [`Objects::enabled`]: it is on.
const ON: u32 = 1;

/// The objects of a process. Lives in a static; all methods may be called by any thread at any
/// time.
pub struct Objects {
    enabled: AtomicU32,
    switches: AtomicU32,
    source: AtomicPtr<Source>,
    /// Counts forks: what this process' locks are taken in, and its moments made.
    era: AtomicU32,
    pub(super) table: &'static Table,
    pub(super) buckets: &'static Buckets,
    pub(super) pools: Pools,
    pub(super) counters: Line<Counters>,
    publisher: Publisher,
}

// SAFETY: chains are reached under their buckets' locks only.
unsafe impl Sync for Objects {}

impl Objects {
    /// Off until it is started. The buckets are its own: no other objects are in them.
    pub const fn new(buckets: &'static Buckets) -> Self {
        Self::with_table(buckets, &TABLE)
    }

    /// With a table of the caller's: tests break it.
    #[doc(hidden)]
    pub const fn with_table(buckets: &'static Buckets, table: &'static Table) -> Self {
        Self {
            enabled: AtomicU32::new(0),
            switches: AtomicU32::new(Switches::PATCHED.0),
            source: AtomicPtr::new(null_mut()),
            era: AtomicU32::new(1),
            table,
            buckets,
            pools: Pools::new(),
            counters: Line(Counters::new()),
            publisher: Publisher::new(),
        }
    }

    /// Turns it on. Once; other threads see it on when they see it.
    pub fn start(&self, source: &'static Source, switches: Switches) {
        self.switches.store(switches.0, Relaxed);
        self.source.store((&raw const *source).cast_mut(), Relaxed);
        // Release pairs with the Acquire in `env`: a thread that sees it on also sees its source.
        self.enabled.store(ON, Release);
    }

    /// It tracks.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.enabled.load(Relaxed) == ON
    }

    /// It was on, and is so no more.
    pub fn was_turned_off(&self) -> bool {
        self.why_off() != 0
    }

    /// As [`lockwright_ledger::rows::object::ObjectPools::off`].
    fn why_off(&self) -> u32 {
        self.enabled.load(Relaxed).saturating_sub(ON)
    }

    /// From now on statistics go to that row, some 10 ms late as long as there are operations;
    /// null: nowhere.
    ///
    /// # Safety
    /// The row stays mapped until there is another.
    pub unsafe fn publish_to(&self, row: *mut ObjectPools) {
        // SAFETY: by this function's own contract.
        unsafe { self.publisher.publish_to(row) };
    }

    /// Brings the row up to date now.
    pub fn publish(&self) {
        self.publisher.publish(|| self.stats(), || self.why_off());
    }

    /// It tracks no more: no operation does anything from now on.
    pub(super) fn turn_off(&self, trouble: Trouble) {
        let why = match trouble {
            Trouble::NoMemory => NO_MEMORY,
            Trouble::Stuck => STUCK,
        };
        // Threads finish the operations that they are in.
        if self.enabled.compare_exchange(ON, why, Relaxed, Relaxed).is_ok() {
            self.publish();
        }
    }

    /// What an operation works with, if it is on. A caller without a thread's own part may have
    /// interrupted the holder of a lock, and soon gives up.
    #[inline]
    pub(super) fn env(&self, local: Option<&Local>) -> Option<Env> {
        let turns = if local.is_some() { Patience::LONG } else { Patience::SHORT };
        // Acquire pairs with the Release in `start`.
        (self.enabled.load(Acquire) == ON).then(|| self.env_anyway(turns)).flatten()
    }

    fn env_anyway(&self, turns: u32) -> Option<Env> {
        // SAFETY: `source` is null or the `&'static Source` that `start` stored.
        let source: &'static Source = unsafe { self.source.load(Relaxed).as_ref() }?;
        let patience = Patience { turns, relax: source.relax, era: self.era.load(Relaxed) };
        Some(Env { source, switches: Switches(self.switches.load(Relaxed)), patience })
    }

    /// An operation could not be done. A caller without a thread's own part may have interrupted
    /// the lock's holder.
    pub(super) fn give_up(&self, trouble: Trouble, local: Option<&Local>) {
        match trouble {
            Trouble::Stuck if local.is_none() => self.lose(),
            trouble => self.turn_off(trouble),
        }
    }

    /// What is to be done from time to time. Called at the end of operations, with no bucket's lock
    /// held.
    #[inline]
    pub(super) fn tend(&self, now: u64, env: &Env) -> Result<(), Trouble> {
        if self.publisher.is_due(now) {
            self.publish();
        }
        self.pools.free_excess(now, env)
    }

    /// Something of that is due, for all that is known without a lock.
    #[inline(always)]
    pub(super) fn needs_care(&self, now: u64) -> bool {
        self.publisher.may_be_due(now) || self.pools.has_excess()
    }

    /// What this process' locks are taken in.
    #[inline(always)]
    pub(super) fn era(&self) -> u32 {
        self.era.load(Relaxed)
    }

    pub(super) fn warn(&self) {
        self.counters.0.warnings.fetch_add(1, Relaxed);
    }

    pub(super) fn lose(&self) {
        self.counters.0.lost.fetch_add(1, Relaxed);
    }

    pub(super) fn bucket(&self, i: usize, env: &Env) -> Result<Guard<'_, Chain>, Trouble> {
        self.buckets.get(i).lock(&env.patience).ok_or(Trouble::Stuck)
    }

    /// A bucket has no objects, except some that others may be adding.
    pub(super) fn is_empty(&self, i: usize) -> bool {
        // SAFETY: chains are changed through atomics.
        unsafe { self.buckets.get(i).unlocked() }.is_empty()
    }

    pub(super) fn bucket_of(&self, addr: u64, env: &Env) -> Result<Guard<'_, Chain>, Trouble> {
        self.bucket(of_chunk(addr >> CHUNK_SHIFT), env)
    }

    // --- operations ------------------------------------------------------------------------------

    /// Does `op` to the object at `addr`. What is wrong with that, after its fixup;
    /// [`Objects::act`] tells before it.
    ///
    /// `local` is the calling thread's own part. `fingerprint` says what the object's bytes are,
    /// for types under [`Rules::FINGERPRINT`].
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

    /// Moves an active object on in the program's own count of states: it has to be in `expect`,
    /// and then is in `next`.
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
    /// `tell` hears of a fault before its fixup is called, from which there may be no return; and
    /// of the same fault again, as [`Fault::fixed`], if that has repaired the object.
    pub fn act(&self, local: Option<&Local>, act: Act, tell: &mut dyn FnMut(&Fault)) -> bool {
        let mut found = None;
        self.apply_telling(local, act, &mut |fault| found = Some(*fault));
        let Some(fault) = found else { return true };
        tell(&fault);
        // The caller's descriptor: the one that the object was initialised by may be gone with its
        // module.
        let fixed = self.fix(fixup_of(act.descr, &fault), &fault);
        if fixed {
            tell(&Fault { fixed, ..fault });
        }
        fixed
    }

    /// As [`Objects::apply`], telling of a fault where the switches say, without fixups: a
    /// benchmark's.
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
        self.within(local, |env, busy| self.operate(local, busy, env, act, tell));
    }

    /// Runs an operation. `None`: it was not done, or not to its end.
    #[inline]
    pub(super) fn within<R>(
        &self,
        local: Option<&Local>,
        operation: impl FnOnce(&Env, &Busy<'_>) -> Result<R, Trouble>,
    ) -> Option<R> {
        let env = self.env(local)?;
        let Some(busy) = Local::begin(local) else {
            self.lose();
            return None;
        };
        operation(&env, &busy).map_err(|trouble| self.give_up(trouble, local)).ok()
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
            // The type's own function may do anything: no lock is held, and the thread may begin
            // operations.
            let is_static = busy.pause(|| act.descr.is_static(act.addr));
            done = self.attempt(local, env, act, Some(is_static), &mut given, tell)?;
        }
        if given.len() > 0 {
            // SAFETY: the thread's own, and busy.
            unsafe { self.pools.give(local, given, env)? };
        }
        self.tend(act.place.time_ns, env)?;
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
        let chain = self.bucket_of(act.addr, env)?;
        let (mut at, seen) = chain.find(act.addr, act.descr.type_id);
        raise(&self.counters.0.max_chain, seen);
        // SAFETY: what a chain has is live, and changed under its lock only.
        let there = unsafe { at.as_mut() };
        let known = there.and_then(|tracker| {
            tracker.enter(env.patience.era);
            // Of another object there is nothing known, and its tracker is free for this one.
            (!tracker.is_other(&act)).then_some(&*tracker)
        });
        let is_known = known.is_some();
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
                // SAFETY: in the chain; then nobody's.
                unsafe {
                    chain.remove(at);
                    given.push(at.cast());
                }
            }
        } else {
            if !is_known {
                let mut new = Tracker::new(act.addr, act.descr, env.patience.era);
                (new.state, new.flags) = (State::Init, BY_STATIC);
                if at.is_null() {
                    // SAFETY: the thread's own, and busy.
                    at = unsafe { self.pools.take(local, env)? }.cast();
                    self.buckets.note(of_chunk(act.addr >> CHUNK_SHIFT));
                    // SAFETY: a record is large enough for a tracker, and this one is ours.
                    unsafe {
                        at.write(new);
                        chain.insert(at);
                    }
                } else {
                    // SAFETY: in the chain, whose lock we have, and which goes on from it as before.
                    unsafe { at.write(Tracker { next: (*at).next, ..new }) };
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
        self.counters.0.fixups.fetch_add(u64::from(fixed), Relaxed);
        fixed
    }

    // --- what is known

    /// What is known of an object.
    pub fn state(&self, local: Option<&Local>, type_id: u32, addr: u64) -> Option<Tracked> {
        let known = self.within(local, |env, _busy| {
            let chain = self.bucket_of(addr, env)?;
            // SAFETY: what a chain has is live, and changed under its lock only.
            let tracker = unsafe { chain.find(addr, type_id).0.as_mut() };
            Ok(tracker.map(|tracker| {
                tracker.enter(env.patience.era);
                Tracked::from(&*tracker)
            }))
        });
        known.flatten()
    }

    /// Shows all objects, except what another thread is adding now. `see` is called under a
    /// bucket's lock: it calls nothing here.
    pub fn for_each(&self, local: Option<&Local>, see: &mut dyn FnMut(&Tracked)) {
        let Some(env) = self.env(local) else { return };
        let Some(_busy) = Local::begin(local) else { return self.lose() };
        // Looked at first: nearly all are empty, in pages that a lock would write to.
        for i in self.buckets.used().filter(|&i| !self.is_empty(i)) {
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

    /// Statistics. Takes no lock; exact where no operation is under way.
    pub fn stats(&self) -> Stats {
        Stats {
            max_chain: self.counters.0.max_chain.load(Relaxed),
            max_checked: self.counters.0.max_checked.load(Relaxed),
            warnings: self.counters.0.warnings.load(Relaxed),
            fixups: self.counters.0.fixups.load(Relaxed),
            lost: self.counters.0.lost.load(Relaxed),
            ..self.pools.stats()
        }
    }

    // --- threads and processes

    /// The own part of the calling thread, which begins; null: it is to do without.
    pub fn start_local(&self) -> *mut Local {
        // It cannot have interrupted an operation: there was none.
        let env = if self.is_on() { self.env_anyway(Patience::LONG) } else { None };
        let Some(env) = env else { return null_mut() };
        self.pools.start_local(&env).unwrap_or_else(|trouble| {
            self.turn_off(trouble);
            null_mut()
        })
    }

    /// Ends a thread's own part: its records go back.
    ///
    /// # Safety
    /// It is null or from [`Objects::start_local`], and is not used any more.
    pub unsafe fn end_local(&self, local: *mut Local) {
        // SAFETY: by contract `local` is null or came from `start_local`, whose memory stays
        // mapped.
        let Some(own) = (unsafe { local.as_ref() }) else { return };
        // A handler that ends the thread may have interrupted it with a lock in its hands.
        let turns = if own.is_busy() { Patience::SHORT } else { Patience::LONG };
        let Some(env) = self.env_anyway(turns).filter(|_| self.is_on()) else { return };
        // SAFETY: `local` is not null here, came from `start_local`, and is no longer used, as our
        // contract says.
        if let Err(trouble) = unsafe { self.pools.end_local(local, &env) } {
            self.turn_off(trouble);
        }
    }

    /// In a forked child, before its first operation: `mine` is the own part of its only thread, or
    /// null. The parent's objects are the child's; threads and stacks of the parent's ledger are
    /// unknown (0).
    ///
    /// # Safety
    /// There is no other thread.
    pub unsafe fn forked(&self, mine: *mut Local) {
        let parent = self.era.load(Relaxed);
        // 0 is no era: it is what a free lock is.
        self.era.store(parent.wrapping_add(1).max(1), Relaxed);
        if let Some(env) = self.env_anyway(Patience::LONG) {
            self.pools.forked(mine, parent, &env);
        }
    }
}

/// What came of looking.
enum Attempt {
    Done,
    /// Reported after the lock was released.
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
