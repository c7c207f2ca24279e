//! Classes of locks in heap blocks: one for each place in what one line of the program allocates,
//! or one for all of an array's.

use std::collections::{HashMap, HashSet};

use lockwright_ledger::rows::{ANY_OFFSET, Class, class_origin};

use super::class_group::ClassGroup;
use super::key::Key;
use super::naming::{place_key, short_place};
use super::sources::Sources;
use crate::finding::LockOrigin;
use crate::finding::lock_kind::LockKind;
use crate::symbolize::allocator::place_of_allocation;

/// Locks of one kind in one sort of block; with more it is an array. The preload library counts by
/// call stack, of which a line may have many.
const MOST: usize = 8;

/// What is known of the places that allocate: kind of the locks, and place.
pub struct Blocks {
    arrays: HashSet<(u8, String)>,
}

impl Blocks {
    /// Learns from all class rows.
    pub fn new(sources: &Sources<'_>, rows: &[(u32, usize, Class)]) -> Self {
        let mut offsets: HashMap<(u8, String), HashSet<u64>> = HashMap::new();
        for (_, ledger, row) in
            rows.iter().filter(|(.., row)| row.origin == class_origin::ALLOCATION)
        {
            if let Some(place) = place(sources, *ledger, row) {
                offsets.entry((row.kind, place.0)).or_default().insert(row.offset);
            }
        }
        let is_array =
            |offsets: &HashSet<u64>| offsets.len() > MOST || offsets.contains(&ANY_OFFSET);
        offsets.retain(|_, offsets| is_array(offsets));
        Self { arrays: offsets.into_keys().collect() }
    }
}

/// Key and words for where a block was allocated.
fn place(sources: &Sources<'_>, ledger: usize, row: &Class) -> Option<(String, String)> {
    let stack = sources.symbols(ledger).stack(row.stack);
    place_of_allocation(&stack).map(|frame| (place_key(frame), short_place(frame)))
}

/// Class and name of a lock in a heap block.
pub fn in_block(
    sources: &Sources<'_>,
    blocks: &Blocks,
    ledger: usize,
    id: u32,
    row: &Class,
) -> (Key, ClassGroup, Option<String>) {
    let what = LockKind::of(row.kind).name();
    let group = |name| ClassGroup {
        name,
        is_symbol: false,
        by_place: None,
        kind: row.kind,
        origin: LockOrigin::Allocation,
        created: (ledger, row.stack),
        is_static: false,
        locks: 0,
    };
    let Some((place, shown)) = place(sources, ledger, row) else {
        return (Key::Row(ledger, id), group(format!("{what} of class {id}")), None);
    };
    let at = (row.kind, place);
    let offset = (!blocks.arrays.contains(&at)).then_some(row.offset);
    let name = match offset {
        Some(offset) => format!("{what} at offset {offset} in the block allocated at {shown}"),
        None => format!("{what} in the array allocated at {shown}"),
    };
    let (kind, place) = at;
    (Key::Block { kind, place, offset }, group(name), None)
}
