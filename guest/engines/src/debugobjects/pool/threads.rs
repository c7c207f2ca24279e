//! Threads' own parts: given to a thread that begins, and to the next one when it ends.

use core::ptr::null_mut;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::super::local::Local;
use super::super::tracker::RECORD;
use super::env::{Env, Trouble};
use super::global::{Pools, add, batched};
use super::stack::Stack;

const _: () = assert!(size_of::<Local>() <= RECORD);

impl Pools {
    /// All own parts, those of ended threads as well.
    pub(super) fn all_locals(&self) -> impl Iterator<Item = &Local> {
        // Acquire pairs with the Release in `start_local`: they are initialised. They stay mapped.
        let mut at = self.locals.load(Acquire);
        core::iter::from_fn(move || {
            // SAFETY: linked ones are live for good, and end with null.
            let local = unsafe { at.as_ref() }?;
            at = local.next;
            Some(local)
        })
    }

    /// An own part for a thread.
    pub fn start_local(&self, env: &Env) -> Result<*mut Local, Trouble> {
        if let Some(local) = self.spare_local(env)? {
            return Ok(local);
        }
        // A record of the slab that no pool knows of.
        let local = self.slab.0.take(1, env)?.pop().ok_or(Trouble::NoMemory)?.cast::<Local>();
        let mut next = self.locals.load(Relaxed);
        loop {
            // SAFETY: a record is large enough, and ours until it is linked.
            unsafe { local.write(Local::new(next)) };
            // Release pairs with the Acquire in `all_locals`.
            match self.locals.compare_exchange_weak(next, local, Release, Relaxed) {
                Ok(_) => return Ok(local),
                Err(other) => next = other,
            }
        }
    }

    fn spare_local(&self, env: &Env) -> Result<Option<*mut Local>, Trouble> {
        let mut guard = self.lock(env)?;
        let threads = &self.gauges.0.threads;
        threads.store(threads.load(Relaxed) + 1, Relaxed);
        let local = guard.spare;
        // SAFETY: spare ones are live, and changed under the lock.
        let spare = unsafe { local.as_ref() };
        if let Some(spare) = spare {
            // SAFETY: spare parts are live, and this thread holds the pools' lock, under which
            // alone `spare` changes.
            guard.spare = unsafe { spare.spare.get().replace(null_mut()) };
        }
        self.unlock(guard);
        Ok(spare.map(|_| local))
    }

    /// Ends a thread's own part: its records go to the global pool.
    ///
    /// # Safety
    /// It is from `start_local`, and is not used any more.
    pub unsafe fn end_local(&self, local: *mut Local, env: &Env) -> Result<(), Trouble> {
        let size = self.size(env);
        let mut guard = self.lock(env)?;
        let global = &mut *guard;
        let threads = &self.gauges.0.threads;
        threads.store(threads.load(Relaxed).saturating_sub(1), Relaxed);
        // SAFETY: by contract `local` came from `start_local`, whose memory stays mapped.
        let own = unsafe { &*local };
        // A handler that never returned left it in the middle of something: it is used no more.
        if !own.is_busy() {
            // SAFETY: its thread does not use it any more.
            let pool = unsafe { &mut *own.pool.get() };
            loop {
                let is_full = global.pool.len() >= size;
                let to = if is_full { &mut global.to_free } else { &mut global.pool };
                if pool.move_batch(to, batched(env)) == 0 {
                    break;
                }
            }
            own.free.store(0, Relaxed);
            // SAFETY: `guard` holds the pools' lock, under which alone `spare` of any part changes.
            unsafe { *own.spare.get() = global.spare };
            global.spare = local;
        }
        self.unlock(guard);
        Ok(())
    }

    /// In a forked child: `mine` is the only thread there is. What others had goes to the global
    /// pool; what was being changed when the process forked is in no known state, and is left
    /// alone, as if given back.
    pub fn forked(&self, mine: *mut Local, parent: u32, env: &Env) {
        self.slab.0.forked(parent, env);
        let abandoned = self.was_held(parent);
        let Ok(mut guard) = self.lock(env) else { return };
        let global = &mut *guard;
        if abandoned {
            let lost = global.pool.len() + global.to_free.len();
            add(&self.gauges.0.freed, u64::from(lost));
            (global.pool, global.to_free) = (Stack::new(), Stack::new());
        }
        global.spare = null_mut();
        for local in self.all_locals() {
            let at = (&raw const *local).cast_mut();
            if at == mine {
                continue;
            }
            if local.is_busy() {
                add(&self.gauges.0.freed, u64::from(local.free.load(Relaxed)));
            } else {
                // SAFETY: its thread is not there.
                let pool = unsafe { &mut *local.pool.get() };
                while pool.move_batch(&mut global.pool, batched(env)) > 0 {}
                // SAFETY: `guard` holds the pools' lock, under which alone `spare` of any part
                // changes.
                unsafe { *local.spare.get() = global.spare };
                global.spare = at;
            }
            local.free.store(0, Relaxed);
        }
        self.gauges.0.threads.store(u32::from(!mine.is_null()), Relaxed);
        self.unlock(guard);
    }
}
