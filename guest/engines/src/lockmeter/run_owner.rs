//! The owner of the runs of buckets that a cell counts in: the cell, or its site.
//!
//! In a run of its own a thread counts without regard to others. But a run takes 88 bytes, and the
//! times of one cell fall into some seven of them: with a thousand sites in each of 64 threads,
//! runs of their own for all cells would be most of the ledger, and most of them would hardly be
//! used. So there are runs that all cells of a site share, counted in atomically, and a cell has to
//! have [`patience`]: it counts in those so many times, and only the run that it counts in next
//! becomes its own. That is most probably the one that it counts in most. The more runs there are
//! the more patience it takes.

use core::sync::atomic::Ordering::{Relaxed, Release};

use lockwright_ledger::Writer;
use lockwright_ledger::rows::meter::{Bucket, Site};

use super::cell::CellRef;
use super::runs::{find, first_shared, head};

/// It takes twice the patience for each so many runs that cells have of their own. The first of
/// them, 0.3 MiB, cost nothing, and are enough for some 600 cells; 5.5 MiB of them take
/// 10^8.7 counts in shared runs.
const DOUBLED_EACH: u32 = 4096;

/// The most that it is doubled.
const DOUBLED_MOST: u32 = 16;

/// How many times a cell is to count in shared runs before it has one more of its own, where cells
/// have `own` by now.
fn patience(own: u32) -> u32 {
    (1 << (own / DOUBLED_EACH).min(DOUBLED_MOST)) - 1
}

/// Sees to it that `cell` finds a run to count in: one of its own if it is time for that, else one
/// of its site's. Cells have `own` of their own. `None`: there is no room.
pub(super) fn provide(
    writer: &mut Writer,
    own: &mut u32,
    cell: CellRef,
    run: u16,
    kind: u16,
) -> Option<()> {
    // SAFETY: a cell of the calling thread.
    let row = unsafe { &mut *cell.row() };
    let site = row.site_at as *mut Site;
    // SAFETY: the site's row; changed with the host's lock held, as it is now.
    let is_alone = unsafe { (*site).cells } == 1;
    if row.patience == 0 {
        // More may be asked of it than when it began.
        let asked = patience(*own).max(row.asked);
        row.patience = asked - row.asked;
        row.asked = asked;
    }
    if row.patience == 0 || is_alone {
        row.first_bucket = add(writer, row.site, run, kind, row.first_bucket)? as u64;
        *own += 1;
        row.asked = patience(*own);
        row.patience = row.asked;
        return Some(());
    }
    // SAFETY: lists of mapped rows. Somebody else may have been here first.
    if unsafe { find(first_shared(site, run), run, kind) }.is_null() {
        // SAFETY: `site` is the mapped row of the cell's site, which stays mapped.
        let head = unsafe { head(site, run) };
        let new = add(writer, row.site, run, kind, head.load(Relaxed))?;
        // Pairs with the Acquire in `first_shared`.
        head.store(new as u64, Release);
    }
    Some(())
}

fn add(writer: &mut Writer, site: u32, run: u16, kind: u16, next_at: u64) -> Option<*mut Bucket> {
    let id = writer.len_of::<Bucket>().max(1);
    let row = Bucket { site, run, kind, id, next_at, ..Bucket::default() };
    writer.push(row).map(|id| writer.row_ptr(id))
}
