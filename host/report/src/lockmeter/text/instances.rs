//! The locks of a class one by one, where that is asked for.

use super::columns::headings;
use super::locks::numbers;
use super::page::{Page, quoted};
use crate::lockmeter::view::Selection;
use crate::prose::words::count;

/// Instances shown of one class.
const MOST: usize = 10;

/// Writes the section.
pub fn write(page: &mut Page<'_>, selection: &Selection<'_>) {
    if !page.view.instances {
        return;
    }
    page.section("INSTANCES", ", of each class the hottest first");
    if !page.report.by_instance {
        page.line("  not known: the run was made without --instances");
        return;
    }
    headings().iter().for_each(|line| page.line(line));
    let many = page.report.processes.len() > 1;
    for (number, lock) in (1..).zip(&selection.locks) {
        let head = page.style.name(&quoted(lock));
        let locks = count(lock.instances.len() as u64, "lock");
        page.line(&format!("#{number} {head}: {locks}"));
        let mut instances: Vec<_> = lock.instances.iter().collect();
        instances.sort_by(|a, b| page.view.order(&a.total, &b.total));
        for instance in instances.iter().take(MOST) {
            let process =
                if many { format!(" in process {}", instance.pid) } else { String::new() };
            let sites = count(instance.sites.len() as u64, "site");
            page.line(&format!("   {:#x}{process}, taken at {sites}", instance.addr));
            let total = &instance.total;
            let measured = page.report.processes.get(instance.process);
            let measured = measured.map_or(1, |process| process.elapsed_ns.max(1));
            page.line(&numbers(page, total, total.hold_ns / measured as f64));
        }
        if instances.len() > MOST {
            page.line(&format!("   ... and {} more", instances.len() - MOST));
        }
    }
}
