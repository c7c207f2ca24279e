//! Memory goes: the objects in it go with it. The kernel's `debug_check_no_obj_freed`.

use lockwright_ledger::rows::object::object_end;

use super::bucket::{CHUNK_SHIFT, of_chunk};
use super::fault::{Fault, Place};
use super::local::{Busy, Local};
use super::objects::Objects;
use super::pool::stack::List;
use super::pool::{Env, Switches, Trouble};
use super::stats::raise;
use super::table::{Operation, State, Step, step};
use super::tracker::{ENDED, GOING, Tracker};

/// Memory that goes.
#[derive(Clone, Copy)]
struct Range {
    from: u64,
    to: u64,
    how: u8,
    place: Place,
}

impl Range {
    /// The memory is not gone yet: a fixup may look at the object.
    fn is_there(self) -> bool {
        matches!(self.how, object_end::NONE | object_end::FREED | object_end::UNMAPPED)
    }
}

/// What a look at a bucket found.
enum Look {
    /// Nothing more in it is to be reported.
    Done,
    /// A fault; its tracker is out of the chain.
    Gone(Fault),
    /// A fault of an object that has a fixup; its tracker is still there.
    Going(Fault),
}

impl Objects {
    /// The memory from `from` to below `to` goes, and `how` says how
    /// ([`object_end`](lockwright_ledger::rows::object::object_end)): removes the objects that
    /// begin in it, and reports those that should not have been there: before their fixup, and
    /// again if that has repaired them, as [`Objects::act`] does.
    pub fn check_no_obj_freed(
        &self,
        local: Option<&Local>,
        (from, to): (u64, u64),
        how: u8,
        place: Place,
        found: &mut dyn FnMut(Fault),
    ) {
        let range = Range { from, to, how, place };
        self.within(local, |env, busy| self.sweep(local, busy, env, range, found));
    }

    fn sweep(
        &self,
        local: Option<&Local>,
        busy: &Busy<'_>,
        env: &Env,
        range: Range,
        found: &mut dyn FnMut(Fault),
    ) -> Result<(), Trouble> {
        if range.from >= range.to {
            return Ok(());
        }
        let (first, last) = (range.from >> CHUNK_SHIFT, (range.to - 1) >> CHUNK_SHIFT);
        let mut given = List::new();
        let mut checked = 0;
        let mut bucket = |i: usize| {
            loop {
                let look = self.look(i, env, range, &mut given, &mut checked, found)?;
                match look {
                    Look::Done => return Ok(()),
                    Look::Gone(fault) => busy.pause(|| found(fault)),
                    Look::Going(fault) => busy.pause(|| {
                        found(fault);
                        let fixed = self.fix(fault.descr.fixup_at_end(), &fault);
                        if fixed {
                            found(Fault { fixed, ..fault });
                        }
                    }),
                }
            }
        };
        // Where there are more chunks than buckets with objects each of these is looked at once.
        if last - first < self.buckets.count_used() as u64 {
            (first..=last).try_for_each(|chunk| bucket(of_chunk(chunk)))?;
        } else {
            self.buckets.used().try_for_each(bucket)?;
        }
        raise(&self.counters.0.max_checked, checked);
        if given.len() > 0 {
            // SAFETY: the thread's own, and busy.
            unsafe { self.pools.give(local, given, env)? };
        }
        self.tend(range.place.time_ns, env)
    }

    /// Takes objects out of a bucket up to the first fault.
    fn look(
        &self,
        i: usize,
        env: &Env,
        range: Range,
        given: &mut List,
        checked: &mut u64,
        found: &mut dyn FnMut(Fault),
    ) -> Result<Look, Trouble> {
        if self.is_empty(i) {
            return Ok(Look::Done);
        }
        let chain = self.bucket(i, env)?;
        for at in chain.iter() {
            *checked += 1;
            // SAFETY: what a chain has is live, and changed under its lock only.
            let tracker = unsafe { &mut *at };
            if !(range.from..range.to).contains(&tracker.addr) {
                continue;
            }
            tracker.enter(env.patience.era);
            let fault = self.fault_of_going(tracker, range);
            if let Some(fault) = fault
                && tracker.state == State::Active
                && range.is_there()
                && tracker.descr.fixup_at_end().is_some()
            {
                self.warn();
                tracker.flags |= GOING;
                drop(chain);
                return Ok(Look::Going(fault));
            }
            // SAFETY: in the chain; then nobody's.
            unsafe {
                chain.remove(at);
                given.push(at.cast());
            }
            let Some(fault) = fault else { continue };
            self.warn();
            if env.switches.has(Switches::TELL_UNLOCKED) {
                return Ok(Look::Gone(fault));
            }
            found(fault);
        }
        Ok(Look::Done)
    }

    /// What is wrong with an object whose memory goes.
    fn fault_of_going(&self, tracker: &Tracker, range: Range) -> Option<Fault> {
        if tracker.flags & (GOING | ENDED) != 0 {
            return None;
        }
        let op = Operation::NoObjFreed;
        match step(self.table, tracker.state, op, tracker.rules_at_end(), true) {
            Step::To(_, Some(kind)) => {
                let fault = tracker.fault(kind, op, range.place);
                Some(Fault { how: range.how, ..fault })
            }
            _ => None,
        }
    }
}
