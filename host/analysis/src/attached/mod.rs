//! A process that was not started under the tool: what its threads wait for, as its memory, its
//! files and the kernel tell, and whether that ever ends.
//!
//! Nothing here reads a process by itself: its memory comes as a [`Memory`], its mappings as the
//! text of /proc/PID/maps. The process is never stopped.

pub mod asleep;
pub mod judge;
pub mod kept_file;
pub mod maps;
pub mod memory;
pub mod names;
pub mod python;
pub mod unwind;
pub mod waits;

pub use judge::{Verdict, judge};
pub use maps::{Backing, Maps};
pub use memory::Memory;
pub use names::Names;
pub use python::PythonStacks;
pub use unwind::{Start, Unwinder};
pub use waits::{Futex, Holder, State, Thread, Wait, WaitKind};
