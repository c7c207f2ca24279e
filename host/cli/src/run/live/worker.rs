//! A thread that reads ledgers and names what is in them, while the program runs. It keeps the files of debug information
//! open from one look to the next, and leaves the processor to others.

use std::collections::HashSet;
use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use lockwright_analysis::all_symbols::AllSymbols;
use lockwright_analysis::analyse_with;
use lockwright_analysis::finding::{Instances, Report, Waiting};
use lockwright_analysis::progress::Silent;
use lockwright_analysis::symbolize::{DebugDirs, Images};
use lockwright_analysis::under_way::{self, WaitId};
use lockwright_ledger::Ledger;

use super::pace::{Pace, Paces};
use super::place::Place;
use crate::run::background;
use crate::run::thread_name;

/// What is asked.
#[derive(Debug)]
pub enum Question {
    /// What is wrong so far.
    Findings(Vec<Place>, Instances),
    /// What these waits are, as far as they last.
    Waits(Vec<Place>, HashSet<(Place, WaitId)>),
    /// What was done to locks since the last time.
    Pace(Vec<Place>),
}

/// What is answered.
#[derive(Debug)]
pub enum Answer {
    /// The report so far.
    Findings(Box<Report>),
    /// Those that last yet.
    Waits(Vec<DescribedWait>),
    /// What was done.
    Pace(Pace),
}

/// A wait in words.
#[derive(Debug)]
pub struct DescribedWait {
    /// Its ledger, and which it is.
    pub key: (Place, WaitId),
    /// What the ledger is known by.
    pub token: u64,
    /// When its process started, CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// It keeps the thread from a lock, or others.
    pub is_for_lock: bool,
    /// The wait.
    pub waiting: Waiting,
}

/// The thread. It has one question at a time.
#[derive(Debug)]
pub struct Worker {
    questions: Sender<Question>,
    answers: Receiver<(Answer, Duration)>,
    asked: Option<Instant>,
}

/// An answer, when it was asked for, and how much CPU time it took.
pub type Answered = (Answer, Instant, Duration);

impl Worker {
    /// Starts the thread; it ends with this process.
    pub fn start() -> Self {
        let (questions, asked) = channel::<Question>();
        let (given, answers) = channel();
        let work = move || {
            background::yield_to_others();
            let mut looker = Looker::new();
            for question in asked {
                let begun = background::cpu_time();
                let answer = looker.answer(question);
                if given.send((answer, background::cpu_time().saturating_sub(begun))).is_err() {
                    break;
                }
            }
        };
        // Without it nothing is answered.
        let _ = thread::Builder::new()
            .name("ledgers".to_owned())
            .stack_size(background::STACK)
            .spawn(work);
        Self { questions, answers, asked: None }
    }

    /// Whether it has a question yet.
    pub fn is_busy(&self) -> bool {
        self.asked.is_some()
    }

    /// Asks it.
    pub fn ask(&mut self, question: Question) {
        if self.questions.send(question).is_ok() {
            self.asked = Some(Instant::now());
        }
    }

    /// The answer, if it has one.
    pub fn answer(&mut self) -> Option<Answered> {
        let (answer, took) = self.answers.try_recv().ok()?;
        Some((answer, self.asked.take()?, took))
    }
}

/// A wait of a thread of process `pid` with the names that threads have now: lockmeter records none.
fn named(mut waiting: Waiting, pid: u32) -> Waiting {
    let holders = waiting.holders.iter_mut().map(|holder| &mut holder.thread);
    for thread in [&mut waiting.thread].into_iter().chain(&mut waiting.joined).chain(holders) {
        if thread.name.is_empty() {
            // A holder may be of another process.
            thread.name = thread_name::of(pid, thread.tid);
        }
    }
    waiting
}

/// What the thread has.
struct Looker {
    images: Rc<Images>,
    paces: Paces,
}

impl Looker {
    fn new() -> Self {
        Self { images: Images::new(DebugDirs::from_env()), paces: Paces::default() }
    }

    fn answer(&mut self, question: Question) -> Answer {
        match question {
            Question::Findings(places, instances) => {
                let ledgers: Vec<Ledger> = places.iter().filter_map(Place::open).collect();
                let symbols = AllSymbols::with_images(&ledgers, &self.images);
                let report = analyse_with(&ledgers, &symbols.each(), instances, &Silent);
                Answer::Findings(Box::new(report))
            }
            Question::Waits(places, wanted) => Answer::Waits(self.waits(&places, &wanted)),
            Question::Pace(places) => {
                let ledgers: Vec<Ledger> = places.iter().filter_map(Place::open).collect();
                let symbols = AllSymbols::with_images(&ledgers, &self.images);
                Answer::Pace(self.paces.next(&ledgers, &symbols.each()))
            }
        }
    }

    fn waits(&self, places: &[Place], wanted: &HashSet<(Place, WaitId)>) -> Vec<DescribedWait> {
        let (mut ledgers, mut of) = (Vec::new(), Vec::new());
        for place in places {
            if let Some(ledger) = place.open() {
                ledgers.push(ledger);
                of.push(place);
            }
        }
        let symbols = AllSymbols::with_images(&ledgers, &self.images);
        let symbols = symbols.each();
        let mut all = Vec::new();
        for (index, &place) in of.iter().enumerate() {
            if !wanted.iter().any(|(wanted, _)| wanted == place) {
                continue;
            }
            let is_wanted = |id: WaitId| wanted.contains(&(place.clone(), id));
            let header = ledgers[index].header();
            let described = under_way::describe(&ledgers, &symbols, index, is_wanted);
            all.extend(described.into_iter().map(|wait| DescribedWait {
                key: (place.clone(), wait.id),
                token: header.token,
                start_ns: header.start_ns,
                is_for_lock: under_way::is_for_lock(&wait.waiting, wait.holds_lock),
                waiting: named(wait.waiting, header.pid),
            }));
        }
        all
    }
}
