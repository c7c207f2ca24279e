//! Lives that begin and end as they should, each with one look at the object's bucket.
//!
//! What else may be known of an object is left to [`Objects::apply`]: then nothing is done here.

use super::act::Act;
use super::bucket::{CHUNK_SHIFT, of_chunk};
use super::descr::Descr;
use super::fault::Place;
use super::local::Local;
use super::objects::Objects;
use super::pool::{Env, Trouble};
use super::stats::raise;
use super::table::{Operation, Rules, State, Step, step};
use super::tracker::{Tracked, Tracker};

impl Objects {
    /// Does `op`, by which an object is initialised, if at `addr` there is none of its type, or one that was
    /// destroyed. What is known of another that is there: then nothing was done.
    pub fn begin_life(
        &self,
        local: Option<&Local>,
        descr: &'static Descr,
        addr: u64,
        op: Operation,
        place: Place,
    ) -> Option<Tracked> {
        let act = Act { descr, addr, op, place, fingerprint: 0, counts: (0, 0) };
        self.within(local, |env, _busy| self.begin_in(local, env, &act)).flatten()
    }

    /// As [`Objects::begin_life`], of an object where one was destroyed. False: none was, for all that can be seen at once, and
    /// nothing was done.
    #[inline(always)]
    pub fn renew_life(
        &self,
        local: Option<&Local>,
        descr: &'static Descr,
        addr: u64,
        op: Operation,
        place: Place,
    ) -> bool {
        self.with_known(local, (descr, addr), place.time_ns, |tracker| {
            let is_over = tracker.state == State::Destroyed && descr.rules.has(Rules::REINIT);
            if is_over {
                tracker.begins(descr, op, place);
            }
            is_over
        })
    }

    /// Has `change` change an object that is known. False: it did not, or none is, or it is not the time.
    #[inline(always)]
    fn with_known(
        &self,
        local: Option<&Local>,
        (descr, addr): (&'static Descr, u64),
        now: u64,
        change: impl FnOnce(&mut Tracker) -> bool,
    ) -> bool {
        if local.is_none() || !self.is_on() {
            return false;
        }
        // Each operation that is not done here is begun once more, and then counted if it cannot be done.
        let Some(busy) = Local::begin(local) else { return false };
        let (bucket, era) = (self.buckets.get(of_chunk(addr >> CHUNK_SHIFT)), self.era());
        let Some(chain) = bucket.try_lock(era) else { return false };
        let (at, seen) = chain.find(addr, descr.type_id);
        // SAFETY: what a chain has is live, and changed under its lock only.
        let Some(tracker) = (unsafe { at.as_mut() }) else { return false };
        if tracker.era != era || !change(tracker) {
            return false;
        }
        drop(chain);
        raise(&self.counters.0.max_chain, seen);
        if self.needs_care(now) {
            drop(busy);
            self.care(local, now);
        }
        true
    }

    /// What is to be done from time to time is done.
    #[cold]
    fn care(&self, local: Option<&Local>, now: u64) {
        self.within(local, |env, _busy| self.tend(now, env));
    }

    /// Destroys the object at `addr`. False: nothing was done, since none is known that may be destroyed.
    #[inline(always)]
    pub fn end_life(
        &self,
        local: Option<&Local>,
        descr: &'static Descr,
        addr: u64,
        place: Place,
        fingerprint: u64,
    ) -> bool {
        let is_done = self.with_known(local, (descr, addr), place.time_ns, |tracker| {
            let may_end = self.may_end(tracker, descr);
            if may_end {
                tracker.ends(place, fingerprint);
            }
            may_end
        });
        is_done || self.end_anyhow(local, descr, addr, place, fingerprint)
    }

    /// As [`Objects::end_life`], of an object that could not be changed at once.
    #[inline(never)]
    fn end_anyhow(
        &self,
        local: Option<&Local>,
        descr: &'static Descr,
        addr: u64,
        place: Place,
        fingerprint: u64,
    ) -> bool {
        let op = Operation::Destroy;
        let act = Act { descr, addr, op, place, fingerprint, counts: (0, 0) };
        // What cannot be done now is not to be tried another way.
        self.within(local, |env, _busy| self.end_in(env, &act)).unwrap_or(true)
    }

    fn begin_in(
        &self,
        local: Option<&Local>,
        env: &Env,
        act: &Act,
    ) -> Result<Option<Tracked>, Trouble> {
        self.pools.fill(env)?;
        let chain = self.bucket_of(act.addr, env)?;
        let (mut at, seen) = chain.find(act.addr, act.descr.type_id);
        raise(&self.counters.0.max_chain, seen);
        // SAFETY: what a chain has is live, and changed under its lock only.
        if let Some(tracker) = unsafe { at.as_mut() } {
            tracker.enter(env.patience.era);
            let is_over = tracker.state == State::Destroyed && act.descr.rules.has(Rules::REINIT);
            if !is_over {
                return Ok(Some(Tracked::from(&*tracker)));
            }
            tracker.begins(act.descr, act.op, act.place);
        } else {
            // SAFETY: the thread's own, and busy.
            at = unsafe { self.pools.take(local, env)? }.cast();
            let mut new = Tracker::new(act.addr, act.descr, env.patience.era);
            new.begins(act.descr, act.op, act.place);
            self.buckets.note(of_chunk(act.addr >> CHUNK_SHIFT));
            // SAFETY: a record is large enough for a tracker, this one is ours, and the chain's lock is held.
            unsafe {
                at.write(new);
                chain.insert(at);
            }
        }
        drop(chain);
        self.tend(act.place.time_ns, env)?;
        Ok(None)
    }

    fn end_in(&self, env: &Env, act: &Act) -> Result<bool, Trouble> {
        let chain = self.bucket_of(act.addr, env)?;
        let (at, seen) = chain.find(act.addr, act.descr.type_id);
        raise(&self.counters.0.max_chain, seen);
        // SAFETY: what a chain has is live, and changed under its lock only.
        let Some(tracker) = (unsafe { at.as_mut() }) else { return Ok(false) };
        tracker.enter(env.patience.era);
        if !self.may_end(tracker, act.descr) {
            return Ok(false);
        }
        tracker.ends(act.place, act.fingerprint);
        drop(chain);
        self.tend(act.place.time_ns, env)?;
        Ok(true)
    }

    /// The object is in its life, and may be destroyed now.
    #[inline(always)]
    fn may_end(&self, tracker: &Tracker, descr: &Descr) -> bool {
        let is_plain = matches!(tracker.state, State::Init | State::Inactive);
        let step = step(self.table, tracker.state, Operation::Destroy, descr.rules, true);
        is_plain && matches!(step, Step::To(State::Destroyed, None))
    }
}
