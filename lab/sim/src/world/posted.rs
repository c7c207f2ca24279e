//! Store buffers: a store retires at once, and takes effect when its line has come. Until then its
//! thread goes on, up to a locked instruction, a fence or a system call, which wait for it (x86-TSO).
//!
//! ```text
//!   thread:  store ... load ... locked instruction . . . . (waits)
//!   buffer:  | the line comes                     | takes effect
//! ```
//!
//! Stores of a thread take effect in order, one line at a time. A load of a word that is in the
//! buffer waits as well; processors forward it.

use super::{BUFFER, FIRST_TASK, World};
use crate::account::{Class, Spent};
use crate::cache::Operation;
use crate::store::{Posted, Write};
use crate::time::Time;

/// Stores that it has place for: Haswell's (Intel's optimization manual, 2.3).
const MOST: usize = 42;

impl World {
    /// The running task's store, in its turn.
    pub fn post(&mut self, write: Write) {
        let me = self.running.expect("a task runs");
        let (now, cpu) = (self.tasks[me].clock, self.tasks[me].cpu);
        let at = self.line_of(write.address());
        if self.tasks[me].buffer.is_empty() {
            let hit = self.lines[at].hit(Operation::Store, cpu, now, &self.topology, &self.costs);
            if let Some(service) = hit {
                self.pay(me, at, &service);
                write.apply();
                self.tasks[me].round.differs = true;
                self.unpark_all(at, me);
                return;
            }
        }
        let store = self.costs.store;
        let task = &mut self.tasks[me];
        task.round.differs = true;
        task.spend(Spent::Computing, store);
        task.buffer.push_back(Posted { write, cpu, is_served: false });
        if task.buffer.len() == 1 {
            self.begin_stores(me);
        }
    }

    /// Whether the running task has stores that have not taken effect.
    pub fn has_stores(&mut self) -> bool {
        !self.me().buffer.is_empty()
    }

    /// Whether the running task has to wait for its stores: then its fiber is to be left. A load
    /// waits for those to its word only (address and size), or for place.
    pub fn waits_for_stores(&mut self, load_of: Option<(usize, usize)>) -> bool {
        let me = self.me();
        let waits = match load_of {
            None => !me.buffer.is_empty(),
            Some((word, size)) => {
                me.buffer.len() >= MOST || me.buffer.iter().any(|at| at.write.overlaps(word, size))
            }
        };
        if waits {
            (me.is_draining, me.in_flight, me.round.differs) = (true, true, true);
        }
        waits
    }

    /// Lets a task's stores take effect, up to one whose line is not there.
    fn begin_stores(&mut self, task: usize) {
        while let Some(posted) = self.tasks[task].buffer.front().copied() {
            let at = self.line_of(posted.write.address());
            if self.store_hits(task, at, posted) {
                continue;
            }
            let line = &self.lines[at];
            if line.is_served() || line.free_at > self.now || !self.requests[at].is_empty() {
                return self.request(at, BUFFER + task, posted.cpu, self.now);
            }
            return self.serve_store(task, at, posted);
        }
        if std::mem::take(&mut self.tasks[task].is_draining) {
            let now = self.now;
            self.tasks[task].spend_until(Spent::Memory, now);
            let clock = self.tasks[task].clock;
            self.land(task);
            self.note_task(clock, task);
        }
    }

    fn store_hits(&mut self, task: usize, at: usize, posted: Posted) -> bool {
        let Self { lines, topology, costs, now, .. } = self;
        let hit = lines[at].hit(Operation::Store, posted.cpu, *now, topology, costs);
        if let Some(service) = hit {
            self.count_store(at, service.class);
            self.take_effect(task, at);
        }
        hit.is_some()
    }

    fn serve_store(&mut self, task: usize, at: usize, posted: Posted) {
        let scale = self.scale();
        let Self { lines, topology, costs, now, .. } = self;
        let service = lines[at].begin(Operation::Store, scale, posted.cpu, *now, topology, costs);
        let end = *now + service.took;
        self.count_store(at, service.class);
        self.tasks[task].buffer[0].is_served = true;
        self.note_request(end, BUFFER + task);
    }

    /// The event of a task's store: its line has come, or it is the first of the line's requests.
    pub(super) fn go_on_with_stores(&mut self, task: usize) {
        let posted = self.tasks[task].buffer[0];
        let at = self.line_of(posted.write.address());
        if posted.is_served {
            self.lines[at].complete(Operation::Store, posted.cpu, self.now, &self.topology);
            self.take_effect(task, at);
        } else {
            let first = self.requests[at].pop_front();
            debug_assert_eq!(first.map(|first| first.who), Some(BUFFER + task));
            if !self.store_hits(task, at, posted) {
                return self.serve_store(task, at, posted);
            }
        }
        self.let_next_request(at);
        self.begin_stores(task);
    }

    fn take_effect(&mut self, task: usize, at: usize) {
        let posted = self.tasks[task].buffer.pop_front().expect("there is one");
        posted.write.apply();
        self.unpark_all(at, BUFFER + task);
    }

    /// It takes no time of its thread.
    fn count_store(&mut self, at: usize, class: Class) {
        self.places[self.place_of[at] as usize].count[class as usize] += 1;
    }

    /// The next step of a request: a task's, or a store's.
    pub(super) fn note_request(&mut self, time: Time, of: usize) {
        if of < BUFFER {
            self.note_task(time, of)
        } else {
            self.note(time, FIRST_TASK + of as u32, 0)
        }
    }
}
