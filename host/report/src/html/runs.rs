//! The runs that were merged: what the numbers mean by which findings name them.

use maud::html;

use super::limits;
use super::section::{Column, Section, left_out, number_cell, table};
use crate::prose::words::plain;
use lockwright_analysis::merge::Run;

const COLUMNS: &[Column] =
    &[Column::number("run", ""), Column::text("what was named"), Column::text("processes")];

/// Processes named of one run.
const MOST: usize = 8;

/// `None` where nothing was merged.
pub fn section(runs: &[Run]) -> Option<Section> {
    if runs.is_empty() {
        return None;
    }
    let (rows, left) = limits::NOTES.fill((1..).zip(runs), |(number, run): (u32, &Run)| {
        html! { tr.item {
            (number_cell(&number.to_string(), f64::from(number)))
            td { code { (plain(&run.name)) } }
            td { (processes(&run.pids)) }
        } }
    });
    let body = html! {
        (table("Runs, by the numbers that findings give them", COLUMNS, &rows))
        (left_out(left, "run", "--json"))
    };
    Some(Section::new("runs", "Runs", body).counting(runs.len()))
}

/// The number of the run that process `index` of all is of: the processes of all runs are in one
/// list. `None` where nothing was merged.
pub fn number_of(runs: &[Run], index: usize) -> Option<usize> {
    let mut end = 0;
    let is_within = |run: &Run| {
        end += run.pids.len();
        index < end
    };
    runs.iter().position(is_within).map(|run| run + 1)
}

fn processes(pids: &[u32]) -> String {
    let mut shown: Vec<String> = pids.iter().take(MOST).map(u32::to_string).collect();
    if pids.len() > MOST {
        shown.push(format!("{} more", pids.len() - MOST));
    }
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_of_the_run_that_has_them() {
        let run = |pids: &[u32]| Run { name: "run".to_owned(), pids: pids.to_vec() };
        let runs = [run(&[7, 8]), run(&[7]), run(&[9])];
        let numbers = [0, 1, 2, 3, 4].map(|index| number_of(&runs, index));
        assert_eq!(numbers, [Some(1), Some(1), Some(2), Some(3), None]);
        assert_eq!(number_of(&[], 0), None);
    }

    #[test]
    fn many_processes_are_counted() {
        let pids: Vec<u32> = (1..=10).collect();
        assert_eq!(processes(&pids), "1, 2, 3, 4, 5, 6, 7, 8, 2 more");
        assert_eq!(processes(&pids[..2]), "1, 2");
    }
}
