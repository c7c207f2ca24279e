//! Functions that read like wrappers of a lock's initialisation and are not: they make many locks,
//! each at a place of its own, as the JVM's `mutex_init` does. A wrapper is called from many places
//! and has few itself.

use std::collections::{HashMap, HashSet};

use lockwright_ledger::rows::{Class, class_origin};
use lockwright_ledger::{Ledger, layout};

use crate::finding::Frame;

/// A wrapper initialises its lock at one place or at one of two: with attributes and without.
const PLACES_OF_A_WRAPPER: usize = 2;

/// A function: its module and its name.
type Function = (String, String);

/// Return addresses, as modules and offsets.
type Places = HashSet<(Option<String>, u64)>;

/// Functions that make more locks than they are called for.
#[derive(Debug, Default)]
pub struct Makers(HashSet<Function>);

impl Makers {
    /// Those of a ledger, by the stacks of its locks' initialisations. `frames` are those of a
    /// return address at an epoch.
    pub fn new(ledger: &Ledger, frames: impl Fn(u64, u32) -> std::rc::Rc<[Frame]>) -> Self {
        let stacks = ledger
            .rows::<Class>()
            .filter(|(_, class)| class.origin == class_origin::INIT)
            .filter_map(|(_, class)| ledger.stack(class.stack))
            .map(|(addresses, epoch)| {
                let addresses = addresses.iter().filter(|&&at| layout::interpreted(at).is_none());
                addresses.flat_map(|&at| frames(at, epoch).to_vec()).collect()
            });
        Self::of(stacks)
    }

    fn of(stacks: impl Iterator<Item = Vec<Frame>>) -> Self {
        let mut functions: HashMap<Function, (Places, Places)> = HashMap::new();
        for stack in stacks {
            for (frame, caller) in stack.iter().zip(stack.iter().skip(1)) {
                let Some(function) = function(frame) else { continue };
                let (within, callers) = functions.entry(function).or_default();
                within.insert(place(frame));
                callers.insert(place(caller));
            }
        }
        let makes = |(within, callers): &(Places, Places)| {
            within.len() > PLACES_OF_A_WRAPPER * callers.len()
        };
        Self(functions.into_iter().filter(|(_, places)| makes(places)).map(|(f, _)| f).collect())
    }

    /// Whether the frame is of one.
    pub fn has(&self, frame: &Frame) -> bool {
        !self.0.is_empty() && function(frame).is_some_and(|function| self.0.contains(&function))
    }
}

fn function(frame: &Frame) -> Option<Function> {
    Some((frame.module.clone()?, frame.function.clone()?))
}

fn place(frame: &Frame) -> (Option<String>, u64) {
    (frame.module.clone(), frame.offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, offset: u64) -> Frame {
        let (module, function) = (Some("m".to_owned()), Some(function.to_owned()));
        Frame { module, function, offset, ..Frame::default() }
    }

    fn makers(stacks: &[[(&str, u64); 3]]) -> Makers {
        let stack = |stack: &[(&str, u64); 3]| stack.map(|(name, at)| frame(name, at)).to_vec();
        Makers::of(stacks.iter().map(stack))
    }

    #[test]
    fn who_initialises_many_is_no_wrapper() {
        let found = makers(&[
            [("Mutex::Mutex", 1), ("mutex_init", 10), ("main", 100)],
            [("Mutex::Mutex", 1), ("mutex_init", 11), ("main", 100)],
            [("Mutex::Mutex", 1), ("mutex_init", 12), ("main", 100)],
        ]);
        assert!(found.has(&frame("mutex_init", 11)));
        assert!(!found.has(&frame("Mutex::Mutex", 1)));
    }

    #[test]
    fn who_is_called_for_each_is_one() {
        let found = makers(&[
            [("mutex_init", 10), ("pool_new", 50), ("main", 100)],
            [("mutex_init", 11), ("pool_new", 50), ("main", 100)],
            [("mutex_init", 10), ("queue_new", 60), ("main", 101)],
            [("mutex_init", 12), ("list_new", 70), ("main", 102)],
        ]);
        assert!(!found.has(&frame("mutex_init", 10)));
        assert!(!found.has(&frame("pool_new", 50)));
    }

    #[test]
    fn copies_of_an_inlined_wrapper_are_no_places_of_its_own() {
        let found = makers(&[
            [("mutex_init", 10), ("tables", 10), ("main", 100)],
            [("mutex_init", 11), ("tables", 11), ("main", 100)],
            [("mutex_init", 12), ("tables", 12), ("main", 100)],
        ]);
        assert!(!found.has(&frame("mutex_init", 10)));
        assert!(found.has(&frame("tables", 10)));
    }
}
