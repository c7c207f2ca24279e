//! Faults in the order of locks, in words. A file has the titles, the evidence and the
//! remedies of one cause.

mod again;
mod asleep;
mod barrier;
mod cycle;
mod deadlock;
mod declared;
mod doubt;
mod handler;
mod involved;
mod join;
mod kept_apart;
mod loader;
mod nesting;
mod once;
mod several;
#[cfg(test)]
mod testing;

use lockwright_analysis::finding::Finding;
use lockwright_analysis::finding::order::{Evidence, Fault, OrderFault, Remedy};

use super::sentences::Sentences;
use involved::{Involved, Lines, Title};

impl Sentences for OrderFault {
    fn title(&self, finding: &Finding) -> String {
        title(&Involved { finding }, &self.fault)
    }

    fn evidence(&self, finding: &Finding) -> Vec<String> {
        let involved = Involved { finding };
        self.evidence.iter().flat_map(|evidence| evidence_lines(&involved, evidence)).collect()
    }

    fn help(&self, finding: &Finding) -> Vec<String> {
        let involved = Involved { finding };
        let mut help = Vec::new();
        for line in self.remedies.iter().flat_map(|remedy| remedy_lines(&involved, remedy)) {
            if !help.contains(&line) {
                help.push(line);
            }
        }
        help
    }
}

fn title(involved: &Involved<'_>, fault: &Fault) -> String {
    match fault {
        Fault::Cycle => cycle::title(involved),
        Fault::CycleAcross(apart) => several::title(involved, *apart),
        Fault::Deadlock => deadlock::title(involved),
        Fault::AllAsleep { threads } => asleep::title(involved, *threads),
        Fault::Again(fault) => fault.title(involved),
        Fault::Handler(fault) => fault.title(involved),
        Fault::Join(fault) => fault.title(involved),
        Fault::Barrier(fault) => fault.title(involved),
        Fault::Declared(fault) => fault.title(involved),
        Fault::NoFixedOrder { classes } => nesting::title(classes),
    }
}

fn evidence_lines(involved: &Involved<'_>, evidence: &Evidence) -> Vec<String> {
    match evidence {
        Evidence::Cycle(evidence) => evidence.lines(involved),
        Evidence::Doubt(evidence) => evidence.lines(involved),
        Evidence::KeptApart(evidence) => evidence.lines(involved),
        Evidence::Several(evidence) => evidence.lines(involved),
        Evidence::Deadlock(evidence) => evidence.lines(involved),
        Evidence::Asleep(evidence) => evidence.lines(involved),
        Evidence::Again(what) => vec![again::again(what)],
        Evidence::Handler(evidence) => evidence.lines(involved),
        Evidence::Join(evidence) => evidence.lines(involved),
        Evidence::Barrier(evidence) => evidence.lines(involved),
        Evidence::HeldWhileInitialising { once } => {
            vec![once::held_while_initialising(involved, *once)]
        }
        Evidence::Loader(evidence) => evidence.lines(involved),
        Evidence::Declared(evidence) => evidence.lines(involved),
        Evidence::Nesting(evidence) => evidence.lines(involved),
    }
}

fn remedy_lines(involved: &Involved<'_>, remedy: &Remedy) -> Vec<String> {
    match remedy {
        Remedy::Cycle(remedy) => remedy.lines(involved),
        Remedy::KeptApart(remedy) => remedy.lines(involved),
        Remedy::KeepApart => vec![several::keep_apart()],
        Remedy::OneOrder => vec![deadlock::one_order()],
        Remedy::FindTheWaker => vec![asleep::find_the_waker()],
        Remedy::SplitFunction => again::split_function(),
        Remedy::Handler(remedy) => remedy.lines(involved),
        Remedy::JoinWithoutLock { end } => join::join_without_lock(involved, *end),
        Remedy::UnlockInTaker { end, function } => {
            vec![join::unlock_in_taker(involved, *end, function)]
        }
        Remedy::MeetWithoutLock { barrier, step } => {
            barrier::meet_without_lock(involved, *barrier, *step)
        }
        Remedy::Once(remedy) => remedy.lines(involved),
        Remedy::Loader(remedy) => remedy.lines(involved),
        Remedy::Declared(remedy) => remedy.lines(involved),
        Remedy::FixedOrder => vec![nesting::fixed_order()],
    }
}
