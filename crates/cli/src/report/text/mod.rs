//! The report for people: looks and reads like a compiler's diagnostics.
//!
//! Each finding begins with what is wrong and how sure that is, goes on with what each thread did, as
//! annotated source lines where there are any, and ends with the locks and what to do. The last line
//! of the report tells how much was watched.

mod place;
mod source;
mod span;
mod stack;
mod summary;
mod words;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{Group, Level, Renderer};

use crate::finding::{Finding, Frame, Grade, LockInfo, Report, Step};
use crate::symbolize::wrapper::first_own_frame;
use place::Place;
use source::Sources;
use stack::Stacks;
use words::{act, join, number, plain};

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

/// Whether findings of this grade are only counted unless all are asked for.
pub fn is_counted_only(grade: Grade) -> bool {
    matches!(grade, Grade::Guarded | Grade::Ordered | Grade::SingleThread)
}

/// Renders the whole report; ends with a newline.
pub fn render(report: &Report, options: &TextOptions) -> String {
    let renderer = if options.colour { Renderer::styled() } else { Renderer::plain() }
        .decor_style(DecorStyle::Ascii)
        .term_width(options.width.max(40));
    let view = View { report, sources: Sources::new(), stacks: Stacks::new() };
    let mut text = String::new();
    let mut shown = 0;
    for finding in &report.findings {
        if options.all || !is_counted_only(finding.grade) {
            text += &renderer.render(&view.finding(finding));
            text += "\n\n";
            shown += 1;
        }
    }
    text + &summary::lines(report, shown)
}

/// What the parts of one report share.
struct View<'r> {
    report: &'r Report,
    sources: Sources,
    stacks: Stacks,
}

impl View<'_> {
    /// A finding as groups: head, one for each step, locks, help.
    fn finding(&self, finding: &Finding) -> Vec<Group<'_>> {
        let mut groups = vec![self.head(finding)];
        groups.extend(finding.steps.iter().map(|step| self.step(finding, step)));
        groups.extend(self.locks(finding));
        let help = |text: &String| Group::with_title(Level::HELP.secondary_title(plain(text)));
        groups.extend(finding.help.iter().map(help));
        groups
    }

    /// What is wrong, the grade and what it rests on.
    fn head(&self, finding: &Finding) -> Group<'_> {
        let level = match finding.grade {
            Grade::Deadlocked | Grade::Likely => Level::ERROR,
            Grade::Possible => Level::WARNING,
            Grade::Guarded | Grade::Ordered | Grade::SingleThread => Level::NOTE,
        };
        let title = level.primary_title(plain(&finding.title)).id(words::kind(finding.kind));
        let mut why: Vec<String> = finding.evidence.iter().map(|line| plain(line)).collect();
        if why.is_empty() {
            why.push(words::meaning(finding.grade).to_owned());
        }
        let mut group = Group::with_title(title)
            .element(Level::NOTE.with_name(words::grade(finding.grade)).message(why.join("\n")));
        if finding.also > 0 {
            let verb = if finding.also == 1 { "is" } else { "are" };
            let text = format!("{} more like this {verb} folded into it", number(finding.also));
            group = group.element(Level::NOTE.message(text));
        }
        if self.report.processes.len() > 1 {
            let exe = self.report.processes.iter().find(|process| process.pid == finding.pid);
            let exe = exe.map_or(String::new(), |process| format!(" ({})", plain(&process.exe)));
            group = group.element(Level::NOTE.message(format!("in process {}{exe}", finding.pid)));
        }
        group
    }

    /// One acquisition: who took what while holding what, and both places.
    fn step(&self, finding: &Finding, step: &Step) -> Group<'_> {
        let name = |lock: usize| finding.locks.get(lock).map_or("?", |lock| lock.name.as_str());
        let part: Vec<_> = step.held.iter().filter(|held| held.lock.is_some()).collect();
        let mut title = format!(
            "{} {}",
            words::thread(&step.thread),
            act(step.action, &format!("`{}`", name(step.lock)))
        );
        if !part.is_empty() {
            let held: Vec<_> = part.iter().map(|held| format!("`{}`", held.name)).collect();
            title += &format!(" while holding {}", join(&held));
        }
        let mut places: Vec<Place<'_>> = part
            .iter()
            .map(|held| Place::context(&held.stack, format!("`{}` was taken here", held.name)))
            .collect();
        places.push(Place::primary(
            &step.stack,
            format!("{} here", act(step.action, &format!("`{}`", name(step.lock)))),
        ));
        let mut group = Group::with_title(Level::NOTE.secondary_title(plain(&title)))
            .elements(place::elements(&places, &self.sources, &self.stacks));
        let mut way = self.way(&step.stack);
        for held in &part {
            if !stack::came_along(&held.stack, &step.stack) {
                let place = self.stacks.own(&held.stack).unwrap_or_default();
                way.push(format!("`{}` was taken in {place}", plain(&held.name)));
                way.extend(self.stacks.callers(&held.stack));
            }
        }
        if !way.is_empty() {
            group = group.element(Level::NOTE.message(way.join("\n")));
        }
        let other: Vec<_> = step
            .held
            .iter()
            .filter(|held| held.lock.is_none())
            .map(|held| match self.stacks.own(&held.stack) {
                Some(place) => format!("also holding `{}`, taken in {place}", plain(&held.name)),
                None => format!("also holding `{}`", plain(&held.name)),
            })
            .collect();
        if !other.is_empty() {
            group = group.element(Level::NOTE.message(other.join("\n")));
        }
        group
    }

    /// The function that a source line stands in, and its callers.
    fn way(&self, stack: &[Frame]) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(Frame { function: Some(function), file: Some(file), line: Some(line), .. }) =
            first_own_frame(stack)
            // Without its source the line is told with the function already.
            && self.sources.get(file, *line).is_some()
        {
            lines.push(format!("in {}", stack::shorten(&plain(function))));
        }
        lines.extend(self.stacks.callers(stack));
        lines
    }

    /// What the locks are and where they come from.
    fn locks(&self, finding: &Finding) -> Option<Group<'_>> {
        let mut told: Vec<String> = Vec::new();
        for lock in &finding.locks {
            let line = self.lock(lock);
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

    fn lock(&self, lock: &LockInfo) -> String {
        let mut line = format!("`{}`: ", plain(&lock.name));
        if lock.origin == "static" {
            line += "static ";
        }
        line += lock.kind;
        if let Some(addr) = lock.addr {
            line += &format!(" at {addr:#x}");
        }
        let verb = match lock.origin {
            "init" => "initialised",
            "first acquisition" => "first taken",
            "inherited" => "inherited from the parent process, where it was created",
            _ => "created",
        };
        if let Some(place) = self.stacks.own(&lock.created) {
            line += &format!(", {verb} in {place}");
        }
        if lock.class != lock.name && !lock.class.is_empty() {
            line += &format!(", of class `{}`", plain(&lock.class));
        }
        line
    }
}
