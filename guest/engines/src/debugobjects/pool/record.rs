//! Records, from a thread's pool and into it; past that, from the global pool and into it.

use core::sync::atomic::Ordering::Relaxed;

use super::super::local::Local;
use super::env::{Env, Trouble};
use super::global::{Pools, batched};
use super::sizes::{BATCH, LOCAL};
use super::stack::List;
use super::switches::Switches;

impl Pools {
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
        // SAFETY: by our contract `local` belongs to this thread and is marked busy, as
        // `take_global` demands.
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
                    self.note(global);
                    self.unlock(guard);
                    return Ok(record);
                }
            } else if let Some(record) = global.pool.pop() {
                self.note(global);
                self.unlock(guard);
                return Ok(record);
            }
            // Others were faster than the thread that filled it. Take what waits to be freed, or
            // else new ones.
            if global.to_free.move_batch(&mut global.pool, batched(env)) > 0 {
                continue;
            }
            self.unlock(guard);
            self.add_new(BATCH, env)?;
            guard = self.lock(env)?;
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
                // SAFETY: `record` was just taken off `list`, so nobody else has it. There is no
                // `local` to own.
                unsafe { self.give_global(None, record, env)? };
                continue;
            };
            // SAFETY: the thread's own, the caller's promise.
            let pool = unsafe { &mut *local.pool.get() };
            if pool.len() < LOCAL {
                // SAFETY: `record` was just taken off `list`, so nobody else has it.
                unsafe { pool.push(record, batched(env)) };
                local.free.store(pool.len(), Relaxed);
            } else {
                // SAFETY: by contract `local` is this thread's, and nobody has the record, as it
                // was just taken off `list`.
                unsafe { self.give_global(Some(local), record, env)? };
            }
        }
        Ok(())
    }

    /// Puts a record into the global pool, and with the look-ahead 16 of the thread's, which is
    /// full.
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
                // SAFETY: by this function's contract `record` belongs to nobody.
                unsafe { pool.push(record, batched(env)) };
                local.free.store(pool.len(), Relaxed);
            }
            // SAFETY: by contract `record` belongs to nobody, and `guard` keeps others off the
            // global pool.
            None => unsafe { to.push(record, batched(env)) },
        }
        self.unlock(guard);
        Ok(())
    }
}
