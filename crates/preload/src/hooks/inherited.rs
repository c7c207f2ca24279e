//! What the forking thread held, as its child has it: known by its address and by the identity that the parent gave it.
//!
//! A lock's memory is not touched for that. The child may have unmapped it since, or it may be its own data by now: the
//! block was freed, or the function returned in whose frame the lock was. Only when the program itself names a lock at
//! that address is it looked at: if it carries the parent's stamp, it is the inherited lock; else it is another.
//!
//! A lock in memory that the two share is still the parent's, who will release it: the child has nothing of it.

use lockwright_engines::lockdep::{Core, Ident, MAX_FRAMES, ThreadState};
use lockwright_ledger::rows::{Held, Node, held_flag, lock_kind};

use super::{fork, watch};
use crate::{identity, modules, tls};

/// A lock that the forking thread held.
#[derive(Clone, Copy)]
pub struct Inherited {
    /// As the parent's thread held it, with the parent's identity.
    pub held: Held,
    /// One of [`lock_kind`].
    kind: u8,
    /// It lies in memory that the child shares.
    is_shared: bool,
    /// What the child calls it; [`Ident::NONE`] if the child has not got it.
    pub ident: Ident,
    /// Where the parent took it: a stack in the child's ledger.
    stack: u32,
}

impl Inherited {
    /// No lock.
    pub const NONE: Self = Self {
        held: Held {
            addr: 0,
            key: 0,
            site: 0,
            inst: 0,
            class: 0,
            node: 0,
            mode: 0,
            flags: 0,
            recursion: 0,
            pin: 0,
            trial: [0; 2],
        },
        kind: 0,
        is_shared: false,
        ident: Ident::NONE,
        stack: 0,
    };

    /// What the forking thread has in `held`.
    pub const fn new(held: &Held, kind: u8) -> Self {
        Self { held: *held, kind, ..Self::NONE }
    }

    /// What the parent calls it.
    fn parents_ident(&self) -> Ident {
        Ident::new(self.held.inst, self.held.class)
    }

    /// Part of [`find_shared`]'s question.
    pub fn sharing(&mut self) -> (u64, Ident, &mut bool) {
        (self.held.addr, self.parents_ident(), &mut self.is_shared)
    }

    /// The child's thread holds it. A semaphore may be another thread's to post, and that one is not here.
    fn is_childs(&self) -> bool {
        self.held.is_held()
            && self.held.class != 0
            && self.held.flags & held_flag::SEMAPHORE == 0
            && !self.is_shared
    }
}

/// In the parent: which of the locks, each with its address and identity, lie in memory that a child shares. What
/// carries a stamp is by its attributes for one process only; the kernel is asked about the others.
pub fn find_shared<'a>(locks: impl Iterator<Item = (u64, Ident, &'a mut bool)>) {
    for (addr, ident, is_shared) in locks {
        *is_shared = identity::unstamped(addr) == Some(ident) && modules::is_shared(addr);
    }
}

/// The child's ledger begins: has the inherited locks be locks of it, taken where the parent says.
pub fn begin(core: &mut Core, parent: &Core) {
    // SAFETY: the child's first thread, before there is another.
    for lock in unsafe { fork::inherited_mut() } {
        lock.ident = Ident::NONE;
        if !lock.is_childs() {
            continue;
        }
        // User-defined locks are only known by their address.
        let kind = match lock.kind {
            kind @ lock_kind::MUTEX..=lock_kind::SPIN => kind,
            _ => 0,
        };
        lock.ident = core.inherited_lock(kind, lock.held.class).unwrap_or(Ident::NONE);
        let stack = parent.ledger().get::<Node>(lock.held.node).map_or(0, |node| node.stack);
        let mut frames = [0; MAX_FRAMES];
        let n = parent.read_stack(stack, &mut frames);
        lock.stack = core.stack(&frames[..n]);
    }
}

/// The child's thread is watched: it holds what it inherited.
pub fn hold(thread: &mut ThreadState) {
    for lock in fork::inherited().iter().filter(|lock| lock.ident != Ident::NONE) {
        watch::inherit(thread, &lock.held, lock.ident, lock.stack);
    }
}

/// What the child calls the lock at `addr` that its parent called `parents`, if it inherited it.
pub fn known(addr: u64, parents: Ident) -> Option<Ident> {
    fork::inherited_at(addr).filter(|lock| lock.parents_ident() == parents).map(|lock| lock.ident)
}

/// The program has met the lock `ident` at `addr`: an inherited one that was there is gone, if that is another.
pub fn met(core: &mut Core, addr: u64, ident: Ident) {
    let Some(gone) = fork::inherited_at(addr).filter(|lock| lock.ident != ident) else { return };
    if core.holder_in(addr, addr + 1).is_some_and(|holder| holder.ident == gone.ident) {
        // SAFETY: the calling thread's state, or null.
        let own = unsafe { tls::get().as_mut() };
        if !own.is_some_and(|thread| thread.release(addr)) {
            core.released_by_other(addr, gone.ident);
        }
    }
}
