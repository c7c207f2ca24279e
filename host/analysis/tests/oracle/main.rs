//! lockdep against an oracle: random lock programs, each observed once without a deadlock, of
//! which the oracle knows every schedule.
//!
//! The oracle is asked about the *reorderings of the observed run*: every thread does what it did
//! in that run, operation by operation, and only the interleaving is another, as far as locks,
//! thread creations and joins allow. What a thread did that would have turned out otherwise in
//! another interleaving is not followed:
//! - a trylock that succeeded must succeed again: where the lock is taken, that interleaving is
//!   none
//!   of the run's, and ends, but is no deadlock;
//! - a trylock that failed is not part of the run: it may fail or not, nobody knows what then;
//! - a lock with a deadline was acquired in time; elsewhere it may wait, and back out;
//! - a condition wait may end at any time, as spurious wake-ups do, once its mutex is free.
//!
//! Then, of the report on the observed run:
//! - *nothing is missed*: for each cycle of threads that wait, for locks or for each other's end, and
//!   that a reordering reaches there is a
//!   finding about those locks or fewer of them: `likely`, or `possible` if somebody could back out, or
//!   if the lock is not the only one of its class where readers block each other through a writer, or
//!   where a thread that is joined takes it with nothing held; `ordered`, if the joiner has waited
//!   on a condition with the lock that it holds, and may have learned of the other's end, and
//!   `possible` if the other signals one with that held, and may announce its end;
//! - *nothing is cried*: for each finding graded `likely` those threads can come to wait for those
//!   locks, in a reordering of the run, or of another run that leaves the very same record (see
//!   repeat.rs). How many need that is counted. So is how many cannot come to pass if what threads tell each other
//!   orders them, as the items of a queue do: of those that waited for it, hardly any may be left.
//!
//! A thread that waits at a barrier waits for each thread that has not come. A cycle through a barrier must be found if
//! one thread waits there and the others wait for locks. Other cycles through it must not be reported.
//!
//! A routine that runs once is run by the thread that did in the run: where another would have called
//! first, that interleaving is none of the run's. While it runs, other callers wait for that thread. Cycles through
//! it are not looked for where one lock is known by its class alone, as a joined thread took it with
//! nothing held.
//!
//! A thread may end with a robust mutex. The thread that takes it next and learns of that does so after its end, in each
//! interleaving. A thread that takes it without learning of a death may do so in any.
//!
//! And of waits for what another thread tells, with a lock kept that this one takes first: see
//! wakeups.rs.
//!
//! And for sleeping with a spinlock held, which needs no schedule: *what the run did is reported,
//! and nothing else*.
//!
//! The programs take turns by the name of the commit that CI tests.
//!
//! `LOCKWRIGHT_ORACLE_SEED` and `LOCKWRIGHT_ORACLE_COUNT` choose what is tried, and
//! `LOCKWRIGHT_ORACLE_FAILURES` how many failures are collected. For each, the smallest program
//! that fails likewise is printed as a story (see host/report/tests/stories), which becomes one
//! in counterexamples.rs.

mod generate;
mod observe;
mod program;
mod property;
mod removal;
mod repeat;
mod rng;
mod search;
mod shrink;
mod sleep;
#[allow(dead_code, reason = "shared with the stories, which use all of it")]
#[path = "../story/mod.rs"]
mod story;
#[path = "../../../../tests/turn.rs"]
mod turn;
mod wakeups;
