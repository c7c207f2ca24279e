//! Call stacks: the first frame in full, the callers below it.

use maud::{Markup, html};

use super::Context;
use super::words::short_path;
use crate::prose::words::{count, plain};
use crate::text::stack::{function as in_words, is_runtime};
use lockwright_analysis::finding::Frame;
use lockwright_analysis::symbolize::wrapper::own_frames;

/// Callers shown of one stack.
const MOST: usize = 12;

/// The frames of the program's own code, the innermost first.
pub fn list(context: &Context<'_>, stack: &[Frame]) -> Markup {
    let own = own_frames(stack);
    let told: Vec<&Frame> = own
        .iter()
        .enumerate()
        .filter(|(index, frame)| *index == 0 || !is_runtime(frame))
        .map(|(_, frame)| frame)
        .collect();
    html! {
        @if told.is_empty() { p.quiet { "at an unknown place" } }
        @else {
            ol.stack {
                @for frame in told.iter().take(MOST) { li { (one(context, frame)) } }
                @if told.len() > MOST {
                    li.quiet { "and " (count((told.len() - MOST) as u64, "more caller")) }
                }
            }
        }
    }
}

/// One frame: the function, and where.
pub fn one(context: &Context<'_>, frame: &Frame) -> Markup {
    let function = frame.function.as_deref().map(in_words);
    let place = match (&frame.file, frame.line) {
        (Some(file), Some(line)) => format!("{}:{line}", short_path(&context.stacks.path(file))),
        _ => {
            let module = frame.module.as_deref().map_or_else(|| "no module".to_owned(), plain);
            let module = module.rsplit('/').next().unwrap_or(&module).to_owned();
            format!("{module}+{:#x}", frame.offset)
        }
    };
    html! {
        @if let Some(function) = function { code.fn { (function) } " " }
        span.at { (place) }
    }
}

/// The first frame of the program's own code, in one line.
pub fn place(context: &Context<'_>, stack: &[Frame]) -> Markup {
    match own_frames(stack).first() {
        Some(frame) => one(context, frame),
        None => html! { span.quiet { "an unknown place" } },
    }
}
