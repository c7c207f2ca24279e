//! Places in the program: annotated source lines where there is source, words where there is none.

use annotate_snippets::{Annotation, AnnotationKind, Element, Level, Snippet};

use super::source::{Source, Sources};
use super::span;
use super::stack::Stacks;
use super::words::plain;
use crate::finding::Frame;
use crate::symbolize::wrapper::first_own_frame;

/// Lines between two places of a file beyond which they become two snippets.
const FAR: usize = 500;

/// A place in the program and what happened there.
pub struct Place<'f> {
    frame: Option<&'f Frame>,
    label: String,
    kind: AnnotationKind,
}

impl<'f> Place<'f> {
    /// Where the thing itself happened.
    pub fn primary(stack: &'f [Frame], label: String) -> Self {
        Self { frame: first_own_frame(stack), label, kind: AnnotationKind::Primary }
    }

    /// What led to it.
    pub fn context(stack: &'f [Frame], label: String) -> Self {
        Self { frame: first_own_frame(stack), label, kind: AnnotationKind::Context }
    }
}

/// Places that go into one snippet.
struct Excerpt<'p, 'f> {
    path: &'f str,
    source: std::rc::Rc<Source>,
    first: usize,
    last: usize,
    places: Vec<&'p Place<'f>>,
}

/// Everything there is to show of these places, in their order; those near each other in one file
/// share a snippet.
pub fn elements(places: &[Place<'_>], sources: &Sources, stacks: &Stacks) -> Vec<Element<'static>> {
    let mut excerpts: Vec<Excerpt<'_, '_>> = Vec::new();
    let mut words = Vec::new();
    for place in places {
        let Some(frame) = place.frame else {
            words.push(format!("{}: unknown place", plain(&place.label)));
            continue;
        };
        let known = frame.file.as_deref().zip(frame.line);
        let Some((path, line, source)) =
            known.and_then(|(path, line)| Some((path, line as usize, sources.get(path, line)?)))
        else {
            words.push(format!("{}: {}", plain(&place.label), stacks.frame(frame)));
            continue;
        };
        let near = excerpts.iter_mut().find(|excerpt| {
            excerpt.path == path && line + FAR >= excerpt.last && line <= excerpt.first + FAR
        });
        match near {
            Some(excerpt) => {
                excerpt.first = excerpt.first.min(line);
                excerpt.last = excerpt.last.max(line);
                excerpt.places.push(place);
            }
            None => {
                excerpts.push(Excerpt {
                    path,
                    source,
                    first: line,
                    last: line,
                    places: vec![place],
                });
            }
        }
    }
    let mut elements: Vec<Element<'static>> =
        excerpts.iter().map(|excerpt| snippet(excerpt, stacks).into()).collect();
    if !words.is_empty() {
        elements.push(Level::NOTE.no_name().message(words.join("\n")).into());
    }
    elements
}

fn snippet(excerpt: &Excerpt<'_, '_>, stacks: &Stacks) -> Snippet<'static, Annotation<'static>> {
    let text = excerpt.source.lines(excerpt.first, excerpt.last).to_owned();
    let annotations: Vec<_> = excerpt
        .places
        .iter()
        .filter_map(|place| {
            let frame = place.frame?;
            let line = frame.line? as usize;
            let before = excerpt.source.lines(excerpt.first, line).len()
                - excerpt.source.lines(line, line).len();
            let within = span::call(excerpt.source.line(line), frame.column);
            let range = before + within.start..before + within.end;
            Some(place.kind.span(range).label(plain(&place.label)))
        })
        .collect();
    Snippet::source(text)
        .line_start(excerpt.first)
        .path(stacks.path(excerpt.path))
        .annotations(annotations)
}
