//! The interface of a lock for the cases.

use lockwright::platform::linux::Linux;
use lockwright::ww_mutex::{RawWwMutex, Refused};

use super::case::Ctx;

/// A wound/wait mutex. The cases keep a context until all that was taken with it is released, and
/// have one class of them.
pub trait Lock: Send + Sync {
    /// A free one.
    fn new() -> Self;

    /// Takes it.
    ///
    /// # Errors
    /// If the calling thread has it by the same context, or would wait for ever.
    fn lock(&self, ctx: Option<&Ctx>) -> Result<(), Refused>;

    /// Takes it if that needs no waiting.
    fn try_lock(&self, ctx: Option<&Ctx>) -> bool;

    /// Takes what was refused, after all else of the context was released.
    fn lock_slow(&self, ctx: &Ctx);

    /// Releases it. The calling thread has it.
    fn unlock(&self);

    /// Whether anybody has it.
    fn is_locked(&self) -> bool;
}

impl Lock for RawWwMutex<Linux> {
    fn new() -> Self {
        Self::new_in()
    }
    fn lock(&self, ctx: Option<&Ctx>) -> Result<(), Refused> {
        // SAFETY: the cases keep a context until all that it took is released, and use one class,
        // as the trait asks.
        unsafe { self.lock(ctx) }
    }
    fn try_lock(&self, ctx: Option<&Ctx>) -> bool {
        // SAFETY: the cases keep a context until all that it took is released, and use one class,
        // as the trait asks.
        unsafe { self.try_lock(ctx) }
    }
    fn lock_slow(&self, ctx: &Ctx) {
        // SAFETY: the cases keep the context and use one class, and it has released all else, as
        // the trait asks.
        unsafe { self.lock_slow(ctx) };
    }
    fn unlock(&self) {
        assert!(self.is_owned(), "a case releases what it has not");
        // SAFETY: the assertion above found this thread the owner.
        unsafe { self.unlock() };
    }
    fn is_locked(&self) -> bool {
        self.is_locked()
    }
}

/// No lock at all: everybody gets it.
pub struct Busted;

impl Lock for Busted {
    fn new() -> Self {
        Self
    }
    fn lock(&self, _ctx: Option<&Ctx>) -> Result<(), Refused> {
        Ok(())
    }
    fn try_lock(&self, _ctx: Option<&Ctx>) -> bool {
        true
    }
    fn lock_slow(&self, _ctx: &Ctx) {}
    fn unlock(&self) {}
    fn is_locked(&self) -> bool {
        false
    }
}
