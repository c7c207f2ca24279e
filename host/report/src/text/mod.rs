//! The report for people: looks and reads like a compiler's diagnostics.
//!
//! Each finding begins with what is wrong and how sure that is, goes on with what each thread did,
//! as annotated source lines where there are any, and ends with the locks and what to do. The last
//! line of the report tells how much was watched.

mod moment;
mod place;
pub(crate) mod processes;
mod remarks;
pub(crate) mod span;
pub(crate) mod stack;
mod summary;
mod unfinished_waits;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer};

use crate::prose::action::{act, doing};
use crate::prose::short_names::ShortNames;
use crate::prose::words::{self, number, plain, quote};
use crate::prose::{Told, told};
use lockwright_analysis::finding::lock_kind::{LockKind, Subject};
use lockwright_analysis::finding::{Finding, LockInfo, LockOrigin, Name, Report};
use lockwright_analysis::symbolize::lock_expression;
use lockwright_analysis::symbolize::source::Sources;
use lockwright_analysis::symbolize::wrapper::first_own_frame;
use lockwright_analysis::under_way::LongWait;
use lockwright_ledger::rows::object::object_type;
pub use moment::{Hottest, Moment};
use place::Place;
pub use remarks::Remarks;
use stack::Stacks;

/// How the text is to look.
#[derive(Clone, Copy, Debug)]
pub struct TextOptions {
    /// With ANSI colours.
    pub colour: bool,
    /// Show the grades that are only counted otherwise, too.
    pub all: bool,
    /// Columns of the terminal: longer source lines are cut.
    pub width: usize,
}

/// Renders the whole report; ends with a newline.
pub fn render(report: &Report, options: &TextOptions) -> String {
    render_with(report, Remarks::default(), options)
}

/// As [`render`], with remarks on what was left out.
pub fn render_with(report: &Report, remarks: Remarks, options: &TextOptions) -> String {
    let view = View { report, sources: Sources::with_servers(), stacks: Stacks::new() };
    let (mut text, shown) = view.findings(options);
    text += &unfinished_waits::lines(report, &view.stacks);
    text + &summary::lines(report, shown, remarks)
}

/// The findings alone, and how many there are: of a program that goes on.
pub fn findings(report: &Report, options: &TextOptions) -> String {
    let view = View { report, sources: Sources::with_servers(), stacks: Stacks::new() };
    let (text, shown) = view.findings(options);
    text + &format!("lockwright: {}; the program runs\n", summary::graded(report, shown))
}

/// Waits that last longer than `threshold_ns`, of several processes perhaps. `more` are not among them.
pub fn long_waits(waits: &[LongWait], threshold_ns: f64, several: bool, more: u64) -> String {
    let each =
        unfinished_waits::each(waits.iter().map(|wait| &wait.waiting), several, &Stacks::new());
    let mut text = format!("waiting for more than {}:\n{each}", words::duration(threshold_ns));
    if more > 0 {
        text += &format!("  and {} more\n", words::count(more, "thread"));
    }
    text
}

/// Renders findings one by one, without colours.
pub struct OneByOne<'r> {
    view: View<'r>,
    renderer: Renderer,
}

impl<'r> OneByOne<'r> {
    /// The parts of a report, in lines of this width.
    pub fn new(report: &'r Report, width: usize) -> Self {
        let view = View { report, sources: Sources::with_servers(), stacks: Stacks::new() };
        Self { view, renderer: renderer(false, width) }
    }

    /// A finding of the report; the last line has no end.
    pub fn text(&self, finding: &Finding) -> String {
        self.renderer.render(&self.view.finding(finding))
    }

    /// How its frames are named.
    pub fn stacks(&self) -> &Stacks {
        &self.view.stacks
    }
}

/// The last line alone, without its end.
pub fn last_line(report: &Report, remarks: Remarks) -> String {
    let lines = summary::lines(report, report.findings.len(), remarks);
    lines.lines().next_back().unwrap_or_default().to_owned()
}

fn renderer(colour: bool, width: usize) -> Renderer {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    renderer.decor_style(DecorStyle::Ascii).term_width(width.max(40))
}

/// The data that the parts of one report share.
struct View<'r> {
    report: &'r Report,
    sources: Sources,
    stacks: Stacks,
}

impl View<'_> {
    /// The findings that are to be shown, and how many there are.
    fn findings(&self, options: &TextOptions) -> (String, usize) {
        let renderer = renderer(options.colour, options.width);
        let is_shown = |finding: &&Finding| options.all || !finding.grade.is_counted_only();
        let shown: Vec<String> = self
            .report
            .findings
            .iter()
            .filter(is_shown)
            .map(|finding| renderer.render(&self.finding(finding)) + "\n\n")
            .collect();
        (shown.concat(), shown.len())
    }

    /// A finding as groups: head, one for each step, locks, help.
    fn finding(&self, finding: &Finding) -> Vec<Group<'_>> {
        let mut told = told(finding);
        let short = ShortNames::new(finding);
        if !short.is_single() {
            told.title = short.shortened(&told.title);
        }
        for line in told.evidence.iter_mut().chain(&mut told.help) {
            *line = short.shortened(line);
        }
        let mut groups = vec![self.head(finding, &told)];
        let mut locks = self.locks(finding, &short);
        // A short name is explained before its use.
        if !short.is_empty() {
            groups.extend(locks.take());
        }
        groups.extend((0..finding.steps.len()).map(|index| self.step(finding, index, &short)));
        groups.extend(locks);
        let help = |text: &String| Group::with_title(Level::HELP.secondary_title(plain(text)));
        groups.extend(told.help.iter().map(help));
        groups
    }

    /// The fault, the grade and its evidence.
    fn head(&self, finding: &Finding, told: &Told) -> Group<'_> {
        let level = match words::level(finding.grade) {
            words::Level::Error => Level::ERROR,
            words::Level::Warning => Level::WARNING,
            words::Level::Note => Level::NOTE,
        };
        let title = level.primary_title(plain(&told.title)).id(finding.kind.name());
        let why = told.why(finding.grade);
        let mut group = Group::with_title(title)
            .element(Level::NOTE.with_name(finding.grade.name()).message(why.join("\n")));
        if finding.also > 0 {
            let (verb, them) = if finding.also == 1 { ("is", "it") } else { ("are", "them") };
            let also = number(finding.also);
            let text = match self.report.summary.all_instances {
                false => format!(
                    "{also} more like this {verb} folded into it: --all-instances shows {them}, if recorded one \
                     by one"
                ),
                // The rest were counted as they happened, at one place and with one lock.
                true => format!("{also} more like this {verb} only counted"),
            };
            group = group.element(Level::NOTE.message(text));
        }
        if self.report.processes.len() > 1
            && let Some(process) = self.report.process_of(finding)
        {
            let text = format!("in process {} ({})", process.pid, plain(&process.exe));
            group = group.element(Level::NOTE.message(text));
        }
        group
    }

    /// One acquisition: who took what while holding what, both places, and the ways there.
    fn step(&self, finding: &Finding, index: usize, names: &ShortNames) -> Group<'_> {
        let step = &finding.steps[index];
        let lock = finding.locks.get(step.lock);
        let unknown = Name::symbol("?");
        let name = lock.map_or(&unknown, |lock| &lock.name);
        let (part, other): (Vec<_>, Vec<_>) =
            step.held.iter().partition::<Vec<_>, _>(|held| held.lock.is_some());
        let title = doing(finding, index, |name| names.quote(name));

        // The title has the names; a long description need not be repeated at each place.
        let is_long = |name: &Name| !name.is_symbol && names.get(name).is_none();
        let short_held = |name: &Name| match part.len() {
            1 if is_long(name) => "the held lock".to_owned(),
            _ => names.quote(name),
        };
        let short = if is_long(name) { "it".to_owned() } else { names.quote(name) };
        let mut places: Vec<Place<'_>> = part
            .iter()
            .map(|held| {
                let lock = held.lock.and_then(|i| finding.locks.get(i));
                let verb = match lock.map(|lock| &lock.kind) {
                    Some(Subject::Lock(LockKind::ResourceContext)) => "was entered",
                    Some(Subject::Lock(LockKind::Completion)) => "is completed",
                    _ => "was taken",
                };
                let taken = format!("{} {verb}", short_held(&held.name));
                Place::new(&held.stack, taken, AnnotationKind::Context)
            })
            .collect();
        places.push(Place::new(&step.stack, act(step.action, &short), AnnotationKind::Primary));
        let snippets = place::snippets(&places, &self.sources, &self.stacks);

        let mut way = Vec::new();
        let callers = self.stacks.callers(&step.stack);
        for (held, place) in part.iter().zip(&places) {
            let elsewhere = !stack::came_along(&held.stack, &step.stack);
            if elsewhere || !place.has_source(&self.sources) {
                way.push(place.words(&self.sources, &self.stacks));
            }
            // Without names of functions only the callers show that the way was the same.
            let way_there = self.stacks.callers(&held.stack);
            if elsewhere && way_there != callers {
                way.extend(way_there);
            }
        }
        if let Some(place) = places.last() {
            way.push(place.words(&self.sources, &self.stacks));
        }
        way.extend(callers);

        let mut also: Vec<(String, u64)> = Vec::new();
        for held in other {
            let name = plain(&names.quote(&held.name));
            let line = match self.stacks.own(&held.stack) {
                Some(place) => format!("also holding {name}, taken in {place}"),
                None => format!("also holding {name}"),
            };
            match also.iter_mut().find(|(known, _)| *known == line) {
                Some((_, times)) => *times += 1,
                None => also.push((line, 1)),
            }
        }
        let also: Vec<String> = also
            .into_iter()
            .map(|(line, times)| match times {
                1 => line,
                _ => format!("{line} ({} times)", number(times)),
            })
            .collect();
        Group::with_title(Level::NOTE.secondary_title(plain(&title)))
            .elements(snippets)
            .element(Level::NOTE.message(way.join("\n")))
            .elements((!also.is_empty()).then(|| Level::NOTE.message(also.join("\n"))))
    }

    /// The locks, and where they come from.
    fn locks(&self, finding: &Finding, short: &ShortNames) -> Option<Group<'_>> {
        let mut told: Vec<String> = Vec::new();
        for line in finding.locks.iter().filter_map(|lock| self.lock(lock, short)) {
            if !told.contains(&line) {
                told.push(line);
            }
        }
        let (title, rest) = match told.as_slice() {
            [] => return None,
            [one] => (one.clone(), None),
            many => ("the locks".to_owned(), Some(many.join("\n"))),
        };
        let group = Group::with_title(Level::NOTE.secondary_title(title));
        Some(group.elements(rest.map(|lines| Level::NOTE.no_name().message(lines))))
    }

    /// The lock's name in the source line that a description names.
    fn expression(&self, lock: &LockInfo) -> Option<String> {
        if !matches!(lock.origin, LockOrigin::Init | LockOrigin::FirstAcquisition) {
            return None;
        }
        let frame = first_own_frame(&lock.created)?;
        let line = frame.line?;
        let source = self.sources.of(frame)?;
        lock_expression::in_line(source.line(line as usize)).map(str::to_owned)
    }

    /// `None` where the name says it all.
    fn lock(&self, lock: &LockInfo, short: &ShortNames) -> Option<String> {
        let addr = lock.addr.map_or(String::new(), |addr| format!(" at {addr:#x}"));
        let kind = plain(&lock.kind.to_string());
        let is_timer = lock.kind == Subject::Object(object_type::TIMER);
        if let Some(short) = short.get(&lock.name) {
            let name = plain(&lock.name.text);
            // The description comes first and the address after it, whether the name has it or not.
            let what = name.strip_suffix(&addr).filter(|what| what.contains(' ')).unwrap_or(&name);
            let at = match addr.as_str() {
                "" => String::new(),
                addr if what.ends_with(addr) => String::new(),
                addr => format!(",{addr}"),
            };
            if lock.name.is_symbol {
                let place = self.stacks.own(&lock.created);
                let place = place.map(|place| format!(", {} in {place}", created(lock)));
                return Some(format!("{short}: `{what}`{at}{}", place.unwrap_or_default()));
            }
            let mut line = format!("{short}: {what}{at}");
            if let Some(called) = self.expression(lock) {
                line += &format!(", `{}` in that line", plain(&called));
            }
            return Some(line);
        }
        if !lock.name.is_symbol {
            let news = !addr.is_empty() && !lock.name.text.ends_with(&addr);
            return news.then(|| format!("{}: {kind}{addr}", plain(&quote(&lock.name))));
        }
        let is_static = if lock.origin == LockOrigin::Static { "static " } else { "" };
        let mut line = format!("{}: {is_static}{kind}{addr}", plain(&quote(&lock.name)));
        if let Some(place) = self.stacks.own(&lock.created) {
            line += &format!(", {} in {place}", created(lock));
        }
        // A timer's class is the place that was just told.
        if lock.class != lock.name && !lock.class.text.is_empty() && !is_timer {
            line += &match lock.class.is_symbol {
                false => format!(", of the class of {}", plain(&quote(&lock.class))),
                true => format!(", of class {}", plain(&quote(&lock.class))),
            };
        }
        Some(line)
    }
}

/// How a lock, or another object, came to be where the report says.
fn created(lock: &LockInfo) -> &'static str {
    match lock.origin {
        LockOrigin::Init if lock.kind == Subject::Object(object_type::TIMER) => "created",
        LockOrigin::Init => "initialised",
        LockOrigin::FirstAcquisition => "first taken",
        LockOrigin::Allocation => "allocated",
        LockOrigin::Annotation => "named",
        LockOrigin::Inherited => "inherited from the parent process, where it was created",
        LockOrigin::Static | LockOrigin::Unknown => "created",
    }
}
