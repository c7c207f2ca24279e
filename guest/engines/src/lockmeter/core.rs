//! The slow path: what one lock of the host guards. At most once per new thing (thread, site, cell,
//! bucket, pair of waiter and holder).

use lockwright_ledger::Writer;
use lockwright_ledger::histogram::{self, RUN};
use lockwright_ledger::rows::meter::{Blame, Board, Carry, Cell, Meter, Metered, Readers, Site};

use super::cell::CellRef;
use super::pending::Waits;
use super::run_owner;
use super::runs::Missing;
use super::thread::{MeterThread, Slot};
use crate::capture::Capture;
use crate::held::HeldStack;
use crate::index::{Index, hash};
use crate::shared::Shared;

/// Slots of a thread's first index, and elements of its first array of held locks.
const FIRST_SLOTS: u64 = 64;
const FIRST_HELD: u32 = 32;

/// Where a lock is taken, or where something else is waited for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Call {
    /// Class of the lock, 0 if it is none.
    pub class: u32,
    /// Its instance, where instances are kept apart, else 0.
    pub inst: u32,
    /// Its address.
    pub addr: u64,
    /// READ or 0; [`lockwright_ledger::rows::mode`].
    pub mode: u16,
    /// [`lockwright_ledger::rows::meter::site_flag`] bits.
    pub flags: u16,
    /// One of [`lockwright_ledger::rows::meter::wait_kind`].
    pub wait: u32,
    /// Call site.
    pub site: u64,
}

/// The shared state.
pub struct LockMeter {
    sites: Index,
    carries: Index,
    readers: Index,
    free: u32,
    /// Runs of buckets that are a cell's own.
    own_runs: u32,
    /// By meter and site: its cell. There are none until threads have forgotten which cells they have.
    cells: Index,
}

impl Default for LockMeter {
    fn default() -> Self {
        Self::new()
    }
}

impl LockMeter {
    /// Starts on an empty ledger.
    pub const fn new() -> Self {
        Self {
            sites: Index::new(),
            carries: Index::new(),
            readers: Index::new(),
            free: 0,
            own_runs: 0,
            cells: Index::new(),
        }
    }

    /// A thread begins, now. Its state stays valid until [`LockMeter::thread_exit`]. `None`: no room.
    pub fn thread_start(
        &mut self,
        writer: &mut Writer,
        tid: u32,
        now: u64,
    ) -> Option<*mut MeterThread> {
        let id = match self.free {
            0 => self.new_meter(writer)?,
            id => id,
        };
        let row = writer.row_ptr::<Meter>(id);
        // SAFETY: a row that is free or new: nobody else uses it.
        unsafe {
            self.free = (*row).next_free;
            (*row).next_free = 0;
            (*row).threads += 1;
            (*row).tid = tid;
            (*row).born = now;
            (*row).random = hash(&[u64::from(tid), u64::from(id), u64::from((*row).threads)]);
        }
        Some(row.cast())
    }

    fn new_meter(&mut self, writer: &mut Writer) -> Option<u32> {
        const INDEX: usize = FIRST_SLOTS as usize * size_of::<Slot>();
        let offset = writer.alloc(INDEX + FIRST_HELD as usize * size_of::<Metered>())?;
        let row = Meter {
            id: writer.len_of::<Meter>().max(1),
            held: HeldStack::<Metered>::begin(writer, offset + INDEX as u64, FIRST_HELD),
            index: writer.at(offset) as u64,
            shift: 64 - FIRST_SLOTS.ilog2(),
            ..Meter::default()
        };
        writer.push(row)
    }

    /// The thread ends, now; a later one goes on counting where it counted. Locks that it holds still
    /// have been counted; their holds have no end.
    ///
    /// # Safety
    /// Nobody uses `thread` afterwards.
    pub unsafe fn thread_exit(&mut self, thread: *mut MeterThread, now: u64) {
        // SAFETY: by contract nobody uses `thread` afterwards, so this thread alone has its row and
        // arrays.
        unsafe {
            let row = &mut (*thread).row;
            HeldStack::<Metered>::of_mut(&mut row.held).clear();
            Waits::clear(row.waits as *mut Waits);
            (row.tid, row.waiting) = (0, 0);
            row.lived += now.saturating_sub(core::mem::take(&mut row.born));
            row.next_free = core::mem::replace(&mut self.free, row.id);
        }
    }

    /// The cell of `call` for the thread, which has none under `key` yet. `capture` is asked for
    /// the stack if the site is new. `None`: no room; the event goes uncounted, and that is
    /// counted.
    pub fn cell(
        &mut self,
        shared: &mut impl Shared,
        thread: &mut MeterThread,
        key: u64,
        call: &Call,
        capture: Capture<'_>,
    ) -> Option<CellRef> {
        let found = self.new_cell(shared, thread, key, call, capture);
        if found.is_none() {
            thread.lose();
        }
        found
    }

    fn new_cell(
        &mut self,
        shared: &mut impl Shared,
        thread: &mut MeterThread,
        key: u64,
        call: &Call,
        capture: Capture<'_>,
    ) -> Option<CellRef> {
        thread.looks_again();
        if let Some(cell) = thread.find(key) {
            return Some(cell);
        }
        if u64::from(thread.row.keys) * 2 >= thread.slots() && !grow_index(shared.writer(), thread)
        {
            return None;
        }
        let site = self.site(shared, call, capture)?;
        let writer = shared.writer();
        let of_thread = cell_key(thread.row.id, site);
        let id = match self.cells.get(writer, of_thread) {
            Some(id) => id,
            None => {
                let site_at = writer.row_ptr::<Site>(site) as u64;
                let cell = Cell { site, site_at, ..Cell::default() };
                let id = writer.push_with_state(cell, thread.row.id)?;
                writer.update::<Site>(site, |row| row.cells += 1);
                if !self.cells.is_empty() {
                    self.cells.insert(writer, of_thread, id);
                }
                id
            }
        };
        let cell = CellRef::at(writer.row_ptr::<Cell>(id) as u64)?;
        thread.insert(key, cell);
        Some(cell)
    }

    /// Other code may come to lie where some lay: threads look their cells up again.
    pub fn code_is_gone(&mut self, writer: &mut Writer) {
        if self.cells.is_empty() {
            for id in 1..writer.len_of::<Cell>() {
                let cell = writer.row_ptr::<Cell>(id);
                // SAFETY: a row of the table, of which neither of the two changes.
                let (meter, site) = unsafe { ((*cell).state, (*cell).site) };
                self.cells.insert(writer, cell_key(meter, site), id);
            }
        }
        for id in 1..writer.len_of::<Meter>() {
            // SAFETY: a row of the table, which stays mapped.
            unsafe { MeterThread::shut(writer.row_ptr::<Meter>(id)) };
        }
    }

    fn site(&mut self, shared: &mut impl Shared, call: &Call, capture: Capture<'_>) -> Option<u32> {
        let site = shared.lasting_site(call.site, &mut *capture);
        let key = hash(&[
            u64::from(call.class) << 32 | u64::from(call.inst),
            u64::from(call.wait) << 32 | u64::from(call.flags) << 16 | u64::from(call.mode),
            site,
        ]);
        if let Some(id) = self.sites.get(shared.writer(), key) {
            return Some(id);
        }
        let stack = shared.captured(capture);
        let writer = shared.writer();
        let row = Site {
            class: call.class,
            inst: call.inst,
            mode: call.mode,
            flags: call.flags,
            wait: call.wait,
            stack,
            site,
            addr: call.addr,
            ..Site::default()
        };
        let id = writer.push(row)?;
        self.sites.insert(writer, key, id);
        Some(id)
    }

    /// Makes room for one more held lock. False: there is none; the lock then goes unwatched.
    pub fn grow_held(&mut self, writer: &mut Writer, thread: &mut MeterThread) -> bool {
        thread.looks_again();
        if thread.has_room() || thread.compact() {
            return true;
        }
        let capacity = 2 * thread.row.held.capacity;
        // The old array is not given back: another thread may be looking at it, and takes what it finds there
        // for addresses of cells. All that were before are together smaller than the new one.
        if thread.stack_mut().grow(writer, capacity).is_none() {
            thread.lose();
            return false;
        }
        true
    }

    /// Supplies what was missing to count `ticks` among the `kind` of
    /// [`histogram_kind`], and counts them.
    pub fn supply(
        &mut self,
        writer: &mut Writer,
        thread: &mut MeterThread,
        cell: CellRef,
        kind: u16,
        ticks: u64,
        missing: Missing,
    ) {
        let done = match missing {
            Missing::Run => self.count_in_new(writer, cell, kind, ticks),
            Missing::Carry(bucket, index) => self.carry(writer, bucket, index),
        };
        thread.row.lost += u64::from(done.is_none());
    }

    fn count_in_new(
        &mut self,
        writer: &mut Writer,
        cell: CellRef,
        kind: u16,
        ticks: u64,
    ) -> Option<()> {
        let index = histogram::bucket(ticks);
        let run = (index / RUN) as u16;
        run_owner::provide(writer, &mut self.own_runs, cell, run, kind)?;
        match cell.count_far(run, kind, index % RUN) {
            // Another thread may have made the bucket first, and it may be just full.
            Some(Missing::Carry(bucket, index)) => self.carry(writer, bucket, index),
            _ => Some(()),
        }
    }

    fn carry(&mut self, writer: &mut Writer, bucket: u32, index: u32) -> Option<()> {
        let key = hash(&[u64::from(bucket) << 32 | u64::from(index)]);
        let id = match self.carries.get(writer, key) {
            Some(id) => id,
            None => {
                let id = writer.push(Carry { bucket, index, ..Carry::default() })?;
                self.carries.insert(writer, key, id);
                id
            }
        };
        writer.update::<Carry>(id, |row| row.times += 1);
        Some(())
    }

    /// Gives a cell a row of blame, with its first `ticks`.
    pub fn new_blame(
        &mut self,
        writer: &mut Writer,
        thread: &mut MeterThread,
        cell: CellRef,
        kind: u32,
        other: u32,
        ticks: u64,
    ) {
        // SAFETY: a cell of the calling thread.
        let row = unsafe { &mut *cell.row() };
        let blame = Blame {
            other,
            kind,
            next: row.blame,
            next_at: row.first_blame,
            count: 1,
            ticks,
            ..Blame::default()
        };
        let Some(id) = writer.push(blame) else {
            thread.lose();
            return;
        };
        row.first_blame = writer.row_ptr::<Blame>(id) as u64;
        row.blame = id;
    }

    /// Memory for waits that are to be recorded later.
    pub fn pending_memory(&mut self, writer: &mut Writer, thread: &mut MeterThread) {
        if thread.row.waits == 0
            && let Some(offset) = writer.alloc(size_of::<Waits>())
        {
            thread.set_pending_memory(writer.at(offset) as u64);
        }
    }

    /// A fresh board.
    pub fn new_board(&mut self, writer: &mut Writer) -> Option<*mut Board> {
        let id = writer.push(Board::default())?;
        Some(writer.row_ptr::<Board>(id))
    }

    /// The row of an rwlock's readers, made if there is none yet.
    pub fn readers(&mut self, writer: &mut Writer, class: u32, inst: u32) -> Option<*mut Readers> {
        let key = hash(&[u64::from(inst)]);
        let id = match self.readers.get(writer, key) {
            Some(id) => id,
            None => {
                let id = writer.push(Readers { class, inst, ..Readers::default() })?;
                self.readers.insert(writer, key, id);
                id
            }
        };
        Some(writer.row_ptr::<Readers>(id))
    }
}

/// The key of what a meter counts at a site.
fn cell_key(meter: u32, site: u32) -> u64 {
    hash(&[u64::from(meter) << 32 | u64::from(site)])
}

/// Doubles a thread's index.
fn grow_index(writer: &mut Writer, thread: &mut MeterThread) -> bool {
    let slots = thread.slots();
    let bytes = |slots: u64| slots as usize * size_of::<Slot>();
    let Some(offset) = writer.alloc(bytes(slots * 2)) else { return false };
    let old = core::mem::replace(&mut thread.row.index, writer.at(offset) as u64) as *const Slot;
    thread.row.shift -= 1;
    thread.row.keys = 0;
    for i in 0..slots {
        // SAFETY: the old index has that many slots.
        let slot = unsafe { *old.add(i as usize) };
        if slot.key != 0
            && let Some(cell) = CellRef::at(slot.cell)
        {
            thread.insert(slot.key, cell);
        }
    }
    if slots != FIRST_SLOTS {
        // The first index shares its memory with the first array of held locks.
        writer.free(writer.offset_of(old.cast()), bytes(slots));
    }
    true
}
