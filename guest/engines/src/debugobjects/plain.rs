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

    /// Destroys the object at `addr`. False: nothing was done, since none is known that may be destroyed.
    pub fn end_life(
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
            tracker.goes(act, State::Init, false);
        } else {
            // SAFETY: the thread's own, and busy.
            at = unsafe { self.pools.take(local, env)? }.cast();
            let mut new = Tracker::new(act.addr, act.descr, env.patience.era);
            new.goes(act, State::Init, false);
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
        let is_plain = matches!(tracker.state, State::Init | State::Inactive);
        let step = step(self.table, tracker.state, act.op, act.descr.rules, true);
        if !is_plain || !matches!(step, Step::To(State::Destroyed, None)) {
            return Ok(false);
        }
        tracker.goes(act, State::Destroyed, false);
        drop(chain);
        self.tend(act.place.time_ns, env)?;
        Ok(true)
    }
}
