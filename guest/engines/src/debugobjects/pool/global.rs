//! The global pool.

use core::ptr::null_mut;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64};

use super::super::line::Line;
use super::super::local::Local;
use super::super::lock::{Guard, Locked};
use super::super::stats::Stats;
use super::env::{Env, Trouble};
use super::sizes::{BATCH, POOL_SIZE};
use super::slab::Slab;
use super::stack::Stack;
use super::switches::Switches;
use super::usage::Usage;

/// Under the pool's lock.
pub(super) struct Global {
    /// Available records.
    pub pool: Stack,
    /// Records that wait to be given back to the slab.
    pub to_free: Stack,
    /// Own parts of threads that ended.
    pub spare: *mut Local,
    pub usage: Usage,
}

/// What others look at without the lock. Written under it, so a load and a store are an increment;
/// relaxed, as each stands for itself.
pub(super) struct Gauges {
    /// Lengths of the two stacks.
    pub free: AtomicU32,
    pub to_free: AtomicU32,
    /// Threads with an own part.
    pub threads: AtomicU32,
    /// Records had from the slab, and given back.
    pub allocated: AtomicU64,
    pub freed: AtomicU64,
    /// Most that ever were in neither stack.
    max_used: AtomicU64,
    /// Fewest that were ever in the pool when one was taken; `MAX`: none ever was.
    min_free: AtomicU64,
    /// Times the lock was taken; of these, how often it was found taken.
    acquired: AtomicU64,
    contended: AtomicU64,
    /// When records were last given back to the slab.
    pub freed_ns: AtomicU64,
    /// When [`Global::usage`] was last brought up to date.
    pub usage_ns: AtomicU64,
    /// The pool was filled for the first time.
    pub begun: AtomicBool,
}

/// The pools.
pub struct Pools {
    global: Line<Locked<Global>>,
    pub(super) gauges: Line<Gauges>,
    pub(super) slab: Line<Slab>,
    /// All threads' own parts that ever were, linked. None goes; one that ended is used again.
    pub(super) locals: AtomicPtr<Local>,
}

// SAFETY: records and own parts are reached under the lock, or by the thread whose they are.
unsafe impl Sync for Pools {}

/// Adds to a gauge. The pool's lock is held.
pub(super) fn add(gauge: &AtomicU64, n: u64) {
    gauge.store(gauge.load(Relaxed) + n, Relaxed);
}

impl Pools {
    pub const fn new() -> Self {
        Self {
            global: Line(Locked::new(Global {
                pool: Stack::new(),
                to_free: Stack::new(),
                spare: null_mut(),
                usage: Usage::new(),
            })),
            gauges: Line(Gauges {
                free: AtomicU32::new(0),
                to_free: AtomicU32::new(0),
                threads: AtomicU32::new(0),
                allocated: AtomicU64::new(0),
                freed: AtomicU64::new(0),
                max_used: AtomicU64::new(0),
                min_free: AtomicU64::new(u64::MAX),
                acquired: AtomicU64::new(0),
                contended: AtomicU64::new(0),
                freed_ns: AtomicU64::new(0),
                usage_ns: AtomicU64::new(0),
                begun: AtomicBool::new(false),
            }),
            slab: Line(Slab::new()),
            locals: AtomicPtr::new(null_mut()),
        }
    }

    pub(super) fn lock(&self, env: &Env) -> Result<Guard<'_, Global>, Trouble> {
        let global = self.global.0.lock(&env.patience).ok_or(Trouble::Stuck)?;
        add(&self.gauges.0.acquired, 1);
        if global.was_contended {
            add(&self.gauges.0.contended, 1);
        }
        Ok(global)
    }

    pub(super) fn try_lock(&self, env: &Env) -> Option<Guard<'_, Global>> {
        let global = self.global.0.try_lock(env.patience.era)?;
        add(&self.gauges.0.acquired, 1);
        Some(global)
    }

    /// The lock is let go, and others may see how much there is.
    pub(super) fn unlock(&self, global: Guard<'_, Global>) {
        self.gauges.0.free.store(global.pool.len(), Relaxed);
        self.gauges.0.to_free.store(global.to_free.len(), Relaxed);
    }

    /// The lock was held when the process forked.
    pub(super) fn was_held(&self, parent: u32) -> bool {
        self.global.0.is_held(parent)
    }

    /// Records that are in neither stack. The lock is held.
    pub(super) fn out(&self, global: &Global) -> u64 {
        let in_stacks = u64::from(global.pool.len()) + u64::from(global.to_free.len());
        let there = self.gauges.0.allocated.load(Relaxed) - self.gauges.0.freed.load(Relaxed);
        there.saturating_sub(in_stacks)
    }

    /// Some records have been taken out. The lock is held.
    pub(super) fn note(&self, global: &Global) {
        let Gauges { max_used, min_free, .. } = &self.gauges.0;
        max_used.store(max_used.load(Relaxed).max(self.out(global)), Relaxed);
        min_free.store(min_free.load(Relaxed).min(u64::from(global.pool.len())), Relaxed);
    }

    /// A level of the global pool. Where threads look ahead it is the higher the more they are.
    pub(super) fn level(&self, base: u32, env: &Env) -> u32 {
        if !env.switches.has(Switches::LOOKAHEAD) {
            return base;
        }
        base.saturating_add(self.gauges.0.threads.load(Relaxed).saturating_mul(BATCH))
    }

    /// Most records of the global pool.
    pub(super) fn size(&self, env: &Env) -> u32 {
        self.level(POOL_SIZE, env)
    }

    /// The pools' part of the statistics. Takes no lock; exact where nothing is being moved.
    pub fn stats(&self) -> Stats {
        let Gauges { free, to_free, allocated, freed, .. } = &self.gauges.0;
        let Gauges { max_used, min_free, acquired, contended, .. } = &self.gauges.0;
        let pcp_free = self.all_locals().map(|local| u64::from(local.free.load(Relaxed))).sum();
        let (pool_free, on_free_list) =
            (u64::from(free.load(Relaxed)), u64::from(to_free.load(Relaxed)));
        let (allocated, freed) = (allocated.load(Relaxed), freed.load(Relaxed));
        let unused = freed + pool_free + on_free_list + pcp_free;
        Stats {
            pool_free,
            pool_pcp_free: pcp_free,
            pool_min_free: Some(min_free.load(Relaxed)).filter(|&min| min != u64::MAX).unwrap_or(0),
            pool_used: allocated.saturating_sub(unused),
            pool_max_used: max_used.load(Relaxed),
            on_free_list,
            objs_allocated: allocated,
            objs_freed: freed,
            pool_lock_acquired: acquired.load(Relaxed),
            pool_lock_contended: contended.load(Relaxed),
            ..Stats::default()
        }
    }
}

/// Pools are stacks of batches.
pub(super) fn batched(env: &Env) -> bool {
    env.switches.has(Switches::BATCH_STACKS)
}
