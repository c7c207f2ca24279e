//! Orders by semaphores: a wait comes after each post without which there would be too few.
//!
//! A wait is granted only if there have been as many posts as waits, this one included, less what
//! the semaphore began with. Posts that come after the wait in every run do not count. So of each
//! thread the wait follows the latest segment without which the posts that are left are too few.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::{SYNC_ROUNDS, Segment, Sync, segment_kind};

use super::order::Order;

/// Rounds of conclusions: each may rule out a post for another wait.
const MOST_ROUNDS: u32 = 4;

/// The happens-before order of a process, with what its semaphores add to it. Holds of the classes `none` are none.
pub fn order(ledger: &Ledger, none: &HashSet<u32>) -> Order {
    let mut order = Order::recorded(ledger);
    let mut posts = Posts::new(ledger, order.segments());
    order.pass(ledger, none, posts.is_empty());
    while posts.order(&mut order) {
        order.forget();
        order.pass(ledger, none, false);
    }
    order.forget();
    order.add_holds(ledger, none);
    order
}

/// A semaphore.
struct Semaphore {
    /// What it began with, and posts of which nothing more is known.
    free: usize,
    /// Segments that end in a post.
    posts: Vec<u32>,
    /// Segments that begin after a wait.
    waits: Vec<u32>,
}

/// The semaphores of a process.
struct Posts {
    semaphores: Vec<Semaphore>,
    rounds: u32,
}

impl Posts {
    /// Those that were waited for.
    fn new(ledger: &Ledger, segments: &BTreeMap<u32, Segment>) -> Self {
        let mut waits: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (&id, row) in segments {
            if row.kind == segment_kind::POSTED {
                waits.entry(row.sync).or_default().push(id);
            }
        }
        let semaphores = waits.into_iter().filter_map(|(sync, waits)| {
            let row = ledger.get::<Sync>(sync)?;
            let kept = SYNC_ROUNDS.min(row.rounds as usize);
            // One thread's later posts come after the recorded ones.
            let is_complete = row.shared == 0 || (row.rounds as usize) < SYNC_ROUNDS;
            let free = if is_complete { row.size as usize } else { usize::MAX };
            let posts = row.segments[..kept].iter().copied().filter(|&post| post != 0).collect();
            Some(Semaphore { free, posts, waits })
        });
        Self { semaphores: semaphores.collect(), rounds: 0 }
    }

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.semaphores.is_empty()
    }

    /// Adds to the order what follows from it as it is. Returns whether that was anything.
    fn order(&mut self, order: &mut Order) -> bool {
        self.rounds += 1;
        let mut is_news = false;
        for semaphore in &self.semaphores {
            for &wait in &semaphore.waits {
                let before = semaphore.before(wait, order);
                is_news |= !before.is_empty() && order.comes_after(wait, before);
            }
        }
        is_news && self.rounds < MOST_ROUNDS
    }
}

impl Semaphore {
    /// The latest segment of each thread that a wait comes after.
    fn before(&self, wait: u32, order: &Order) -> Vec<u32> {
        let thread = order.thread(wait);
        let follows = |a: u32, b: u32| match order.thread(a) == order.thread(b) {
            true => a <= b,
            false => order.before(a, b),
        };
        let needed = self.waits.iter().filter(|&&other| follows(other, wait)).count();
        let posts: Vec<_> = self
            .posts
            .iter()
            .filter(|&&post| !follows(wait, post))
            .map(|&post| order.past(post))
            .collect();
        // So many posts can be left out, and the wait is still granted.
        let Some(spare) = posts.len().checked_add(self.free).and_then(|n| n.checked_sub(needed))
        else {
            return Vec::new();
        };
        let threads: BTreeSet<u32> = posts.iter().flat_map(|past| past.keys().copied()).collect();
        let mut before: Vec<u32> = Vec::new();
        for of in threads {
            // A meeting is nobody's.
            if of == 0 || Some(of) == thread {
                continue;
            }
            let mut latest: Vec<u32> =
                posts.iter().filter_map(|past| past.get(&of).copied()).collect();
            latest.sort_unstable_by(|a, b| b.cmp(a));
            before.extend(latest.get(spare));
        }
        before
    }
}
