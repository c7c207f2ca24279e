//! debugobjects: what state every object is in, and whether what is done to it may be done then.
//!
//! An object is a piece of memory (or a number) of a type; its [`Tracker`](tracker) says its state
//! and who brought it there. Trackers hang in hash buckets by the page-sized chunk that the object
//! begins in, so that memory which goes is searched chunk by chunk. What may be done in which state
//! is one [`table`]. The model is the kernel's lib/debugobjects, and where user space differs a
//! type says so by its [`Rules`].
//!
//! Trackers come from [pools](pool): each thread has one of its own, the global one has a lock, and
//! behind it is a slab over memory that the host maps. That is the design of Long's 2019
//! debugobjects patches, each of which is a [switch](Switches).
//!
//! A bucket's lock and the pool's are held for some loads and stores. Neither is held while a fault
//! is reported or a function of the program's is called. A signal handler's operation that
//! interrupts one of the same thread is not tracked but counted ([`Stats::lost`]). What cannot go
//! on (no memory; a lock whose holder is gone) turns the engine off, and nothing else.

mod act;
mod bucket;
mod descr;
mod fault;
mod line;
mod local;
mod lock;
mod objects;
mod plain;
pub mod pool;
mod publish;
mod stats;
mod sweep;
pub mod table;
mod tracker;

pub use self::act::Act;
pub use self::bucket::Buckets;
pub use self::descr::{Descr, Fixup, IsStaticObject};
pub use self::fault::{Fault, Moment, Place};
pub use self::local::Local;
pub use self::objects::Objects;
pub use self::pool::{Source, Switches, YIELDS};
pub use self::stats::Stats;
pub use self::table::{Operation, Rules, State};
pub use self::tracker::Tracked;
