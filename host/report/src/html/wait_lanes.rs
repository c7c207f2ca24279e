//! The longest waits in time: a lane for each thread that waited, had the lock or let it go, with its waits and holds of those
//! locks. The page's script zooms; without it the drawing shows all of the time.

use std::fmt::Write;

use maud::{Markup, PreEscaped, html};

use super::limits::LANES_BYTES;
use crate::lockmeter::text::format::time;
use crate::lockmeter::timeline::words::{Words, who};
use crate::text::stack::Stacks;
use lockwright_analysis::lockmeter::model::{At, MeterReport};
use lockwright_analysis::lockmeter::timeline::{Place, Slice, SliceKind, Thread, Timeline};

/// Width of a drawing, and of the names at its left.
const WIDTH: u32 = 1160;
const NAMES: u32 = 200;

/// Height of a lane, and of the axis.
const LANE: usize = 30;
const AXIS: usize = 22;

/// A mark is not thinner than this, in percent: one that nobody sees cannot be clicked on.
const LEAST: f64 = 0.25;

/// Lanes at the most.
const MOST_LANES: usize = 40;

/// Letters of a thread's name.
const LETTERS: usize = 26;

/// Moments that the axis names.
const TICKS: u64 = 4;

/// The lock that a slice is of: its process, class and address.
type Lock = (usize, usize, u64);

/// What is drawn.
struct Drawing<'r> {
    words: Words<'r>,
    timeline: &'r Timeline,
    stacks: Stacks,
    /// Threads, by their numbers, one a lane.
    lanes: Vec<usize>,
    from_ns: u64,
    to_ns: u64,
}

/// The figure, of the longest waits whose threads have room; `None` if nobody waited.
pub fn show(report: &MeterReport, timeline: &Timeline) -> Option<Markup> {
    let mut lanes: Vec<usize> = Vec::new();
    let mut waits: Vec<(Place, &Slice)> = Vec::new();
    for &place in &timeline.worst {
        let Some((thread, slice)) = timeline.at(place) else { continue };
        let mut new = vec![place.thread];
        new.extend(holder(timeline, thread, slice));
        new.extend(slice.ended_by.map(|by| by.thread));
        new.retain(|it| !lanes.contains(it));
        new.dedup();
        if lanes.len() + new.len() <= MOST_LANES {
            lanes.extend(new);
            waits.push((place, slice));
        }
    }
    let from_ns = waits.iter().map(|(_, slice)| slice.begin_ns).min()?;
    let to_ns = waits.iter().map(|(_, slice)| slice.end_ns).max()?.max(from_ns + 1);
    let margin = (to_ns - from_ns) / 50;
    let (from_ns, to_ns) = (from_ns.saturating_sub(margin), to_ns.saturating_add(margin));
    let (words, stacks) = (Words(report), Stacks::new());
    let drawing = Drawing { words, timeline, stacks, lanes, from_ns, to_ns };
    Some(drawing.figure(&waits))
}

/// The thread that had the lock when a wait began.
fn holder(timeline: &Timeline, waiter: &Thread, slice: &Slice) -> Option<usize> {
    let tid = slice.holder?.tid;
    timeline.threads.iter().position(|it| (it.process, it.tid) == (waiter.process, tid))
}

fn lock_of(process: usize, slice: &Slice) -> Option<Lock> {
    match slice.at {
        At::Lock { lock, .. } => Some((process, lock, slice.addr)),
        _ => None,
    }
}

impl Drawing<'_> {
    fn figure(&self, waits: &[(Place, &Slice)]) -> Markup {
        let process = |place: &Place| self.timeline.threads[place.thread].process;
        let mut locks: Vec<Lock> = Vec::new();
        for lock in waits.iter().filter_map(|(place, slice)| lock_of(process(place), slice)) {
            if !locks.contains(&lock) {
                locks.push(lock);
            }
        }
        let number = |process: usize, slice: &Slice| {
            lock_of(process, slice).and_then(|lock| locks.iter().position(|it| *it == lock))
        };
        let mut marks = String::new();
        // Waits first: they are what it is about, and there is no room for everything.
        for (place, slice) in waits {
            let thread = &self.timeline.threads[place.thread];
            let lock = number(thread.process, slice).unwrap_or(0);
            self.mark(&mut marks, "wait", place.thread, slice, lock, &self.story(thread, slice));
        }
        let is_during = |of: &Slice| {
            waits.iter().any(|(_, it)| of.begin_ns < it.end_ns && it.begin_ns < of.end_ns)
        };
        let mut holds: Vec<(usize, &Slice, usize)> = Vec::new();
        for &thread in &self.lanes {
            let of = &self.timeline.threads[thread];
            let held = of.slices.iter().filter(|it| it.kind == SliceKind::Hold && is_during(it));
            holds.extend(held.filter_map(|it| Some((thread, it, number(of.process, it)?))));
        }
        holds.sort_by_key(|(_, slice, _)| std::cmp::Reverse(slice.ns()));
        let mut left_out = 0;
        for (thread, slice, lock) in holds {
            let before = marks.len();
            let told = self.hold(&self.timeline.threads[thread], slice);
            self.mark(&mut marks, "hold", thread, slice, lock, &told);
            if marks.len() > LANES_BYTES {
                marks.truncate(before);
                left_out += 1;
            }
        }
        let high = self.lanes.len() * LANE;
        let wide = WIDTH - NAMES;
        let title = "The longest waits in time";
        html! {
            figure.lanes data-from=(self.from_ns) data-to=(self.to_ns) {
                figcaption {
                    b { (title) } ". A lane for each thread: waits above, holds of the same locks below. "
                    @if left_out > 0 { span.quiet { (left_out) " short holds are not drawn. " } }
                    span.zooming hidden {
                        button type="button" data-do="in" aria-keyshortcuts="+" { "Zoom in" } " "
                        button type="button" data-do="out" aria-keyshortcuts="-" { "Zoom out" } " "
                        button type="button" data-do="left" aria-label="Earlier" { "\u{2190}" } " "
                        button type="button" data-do="right" aria-label="Later" { "\u{2192}" } " "
                        button type="button" data-do="whole" aria-keyshortcuts="0" { "All of it" }
                    }
                }
                div.scroll tabindex="0" role="region" aria-label=(title) {
                    svg.all width=(WIDTH) height=(high + AXIS) viewBox=(format!("0 0 {WIDTH} {}", high + AXIS)) {
                        @for (lane, &thread) in self.lanes.iter().enumerate() {
                            @let y = lane * LANE;
                            text.name x="0" y=(y + 19) { (self.name(thread)) }
                            line.edge x1="0" x2=(WIDTH) y1=(y + LANE) y2=(y + LANE) {}
                        }
                        svg.plot x=(NAMES) y="0" width=(wide) height=(high) {
                            rect.back width="100%" height="100%" {}
                            (PreEscaped(marks))
                            line.by hidden {}
                        }
                        svg.axis x=(NAMES) y=(high) width=(wide) height=(AXIS) {
                            @for tick in 0..TICKS {
                                text x=(format!("{}%", tick * 100 / TICKS)) y="16" {
                                    (time((self.from_ns + (self.to_ns - self.from_ns) / TICKS * tick) as f64))
                                }
                            }
                        }
                    }
                }
                p.story aria-live="polite" { "Times are since the start of the run." }
                p.quiet.zooming hidden {
                    "A click, or " kbd { "\u{2190}" } " " kbd { "\u{2192}" } ", chooses a wait and says who held the lock. "
                    "Zoom: " kbd { "+" } " " kbd { "-" } ", the wheel once the drawing is chosen, "
                    kbd { "Enter" } " to the wait, " kbd { "0" } " or " kbd { "Esc" } " all; "
                    "move: drag, or " kbd { "Shift" } " with an arrow."
                }
            }
        }
    }

    fn name(&self, thread: usize) -> String {
        let name = who(&self.timeline.threads[thread]);
        match name.char_indices().nth(LETTERS) {
            Some((end, _)) => format!("{}..", &name[..end]),
            None => name,
        }
    }

    fn lane(&self, thread: usize) -> usize {
        self.lanes.iter().position(|&it| it == thread).unwrap_or(0)
    }

    fn percent(&self, ns: u64) -> f64 {
        let all = (self.to_ns - self.from_ns).max(1) as f64;
        ns.saturating_sub(self.from_ns) as f64 * 100.0 / all
    }

    /// A wait or a hold.
    fn mark(
        &self,
        out: &mut String,
        what: &str,
        thread: usize,
        slice: &Slice,
        lock: usize,
        told: &str,
    ) {
        let (x, width) = (self.percent(slice.begin_ns), self.percent(slice.end_ns));
        let width = (width - x).max(LEAST);
        let (y, high) = (self.lane(thread) * LANE, LANE);
        let (y, high) = if what == "wait" { (y + 4, high / 2 - 3) } else { (y + 17, high / 3) };
        let by = slice.ended_by.map(|by| {
            format!(
                " data-by=\"{}\" data-at=\"{}\"",
                self.lane(by.thread) * LANE + LANE / 2,
                by.at_ns
            )
        });
        let told = html! { (told) }.into_string();
        // Writing to a String cannot fail.
        let _ = write!(
            out,
            "<g class=\"{what}\" data-lock=\"{lock}\" data-from=\"{}\" data-to=\"{}\"{}><title>{told}</title>\
             <rect x=\"{x:.3}%\" width=\"{width:.3}%\" y=\"{y}\" height=\"{high}\"></rect></g>",
            slice.begin_ns,
            slice.end_ns,
            by.unwrap_or_default()
        );
    }

    /// The thread that waited, where, and the threads that had the lock and let it go.
    fn story(&self, thread: &Thread, slice: &Slice) -> String {
        let mut told = format!(
            "{} waited {} for {}, from {} on{}.",
            who(thread),
            time(slice.ns() as f64),
            self.lock(slice),
            time(slice.begin_ns as f64),
            self.at(slice.at)
        );
        if let Some(holder) = slice.holder {
            let mut threads = self.timeline.threads.iter();
            let known = threads.find(|it| (it.process, it.tid) == (thread.process, holder.tid));
            let name = known.map_or_else(|| format!("thread {}", holder.tid), who);
            told += &format!(" Held at first by {name}{}.", self.at(holder.at));
        }
        match slice.ended_by.and_then(|by| Some((self.timeline.threads.get(by.thread)?, by.at_ns)))
        {
            Some((by, at)) => {
                told += &format!(" Let go last by {}, at {}.", who(by), time(at as f64));
            }
            None if slice.is_unfinished => told += " It is not over.",
            None if slice.gave_up => told += " It gave up.",
            None => {}
        }
        told
    }

    fn hold(&self, thread: &Thread, slice: &Slice) -> String {
        format!(
            "{} held {} for {}, from {} on{}.",
            who(thread),
            self.lock(slice),
            time(slice.ns() as f64),
            time(slice.begin_ns as f64),
            self.at(slice.at)
        )
    }

    fn lock(&self, slice: &Slice) -> String {
        let what = self.words.what(slice);
        let class = match slice.at {
            At::Lock { lock, .. } => self.words.0.locks.get(lock),
            _ => None,
        };
        match class.is_some_and(|lock| lock.is_symbol) {
            true => format!("`{what}`"),
            false => format!("the {what}"),
        }
    }

    fn at(&self, at: At) -> String {
        self.stacks
            .own(self.words.stack(at))
            .map_or_else(String::new, |place| format!(", in {place}"))
    }
}
