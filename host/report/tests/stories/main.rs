//! Stories about locks and what must be found in them: the engine records, the analysis judges.

mod barriers;
mod counterexamples;
mod damage;
mod dot;
mod grades;
mod joins;
mod listing;
mod merge;
mod misuse;
mod nesting;
mod new_locks;
mod objects;
mod onces;
mod online;
mod order;
mod pools;
mod processes;
mod readers;
#[path = "../../../../guest/engines/tests/restless/mod.rs"]
mod restless;
mod selftest;
mod semaphores;
mod signals;
mod size;
#[path = "../../../analysis/tests/story/mod.rs"]
mod story;
mod wakeups;
