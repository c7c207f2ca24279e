//! Monitors: locks that a program or a library builds of a mutex, a condition variable and a flag (`boost::timed_mutex`). The
//! mutex is released at once, so that the lock itself is not seen. It is known by what threads do: one that leaves a section of
//! the mutex without a signal has taken it, and one that signals in its next section has released it.
//!
//! Most condition variables are none of a lock's: those of queues, events and counters. So a class of mutexes is a candidate
//! from its first signal on, and is struck off for good once it is used otherwise: a thread signals that has not taken it, or
//! waits while nobody has it, or waits with a time limit first, or has sections without a signal again and again, or ends with
//! it. What is recorded of a class is for the reader to accept or to leave out.
//!
//! The sections of a candidate's mutex take the slow path. All that is noted of them here is changed by the thread that has the
//! mutex, so its order is theirs. That a section ended without a signal is known when the next begins.
//!
//! The section before the first signal was not looked at. It is found in the thread's last new acquisitions, if there are no
//! others between.

use lockwright_ledger::Writer;
use lockwright_ledger::rows::{self, Class, Held, Node, held_flag, lock_kind, monitor, node_flag};

use crate::capture::{Capture, recorded_as};
use crate::index::{Index, hash};
use crate::lockdep::acquire::{Acquire, Ident};
use crate::lockdep::recorder::{Origin, Recorder, next_instances};
use crate::lockdep::thread::{Probe, Section, ThreadState};

/// Candidates that are looked at, at a time.
const MOST: u32 = 128;
/// Sections of one class that are looked at: no others are news then.
const MOST_SECTIONS: u32 = 1 << 10;
/// Candidates of one class.
const MOST_OF_CLASS: u32 = 256;
/// Sections of one thread in a row that leave a monitor taken: a recursive one that often.
const MOST_IN_A_ROW: u32 = 8;
/// Signals of a thread that has perhaps taken it more than once before its first signal.
const MOST_LEFT: u32 = 2;

/// Threads whose last new acquisitions are known.
const LOGS: usize = 16;
/// How many of each.
const MOST_TAKEN: usize = 32;

/// In the index of classes: it is looked at no more.
const OFF: u32 = u32::MAX;

/// What becomes of a mutex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Its sections are to be reported from now on.
    Begins,
    /// No change.
    Goes,
    /// They need not be reported. Nor need signals in sections of mutexes of the class.
    Ends,
}

/// A candidate. Zeros are none.
#[repr(C)]
#[derive(Clone, Copy)]
struct Slot {
    /// Which mutex.
    mutex: Ident,
    /// Which monitor.
    monitor: Ident,
    /// The thread whose section of the mutex began last, if it has neither waited nor signalled since.
    inside: u32,
    /// The thread that has taken the monitor.
    owner: u32,
    /// The one that took it last.
    last_owner: u32,
    /// The one that has released it in the section under way.
    releaser: u32,
    /// Sections in a row without a signal of the owner.
    in_a_row: u32,
    /// Of `last_owner`: how many more of its sections may signal, if each release of a recursive one does.
    left: u32,
    /// So it is.
    signals_each: u32,
    reserved: u32,
}

/// An acquisition in a context that was new to its thread.
#[repr(C)]
#[derive(Clone, Copy)]
struct Taken {
    addr: u64,
    ident: Ident,
    /// The thread's acquisitions before.
    before: u64,
    /// What the thread remembers it by.
    key: u64,
    node: u32,
    segment: u32,
}

impl Taken {
    /// The thread's acquisitions after it. A monitor is counted as none.
    fn after(&self) -> u64 {
        self.before + u64::from(self.addr & 1 == 0)
    }

    /// As an event, it is in the context `row`.
    fn as_in(&self, row: &Node) -> Acquire {
        Acquire { addr: self.addr, ident: self.ident, mode: row.mode, site: row.site }
    }
}

/// The last of a thread.
#[repr(C)]
#[derive(Clone, Copy)]
struct Log {
    thread: u32,
    len: u32,
    /// There were more.
    is_cut: u32,
    reserved: u32,
    taken: [Taken; MOST_TAKEN],
}

/// See the module.
pub(crate) struct Monitors {
    /// File offset of the slots, 0 as long as there are none: they lie in the ledger's space, as most processes have none.
    table: u64,
    /// File offset of those of [`LOGS`] logs, likewise; 0 for a log that there is not. That of a thread is by its number.
    logs: u64,
    /// There has been more than one thread.
    is_on: bool,
    /// By address of a mutex: its slot. By class of mutexes: that of their monitors, and how many sections and candidates of it
    /// there were.
    index: Index,
    slots: u32,
}

/// What the index has of a class of mutexes.
#[derive(Clone, Copy)]
enum Of {
    Class = 1,
    Sections,
    Candidates,
}

impl Of {
    fn key(self, class: u32) -> u64 {
        hash(&[u64::from(class), self as u64])
    }
}

/// What a thread has done with a mutex before its first signal.
enum Earlier {
    /// It had no section.
    Never,
    /// This one.
    Once(usize),
    /// It is not known. If it has taken the monitor, this was in the log then.
    Unknown(usize),
}

impl Monitors {
    pub(crate) const fn new() -> Self {
        Self { table: 0, logs: 0, is_on: false, index: Index::new(), slots: 0 }
    }

    /// A thread begins that is not the first: from now on what threads do is noted.
    pub(crate) fn thread_begins(&mut self) {
        self.is_on = true;
    }

    /// Where the file offset of the thread's log is.
    fn place_of_log(&self, writer: &Writer, thread: &ThreadState) -> *mut u64 {
        let at = thread.id() as usize % LOGS * size_of::<u64>();
        writer.at(self.logs + at as u64).cast()
    }

    fn log<'a>(&self, writer: &Writer, thread: &ThreadState) -> Option<&'a mut Log> {
        if self.logs == 0 {
            return None;
        }
        // SAFETY: one of the integers that `note` has made room for. The core's lock is held.
        let log = unsafe { self.place_of_log(writer, thread).read() };
        // SAFETY: integers, of which any will do, in an extent that stays mapped. The core's lock is held, and no method keeps
        // the reference while it calls another that makes one of the same log.
        let log = unsafe { (log != 0).then(|| &mut *writer.at(log).cast::<Log>()) }?;
        (log.thread == thread.id()).then_some(log)
    }

    /// The thread is about to acquire a lock in a context that it has not been in.
    pub(crate) fn note(
        &mut self,
        writer: &mut Writer,
        thread: &ThreadState,
        lock: &Acquire,
        probe: Probe,
    ) {
        if !self.is_on {
            return;
        }
        if self.logs == 0 {
            self.logs = writer.alloc(LOGS * size_of::<u64>()).unwrap_or(0);
        }
        if self.logs == 0 {
            return;
        }
        // SAFETY: one of the integers that there is room for. The core's lock is held.
        let at = unsafe { &mut *self.place_of_log(writer, thread) };
        if *at == 0 {
            let Some(log) = writer.alloc(size_of::<Log>()) else { return };
            *at = log;
        }
        // SAFETY: as in `log`.
        let log = unsafe { &mut *writer.at(*at).cast::<Log>() };
        let before = thread.row.acquisitions;
        if log.thread != thread.id() {
            (log.thread, log.len, log.is_cut) = (thread.id(), 0, u32::from(before != 0));
        }
        // The one before has failed, or this is the same.
        if log.len > 0
            && log.taken[log.len as usize - 1].before == before
            && log.taken[log.len as usize - 1].addr & 1 == 0
        {
            log.len -= 1;
        }
        if log.len as usize == MOST_TAKEN {
            log.taken.copy_within(1.., 0);
            log.len -= 1;
            log.is_cut = 1;
        }
        let segment = thread.segment();
        log.taken[log.len as usize] = Taken {
            addr: lock.addr,
            ident: lock.ident,
            before,
            key: probe.key,
            node: probe.node,
            segment,
        };
        log.len += 1;
    }

    /// What the thread has done with a mutex that it has now taken. The log from there on has all its acquisitions.
    fn earlier(&self, writer: &Writer, thread: &ThreadState, mutex: Ident) -> Earlier {
        let Some(log) = self.log(writer, thread) else { return Earlier::Unknown(0) };
        let taken = &log.taken[..log.len as usize];
        let mut is_whole = true;
        let mut next = thread.row.acquisitions;
        let mut last = None;
        for (at, it) in taken.iter().enumerate().rev() {
            is_whole &= it.after() == next;
            next = it.before;
            match (it.ident == mutex, last) {
                (true, None) => last = Some(at),
                (true, Some(_)) if is_whole => return Earlier::Once(at),
                (true, Some(_)) => return Earlier::Unknown(at),
                _ => {}
            }
        }
        match last.is_some() && is_whole && log.is_cut == 0 && next == 0 {
            true => Earlier::Never,
            false => Earlier::Unknown(0),
        }
    }

    /// How many sections of a mutex are in the thread's log.
    fn sections(&self, writer: &Writer, thread: &ThreadState, mutex: Ident) -> u32 {
        let log = self.log(writer, thread);
        let taken = log.map_or(&[][..], |log| &log.taken[..log.len as usize]);
        taken.iter().filter(|it| it.ident == mutex).count() as u32
    }

    fn at<'a>(&self, writer: &Writer, at: u32) -> Option<&'a mut Slot> {
        let slots = writer.at(self.table).cast::<Slot>();
        // SAFETY: integers, for which zeros will do, in an extent that stays mapped, of so many. The core's lock is held, and no
        // method keeps the reference while it calls another that makes one of the same slot.
        (self.table != 0 && at < MOST).then(|| unsafe { &mut *slots.add(at as usize) })
    }

    fn slot<'a>(&self, writer: &Writer, addr: u64, mutex: Ident) -> Option<&'a mut Slot> {
        let at = self.index.get(writer, hash(&[addr]))?;
        let slot = self.at(writer, at)?;
        (slot.mutex == mutex).then_some(slot)
    }

    fn class(&self, writer: &Writer, mutexes: u32) -> Option<u32> {
        self.index.get(writer, Of::Class.key(mutexes))
    }

    /// Counts one more of a class; false once there are `most`.
    fn count(&mut self, writer: &mut Writer, of: Of, class: u32, most: u32) -> bool {
        let so_far = self.index.get(writer, of.key(class)).unwrap_or(0);
        if so_far < most {
            self.index.insert(writer, of.key(class), so_far + 1);
        }
        so_far < most
    }

    /// The thread is about to signal a condition variable in its section of the mutex at `addr`, which is its innermost.
    pub(crate) fn signals(
        &mut self,
        recorder: &mut Recorder,
        thread: &mut ThreadState,
        addr: u64,
    ) -> Watch {
        let Some(held) = thread.held_of(addr) else { return Watch::Goes };
        let mutex = Ident::new(held.inst, held.class);
        let is_off = self.class(&recorder.writer, held.class) == Some(OFF);
        if is_off || recorder.kind_of_class(held.class) != lock_kind::MUTEX {
            return Watch::Ends;
        }
        let Some(slot) = self.slot(&recorder.writer, addr, mutex) else {
            return self.begins(recorder, thread, addr, mutex);
        };
        if slot.releaser == thread.id() {
            return Watch::Goes;
        }
        let is_rest = slot.owner == 0 && slot.last_owner == thread.id() && slot.left > 0;
        if slot.owner != thread.id() && !is_rest {
            return self.strikes_off(recorder, thread, held.class);
        }
        (slot.inside, slot.releaser) = (0, thread.id());
        if is_rest {
            (slot.left, slot.signals_each) = (slot.left - 1, 1);
            thread.leaves_section(addr);
            return Watch::Goes;
        }
        if slot.signals_each != 0 && slot.in_a_row > 1 {
            slot.in_a_row -= 1;
            return Watch::Goes;
        }
        (slot.owner, slot.left) = (0, slot.in_a_row.saturating_sub(1));
        has_shown(recorder, slot.monitor, monitor::RELEASED);
        thread.releases_monitor(addr);
        Watch::Goes
    }

    /// The mutex is a candidate's from now on: nobody has that at the end of this section.
    fn begins(
        &mut self,
        recorder: &mut Recorder,
        thread: &mut ThreadState,
        addr: u64,
        mutex: Ident,
    ) -> Watch {
        let earlier = self.earlier(&recorder.writer, thread, mutex);
        if let Earlier::Never = earlier {
            return self.strikes_off(recorder, thread, mutex.class());
        }
        if !self.count(&mut recorder.writer, Of::Candidates, mutex.class(), MOST_OF_CLASS) {
            return self.ends(recorder, thread, mutex.class());
        }
        let before = self.index.get(&recorder.writer, hash(&[addr]));
        let at = before.unwrap_or(self.slots);
        let origin = Origin::Monitor(mutex.class());
        if self.table == 0
            && let Some(table) = recorder.writer.alloc(size_of::<[Slot; MOST as usize]>())
        {
            self.table = table;
        }
        let Some(slot) = self.at(&recorder.writer, at) else { return Watch::Ends };
        let Some(class) = recorder.class(lock_kind::MONITOR, origin) else { return Watch::Ends };
        recorder.writer.update::<Class>(class, |row| row.locks = row.locks.saturating_add(1));
        self.index.insert(&mut recorder.writer, Of::Class.key(mutex.class()), class);
        self.index.insert(&mut recorder.writer, hash(&[addr]), at);
        self.slots = self.slots.max(at + 1);
        let monitor = Ident::new(next_instances(recorder.writer.header(), 1), class);
        let mut left =
            self.sections(&recorder.writer, thread, mutex).saturating_sub(2).min(MOST_LEFT);
        match earlier {
            Earlier::Once(from) => {
                has_shown(recorder, monitor, monitor::RELEASED);
                // Only the thread itself can know a lock that it has just made.
                if !thread.has_born(mutex.inst()) {
                    self.was_held(recorder, thread, addr, monitor, from);
                }
            }
            Earlier::Unknown(from) => {
                left = MOST_LEFT;
                self.may_have_been_held(recorder, thread, from);
            }
            Earlier::Never => {}
        }
        *slot = Slot {
            mutex,
            monitor,
            inside: 0,
            owner: 0,
            last_owner: thread.id(),
            releaser: thread.id(),
            in_a_row: 0,
            left,
            signals_each: 0,
            reserved: 0,
        };
        Watch::Begins
    }

    /// The thread has held the monitor since its acquisition `from` of the mutex: that is recorded now. What it has acquired
    /// since is in other contexts than was known.
    fn was_held(
        &self,
        recorder: &mut Recorder,
        thread: &mut ThreadState,
        addr: u64,
        monitor: Ident,
        from: usize,
    ) {
        let Some(log) = self.log(&recorder.writer, thread) else { return };
        let first = log.taken[from];
        let Some(&Node { parent: base, stack, .. }) = recorder.writer.get::<Node>(first.node)
        else {
            return;
        };
        let lock = Acquire { addr: addr | 1, ident: monitor, mode: 0, site: site_of(stack) };
        let held = add(recorder, base, &lock, 0, first.segment, stack);
        // By place in the log: the context within the monitor, and how many locks are between.
        let mut within = [(0, 0); MOST_TAKEN];
        for at in from + 1..log.len as usize {
            let taken = log.taken[at];
            let Some(&row) = recorder.writer.get::<Node>(taken.node) else { continue };
            let outer = recorder.writer.get::<Node>(row.parent).map_or(0, |outer| outer.inst);
            let is_outer = |&at: &usize| log.taken[at].ident.inst() == outer && within[at].0 != 0;
            let (parent, depth) = match (from + 1..at).rev().find(is_outer) {
                _ if row.parent == base => (held, 0),
                Some(at) => (within[at].0, within[at].1 + 1),
                None => continue,
            };
            let flags = with_one_more(row.flags, depth);
            let node = add(recorder, parent, &taken.as_in(&row), flags, taken.segment, row.stack);
            if node == 0 {
                continue;
            }
            within[at] = (node, depth);
            log.taken[at].node = node;
            if row.parent != 0 {
                withdraw(recorder, thread, &taken);
            }
        }
        // For the monitors that are found later, further out.
        log.taken[from] = Taken { ident: monitor, node: held, ..first };
    }

    /// The thread may have held a monitor since the place `from` in the log: what is recorded of others since lacks it.
    fn may_have_been_held(&self, recorder: &mut Recorder, thread: &mut ThreadState, from: usize) {
        let Some(log) = self.log(&recorder.writer, thread) else { return };
        for taken in &log.taken[from..log.len as usize] {
            let Some(row) = recorder.writer.get::<Node>(taken.node) else { continue };
            let is_nested = row.parent != 0;
            let mut at = taken.node;
            while let Some(row) = recorder.writer.get::<Node>(at) {
                if is_nested && recorder.kind_of_class(row.class) == lock_kind::MONITOR {
                    withdraw(recorder, thread, taken);
                    break;
                }
                at = row.parent;
            }
        }
    }

    /// The section of the mutex that was begun last is over: without a signal, if it has an owner now.
    fn settle(&mut self, recorder: &mut Recorder, slot: &mut Slot) -> bool {
        let left = core::mem::take(&mut slot.inside);
        if left == 0 || slot.owner != 0 && slot.owner != left {
            // A try that failed, as it seems.
            return true;
        }
        if slot.owner == left {
            slot.in_a_row += 1;
            return slot.in_a_row <= MOST_IN_A_ROW;
        }
        if slot.last_owner == left {
            has_shown(recorder, slot.monitor, monitor::RETAKEN);
        }
        (slot.owner, slot.last_owner, slot.in_a_row, slot.left) = (left, left, 1, 0);
        true
    }

    /// The thread has taken the mutex at `addr`, whose sections are reported.
    pub(crate) fn enters(
        &mut self,
        recorder: &mut Recorder,
        thread: &mut ThreadState,
        addr: u64,
        capture: Capture<'_>,
    ) -> Watch {
        let Some(held) = thread.held_of(addr) else { return Watch::Goes };
        let mutex = Ident::new(held.inst, held.class);
        if self.class(&recorder.writer, held.class) == Some(OFF) {
            return Watch::Ends;
        }
        let Some(slot) = self.slot(&recorder.writer, addr, mutex) else { return Watch::Ends };
        if !self.count(&mut recorder.writer, Of::Sections, held.class, MOST_SECTIONS) {
            return self.ends(recorder, thread, held.class);
        }
        if !self.settle(recorder, slot) {
            return self.strikes_off(recorder, thread, held.class);
        }
        (slot.inside, slot.releaser) = (thread.id(), 0);
        if slot.owner != thread.id() {
            let stack = recorder.captured(capture);
            thread.in_section(addr, stack, slot.owner == 0);
        }
        Watch::Goes
    }

    /// The thread is about to wait on a condition variable in its section of the mutex at `addr`. The stack of its acquisition
    /// there, if that is of a candidate.
    pub(crate) fn waits(
        &mut self,
        recorder: &mut Recorder,
        thread: &mut ThreadState,
        addr: u64,
        is_timed: bool,
    ) -> Option<u32> {
        let held = thread.held_of(addr)?;
        let slot = self.slot(&recorder.writer, addr, Ident::new(held.inst, held.class))?;
        if self.class(&recorder.writer, held.class) == Some(OFF) {
            return None;
        }
        let was_inside = core::mem::take(&mut slot.inside) == thread.id();
        if let Some((_, Section::Releases)) = thread.section(addr) {
            thread.release(addr | 1);
        }
        let stack = thread.leaves_section(addr);
        let is_free = was_inside && (slot.owner == 0 || slot.owner == thread.id());
        if is_free || is_timed && !has_waited(recorder, slot.monitor) {
            self.strikes_off(recorder, thread, held.class);
            return None;
        }
        Some(stack)
    }

    /// The wait is over, and the thread has the mutex again. `stack` is what [`Monitors::waits`] gave, or 0.
    pub(crate) fn woken(
        &mut self,
        recorder: &mut Recorder,
        thread: &mut ThreadState,
        addr: u64,
        (is_timed, is_timeout): (bool, bool),
        stack: u32,
        capture: Capture<'_>,
    ) {
        let Some(held) = thread.held_of(addr) else { return };
        let mutex = Ident::new(held.inst, held.class);
        let Some(slot) = self.slot(&recorder.writer, addr, mutex) else { return };
        if self.class(&recorder.writer, held.class) == Some(OFF) {
            return;
        }
        if !self.settle(recorder, slot) {
            self.strikes_off(recorder, thread, held.class);
            return;
        }
        slot.releaser = 0;
        if is_timed && !has_waited(recorder, slot.monitor) {
            self.strikes_off(recorder, thread, held.class);
            return;
        }
        if !is_timed {
            // The wait may have begun before it was a candidate.
            has_shown(recorder, slot.monitor, monitor::WAITED);
        }
        if !is_timeout {
            slot.inside = thread.id();
            let stack = if stack == 0 { recorder.captured(capture) } else { stack };
            thread.in_section(addr, stack, slot.owner == 0);
        }
    }

    /// The acquisition of the monitor whose mutex `mutex`, at `addr`, the thread has taken at `stack`.
    pub(crate) fn taken(
        &self,
        recorder: &Recorder,
        addr: u64,
        mutex: Ident,
        stack: u32,
    ) -> Option<Acquire> {
        let slot = self.slot(&recorder.writer, addr, mutex)?;
        let is_off = self.class(&recorder.writer, mutex.class()) == Some(OFF);
        let (ident, site) = (slot.monitor, site_of(stack));
        (!is_off && stack != 0).then_some(Acquire { addr: addr | 1, ident, mode: 0, site })
    }

    /// The thread ends. A lock would be left behind.
    pub(crate) fn thread_ends(&mut self, recorder: &mut Recorder, thread: &mut ThreadState) {
        let is_one = |held: &Held| held.is_held() && held.flags & held_flag::MONITOR != 0;
        loop {
            let held = thread.held().find(is_one);
            let Some(held) = held else { return };
            let mutexes = recorder.writer.get::<Class>(held.class).map_or(0, |row| row.parent);
            self.strikes_off(recorder, thread, mutexes);
            thread.release(held.addr);
        }
    }

    /// The class of mutexes was used as no monitor's are.
    #[cold]
    fn strikes_off(
        &mut self,
        recorder: &mut Recorder,
        thread: &mut ThreadState,
        mutexes: u32,
    ) -> Watch {
        if let Some(class) = self.class(&recorder.writer, mutexes).filter(|&class| class != OFF) {
            recorder.writer.update::<Class>(class, |row| row.handed_over = 1);
        }
        self.ends(recorder, thread, mutexes)
    }

    /// The class is looked at no more, and no thread holds one of its monitors.
    #[cold]
    fn ends(&mut self, recorder: &mut Recorder, thread: &mut ThreadState, mutexes: u32) -> Watch {
        let class = self.class(&recorder.writer, mutexes);
        self.index.insert(&mut recorder.writer, Of::Class.key(mutexes), OFF);
        if let Some(class) = class.filter(|&class| class != OFF) {
            let is_one = |held: &Held| held.is_held() && held.class == class;
            loop {
                let held = thread.held().find(is_one);
                let Some(held) = held else { break };
                thread.release(held.addr);
            }
            let own = thread.id();
            for thread in recorder.live().filter(|thread| thread.id() != own) {
                for (_, held) in thread.held().filter(|(_, held)| held.class == class) {
                    thread.give_up(held.addr);
                }
            }
        }
        Watch::Ends
    }
}

/// The thread was not in the context of the acquisition. If it comes there it is recorded again.
fn withdraw(recorder: &mut Recorder, thread: &mut ThreadState, taken: &Taken) {
    recorder.withdraw(taken.node, taken.segment);
    thread.forget(taken.key);
}

/// [`Node::flags`] of a context with one lock more on its path, behind so many.
fn with_one_more(flags: u16, behind: u32) -> u16 {
    let (new, others) = (flags / node_flag::NEW, flags % node_flag::NEW);
    let near = new & ((1 << behind.min(node_flag::NEWS)) - 1);
    let further = u32::from(new - near) << 1;
    let new = (u32::from(near) | further) as u16 & ((1 << node_flag::NEWS) - 1);
    (new * node_flag::NEW) | others
}

/// A thread has waited for one of the class without a time limit. The first that waits with one strikes it off: its threads may
/// all go on without, as those of CPython that wait for the GIL.
fn has_waited(recorder: &Recorder, monitor: Ident) -> bool {
    let row = recorder.writer.get::<Class>(monitor.class());
    row.is_some_and(|row| row.seats & rows::monitor::WAITED != 0)
}

/// Notes what the class of a monitor has shown.
fn has_shown(recorder: &mut Recorder, monitor: Ident, bit: u32) {
    recorder.writer.update::<Class>(monitor.class(), |row| row.seats |= bit);
}

/// A context that a thread was in, with the stack that is known of it.
fn add(
    recorder: &mut Recorder,
    parent: u32,
    lock: &Acquire,
    flags: u16,
    segment: u32,
    stack: u32,
) -> u32 {
    let node = recorder.nested(parent, lock, flags, segment, &mut recorded_as(stack));
    recorder.attest(node, segment);
    node
}

/// What tells acquisitions of monitors apart: where their mutexes were taken.
fn site_of(stack: u32) -> u64 {
    hash(&[u64::from(stack), u64::from(lock_kind::MONITOR)]) >> 8
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn new(places: u16) -> u16 {
        places * node_flag::NEW
    }

    #[test]
    fn new_locks_further_out_move_by_one() {
        assert_eq!(with_one_more(new(0b1011), 0), new(0b10110));
        assert_eq!(with_one_more(new(0b1011), 2), new(0b10011));
        assert_eq!(with_one_more(new(0b1011), 8), new(0b1011));
        assert_eq!(with_one_more(new(0b1000_0001), 1), new(1), "one is too far out");
        assert_eq!(
            with_one_more(new(1) | node_flag::IN_HANDLER, 0),
            new(2) | node_flag::IN_HANDLER
        );
    }
}
