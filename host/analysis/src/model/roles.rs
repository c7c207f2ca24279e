//! Locks of one class that the program uses for different things.
//!
//! A class is what one place of the program creates, or one array holds. That is too much where the
//! place is in a function made for creating locks (`Semaphore_create`), or where each element of
//! the array has a use of its own (SQLite's `staticMutexes`): locks of different purposes are one
//! class then, and any order between two of them looks like one within a class. The threads and
//! places that take such locks show how they differ. A bucket's lock in a hash table is taken at
//! the same places as those of all other buckets; a lock with a purpose is taken at places of its
//! own.
//!
//! So the locks of a class are put together by the places that take them, wrappers left aside. What
//! is connected by no place is a class of its own, if at least [`PLACES`] places take it: one alone
//! may have met but one lock of the class in this run, by chance. Locks that were created at one
//! call stack are never parted, nor are semaphores, of which one use may show that it is none of a
//! lock. Findings of single locks do not depend on any of this.

use std::collections::{BTreeMap, HashMap, HashSet};

use lockwright_ledger::rows::{Class, Node, class_origin, lock_kind};

use super::class_group::Made;
use super::key::Key;
use super::naming::{place_key, place_of, short_place};
use super::sources::Sources;
use crate::finding::lock_kind::LockKind;
use crate::symbolize::wrapper::own_frames;

/// Places that must take a lock, and no other of its class, for it to have a purpose of its own.
const PLACES: usize = 2;

/// Parts the classes in `made` of the locks of one array, and of one place that initialises them.
/// `rows` are all class rows, by id: their ids, and where each is recorded; `made` has the class of each.
pub fn part(sources: &Sources<'_>, index: usize, rows: &[(u32, usize, Class)], made: &mut [Made]) {
    let mut classes: HashMap<Key, Vec<u32>> = HashMap::new();
    for (&(id, _, ref row), (key, ..)) in rows.iter().zip(&*made) {
        // That one of them is no lock says something of those that are used in other ways, too.
        if matches!(row.kind, lock_kind::SEMAPHORE | lock_kind::COUNTING) {
            continue;
        }
        let is_array = matches!(
            key,
            Key::Variable { offset: None, .. } | Key::Member { is_element: true, .. }
        );
        let is_made = matches!(key, Key::Place { origin: class_origin::INIT, .. });
        if is_array || is_made {
            classes.entry(key.clone()).or_default().push(id);
        }
    }
    classes.retain(|_, rows| rows.len() > 1);
    if classes.is_empty() {
        return;
    }
    let uses = Uses::new(sources, index, &classes.values().flatten().copied().collect());
    let by_id: HashMap<u32, (usize, Class)> =
        rows.iter().map(|&(id, ledger, row)| (id, (ledger, row))).collect();
    for class in classes.into_values() {
        for role in uses.roles(&class) {
            let (_, first) = by_id[&role[0]];
            let way = way_to(sources, by_id[&role[0]]);
            let others = class.iter().filter(|row| !role.contains(row));
            let of_others: HashSet<String> =
                others.flat_map(|row| way_to(sources, by_id[row])).map(|(key, _)| key).collect();
            let own = way.into_iter().find(|(key, _)| !of_others.contains(key));
            for row in &role {
                if let Ok(at) = rows.binary_search_by_key(row, |of| of.0) {
                    set_role(&mut made[at], role.len() == 1, first.offset, own.as_ref());
                }
            }
        }
    }
}

/// Makes a row's class that of its role. `first` is the offset of the role's first lock in its
/// module, `own` the place that only locks of this role come by: its key, and in few words.
fn set_role(
    (key, group, element): &mut Made,
    is_alone: bool,
    first: u64,
    own: Option<&(String, String)>,
) {
    match (key.clone(), own) {
        (
            Key::Variable { module, start, kind, .. } | Key::Member { module, start, kind, .. },
            _,
        ) => {
            let offset = Some(first.wrapping_sub(start));
            *key = Key::Variable { module, start, kind, offset };
            if let Some(element) = element.as_ref().filter(|_| is_alone) {
                group.name.clone_from(element);
            }
        }
        (Key::Place { kind, place, .. }, Some((by, shown))) => {
            *key = Key::Role { kind, place, by: by.clone() };
            group.name = format!("{} initialised at {shown}", LockKind::of(kind).name());
        }
        _ => {}
    }
}

/// The places through which a lock came to be initialised, from the innermost outwards, wrappers
/// left aside: as keys, and in few words.
fn way_to(sources: &Sources<'_>, (ledger, row): (usize, Class)) -> Vec<(String, String)> {
    let stack = sources.symbols(ledger).stack(row.stack);
    own_frames(&stack).iter().map(|frame| (place_key(frame), short_place(frame))).collect()
}

/// The places that take each lock, by class row.
#[derive(Debug, Default)]
struct Uses {
    places: HashMap<u32, HashSet<u64>>,
}

impl Uses {
    /// Where locks of the class rows `rows` are taken, wrappers left aside.
    fn new(sources: &Sources<'_>, index: usize, rows: &HashSet<u32>) -> Self {
        let mut uses = Self::default();
        let mut by_stack: HashMap<u32, u64> = HashMap::new();
        let mut places: HashMap<String, u64> = HashMap::new();
        let nodes = sources.ledgers[index].rows::<Node>();
        for (_, node) in nodes.filter(|(_, node)| rows.contains(&node.class)) {
            let place = *by_stack.entry(node.stack).or_insert_with(|| {
                let stack = sources.symbols(index).stack(node.stack);
                let key = place_of(&stack).map_or_else(|| format!("{:#x}", node.site), place_key);
                let next = places.len() as u64;
                *places.entry(key).or_insert(next)
            });
            uses.add(node.class, place);
        }
        uses
    }

    /// Locks of class row `row` are taken at `place`.
    fn add(&mut self, row: u32, place: u64) {
        self.places.entry(row).or_default().insert(place);
    }

    /// The rows among `class` that have a purpose of their own, in groups, each sorted and the
    /// groups by their first. `class` is all rows of one class.
    fn roles(&self, class: &[u32]) -> Vec<Vec<u32>> {
        let mut first_at: HashMap<u64, u32> = HashMap::new();
        let mut above: HashMap<u32, u32> = class.iter().map(|&row| (row, row)).collect();
        for &row in class {
            for &place in self.places.get(&row).into_iter().flatten() {
                let other = *first_at.entry(place).or_insert(row);
                let (a, b) = (top(&above, row), top(&above, other));
                above.insert(a.max(b), a.min(b));
            }
        }
        let mut groups: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for &row in class {
            groups.entry(top(&above, row)).or_default().push(row);
        }
        if groups.len() == 1 {
            return Vec::new();
        }
        groups.retain(|_, rows| self.places_of(rows) >= PLACES);
        groups
            .into_values()
            .map(|mut rows| {
                rows.sort_unstable();
                rows
            })
            .collect()
    }

    fn places_of(&self, rows: &[u32]) -> usize {
        let places = rows.iter().filter_map(|row| self.places.get(row));
        places.flatten().collect::<HashSet<_>>().len()
    }
}

/// Representative of a group.
fn top(above: &HashMap<u32, u32>, mut row: u32) -> u32 {
    while let Some(&next) = above.get(&row).filter(|&&next| next != row) {
        row = next;
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(uses: &[(u32, u64)], class: &[u32]) -> Vec<Vec<u32>> {
        let mut all = Uses::default();
        for &(row, place) in uses {
            all.add(row, place);
        }
        all.roles(class)
    }

    #[test]
    fn locks_with_places_of_their_own_have_a_purpose() {
        let uses = [(1, 10), (1, 11), (2, 20), (2, 21), (3, 30)];
        assert_eq!(roles(&uses, &[1, 2, 3]), [vec![1], vec![2]], "the third may be any");
    }

    #[test]
    fn buckets_are_one_class() {
        let uses = [(1, 10), (1, 11), (2, 11), (2, 12), (3, 12), (3, 10)];
        assert!(roles(&uses, &[1, 2, 3]).is_empty());
    }

    #[test]
    fn one_place_alone_is_no_purpose() {
        assert!(roles(&[(1, 10), (2, 20)], &[1, 2]).is_empty());
    }

    #[test]
    fn locks_that_share_a_place_stay_together() {
        let uses = [(1, 10), (4, 10), (4, 11), (2, 20), (2, 21)];
        assert_eq!(roles(&uses, &[1, 2, 4, 5]), [vec![1, 4], vec![2]]);
    }
}
