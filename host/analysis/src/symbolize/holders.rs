//! Functions that read like wrappers of a lock and are not: one call of them held a lock of its own and took another, and was
//! not seen to return with it. A wrapper takes what it is called for.

use std::collections::HashSet;
use std::rc::Rc;

use lockwright_ledger::rows::Node;
use lockwright_ledger::{Ledger, layout};

use crate::finding::Frame;

/// A function: its module and its name.
type Function = (String, String);

/// Functions that took a lock with another held that they had taken themselves.
#[derive(Debug, Default)]
pub struct Holders(HashSet<Function>);

impl Holders {
    /// Those of a ledger, by its contexts. `frames` are those of a return address at an epoch; functions that return to one of
    /// `wrappers` were seen to return with a lock.
    pub fn new(
        ledger: &Ledger,
        wrappers: &HashSet<u64>,
        frames: impl Fn(u64, u32) -> Rc<[Frame]>,
    ) -> Self {
        let mut seen = HashSet::new();
        let mut functions = HashSet::new();
        for (_, node) in ledger.rows::<Node>().filter(|(_, node)| node.class != 0) {
            let held = match ledger.get::<Node>(node.parent) {
                Some(held) if node.parent != 0 && held.class != 0 => held,
                _ => continue,
            };
            if !seen.insert((node.stack, held.stack)) {
                continue;
            }
            let stack = |id| ledger.stack(id).map(|(stack, epoch)| (stack.to_vec(), epoch));
            let (Some((taken, epoch)), Some((held, _))) = (stack(node.stack), stack(held.stack))
            else {
                continue;
            };
            if taken.iter().chain(&held).any(|&at| layout::interpreted(at).is_some()) {
                continue;
            }
            let Some([taken, held]) = parting(&taken, &held) else { continue };
            if !wrappers.contains(&taken) {
                functions.extend(common(&frames(taken, epoch), &frames(held, epoch)));
            }
        }
        Self(functions)
    }

    /// Whether the frame is of one.
    pub fn has(&self, frame: &Frame) -> bool {
        !self.0.is_empty() && function(frame).is_some_and(|function| self.0.contains(&function))
    }
}

/// Where two stacks part that have begun alike: the return addresses in the last function that they may share.
fn parting(a: &[u64], b: &[u64]) -> Option<[u64; 2]> {
    let alike = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    // What has nothing in common may have been cut.
    let at = |stack: &[u64]| stack.len().checked_sub(alike + 1).map(|at| stack[at]);
    (alike > 0).then(|| Some([at(a)?, at(b)?]))?
}

/// The innermost function that both are in, of those at two return addresses, as calls may be inlined.
fn common(a: &[Frame], b: &[Frame]) -> Option<Function> {
    let mut innermost = None;
    for (a, b) in a.iter().rev().zip(b.iter().rev()) {
        if (&a.module, &a.function) != (&b.module, &b.function) {
            break;
        }
        innermost = Some(a);
        // Two calls of one function, from here.
        if (a.line, a.column) != (b.line, b.column) {
            break;
        }
    }
    let innermost = innermost?;
    // A library's own: locks that are taken together are.
    let is_library = |name: &String| ["std::", "boost::"].iter().any(|of| name.starts_with(of));
    function(innermost).filter(|(_, name)| !is_library(name))
}

fn function(frame: &Frame) -> Option<Function> {
    Some((frame.module.clone()?, frame.function.clone()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(functions: &[(&str, u32)]) -> Vec<Frame> {
        let frame = |&(name, line): &(&str, u32)| Frame {
            module: Some("m".to_owned()),
            function: Some(name.to_owned()),
            line: Some(line),
            ..Frame::default()
        };
        functions.iter().map(frame).collect()
    }

    #[test]
    fn stacks_part_in_one_function() {
        assert_eq!(parting(&[1, 12, 50, 90], &[11, 50, 90]), Some([12, 11]));
        assert_eq!(parting(&[11, 50, 90], &[11, 50, 90]), None, "they do not");
        assert_eq!(parting(&[1, 2], &[3, 4]), None, "nothing in common");
        assert_eq!(parting(&[50, 90], &[11, 50, 90]), None, "one is in the other");
    }

    #[test]
    fn the_innermost_that_is_shared_holds() {
        type Places<'a> = &'a [(&'a str, u32)];
        let name =
            |a: Places<'_>, b: Places<'_>| common(&frames(a), &frames(b)).map(|(_, name)| name);
        assert_eq!(name(&[("unixLock", 5)], &[("unixLock", 7)]).as_deref(), Some("unixLock"));
        let inlined = name(
            &[("guard", 1), ("file_lock", 5), ("main", 9)],
            &[("guard", 1), ("file_lock", 7), ("main", 9)],
        );
        assert_eq!(inlined.as_deref(), Some("file_lock"));
        assert_eq!(name(&[("a", 1)], &[("b", 1)]), None);
        let together = [("std::scoped_lock<std::mutex, std::mutex>::scoped_lock", 3)];
        assert_eq!(name(&together, &together), None);
    }
}
