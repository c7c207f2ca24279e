//! Which lock, and which place, of one run is which of another: by names, never by addresses.
//!
//! A place is a function of a file and, since a function may have several, a line in it. Lines move
//! when the program is changed. As long as all lines of one side are lines of the other as well,
//! they are taken at their word; otherwise the first is the first, the second the second.

use std::collections::{BTreeSet, HashMap};

use crate::finding::Frame;
use crate::lockmeter::model::{Lock, Site};
use crate::model::place_of;

/// Something with a place.
#[derive(Clone, Debug)]
pub struct Key {
    /// Equal for what may be the same.
    base: String,
    /// Line, or offset.
    position: u64,
}

impl Key {
    /// The key of a lock: its variable or annotation, else where it was created.
    pub fn lock(lock: &Lock) -> Self {
        match place_of(&lock.created) {
            Some(frame) if !lock.is_symbol || lock.by_place.is_some() => {
                let (place, position) = place(frame);
                Self { base: format!("{}\n{place}", lock.origin.name()), position }
            }
            _ => Self { base: lock.name.clone(), position: 0 },
        }
    }

    /// The key of a site of the lock whose number is `of`.
    pub fn site(of: u32, site: &Site) -> Self {
        let (place, position) = place_of(&site.stack).map_or_else(Default::default, place);
        let how = format!("{:?}{}", site.mode, if site.cond_reacquire { "again" } else { "" });
        Self { base: format!("{of}\n{how}\n{place}"), position }
    }
}

fn place(frame: &Frame) -> (String, u64) {
    let module = frame.module.as_deref().unwrap_or("");
    let module = module.rsplit('/').next().unwrap_or(module);
    match (&frame.function, &frame.file, frame.line) {
        (Some(function), Some(file), Some(line)) => {
            // The directory is where it was built.
            let file = file.rsplit('/').next().unwrap_or(file);
            (format!("{function}\n{file}"), line.into())
        }
        (Some(function), ..) => {
            (format!("{function}\n{module}"), frame.function_offset.unwrap_or(frame.offset))
        }
        (None, ..) => (module.to_owned(), frame.offset),
    }
}

/// Which of the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Before.
    Before,
    /// After.
    After,
}

/// All positions that there are of each base.
#[derive(Debug, Default)]
pub struct Positions {
    sides: [HashMap<String, BTreeSet<u64>>; 2],
}

impl Positions {
    /// Takes note of a position.
    pub fn note(&mut self, side: Side, key: &Key) {
        self.sides[side as usize].entry(key.base.clone()).or_default().insert(key.position);
    }

    /// Equal for what is the same on both sides. To be asked once all positions are noted.
    pub fn resolve(&self, side: Side, key: &Key) -> String {
        let empty = BTreeSet::new();
        let of = |side: usize| self.sides[side].get(&key.base).unwrap_or(&empty);
        let (before, after, own) = (of(0), of(1), of(side as usize));
        let number = if before.is_subset(after) || after.is_subset(before) {
            key.position
        } else {
            own.iter().position(|&position| position == key.position).unwrap_or(0) as u64
        };
        format!("{}\n{number}", key.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(position: u64) -> Key {
        Key { base: "f".into(), position }
    }

    fn same(before: &[u64], after: &[u64], a: u64, b: u64) -> bool {
        let mut positions = Positions::default();
        before.iter().for_each(|&line| positions.note(Side::Before, &key(line)));
        after.iter().for_each(|&line| positions.note(Side::After, &key(line)));
        positions.resolve(Side::Before, &key(a)) == positions.resolve(Side::After, &key(b))
    }

    #[test]
    fn lines_may_move() {
        assert!(same(&[10], &[12], 10, 12));
        assert!(same(&[10, 20], &[12, 22], 20, 22));
        assert!(!same(&[10, 20], &[12, 22], 10, 22));
    }

    #[test]
    fn a_line_that_one_side_did_not_come_to_confuses_nothing() {
        assert!(same(&[10, 20], &[20], 20, 20));
        assert!(!same(&[10, 20], &[20], 10, 20));
    }
}
