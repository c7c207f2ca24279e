//! Places that take locks of one class, but never the same ones.

use std::collections::{BTreeMap, BTreeSet};

use super::confidence::{Confidence, way};
use super::rule::{Advised, Asks, Case, Evidence, Rule, Threshold, Unit, part};
use super::words;
use lockwright_analysis::lockmeter::model::{Lock, Numbers};

/// Fewest instances of a class that are worth being kept apart.
const INSTANCES: u64 = 2;
/// Least part of a group of places in the acquisitions.
const SHARE: f64 = 0.05;
/// How sure it is that a class should be looked at by instance: it only says where to look.
const HINT: f64 = 0.5;

/// The rule.
pub const RULE: Rule = Rule {
    name: "disjoint instances",
    thresholds: &[
        Threshold { what: "locks of the class", value: "2" },
        Threshold { what: "part of each group of places in the acquisitions", value: "5 %" },
    ],
    advise: Asks::Lock(advise),
};

fn advise(case: &Case<'_>) -> Option<Advised> {
    if !case.matters() || case.lock.locks < INSTANCES {
        return None;
    }
    if case.report.by_instance { groups(case) } else { hint(case) }
}

/// The measurement does not tell: another one would.
fn hint(case: &Case<'_>) -> Option<Advised> {
    let sites = case.lock.sites.iter().filter(|site| site.numbers.acquisitions > 0).count();
    if sites < 2 {
        return None;
    }
    Some(Advised {
        text: "measure again with --instances: its class has many locks, and it is not known which of them \
               are waited for, nor whether its places ever meet at one"
            .into(),
        evidence: vec![
            Evidence::new("locks in the class", case.lock.locks as f64, Unit::Count),
            Evidence::new("places that take them", sites as f64, Unit::Count),
            case.waited(),
        ],
        confidence: Confidence::new(HINT, case.lock.total.contended),
        supposed: None,
    })
}

fn groups(case: &Case<'_>) -> Option<Advised> {
    let lock = case.lock;
    let groups: Vec<Group> = group(lock)
        .into_iter()
        .filter(|group| {
            let taken = group.numbers.acquisitions as f64;
            part(taken, lock.total.acquisitions as f64) >= SHARE
        })
        .collect();
    if groups.len() < 2 {
        return None;
    }
    let worst =
        groups.iter().max_by(|a, b| a.numbers.wait.total_ns.total_cmp(&b.numbers.wait.total_ns))?;
    let share = part(worst.numbers.wait.total_ns, lock.total.wait.total_ns);
    let name = worst.sites.first().and_then(|&site| lock.sites.get(site)).map(words::site)?;
    let instances = lock.instances.len() as f64;
    let fewest = groups.iter().map(|group| group.instances).min().unwrap_or(0);
    Some(Advised {
        text: format!(
            "treat its places as {} separate locks, for they never take the same one: give each group a class of \
             its own, and mind the one of {name}",
            groups.len()
        ),
        evidence: vec![
            Evidence::new("groups of places", groups.len() as f64, Unit::Count),
            Evidence::new("locks", instances, Unit::Count),
            Evidence::new("the worst group's part of the waits", share, Unit::Part),
            case.waited(),
        ],
        // Places that each took one lock alone may have missed one another by chance.
        confidence: Confidence::new(
            way(fewest as f64, 0.0, 4.0),
            groups.iter().map(|group| group.numbers.acquisitions).min().unwrap_or(0),
        ),
        supposed: None,
    })
}

/// Places that meet at some lock, directly or by way of others.
struct Group {
    sites: Vec<usize>,
    instances: usize,
    numbers: Numbers,
}

fn group(lock: &Lock) -> Vec<Group> {
    let mut group_of: Vec<usize> = (0..lock.sites.len()).collect();
    for instance in &lock.instances {
        let meet: BTreeSet<usize> =
            instance.sites.iter().map(|(site, _)| group_of[*site]).collect();
        if let Some(&first) = meet.first() {
            group_of
                .iter_mut()
                .filter(|group| meet.contains(group))
                .for_each(|group| *group = first);
        }
    }
    let mut groups: BTreeMap<usize, Group> = BTreeMap::new();
    for (site, &group) in group_of.iter().enumerate() {
        let new = || Group { sites: Vec::new(), instances: 0, numbers: Numbers::default() };
        let group = groups.entry(group).or_insert_with(new);
        group.sites.push(site);
        group.numbers.add(&lock.sites[site].numbers);
    }
    for instance in &lock.instances {
        let first = instance.sites.first().map(|(site, _)| group_of[*site]);
        if let Some(group) = first.and_then(|first| groups.get_mut(&first)) {
            group.instances += 1;
        }
    }
    groups.into_values().collect()
}
