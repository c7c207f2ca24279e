//! The global pool, and how records come to threads' pools and back.

use core::ptr::null_mut;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};

use super::super::local::Local;
use super::super::lock::{Guard, Locked};
use super::super::stats::Stats;
use super::super::tracker::RECORD;
use super::slab::Slab;
use super::stack::{List, Stack};
use super::usage::Usage;
use super::{BATCH, Env, FREE_EVERY, FREE_MAX, LOCAL, MIN_LEVEL, POOL_SIZE, Switches, Trouble};

const _: () = assert!(size_of::<Local>() <= RECORD);

/// Under the pool's lock.
struct Global {
    /// Records to be had.
    pool: Stack,
    /// Records that wait to be given back to the slab.
    to_free: Stack,
    /// Threads' own parts.
    locals: *mut Local,
    threads: u32,
    /// Records had from the slab, and given back.
    allocated: u64,
    freed: u64,
    /// Most that ever were out of the two stacks.
    max_used: u64,
    /// Fewest that were ever in `pool`.
    min_free: u64,
    /// Times the lock was taken; of these, when it was found taken.
    acquired: u64,
    contended: u64,
    usage: Usage,
}

/// The pools.
pub struct Pools {
    global: Locked<Global>,
    slab: Slab,
    /// Lengths of `pool` and `to_free`, to be looked at without the lock.
    free: AtomicU32,
    to_free: AtomicU32,
    /// Number of threads' own parts.
    threads: AtomicU32,
    /// When records were last given back to the slab.
    freed_ns: AtomicU64,
}

// SAFETY: all behind locks.
unsafe impl Sync for Pools {}

impl Global {
    /// Records that are in neither stack.
    fn out(&self) -> u64 {
        let in_stacks = u64::from(self.pool.len()) + u64::from(self.to_free.len());
        (self.allocated - self.freed).saturating_sub(in_stacks)
    }

    /// Some records have been taken out.
    fn note(&mut self) {
        self.max_used = self.max_used.max(self.out());
        self.min_free = self.min_free.min(u64::from(self.pool.len()));
    }
}

fn batched(env: &Env) -> bool {
    env.switches.has(Switches::BATCH_STACKS)
}

impl Pools {
    pub const fn new() -> Self {
        Self {
            global: Locked::new(Global {
                pool: Stack::new(),
                to_free: Stack::new(),
                locals: null_mut(),
                threads: 0,
                allocated: 0,
                freed: 0,
                max_used: 0,
                min_free: u64::MAX,
                acquired: 0,
                contended: 0,
                usage: Usage::new(),
            }),
            slab: Slab::new(),
            free: AtomicU32::new(0),
            to_free: AtomicU32::new(0),
            threads: AtomicU32::new(0),
            freed_ns: AtomicU64::new(0),
        }
    }

    fn lock(&self, env: &Env) -> Result<Guard<'_, Global>, Trouble> {
        let mut global = self.global.lock(&env.patience).ok_or(Trouble::Stuck)?;
        global.acquired += 1;
        global.contended += u64::from(global.was_contended);
        Ok(global)
    }

    /// The lock is let go: others may look at the lengths.
    fn unlock(&self, global: Guard<'_, Global>) {
        self.free.store(global.pool.len(), Relaxed);
        self.to_free.store(global.to_free.len(), Relaxed);
    }

    /// What the look-ahead takes besides: threads' pools hold more, so the global one has more, too.
    fn more(&self, env: &Env) -> u32 {
        let threads =
            if env.switches.has(Switches::LOOKAHEAD) { self.threads.load(Relaxed) } else { 0 };
        threads.saturating_mul(BATCH)
    }

    fn size(&self, env: &Env) -> u32 {
        POOL_SIZE.saturating_add(self.more(env))
    }

    // --- the global pool and the slab ------------------------------------------------------------

    /// Sees to it that operations find records: called before one takes its bucket's lock.
    #[inline]
    pub fn fill(&self, env: &Env) -> Result<(), Trouble> {
        let free = self.free.load(Relaxed);
        if free >= MIN_LEVEL.saturating_add(self.more(env)) { Ok(()) } else { self.fill_slow(env) }
    }

    #[cold]
    fn fill_slow(&self, env: &Env) -> Result<(), Trouble> {
        let level = MIN_LEVEL.saturating_add(self.more(env));
        let at_once = if env.switches.has(Switches::BATCHED_FILL) { BATCH } else { 1 };
        // What waits to be given back is the nearest.
        while self.to_free.load(Relaxed) > 0 && self.free.load(Relaxed) < level {
            let mut global = self.lock(env)?;
            let global = &mut *global;
            if at_once == 1 {
                let mut one = global.to_free.take(1);
                global.pool.push_list(one.take(), batched(env));
            } else {
                while global.pool.len() < level
                    && global.to_free.move_batch(&mut global.pool, batched(env)) > 0
                {
                }
            }
            self.free.store(global.pool.len(), Relaxed);
            self.to_free.store(global.to_free.len(), Relaxed);
        }
        let mut target = level;
        while self.free.load(Relaxed) < target {
            let list = self.slab.take(at_once, env)?;
            let mut global = self.lock(env)?;
            if global.allocated == 0 {
                target = POOL_SIZE;
            }
            global.allocated += u64::from(list.len());
            global.pool.push_list(list, batched(env));
            self.unlock(global);
        }
        Ok(())
    }

    /// Gives back to the slab what is too much, if it is time to.
    #[inline]
    pub fn free_excess(&self, now: u64, env: &Env) -> Result<(), Trouble> {
        if self.to_free.load(Relaxed) == 0 { Ok(()) } else { self.free_excess_slow(now, env) }
    }

    #[cold]
    fn free_excess_slow(&self, now: u64, env: &Env) -> Result<(), Trouble> {
        let is_lazy = env.switches.has(Switches::LAZY_FREE);
        let last = self.freed_ns.load(Relaxed);
        if is_lazy && now.saturating_sub(last) < FREE_EVERY {
            return Ok(());
        }
        // Whoever has the lock now does without this; the next operation tries again.
        let Some(mut guard) = self.global.try_lock(env.patience.era) else { return Ok(()) };
        let global = &mut *guard;
        global.acquired += 1;
        self.freed_ns.store(now, Relaxed);
        let size = self.size(env);
        while global.pool.len() + BATCH <= size
            && global.to_free.move_batch(&mut global.pool, batched(env)) > 0
        {}
        let used = global.out();
        global.usage.sees(used, now);
        let max = match () {
            () if !is_lazy => u32::MAX,
            () if batched(env) && global.usage.rises(used) => 0,
            () => FREE_MAX,
        };
        let list = global.to_free.take(max);
        global.freed += u64::from(list.len());
        self.unlock(guard);
        self.slab.give(list, env)
    }

    // --- records ---------------------------------------------------------------------------------

    /// Takes a record.
    ///
    /// # Safety
    /// `local` is the calling thread's, and marked busy.
    #[inline]
    pub unsafe fn take(&self, local: Option<&Local>, env: &Env) -> Result<*mut u8, Trouble> {
        let local = local.filter(|_| env.switches.has(Switches::THREAD_POOLS));
        if let Some(local) = local {
            // SAFETY: the thread's own, the caller's promise.
            let pool = unsafe { &mut *local.pool.get() };
            if let Some(record) = pool.pop() {
                local.free.store(pool.len(), Relaxed);
                return Ok(record);
            }
        }
        // SAFETY: the caller's promise.
        unsafe { self.take_global(local, env) }
    }

    /// # Safety
    /// As [`Pools::take`].
    unsafe fn take_global(&self, local: Option<&Local>, env: &Env) -> Result<*mut u8, Trouble> {
        let mut guard = self.lock(env)?;
        loop {
            let global = &mut *guard;
            if let (Some(local), true) = (local, env.switches.has(Switches::LOOKAHEAD)) {
                // SAFETY: the thread's own, the caller's promise.
                let pool = unsafe { &mut *local.pool.get() };
                global.pool.move_batch(pool, batched(env));
                let record = pool.pop();
                local.free.store(pool.len(), Relaxed);
                if let Some(record) = record {
                    global.note();
                    self.unlock(guard);
                    return Ok(record);
                }
            } else if let Some(record) = global.pool.pop() {
                global.note();
                self.unlock(guard);
                return Ok(record);
            }
            // Others were faster than whoever filled it. Take what waits to be freed, or else new ones.
            if global.to_free.move_batch(&mut global.pool, batched(env)) > 0 {
                continue;
            }
            self.unlock(guard);
            let list = self.slab.take(BATCH, env)?;
            guard = self.lock(env)?;
            guard.allocated += u64::from(list.len());
            guard.pool.push_list(list, batched(env));
        }
    }

    /// Gives records back.
    ///
    /// # Safety
    /// As [`Pools::take`].
    pub unsafe fn give(
        &self,
        local: Option<&Local>,
        mut list: List,
        env: &Env,
    ) -> Result<(), Trouble> {
        let local = local.filter(|_| env.switches.has(Switches::THREAD_POOLS));
        while let Some(record) = list.pop() {
            let Some(local) = local else {
                // SAFETY: just taken.
                unsafe { self.give_global(None, record, env)? };
                continue;
            };
            // SAFETY: the thread's own, the caller's promise.
            let pool = unsafe { &mut *local.pool.get() };
            if pool.len() < LOCAL {
                // SAFETY: just taken.
                unsafe { pool.push(record, batched(env)) };
                local.free.store(pool.len(), Relaxed);
            } else {
                // SAFETY: the caller's promise; just taken.
                unsafe { self.give_global(Some(local), record, env)? };
            }
        }
        Ok(())
    }

    /// Puts a record into the global pool, and with the look-ahead 16 of the thread's, which is full.
    ///
    /// # Safety
    /// As [`Pools::take`]; the record is nobody's.
    unsafe fn give_global(
        &self,
        local: Option<&Local>,
        record: *mut u8,
        env: &Env,
    ) -> Result<(), Trouble> {
        let size = self.size(env);
        let mut guard = self.lock(env)?;
        let global = &mut *guard;
        let to = if global.pool.len() < size { &mut global.pool } else { &mut global.to_free };
        match local.filter(|_| env.switches.has(Switches::LOOKAHEAD)) {
            Some(local) => {
                // SAFETY: the thread's own, the caller's promise.
                let pool = unsafe { &mut *local.pool.get() };
                pool.move_batch(to, batched(env));
                // SAFETY: nobody's, the caller's promise.
                unsafe { pool.push(record, batched(env)) };
                local.free.store(pool.len(), Relaxed);
            }
            // SAFETY: nobody's, the caller's promise.
            None => unsafe { to.push(record, batched(env)) },
        }
        self.unlock(guard);
        Ok(())
    }

    // --- threads ---------------------------------------------------------------------------------

    /// Makes a thread's own part, in a record.
    pub fn start_local(&self, env: &Env) -> Result<*mut Local, Trouble> {
        let mut list = self.slab.take(1, env)?;
        let local = list.pop().ok_or(Trouble::NoMemory)?.cast::<Local>();
        // SAFETY: a record is large enough, and ours.
        unsafe { local.write(Local::new()) };
        let mut global = self.lock(env)?;
        // SAFETY: the list's are live, and changed under the lock.
        unsafe {
            *(*local).next.get() = global.locals;
            if let Some(next) = global.locals.as_ref() {
                *next.prev.get() = local;
            }
        }
        global.locals = local;
        global.threads += 1;
        self.threads.store(global.threads, Relaxed);
        self.unlock(global);
        Ok(local)
    }

    /// Ends a thread's own part: its records go to the global pool.
    ///
    /// # Safety
    /// It is from `start_local`, and is not used any more.
    pub unsafe fn end_local(&self, local: *mut Local, env: &Env) -> Result<(), Trouble> {
        let size = self.size(env);
        let mut guard = self.lock(env)?;
        let global = &mut *guard;
        // SAFETY: the caller's promise; the list's are live, and changed under the lock.
        unsafe {
            let pool = &mut *(*local).pool.get();
            loop {
                let to =
                    if global.pool.len() < size { &mut global.pool } else { &mut global.to_free };
                if pool.move_batch(to, batched(env)) == 0 {
                    break;
                }
            }
            let (prev, next) = (*(*local).prev.get(), *(*local).next.get());
            match prev.as_ref() {
                Some(prev) => *prev.next.get() = next,
                None => global.locals = next,
            }
            if let Some(next) = next.as_ref() {
                *next.prev.get() = prev;
            }
        }
        global.threads -= 1;
        self.threads.store(global.threads, Relaxed);
        self.unlock(guard);
        let mut list = List::new();
        // SAFETY: nobody's any more.
        unsafe { list.push(local.cast()) };
        self.slab.give(list, env)
    }

    /// In a forked child: `mine` is the only thread there is. What others had goes to the global pool; what was
    /// being changed when the process forked is in no known state, and is left alone.
    pub fn forked(&self, mine: *mut Local, parent: u32, env: &Env) {
        self.slab.forked(parent, env);
        let abandoned = self.global.is_held(parent);
        let Ok(mut guard) = self.lock(env) else { return };
        let global = &mut *guard;
        if abandoned {
            let lost = u64::from(global.pool.len()) + u64::from(global.to_free.len());
            global.freed += lost;
            (global.pool, global.to_free) = (Stack::new(), Stack::new());
        }
        let mut at = global.locals;
        // SAFETY: the list's are live; their threads are not there, so nobody changes them.
        while let Some(local) = unsafe { at.as_ref() } {
            // SAFETY: as above.
            let next = unsafe { *local.next.get() };
            if at != mine && !abandoned {
                // SAFETY: as above.
                let pool = unsafe { &mut *local.pool.get() };
                if local.is_busy() {
                    global.freed += u64::from(local.free.load(Relaxed));
                } else {
                    while pool.move_batch(&mut global.pool, batched(env)) > 0 {}
                }
            }
            at = next;
        }
        global.locals = mine;
        global.threads = u32::from(!mine.is_null());
        // SAFETY: this thread's own part is live.
        if let Some(mine) = unsafe { mine.as_ref() } {
            // SAFETY: under the lock.
            unsafe { (*mine.next.get(), *mine.prev.get()) = (null_mut(), null_mut()) };
        }
        self.threads.store(global.threads, Relaxed);
        self.unlock(guard);
    }

    /// The pools' part of the statistics.
    pub fn stats(&self, env: &Env) -> Stats {
        let Some(global) = self.global.lock(&env.patience) else { return Stats::default() };
        let mut in_threads = 0;
        let mut at = global.locals;
        // SAFETY: the list's are live, and changed under the lock.
        while let Some(local) = unsafe { at.as_ref() } {
            in_threads += u64::from(local.free.load(Relaxed));
            // SAFETY: as above.
            at = unsafe { *local.next.get() };
        }
        Stats {
            pool_free: u64::from(global.pool.len()),
            pool_pcp_free: in_threads,
            pool_min_free: if global.min_free == u64::MAX { 0 } else { global.min_free },
            pool_used: global.out().saturating_sub(in_threads),
            pool_max_used: global.max_used,
            on_free_list: u64::from(global.to_free.len()),
            objs_allocated: global.allocated,
            objs_freed: global.freed,
            pool_lock_acquired: global.acquired,
            pool_lock_contended: global.contended,
            ..Stats::default()
        }
    }
}
