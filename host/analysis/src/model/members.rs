//! Names of classes of locks on the heap and on stacks: the member of a type that the source names where
//! such a lock is created or first taken, `store::Session::mu_`. What a class is does not depend on it, nor
//! does what suppressions know it by: sources are not on every machine.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use lockwright_ledger::rows::{Class, class_origin};

use super::class_group::ClassGroup;
use super::key::{Key, MONITORS, subclass_name};
use super::naming::{base_name, place_of};
use super::sources::Symbolise;
use crate::symbolize::LockMember;

/// Where a lock was created or first taken that may be a member.
#[derive(Clone, Copy, Debug)]
pub struct Creation {
    /// Number of the ledger that has it, and the stack in that: 0 of a lock in a static variable,
    /// which goes by all the places where it is taken.
    pub at: (usize, u32),
    /// Which of the classes the lock is of.
    pub group: usize,
}

impl Creation {
    /// That of the locks of a row of ledger `ledger`, which are of class `group`, known by `key`, and
    /// called `name`.
    pub fn of(ledger: usize, row: &Class, group: usize, key: &Key, name: &str) -> Option<Self> {
        // The variable's type does not say what lies there: it is room for an object made later.
        if matches!(key, Key::Variable { offset: Some(1..), .. }) && name.contains("+0x") {
            return Some(Self { at: (ledger, 0), group });
        }
        let is_place = matches!(row.origin, class_origin::INIT | class_origin::FIRST_ACQUIRE);
        let is_class = matches!(key, Key::Place { .. } | Key::Role { .. });
        let at = (ledger, row.stack);
        (is_place && is_class && row.stack != 0).then_some(Self { at, group })
    }
}

/// Names the classes in `groups`, which are known by `keys`; `symbols` are those of each ledger, and
/// `acquired` tells the stacks at which locks of a class were taken, of ledger `index`.
pub fn name(
    symbols: &[&dyn Symbolise],
    creations: &[Creation],
    (index, acquired): (usize, impl Fn(usize) -> HashSet<u32>),
    keys: &[Rc<Key>],
    groups: &mut [ClassGroup],
) {
    let mut names: HashMap<usize, Option<String>> = HashMap::new();
    for &Creation { at: (ledger, stack), group } in creations {
        if stack == 0 {
            // One class may have several rows.
            if names.contains_key(&group) {
                continue;
            }
            let members = acquired(group);
            let mut members = members.iter().map(|&stack| symbols[index].lock_member(stack));
            let first = members.next().flatten().map(|member| member.name);
            let is_it = |other: Option<LockMember>| other.map(|it| it.name) == first;
            names.insert(group, first.clone().filter(|_| members.all(is_it)));
            continue;
        }
        let name = symbols[ledger].lock_member(stack);
        // One object's left neighbour is another's right one: the name of a pointer need not be the
        // lock's name.
        let is_known_otherwise = |member: &LockMember| {
            let others = || acquired(group).into_iter();
            let is_other = |other: LockMember| other.name != member.name;
            member.is_pointer
                && others().filter_map(|stack| symbols[index].lock_member(stack)).any(is_other)
        };
        let name = name.filter(|member| !is_known_otherwise(member)).map(|member| member.name);
        // By one place locks of several types may come to be.
        let known = names.entry(group).or_insert_with(|| name.clone());
        if *known != name {
            *known = None;
        }
    }
    let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
    for (group, name) in names {
        if let Some(name) = name {
            by_name.entry(name).or_default().push(group);
        }
    }
    for (name, same) in by_name {
        if let [one] = same.as_slice() {
            set(&mut groups[*one], name);
            continue;
        }
        // Locks of one member that were created at several places are as many classes.
        let places: Vec<Option<String>> =
            same.iter().map(|&group| line_of(symbols, &groups[group])).collect();
        for (&group, place) in same.iter().zip(&places) {
            if let Some(place) = place
                && places.iter().filter(|other| other.as_ref() == Some(place)).count() == 1
            {
                set(&mut groups[group], format!("{name} ({place})"));
            }
        }
    }
    for (group, key) in keys.iter().enumerate() {
        // The class that a subclass is of stands before it.
        if let Key::Subclass(of, subclass) = **key
            && let Some(base) = (of as usize).checked_sub(1).filter(|&base| base < group)
            && groups[base].by_place.is_some()
        {
            let name = subclass_name(&groups[base].name, subclass);
            set(&mut groups[group], name);
            groups[group].is_symbol = subclass != MONITORS;
        }
    }
}

fn set(group: &mut ClassGroup, name: String) {
    group.by_place = Some(std::mem::replace(&mut group.name, name));
    group.is_symbol = true;
}

/// The line at which locks of a class are created.
fn line_of(symbols: &[&dyn Symbolise], group: &ClassGroup) -> Option<String> {
    let (ledger, stack) = group.created;
    let stack = symbols[ledger].stack(stack);
    let frame = place_of(&stack)?;
    Some(format!("{}:{}", base_name(frame.file.as_deref()?), frame.line?))
}
