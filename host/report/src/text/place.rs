//! Places in the program: as annotated source lines where there is source, and in words.

use std::rc::Rc;

use annotate_snippets::{Annotation, AnnotationKind, Element, Snippet};

use super::span;
use super::stack::{Stacks, function};
use crate::prose::words::plain;
use lockwright_analysis::finding::Frame;
use lockwright_analysis::symbolize::source::{Source, Sources};
use lockwright_analysis::symbolize::wrapper::first_own_frame;

/// Lines between two places of a file beyond which they become two snippets.
const FAR: usize = 500;

/// A place in the program and what happened there.
pub struct Place<'f> {
    frame: Option<&'f Frame>,
    happened: String,
    kind: AnnotationKind,
}

impl<'f> Place<'f> {
    /// The first frame of `stack` that is not a mere wrapper. `happened` is a sentence that "here"
    /// or "in FUNCTION" ends.
    pub fn new(stack: &'f [Frame], happened: String, kind: AnnotationKind) -> Self {
        Self { frame: first_own_frame(stack), happened: plain(&happened), kind }
    }

    /// Its line can be shown.
    pub fn has_source(&self, sources: &Sources) -> bool {
        self.source(sources).is_some()
    }

    /// The event and its function, and the place unless its line can be shown.
    pub fn words(&self, sources: &Sources, stacks: &Stacks) -> String {
        match self.frame {
            Some(Frame { function: Some(name), .. }) if self.has_source(sources) => {
                format!("{} in {}", self.happened, function(name))
            }
            Some(frame @ Frame { function: None, .. }) => {
                format!("{} at {}", self.happened, stacks.frame(frame, None))
            }
            Some(frame) => format!("{} in {}", self.happened, stacks.frame(frame, None)),
            None => format!("{} at an unknown place", self.happened),
        }
    }

    fn source(&self, sources: &Sources) -> Option<(&'f str, u32, Rc<Source>)> {
        let frame = self.frame?;
        let (path, line) = frame.file.as_deref().zip(frame.line)?;
        Some((path, line, sources.of(frame)?))
    }
}

/// Places that go into one snippet.
struct Excerpt<'p, 'f> {
    path: &'f str,
    source: Rc<Source>,
    first: usize,
    last: usize,
    places: Vec<&'p Place<'f>>,
}

/// The source lines of these places, in their order; those near each other in one file share a
/// snippet.
pub fn snippets(places: &[Place<'_>], sources: &Sources, stacks: &Stacks) -> Vec<Element<'static>> {
    let mut excerpts: Vec<Excerpt<'_, '_>> = Vec::new();
    for place in places {
        let Some((path, line, source)) = place.source(sources) else { continue };
        let line = line as usize;
        let near = excerpts.iter_mut().find(|excerpt| {
            excerpt.path == path && line + FAR >= excerpt.last && line <= excerpt.first + FAR
        });
        match near {
            Some(excerpt) => {
                excerpt.first = excerpt.first.min(line);
                excerpt.last = excerpt.last.max(line);
                excerpt.places.push(place);
            }
            None => excerpts.push(Excerpt {
                path,
                source,
                first: line,
                last: line,
                places: vec![place],
            }),
        }
    }
    excerpts.iter().map(|excerpt| snippet(excerpt, stacks).into()).collect()
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
            Some(place.kind.span(range).label(format!("{} here", place.happened)))
        })
        .collect();
    Snippet::source(text)
        .line_start(excerpt.first)
        .path(stacks.path(excerpt.path))
        .annotations(annotations)
}
