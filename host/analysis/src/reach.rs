//! How many classes can be reached from each class: near linear in the dependencies.
//!
//! Classes on a common cycle reach the same ones, so a cycle becomes one component (Tarjan's strongly connected
//! components). Components come successors first: one that has a single successor reaches that and whatever it
//! reaches, without a search. Only a component where paths part searches, as the paths may meet again. All searches
//! together take at most [`STEPS`]; beyond, a count is a lower bound.

use std::collections::{BTreeMap, BTreeSet};

/// Steps of all searches.
const STEPS: u64 = 30_000_000;

/// How many classes can be reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// So many, the class itself not counted.
    pub classes: u64,
    /// There may be more.
    pub cut: bool,
}

/// The counts of all classes in a relation.
#[derive(Debug, Default)]
pub struct Reaches {
    /// In order.
    classes: Vec<u32>,
    reaches: Vec<Reach>,
    /// See [`Self::steps`].
    steps: u64,
}

impl Reaches {
    /// Counts what can be reached in `relation`.
    pub fn new(relation: &BTreeMap<u32, BTreeSet<u32>>) -> Self {
        Self::within(relation, STEPS)
    }

    fn within(relation: &BTreeMap<u32, BTreeSet<u32>>, steps: u64) -> Self {
        let mut classes: Vec<u32> = relation.values().flatten().copied().collect();
        classes.extend(relation.keys());
        classes.sort_unstable();
        classes.dedup();
        let index = |class: u32| classes.binary_search(&class).unwrap_or_default() as u32;
        let next: Vec<Vec<u32>> = classes
            .iter()
            .map(|class| relation.get(class).into_iter().flatten().map(|&to| index(to)).collect())
            .collect();
        let components = Components::of(&next);
        let (counts, taken) = components.counts(steps);
        let reaches = components.component.iter().map(|&component| {
            let (own, beyond) =
                (components.sizes[component as usize] - 1, counts[component as usize]);
            Reach { classes: own + beyond.classes, cut: beyond.cut }
        });
        let reaches = reaches.collect();
        Self { classes, reaches, steps: components.steps + taken }
    }

    /// What can be reached from `class`.
    pub fn from(&self, class: u32) -> Reach {
        let at = self.classes.binary_search(&class);
        at.map_or(Reach::default(), |at| self.reaches[at])
    }

    /// Steps that were taken.
    pub const fn steps(&self) -> u64 {
        self.steps
    }

    /// The sum over all classes: the pairs of which one can be reached from the other.
    pub fn total(&self) -> Reach {
        self.reaches.iter().fold(Reach::default(), |sum, one| Reach {
            classes: sum.classes + one.classes,
            cut: sum.cut | one.cut,
        })
    }
}

/// Classes as components, whose numbers ascend against the dependencies: successors have smaller ones.
struct Components {
    /// By index of a class.
    component: Vec<u32>,
    /// Classes in each.
    sizes: Vec<u64>,
    /// Successors of each, in order, without itself.
    next: Vec<Vec<u32>>,
    steps: u64,
}

/// No number, yet.
const NONE: u32 = u32::MAX;

impl Components {
    /// Tarjan's algorithm, with a stack of its own: a chain of a million classes would overflow the thread's.
    fn of(next: &[Vec<u32>]) -> Self {
        let mut component = vec![NONE; next.len()];
        let mut sizes = Vec::new();
        // The order in which classes were entered, and the earliest that each leads back to.
        let (mut entered, mut low) = (vec![NONE; next.len()], vec![NONE; next.len()]);
        let (mut clock, mut steps) = (0, 0);
        let (mut way, mut open): (Vec<(u32, usize)>, Vec<u32>) = (Vec::new(), Vec::new());
        for root in 0..next.len() as u32 {
            if entered[root as usize] != NONE {
                continue;
            }
            way.push((root, 0));
            while let Some((class, edge)) = way.last_mut() {
                steps += 1;
                let at = *class as usize;
                if *edge == 0 && entered[at] == NONE {
                    (entered[at], low[at]) = (clock, clock);
                    clock += 1;
                    open.push(*class);
                }
                if let Some(&to) = next[at].get(*edge) {
                    *edge += 1;
                    if entered[to as usize] == NONE {
                        way.push((to, 0));
                    } else if component[to as usize] == NONE {
                        low[at] = low[at].min(entered[to as usize]);
                    }
                    continue;
                }
                way.pop();
                if let Some(&(before, _)) = way.last() {
                    low[before as usize] = low[before as usize].min(low[at]);
                }
                if low[at] != entered[at] {
                    continue;
                }
                let number = sizes.len() as u32;
                let begin =
                    open.iter().rposition(|&class| class as usize == at).unwrap_or_default();
                for class in open.drain(begin..) {
                    component[class as usize] = number;
                }
                sizes.push(0);
            }
        }
        let mut successors = vec![Vec::new(); sizes.len()];
        for (from, to) in next.iter().enumerate() {
            let from = component[from] as usize;
            sizes[from] += 1;
            let beyond = to.iter().map(|&to| component[to as usize]);
            successors[from].extend(beyond.filter(|&to| to as usize != from));
        }
        for successors in &mut successors {
            successors.sort_unstable();
            successors.dedup();
        }
        Self { component, sizes, next: successors, steps }
    }

    /// What each reaches beyond itself, and the steps that the searches took.
    fn counts(&self, most: u64) -> (Vec<Reach>, u64) {
        let mut counts: Vec<Reach> = Vec::with_capacity(self.next.len());
        let mut search = Search { seen: vec![NONE; self.next.len()], open: Vec::new(), left: most };
        for (at, next) in self.next.iter().enumerate() {
            let through = |to: u32| Reach {
                classes: self.sizes[to as usize] + counts[to as usize].classes,
                cut: counts[to as usize].cut,
            };
            counts.push(match next.as_slice() {
                [] => Reach::default(),
                &[only] => through(only),
                several => search.count(self, at as u32).unwrap_or_else(|| {
                    let all: u64 = several.iter().map(|&to| self.sizes[to as usize]).sum();
                    let most = several.iter().map(|&to| through(to).classes).max();
                    Reach { classes: all.max(most.unwrap_or(0)), cut: true }
                }),
            });
        }
        (counts, most - search.left)
    }
}

/// Searches from one component after the other.
struct Search {
    /// The last search that came by.
    seen: Vec<u32>,
    open: Vec<u32>,
    left: u64,
}

impl Search {
    /// `None` if there are too few steps left.
    fn count(&mut self, components: &Components, from: u32) -> Option<Reach> {
        let mut classes = 0;
        self.open.clear();
        self.open.push(from);
        while let Some(at) = self.open.pop() {
            for &to in &components.next[at as usize] {
                self.left = self.left.checked_sub(1)?;
                if std::mem::replace(&mut self.seen[to as usize], from) != from {
                    classes += components.sizes[to as usize];
                    self.open.push(to);
                }
            }
        }
        Some(Reach { classes, cut: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relation(pairs: impl IntoIterator<Item = (u32, u32)>) -> BTreeMap<u32, BTreeSet<u32>> {
        let mut relation: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for (from, to) in pairs {
            relation.entry(from).or_default().insert(to);
        }
        relation
    }

    /// As the definition has it.
    fn plainly(relation: &BTreeMap<u32, BTreeSet<u32>>, class: u32) -> u64 {
        let (mut seen, mut open) = (BTreeSet::from([class]), vec![class]);
        while let Some(at) = open.pop() {
            let next = relation.get(&at).into_iter().flatten();
            open.extend(next.filter(|&&to| seen.insert(to)));
        }
        seen.len() as u64 - 1
    }

    #[test]
    fn paths_that_meet_again_are_counted_once() {
        let reaches = Reaches::new(&relation([(1, 2), (1, 3), (2, 4), (3, 4), (4, 5)]));
        assert_eq!([1, 2, 4, 5, 6].map(|class| reaches.from(class).classes), [4, 2, 1, 0, 0]);
        assert_eq!(reaches.total(), Reach { classes: 4 + 2 + 2 + 1, cut: false });
    }

    #[test]
    fn classes_of_a_cycle_reach_each_other() {
        let reaches = Reaches::new(&relation([(1, 2), (2, 3), (3, 1), (3, 4), (5, 5), (5, 1)]));
        assert_eq!([1, 2, 3, 4, 5].map(|class| reaches.from(class).classes), [3, 3, 3, 0, 4]);
    }

    #[test]
    fn random_relations_are_counted_as_the_definition_has_it() {
        let mut random = 7u64;
        let mut below = |limit: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            ((random >> 33) % limit) as u32
        };
        for round in 0..200 {
            let classes = 2 + round % 20;
            let pairs: Vec<_> = (0..below(40)).map(|_| (below(classes), below(classes))).collect();
            let relation = relation(pairs);
            let reaches = Reaches::new(&relation);
            for class in 0..classes as u32 {
                assert_eq!(reaches.from(class).classes, plainly(&relation, class), "{relation:?}");
            }
        }
    }

    #[test]
    fn where_steps_run_out_counts_are_lower_bounds() {
        let ladder = relation(
            (0..1000)
                .flat_map(|i| [(2 * i, 2 * i + 2), (2 * i, 2 * i + 1), (2 * i + 1, 2 * i + 2)]),
        );
        let (exact, bounded) = (Reaches::new(&ladder), Reaches::within(&ladder, 5000));
        assert_eq!(exact.from(0), Reach { classes: 2000, cut: false });
        assert!(bounded.from(0).cut && bounded.from(0).classes >= 1000, "{:?}", bounded.from(0));
        assert_eq!(bounded.from(1990), exact.from(1990), "what is near is exact");
        assert!((0..2000).all(|class| bounded.from(class).classes <= exact.from(class).classes));
    }

    /// A million classes, each acquired within the next: a search from each would take half a billion steps
    /// for every thousand.
    #[test]
    fn a_million_classes_in_a_row_take_steps_in_their_number() {
        const CLASSES: u32 = 1_000_000;
        let reaches = Reaches::new(&relation((1..CLASSES).map(|class| (class + 1, class))));
        assert_eq!(reaches.from(CLASSES).classes, u64::from(CLASSES) - 1);
        assert!(reaches.steps() <= 4 * u64::from(CLASSES), "{} steps", reaches.steps());
    }
}
