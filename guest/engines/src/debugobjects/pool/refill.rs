//! Between the global pool and the slab: the pool is filled before it is empty, and gives back what
//! is too much.

use core::sync::atomic::Ordering::Relaxed;

use super::env::{Env, Trouble};
use super::global::{Pools, add, batched};
use super::sizes::{BATCH, FREE_EVERY, FREE_MAX, MIN_LEVEL, POOL_SIZE};
use super::switches::Switches;
use super::usage;

impl Pools {
    /// Sees to it that operations find records: called before one takes its bucket's lock. Where
    /// there is no memory they may still find some.
    #[inline]
    pub fn fill(&self, env: &Env) -> Result<(), Trouble> {
        let level = self.level(MIN_LEVEL, env);
        if self.gauges.0.free.load(Relaxed) >= level {
            return Ok(());
        }
        match self.fill_to(level, env) {
            Err(Trouble::NoMemory) => Ok(()),
            result => result,
        }
    }

    #[cold]
    fn fill_to(&self, level: u32, env: &Env) -> Result<(), Trouble> {
        let gauges = &self.gauges.0;
        if !gauges.begun.swap(true, Relaxed) {
            while gauges.free.load(Relaxed) < POOL_SIZE {
                self.add_new(POOL_SIZE - gauges.free.load(Relaxed), env)?;
            }
        }
        let at_once = if env.switches.has(Switches::BATCHED_FILL) { BATCH } else { 1 };
        // What waits to be given back is the nearest.
        while gauges.to_free.load(Relaxed) > 0 && gauges.free.load(Relaxed) < level {
            let mut guard = self.lock(env)?;
            let global = &mut *guard;
            if at_once == 1 {
                global.pool.push_list(global.to_free.take(1), batched(env));
            } else {
                while global.pool.len() < level
                    && global.to_free.move_batch(&mut global.pool, batched(env)) > 0
                {
                }
            }
            self.unlock(guard);
        }
        while gauges.free.load(Relaxed) < level {
            self.add_new(at_once, env)?;
        }
        Ok(())
    }

    /// Adds up to `n` of the slab's to the global pool, at least one.
    pub(super) fn add_new(&self, n: u32, env: &Env) -> Result<(), Trouble> {
        let new = self.slab.0.take(n, env)?;
        let mut global = self.lock(env)?;
        add(&self.gauges.0.allocated, u64::from(new.len()));
        global.pool.push_list(new, batched(env));
        self.unlock(global);
        Ok(())
    }

    /// Gives back to the slab what is too much, if it is time to.
    #[inline]
    pub fn free_excess(&self, now: u64, env: &Env) -> Result<(), Trouble> {
        if batched(env) {
            self.watch_usage(now, env);
        }
        if self.gauges.0.to_free.load(Relaxed) == 0 { Ok(()) } else { self.free_some(now, env) }
    }

    /// There is something to be given back to the slab, if it is time to.
    #[inline(always)]
    pub fn has_excess(&self) -> bool {
        // Relaxed: `free_excess` looks again.
        self.gauges.0.to_free.load(Relaxed) != 0
    }

    #[cold]
    fn free_some(&self, now: u64, env: &Env) -> Result<(), Trouble> {
        let gauges = &self.gauges.0;
        let is_lazy = env.switches.has(Switches::LAZY_FREE);
        if is_lazy && now.saturating_sub(gauges.freed_ns.load(Relaxed)) < FREE_EVERY {
            return Ok(());
        }
        // While another has the lock this is put off to a later operation.
        let Some(mut guard) = self.try_lock(env) else { return Ok(()) };
        gauges.freed_ns.store(now, Relaxed);
        let global = &mut *guard;
        let size = self.size(env);
        let is_wanted = global.pool.len() < size;
        while global.pool.len() < size
            && global.to_free.move_batch(&mut global.pool, batched(env)) > 0
        {}
        let max = match () {
            () if batched(env) && global.usage.rises(self.out(global)) => 0,
            // It was not full: more are about to be used, for all one can tell.
            () if is_lazy && is_wanted => 0,
            () if is_lazy => FREE_MAX,
            () => u32::MAX,
        };
        let list = global.to_free.take(max);
        add(&gauges.freed, u64::from(list.len()));
        self.unlock(guard);
        self.slab.0.give(list, env)
    }

    /// Brings the average of what is in use up to date, once in a period.
    fn watch_usage(&self, now: u64, env: &Env) {
        let seen = &self.gauges.0.usage_ns;
        if now.saturating_sub(seen.load(Relaxed)) < usage::PERIOD {
            return;
        }
        if let Some(mut guard) = self.try_lock(env) {
            let periods = now.saturating_sub(seen.load(Relaxed)) / usage::PERIOD;
            seen.store(now, Relaxed);
            let used = self.out(&guard);
            guard.usage.sees(used, periods);
            self.unlock(guard);
        }
    }
}
