//! A thread's own state: what it holds, the chains that it has validated, what it waits for. Only the
//! thread itself works on it, without a lock; other threads see some words of its row.
//!
//! Nothing here knows the recorder or a check.

pub(crate) mod cache;
mod cond_wait;
pub(crate) mod debug_lockdep;
pub(crate) mod entry;
mod keep_repeated;
mod monitor;
mod pin;
mod repeated;
mod reserved;
mod robust;
mod row;
mod semaphore;
mod signals;
mod state;
mod stretch;
mod trial;
mod wait;

pub use self::cache::Cache;
pub use self::debug_lockdep::{DEBUG_LOCKDEP, MaskCall};
pub use self::entry::recursions;
pub use self::monitor::Section;
pub use self::repeated::{ERAS_APART, INDEX_MASK, INDEX_SHIFT, MIX, Repeated};
pub use self::row::ThreadRow;
pub(crate) use self::row::Wait;
pub use self::semaphore::Tried;
pub use self::signals::Interrupted;
pub use self::state::{Chain, Folded, Probe, ThreadState};
pub use self::stretch::Stretch;
pub use self::wait::FutexWait;
