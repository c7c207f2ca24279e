//! What happens while the program runs: its ledgers are read as they grow. The program is not disturbed, as nothing is asked
//! of it.

mod budget;
mod commands;
pub mod deadlocks;
mod long_waits;
mod pace;
mod place;
mod stop;
mod told;
mod worker;

use std::path::Path;
use std::time::{Duration, Instant};

use lockwright_analysis::finding::{Finding, Grade, Process, Report};
use lockwright_analysis::lockmeter::model::MeterReport;
use lockwright_analysis::under_way::LongWait;
use lockwright_console::error::{Error, Result};
use lockwright_console::sink::Sink;
use lockwright_ledger::Growth;
use lockwright_report::json::{self, Event};
use lockwright_report::prose;
use lockwright_report::reports::Findings;
use lockwright_report::text::{self, Moment};

use super::confirm::wanted::Confirming;
use super::hang::asleep::AsleepProcesses;
use super::output::Output;
use super::watch::steering::SteeringPlan;
use crate::args::{LiveArgs, OnDeadlock, TimeArgs};
use budget::Budget;
use commands::Commands;
use deadlocks::Deadlocks;
use long_waits::LongWaits;
use place::Place;
use stop::Stop;
pub use stop::Why;
use told::ToldFindings;
use worker::{Answer, Question, Worker};

/// How often the ledgers are looked at: soon enough for a user who watches, rare enough to take no measurable time.
const POLL: Duration = Duration::from_millis(100);

/// Options about what happens meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct Wishes<'a> {
    /// What findings lead to.
    pub findings: &'a LiveArgs,
    /// What is watched in time.
    pub time: &'a TimeArgs,
    /// What to do with a process that has deadlocked.
    pub on_deadlock: &'a OnDeadlock,
    /// Which findings are made to happen after the run, and how; `None`: none are.
    pub confirm: Option<Confirming<'a>>,
    /// How threads are held up or delayed; `None`: they are not.
    pub steering: Option<&'a SteeringPlan>,
}

impl<'a> Wishes<'a> {
    /// Nothing beyond these.
    pub fn new(findings: &'a LiveArgs, time: &'a TimeArgs, on_deadlock: &'a OnDeadlock) -> Self {
        Self { findings, time, on_deadlock, confirm: None, steering: None }
    }
}

/// What is known of a run that goes on.
#[derive(Debug)]
pub struct Live<'a> {
    wishes: Wishes<'a>,
    begun: Instant,
    /// Deadlocks seen so far.
    pub deadlocks: Deadlocks,
    /// Processes in which all threads sleep; `None`: nobody looks for any.
    asleep: Option<AsleepProcesses>,
    told: ToldFindings,
    commands: Commands,
    search: Option<Search>,
    waits: Option<LongWaits>,
    moments: Option<Moments>,
    worker: Option<Worker>,
    stop: Option<Stop>,
    /// What was shown while the report's file was not to be had.
    late: String,
}

/// A search for findings while the program runs.
#[derive(Debug, Default)]
struct Search {
    budget: Budget,
    /// The ledgers that the last search was of.
    seen: Vec<(Place, Option<Growth>)>,
    /// A finding of the grade that ends the run has come.
    is_met: bool,
}

/// Lines about what the program does.
#[derive(Debug)]
struct Moments {
    interval: Duration,
    budget: Budget,
    /// When the last one was.
    last: Instant,
}

impl<'a> Live<'a> {
    /// Nothing yet. `checks`: findings are to be expected.
    pub fn new(wishes: Wishes<'a>, checks: bool) -> Self {
        let (findings, time) = (wishes.findings, wishes.time);
        let begun = Instant::now();
        Self {
            wishes,
            begun,
            deadlocks: Deadlocks::new(wishes.steering.is_some_and(|plan| !plan.places.is_empty())),
            asleep: checks.then(AsleepProcesses::default),
            told: ToldFindings::default(),
            commands: Commands::default(),
            search: (checks && findings.is_live()).then(Search::default),
            waits: time.wait_threshold.map(|it| LongWaits::new(it, time.wait_events)),
            moments: time.interval().map(|interval| Moments {
                interval,
                budget: Budget::default(),
                last: begun,
            }),
            worker: None,
            stop: None,
            late: String::new(),
        }
    }

    /// The time until the next look.
    pub fn patience(&self) -> Duration {
        self.waits.as_ref().map_or(POLL, |waits| waits.interval().min(POLL))
    }

    /// Looks at the ledgers, of which `program` and its children write some.
    pub fn poll(&mut self, dir: &Path, program: u32, output: &mut Output) {
        let places = Place::all(dir);
        self.look_for_deadlocks(dir, &places, program, output);
        if self.search.is_some() || self.waits.is_some() || self.moments.is_some() {
            let places: Vec<Place> = places.into_iter().map(|(place, _)| place).collect();
            self.look(Instant::now(), &places, output);
        }
        for note in self.commands.poll() {
            output.note(&note);
        }
        self.end_if_due(dir, program, output);
    }

    fn look_for_deadlocks(
        &mut self,
        dir: &Path,
        places: &[(Place, u32)],
        program: u32,
        output: &mut Output,
    ) {
        for standing in self.deadlocks.poll(places) {
            let mut acting = acting(&self.wishes, &mut self.told, &mut self.commands);
            let told = self.deadlocks.handle(&standing, program, &mut acting, output);
            // Its end matters more.
            told.unwrap_or_else(|error| output.warn(&error));
        }
        self.deadlocks.follow_up(output);
        let Some(asleep) = &mut self.asleep else { return };
        for process in asleep.poll(dir) {
            let mut acting = acting(&self.wishes, &mut self.told, &mut self.commands);
            let told = self.deadlocks.conclude(&process, &mut acting, output);
            told.unwrap_or_else(|error| output.warn(&error));
        }
    }

    fn look(&mut self, now: Instant, places: &[Place], output: &mut Output) {
        if let Some(waits) = &mut self.waits {
            waits.look(now, places);
        }
        let worker = self.worker.get_or_insert_with(Worker::start);
        if let Some((answer, begun, took)) = worker.answer() {
            match answer {
                Answer::Findings(report) => {
                    self.search.iter_mut().for_each(|search| search.budget.spend(begun, took));
                    let shown = self.show_findings(&report, output);
                    shown.unwrap_or_else(|error| output.warn(&error));
                }
                Answer::Waits(described) => {
                    let shown = self.waits.as_mut().map(|waits| waits.settle(described));
                    let done = self.show_waits(shown.unwrap_or_default(), places.len() > 1, output);
                    done.unwrap_or_else(|error| output.warn(&error));
                }
                Answer::Pace(pace) => {
                    self.moments.iter_mut().for_each(|it| it.budget.spend(begun, took));
                    self.show_moment(pace, output);
                }
            }
        }
        let Some(worker) = self.worker.as_mut().filter(|worker| !worker.is_busy()) else { return };
        let question = self.waits.as_mut().and_then(|waits| waits.question(now, places));
        let instances = output.verdicts.instances;
        let question = question.or_else(|| {
            let search = self.search.as_mut()?;
            search.is_due(now, places).then(|| Question::Findings(places.to_vec(), instances))
        });
        let question = question.or_else(|| {
            let moments = self.moments.as_ref()?;
            let is_due = now >= moments.last + moments.interval && moments.budget.is_due(now);
            is_due.then(|| Question::Pace(places.to_vec()))
        });
        if let Some(question) = question {
            worker.ask(question);
        }
    }

    /// Shows the findings that are new.
    fn show_findings(&mut self, report: &Report, output: &mut Output) -> Result<()> {
        let abort_on = self.wishes.findings.abort_on;
        let is_met = |finding: &Finding| abort_on.is_some_and(|grade| finding.grade <= grade);
        let all = output.verdicts.all;
        let judged = output.verdicts.judge(report);
        let outcome = self.told.outcome(report);
        let is_shown = |finding: &&Finding| {
            (all || is_met(finding) || !finding.grade.is_counted_only())
                && outcome.shows(report, finding)
        };
        let new: Vec<&Finding> = judged.counted().filter(is_shown).collect();
        if new.is_empty() {
            return Ok(());
        }
        let is_new = |finding: &Finding| new.iter().any(|it| std::ptr::eq(*it, finding));
        // A file has all that there is so far.
        let in_file = output.sinks.is_in_file();
        let told =
            |finding: &Finding| in_file && !finding.grade.is_counted_only() || is_new(finding);
        let findings = Findings::new(&judged, true).telling(&told, false).alone();
        let shown = output.sinks.show(&findings);
        output.sinks.program_started();
        if let Some(command) = &self.wishes.findings.on_finding {
            for finding in &new {
                let input = json::finding_event(Event::Finding, &judged, finding);
                self.commands.run("--on-finding", command, input);
            }
        }
        let is_met = new.iter().any(|finding| is_met(finding));
        self.search.iter_mut().for_each(|search| search.is_met |= is_met);
        new.iter().for_each(|finding| self.told.add(report, finding));
        shown
    }

    fn show_waits(
        &mut self,
        shown: long_waits::Shown,
        several: bool,
        output: &mut Output,
    ) -> Result<()> {
        let long_waits::Shown { waits, more } = shown;
        let Some(threshold) = self.waits.as_ref().map(|waits| waits.threshold) else {
            return Ok(());
        };
        if waits.is_empty() {
            return Ok(());
        }
        if let Some(command) = &self.wishes.findings.on_finding {
            for wait in &waits {
                self.commands.run("--on-finding", command, json::wait_event(wait));
            }
        }
        let text = text::long_waits(&waits, threshold.as_nanos() as f64, several, more);
        if output.sinks.is_in_file() {
            self.late += &text;
            return Ok(());
        }
        let shown = output.sinks.show_text(|_| text);
        output.sinks.program_started();
        shown
    }

    fn show_moment(&mut self, pace: pace::Pace, output: &Output) {
        let Some(moments) = &mut self.moments else { return };
        let now = Instant::now();
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let moment = Moment {
            at_ns: ns(now - self.begun),
            of_ns: ns(now - moments.last),
            acquisitions: pace.acquisitions,
            contended: pace.contended,
            waits: pace.waits,
            hottest: pace.hottest,
            findings: self.search.as_ref().map(|_| self.told.by_grade()),
        };
        moments.last = now;
        output.sinks.begin_line(false);
        // There is no place left to complain.
        let _ = Sink::Stderr.add(&moment.line());
    }

    /// Ends the run, if it is time to.
    fn end_if_due(&mut self, dir: &Path, program: u32, output: &Output) {
        if self.stop.is_none() {
            let grade = self.wishes.findings.abort_on;
            let is_met = self.search.as_ref().is_some_and(|search| search.is_met)
                || grade.zip(self.told.worst()).is_some_and(|(grade, worst)| worst <= grade);
            let is_over = self.wishes.time.limit().is_some_and(|it| self.begun.elapsed() >= it);
            if is_met {
                let grade = grade.map_or("", Grade::name);
                output.note(&Error::new(format!("the run is ended (--abort-on {grade})")));
            }
            let why = is_met.then_some(Why::Finding).or(is_over.then_some(Why::Time));
            self.stop = why.map(Stop::new);
        }
        if let Some(stop) = &mut self.stop {
            stop.pursue(dir, program);
        }
    }

    /// The program has ended: so do all others if the run was to be ended.
    pub fn program_ended(&mut self, dir: &Path) {
        if let Some(stop) = &mut self.stop {
            stop.finish(dir);
        }
    }

    /// Why the run was ended, if it was.
    pub fn stopped(&self) -> Option<Why> {
        self.stop.as_ref().map(|stop| stop.why)
    }

    /// CPU time of the commands that were run, ns.
    pub fn commands_cpu_ns(&self) -> f64 {
        self.commands.cpu_ns()
    }

    /// Whether findings were looked for.
    pub fn is_searched(&self) -> bool {
        self.search.is_some()
    }

    /// What was reported.
    pub fn told(&self) -> &ToldFindings {
        &self.told
    }

    /// The waits that lasted long, of these processes by token; `None` if nobody looked for any.
    pub fn long_waits(&self, tokens: &[u64]) -> Option<Vec<LongWait>> {
        let of = |wait: &LongWait| {
            let process = tokens.iter().position(|&token| token == wait.token)?;
            let mut wait = wait.clone();
            wait.waiting.process = process;
            Some(wait)
        };
        Some(self.waits.as_ref()?.seen.iter().filter_map(of).collect())
    }

    /// Shows what could not be shown before the report's file was written.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn add_late(&mut self, output: &mut Output) -> Result<()> {
        let late = std::mem::take(&mut self.late);
        if late.is_empty() { Ok(()) } else { output.sinks.text.add(&late) }
    }

    /// Notes what the whole run shows in another light, and runs the last commands.
    pub fn conclude(&mut self, report: &Report, output: &Output) {
        let judged = output.verdicts.judge(report);
        let outcome = self.told.outcome(report);
        let command = self.wishes.findings.on_finding.as_deref();
        let mut run = |event: Event, finding: &Finding| {
            if let Some(command) = command {
                let input = json::finding_event(event, &judged, finding);
                self.commands.run("--on-finding", command, input);
            }
        };
        let is_shown = |finding: &&Finding| output.verdicts.all || !finding.grade.is_counted_only();
        for finding in judged.counted().filter(is_shown) {
            if outcome.shows(report, finding) {
                run(Event::Finding, finding);
            }
        }
        let title = |finding: &Finding| prose::told(finding).title;
        for (told, number) in &outcome.regraded {
            let finding = &report.findings[*number];
            output.note(&Error::new(format!(
                "what was shown as {} while the program ran is {} in view of the whole run: {}",
                told.finding.grade.name(),
                finding.grade.name(),
                title(finding)
            )));
            run(Event::Regraded, finding);
        }
        for told in &outcome.gone {
            // A process that was seen later may have started before this one.
            let is_its = |process: &Process| Some(process.token) == told.token();
            let process = report.processes.iter().position(is_its);
            let finding = &Finding { process, ..told.finding.clone() };
            output.note(&Error::new(match finding.grade {
                Grade::Deadlocked => format!(
                    "process {}: the deadlock that was reported while the program ran has ended: {}",
                    finding.pid,
                    title(finding)
                ),
                grade => format!(
                    "what was shown as {} while the program ran is no finding in view of the whole run: {}",
                    grade.name(),
                    title(finding)
                ),
            }));
            run(Event::Retracted, finding);
        }
    }

    /// Runs the command for each piece of advice on a measurement.
    pub fn advise(&mut self, report: &MeterReport) {
        if let Some(command) = &self.wishes.findings.on_finding {
            for input in json::advice_events(report) {
                self.commands.run("--on-finding", command, input);
            }
        }
    }

    /// Waits for the commands.
    pub fn finish(&mut self, output: &Output) {
        for note in self.commands.finish() {
            output.note(&note);
        }
    }
}

impl Search {
    /// Whether something has changed since the last search, and it is time for another.
    fn is_due(&mut self, now: Instant, places: &[Place]) -> bool {
        if !self.budget.is_due(now) {
            return false;
        }
        let seen: Vec<_> = places.iter().map(|place| (place.clone(), place.growth())).collect();
        // There may be thousands of ledgers.
        self.budget.spend(now, now.elapsed());
        let is_new = seen != self.seen;
        self.seen = seen;
        is_new
    }
}

/// What reports of deadlocks lead to.
fn acting<'l>(
    wishes: &Wishes<'l>,
    told: &'l mut ToldFindings,
    commands: &'l mut Commands,
) -> deadlocks::Acting<'l> {
    let on_finding = wishes.findings.on_finding.as_deref();
    deadlocks::Acting { on_deadlock: wishes.on_deadlock, on_finding, told, commands }
}
