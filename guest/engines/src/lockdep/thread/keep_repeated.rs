//! How an acquisition is kept that the thread may repeat ([`Repeated`]).

use core::sync::atomic::{Ordering::SeqCst, compiler_fence};

use lockwright_ledger::rows::Held;

use super::cache::Cache;
use super::debug_lockdep::DEBUG_LOCKDEP;
use super::repeated::Repeated;
use super::state::ThreadState;
use crate::held::Entry;

impl ThreadState {
    /// Keeps how the innermost lock was taken, if that is all there is to know: its site is a return address, and it was not
    /// looked at more closely. `era` is from before its identity was looked up.
    ///
    /// Not in a handler: it may have come between the words of what it would overwrite.
    #[inline(never)]
    pub fn keep_repeated(&mut self, era: u64) {
        let top = self.top();
        // SAFETY: the top is an entry of this thread's own array, above another or "nothing held".
        let (held, below) = unsafe { (Held::load(top), (*top.sub(1)).key) };
        if DEBUG_LOCKDEP || self.in_signal() != 0 || held.flags != 0 || held.recursion != 0 {
            return;
        }
        let kept = Repeated {
            addr: held.addr,
            key: held.key,
            site: held.site,
            lock: u64::from(held.inst) | u64::from(held.class) << 32,
            node: u64::from(held.node) | u64::from(held.mode) << 32,
            when: Repeated::when(held.site, below, era),
            reserved: [0; 2],
        };
        // SAFETY: the cache belongs to this thread, and only the thread and its signal handlers touch it.
        let slot =
            unsafe { &mut *(self.row.cache as *mut Cache) }.repeats.slot(kept.addr, kept.site);
        *slot = Repeated { addr: 0, ..kept };
        compiler_fence(SeqCst);
        slot.addr = kept.addr;
    }
}
