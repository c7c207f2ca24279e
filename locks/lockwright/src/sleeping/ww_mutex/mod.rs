//! The wound/wait mutex (`kernel/locking/ww_mutex.h`): a mutex of which many are taken in any
//! order, without deadlock.
//!
//! Each attempt to take some of them is an acquire context with a stamp. If two contexts would wait
//! for each other, the younger is refused with [`Refused::Deadlock`]: it releases all it has,
//! waits for the lock in question by [`RawWwMutex::lock_slow`], and begins again. The oldest is
//! never refused, so somebody always gets on.
//!
//! ```text
//!   owner    task | PICKUP 4 | HANDOFF 2 | WAITERS 1    (see owner.rs)
//!   ctx      the context by which it is held, or 0; written by the owner
//!   waiters  those with a context by age, the oldest first; those without anywhere in between, first come, first
//!            served. Under the wait lock
//! ```
//!
//! An owner writes its context after it has the lock, and a waiter looks at the context after it
//! has said that it waits. One of them at least sees the other, and judges:
//!
//! ```text
//!   owner                         waiter
//!   ctx = mine                    owner |= WAITERS
//!   fence A                       fence B
//!   owner & WAITERS ?             ctx ?
//! ```
//!
//! The context found in `ctx` is alive as long as the finder has the wait lock: its thread, to
//! release the lock, has to take the wait lock after us, as WAITERS stands; a release before that
//! is what fence B lets us see, along with the `ctx = 0` that came before.
//!
//! Differs from the kernel's as [`crate::mutex`] does. Besides, a first waiter that spins does not
//! notice at once that an older one has come before it.

mod ctx;

use core::ptr;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

pub use ctx::{AcquireCtx, Algorithm, Class};

use crate::osq::RawOsq;
use crate::owner::{Owner, Waiting};
use crate::platform::{Atomic, Platform, Task};
use crate::sleeper::{Sleeper, Wake};
use crate::wait_list::{List, Node};
use crate::wait_lock::WaitLock;

const NO_CTX: usize = 0;

/// Why a lock was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The context holds it already (-EALREADY).
    Already,
    /// An older context has it or waits for what this one has: release all, and begin again
    /// (-EDEADLK).
    Deadlock,
    /// The deadline has come (-ETIMEDOUT).
    TimedOut,
}

struct Waiter<P: Platform> {
    task: Task,
    /// Null: none. Alive as long as its waiter is in the list.
    ctx: *const AcquireCtx<P>,
    /// For a waiter without a context.
    sleeper: Sleeper<P>,
}

// SAFETY: the context's fields are atomics or constant.
unsafe impl<P: Platform> Sync for Waiter<P> {}

impl<P: Platform> Waiter<P> {
    fn ctx(&self) -> Option<&AcquireCtx<P>> {
        // SAFETY: as the field says; waiters are only looked at in the list.
        unsafe { self.ctx.as_ref() }
    }
}

impl<P: Platform> Waiting<P> for Waiter<P> {
    fn task(&self) -> Task {
        self.task
    }

    fn sleeper(&self) -> &Sleeper<P> {
        self.ctx().map_or(&self.sleeper, |ctx| &ctx.sleeper)
    }
}

type Waiters<P> = List<Waiter<P>>;

/// The waiters to wake once the wait lock is released: one, as a rule.
struct Wakes<P: Platform>(Option<Wake<P>>);

impl<P: Platform> Wakes<P> {
    const fn new() -> Self {
        Self(None)
    }

    fn add(&mut self, wake: Wake<P>) {
        if let Some(earlier) = self.0.replace(wake) {
            earlier.send();
        }
    }

    fn send(&mut self) {
        if let Some(wake) = self.0.take() {
            wake.send();
        }
    }
}

/// A wound/wait mutex. Not recursive, but a context that already has it gets an error; the thread
/// that locked it unlocks it.
///
/// # Rules
/// - A thread must not end while it holds the lock: nobody else may release it, and the waiters
///   wait for ever.
/// - The child of a fork must not use a lock that another thread held or waited for at the fork.
///   Its wait list leads to threads that the child does not have.
/// - All contexts of a lock must be of one class: stamps of two classes have no common order.
///
/// # Guarantees
/// - Ordering: the next holder sees all that a holder did before it released the lock.
/// - Fairness: of two contexts that wait for each other the older gets the lock. A context keeps
///   its stamp when it begins again, so it is the oldest in the end, and never starves.
/// - Source: `kernel/locking/ww_mutex.h`.
pub struct RawWwMutex<P: Platform> {
    owner: Owner<P>,
    osq: RawOsq<P>,
    ctx: P::Long,
    waiters: WaitLock<P, Waiters<P>>,
}

impl<P: Platform> RawWwMutex<P> {
    /// A free mutex.
    pub fn new_in() -> Self {
        Self {
            owner: Owner::from_word(P::Long::new(0)),
            osq: RawOsq::new_in(),
            ctx: P::Long::new(NO_CTX),
            waiters: WaitLock::new(List::new()),
        }
    }

    /// Takes the lock by a context, or as a mutex if there is none, and waits for that as long as
    /// it takes.
    ///
    /// - The caller must release all locks of the context after [`Refused::Deadlock`], before it
    ///   waits for anything. Otherwise the older context waits for ever.
    /// - A thread that took the lock without a context must not call this: it would wait for ever.
    ///   A context that holds the lock gets [`Refused::Already`].
    /// - The caller must not hold a spinlock: this call may sleep, and other threads would spin
    ///   until it wakes.
    /// - A signal handler must not call this: it may have interrupted the holder, or a change of
    ///   the wait list, and would wait for ever.
    ///
    /// # Errors
    /// [`Refused::Already`], [`Refused::Deadlock`].
    ///
    /// # Safety
    /// The context is the calling thread's, it stays where it is until all is unlocked that it was
    /// used to lock, and all contexts that this mutex is used with are of one class.
    #[inline]
    pub unsafe fn lock(&self, ctx: Option<&AcquireCtx<P>>) -> Result<(), Refused> {
        // SAFETY: by contract the context is this thread's, stays in place, and is of this mutex's
        // class.
        unsafe { self.lock_until(ctx, None) }
    }

    /// As [`RawWwMutex::lock`], or gives up when `deadline` (nanoseconds of [`Platform::now`];
    /// none: never) has come.
    ///
    /// - The rules of [`Self::lock`] apply.
    /// - The lock is taken if it is free, even if the deadline has passed.
    ///
    /// # Errors
    /// [`Refused::Already`], [`Refused::Deadlock`], [`Refused::TimedOut`].
    ///
    /// # Safety
    /// As of [`RawWwMutex::lock`].
    #[inline]
    pub unsafe fn lock_until(
        &self,
        ctx: Option<&AcquireCtx<P>>,
        deadline: Option<u64>,
    ) -> Result<(), Refused> {
        if let Some(ctx) = ctx {
            ctx.begin();
        }
        if self.owner.try_lock_fast() {
            self.acquired(ctx);
            return Ok(());
        }
        self.lock_contended(ctx, deadline)
    }

    /// Takes the lock that the context was refused, after it has released all others.
    ///
    /// - The context must hold no lock: with one, two contexts can wait for each other. A debug
    ///   build of the library panics.
    /// - The caller should pass the lock that refused the context: any other can be refused again
    ///   at once.
    /// - The caller must not hold a spinlock: this call may sleep, and other threads would spin
    ///   until it wakes.
    /// - A signal handler must not call this: it may have interrupted the holder, or a change of
    ///   the wait list, and would wait for ever.
    ///
    /// # Safety
    /// As of [`RawWwMutex::lock`]; the context holds nothing.
    pub unsafe fn lock_slow(&self, ctx: &AcquireCtx<P>) {
        debug_assert_eq!(ctx.acquired(), 0, "lock_slow is for a context that has released all");
        // SAFETY: by contract the context is this thread's, stays in place, and is of this mutex's
        // class.
        let taken = unsafe { self.lock(Some(ctx)) };
        debug_assert!(taken.is_ok(), "who has nothing is refused nothing");
    }

    /// Takes the lock if nobody has it; also by a context that holds it already, it is refused.
    ///
    /// - Any thread may call this, also with a spinlock held: it does not wait. A refusal does not
    ///   oblige the context to release its other locks.
    ///
    /// # Safety
    /// As of [`RawWwMutex::lock`].
    #[inline]
    pub unsafe fn try_lock(&self, ctx: Option<&AcquireCtx<P>>) -> bool {
        if let Some(ctx) = ctx {
            ctx.begin();
        }
        let taken = self.owner.try_lock(P::current()).is_ok();
        if taken {
            self.acquired(ctx);
        }
        taken
    }

    /// The rest of the work after a thread has taken the lock without the wait lock
    /// (`ww_mutex_set_context_fastpath`).
    #[inline]
    fn acquired(&self, ctx: Option<&AcquireCtx<P>>) {
        let Some(ctx) = ctx else { return };
        self.set_ctx(ctx);
        // A: pairs with B in `enqueue`.
        P::fence(SeqCst);
        if self.owner.has_waiters() {
            self.judge(ctx);
        }
    }

    fn set_ctx(&self, ctx: &AcquireCtx<P>) {
        ctx.add();
        // Release: pairs with the Acquire in `holder`, whose caller reads the context.
        self.ctx.store(ptr::from_ref(ctx).expose_provenance(), Release);
    }

    #[cold]
    fn judge(&self, ctx: &AcquireCtx<P>) {
        let mut wakes = Wakes::new();
        self.check_waiters(&self.waiters.lock(), ctx, &mut wakes);
        wakes.send();
    }

    #[cold]
    fn lock_contended(
        &self,
        ctx: Option<&AcquireCtx<P>>,
        deadline: Option<u64>,
    ) -> Result<(), Refused> {
        let me = P::current();
        // Relaxed: if it is ours, we have written it.
        if ctx.is_some_and(|ctx| self.ctx.load(Relaxed) == ptr::from_ref(ctx).addr()) {
            return Err(Refused::Already);
        }
        // As in `RawMutex`, a free lock is not waited for behind other spinners.
        if self.owner.try_lock(me).is_ok() || self.spin(me, ctx) {
            self.acquired(ctx);
            return Ok(());
        }
        let mut wakes = Wakes::new();
        let mut waiters = self.waiters.lock();
        if self.owner.try_lock(me).is_ok() {
            if let Some(ctx) = ctx {
                self.check_waiters(&waiters, ctx, &mut wakes);
                self.set_ctx(ctx);
            }
            drop(waiters);
            wakes.send();
            return Ok(());
        }
        let node = Node::new(Waiter {
            task: me,
            ctx: ctx.map_or(ptr::null(), ptr::from_ref),
            sleeper: Sleeper::new(),
        });
        let is_first =
            |waiters: &Waiters<P>| waiters.first().is_some_and(|it| ptr::eq(it.as_ptr(), &node));
        // SAFETY: it stays where it is, and is removed below.
        unsafe { self.enqueue(&waiters, &node, &mut wakes) }?;
        let mut woken = false;
        let mut expired = false;
        let result = loop {
            // From here on, any thread that releases the lock, wounds us or is older wakes us. We
            // forget earlier wake-ups, but see what they were for.
            node.value.sleeper().arm();
            let insist = woken && is_first(&waiters);
            let attempt = match insist {
                true => self.owner.try_lock_or_hand_off(me),
                false => self.owner.try_lock(me),
            };
            if attempt.is_ok() {
                break Ok(());
            }
            if self.must_yield(&waiters, &node) {
                break Err(Refused::Deadlock);
            }
            if expired {
                break Err(Refused::TimedOut);
            }
            drop(waiters);
            wakes.send();
            if insist && self.owner.spin(me, || self.may_spin(ctx)) {
                waiters = self.waiters.lock();
                break Ok(());
            }
            expired = !node.value.sleeper().sleep(deadline);
            woken = true;
            waiters = self.waiters.lock();
        };
        if let (Ok(()), Some(ctx)) = (result, ctx) {
            // The first waiter is older than the others. A context that has overtaken a waiter may
            // have to be wounded by it.
            if !ctx.is_wait_die() && !is_first(&waiters) {
                self.check_waiters(&waiters, ctx, &mut wakes);
            }
            self.set_ctx(ctx);
        }
        // SAFETY: inserted above; only we remove it.
        unsafe { waiters.remove(&node) };
        if waiters.is_empty() {
            self.owner.clear_flags();
        }
        drop(waiters);
        wakes.send();
        result
    }

    /// Optimistic spinning of a thread that is not in the wait list yet.
    fn spin(&self, me: Task, ctx: Option<&AcquireCtx<P>>) -> bool {
        // Not before a waiter whose context may be older.
        let may_spin = || self.may_spin(ctx) && (ctx.is_none() || !self.owner.has_waiters());
        if self.owner.task().is_some_and(|owner| !P::is_running(owner)) || !self.osq.lock() {
            return false;
        }
        let taken = self.owner.spin(me, may_spin);
        // SAFETY: the queue's `lock` above succeeded in this thread, which has not left the queue
        // since.
        unsafe { self.osq.unlock() };
        taken
    }

    /// Whether a context may wait without being judged: if it has nothing, or the lock's holder has
    /// no context.
    fn may_spin(&self, ctx: Option<&AcquireCtx<P>>) -> bool {
        // Relaxed: a hint; judgement is under the wait lock.
        ctx.is_none_or(|ctx| ctx.acquired() == 0 || self.ctx.load(Relaxed) == NO_CTX)
    }

    /// The context by which the lock is held, if any. Under the wait lock.
    fn holder(&self) -> Option<&AcquireCtx<P>> {
        // Acquire: pairs with the Release in `set_ctx`.
        let ctx = ptr::with_exposed_provenance::<AcquireCtx<P>>(self.ctx.load(Acquire));
        // SAFETY: alive, as the module's comment argues; its fields are atomics or constant.
        unsafe { ctx.as_ref() }
    }

    /// Inserts a waiter where its age belongs.
    ///
    /// # Safety
    /// As of [`List::insert_before`].
    unsafe fn enqueue(
        &self,
        waiters: &Waiters<P>,
        node: &Node<Waiter<P>>,
        wakes: &mut Wakes<P>,
    ) -> Result<(), Refused> {
        let Some(ctx) = node.value.ctx() else {
            // SAFETY: by contract the node is in no list and leaves this one before it moves or
            // ends.
            unsafe { waiters.push_back(node) };
            self.owner.set_waiters();
            return Ok(());
        };
        let mut place = None;
        for (other, theirs) in with_ctx(waiters) {
            if theirs.is_younger_than(ctx) {
                place = place.or(Some(other));
                self.die(other, ctx, wakes);
            } else if ctx.is_wait_die() && ctx.acquired() != 0 {
                // It would have to die as soon as the older one has the lock.
                return Err(Refused::Deadlock);
            }
        }
        // SAFETY: by contract the node is in no list and leaves this one before it ends; the place
        // is in the list.
        unsafe { waiters.insert_before(node, place) };
        self.owner.set_waiters();
        // B: pairs with A in `acquired`; and with the Releases of the owner's word.
        P::fence(SeqCst);
        if let Some(holder) = self.holder() {
            self.wound(holder, ctx, wakes);
        }
        Ok(())
    }

    /// Judges those who wait, for a context that has overtaken them.
    fn check_waiters(&self, waiters: &Waiters<P>, ctx: &AcquireCtx<P>, wakes: &mut Wakes<P>) {
        for (waiter, theirs) in with_ctx(waiters) {
            // One is enough: the others are younger.
            if self.die(waiter, ctx, wakes) || self.wound(ctx, theirs, wakes) {
                break;
            }
        }
    }

    /// Wait-die: wakes a waiter that must not wait for `ctx`, to find that out itself. Whether the
    /// rule applies.
    fn die(&self, waiter: &Node<Waiter<P>>, ctx: &AcquireCtx<P>, wakes: &mut Wakes<P>) -> bool {
        if !ctx.is_wait_die() {
            return false;
        }
        if waiter.value.ctx().is_some_and(|it| it.acquired() != 0 && it.is_younger_than(ctx)) {
            // SAFETY: it is in the list, hence alive.
            wakes.add(unsafe { Sleeper::tell(waiter.value.sleeper()) });
        }
        true
    }

    /// Wound-wait: wounds the lock's holder if `waiter` is older and has something itself. Whether
    /// it did.
    fn wound(&self, holder: &AcquireCtx<P>, waiter: &AcquireCtx<P>, wakes: &mut Wakes<P>) -> bool {
        if waiter.is_wait_die() || waiter.acquired() == 0 || !holder.is_younger_than(waiter) {
            return false;
        }
        // SAFETY: it holds the lock, and we have the wait lock.
        wakes.add(unsafe { holder.wound() });
        true
    }

    /// Whether a waiter has to give up what it has.
    fn must_yield(&self, waiters: &Waiters<P>, node: &Node<Waiter<P>>) -> bool {
        let Some(ctx) = node.value.ctx().filter(|ctx| ctx.acquired() != 0) else { return false };
        if !ctx.is_wait_die() {
            return ctx.is_wounded();
        }
        self.holder().is_some_and(|holder| ctx.is_younger_than(holder))
            // Contexts before it are older.
            || with_ctx(waiters).next().is_some_and(|(first, _)| !ptr::eq(first, node))
    }

    /// Releases the lock.
    ///
    /// - The thread that took the lock must release it, once, before its context ends. After any
    ///   other call two threads can be inside at once.
    /// - The caller may release the locks of a context in any order.
    /// - A signal handler must not call this for a lock that has waiters: it may have interrupted a
    ///   change of the wait list.
    ///
    /// # Safety
    /// The calling thread holds it; if by a context, that is where it was.
    #[inline]
    pub unsafe fn unlock(&self) {
        // Relaxed, twice: ours as long as we have the lock, whose release follows.
        let ctx = ptr::with_exposed_provenance::<AcquireCtx<P>>(self.ctx.load(Relaxed));
        // SAFETY: alive until all its locks are released.
        if let Some(ctx) = unsafe { ctx.as_ref() } {
            ctx.remove();
            self.ctx.store(NO_CTX, Relaxed);
        }
        if !self.owner.unlock_fast() {
            self.owner.unlock_slow(|| self.waiters.lock());
        }
    }

    /// Whether anyone holds it now.
    ///
    /// - Any thread may call this. The answer may be out of date when it arrives, so it is for
    ///   assertions only.
    pub fn is_locked(&self) -> bool {
        self.owner.task().is_some()
    }

    /// Whether the calling thread holds it.
    ///
    /// - Any thread may call this. Only the calling thread changes the answer.
    pub fn is_owned(&self) -> bool {
        self.owner.task() == Some(P::current())
    }
}

/// The waiters that have a context, the oldest first.
fn with_ctx<P: Platform>(
    waiters: &Waiters<P>,
) -> impl Iterator<Item = (&Node<Waiter<P>>, &AcquireCtx<P>)> {
    waiters.iter().filter_map(|node| Some((node, node.value.ctx()?)))
}

#[cfg(feature = "std")]
impl RawWwMutex<crate::platform::linux::Linux> {
    /// A free mutex, for statics.
    pub const fn new() -> Self {
        use core::sync::atomic::{AtomicU32, AtomicUsize};
        Self {
            owner: Owner::from_word(AtomicUsize::new(0)),
            osq: RawOsq::new(),
            ctx: AtomicUsize::new(NO_CTX),
            waiters: WaitLock::from_word(AtomicU32::new(0), List::new()),
        }
    }
}

#[cfg(feature = "std")]
impl Default for RawWwMutex<crate::platform::linux::Linux> {
    fn default() -> Self {
        Self::new()
    }
}
