//! Source lines round a place, the call marked.

use maud::{Markup, html};

use super::Context;
use crate::prose::words::plain;
use crate::text::span;
use lockwright_analysis::finding::Frame;
use lockwright_analysis::symbolize::wrapper::first_own_frame;

/// Lines shown before and after the one meant.
const ROUND: usize = 2;

/// Longer lines are cut: generated code has such.
const WIDTH: usize = 160;

/// The lines round the first own frame of a stack, if their file is there.
pub fn show(context: &Context<'_>, stack: &[Frame]) -> Option<Markup> {
    let frame = first_own_frame(stack)?;
    let (path, line) = frame.file.as_deref().zip(frame.line)?;
    let source = context.sources.of(frame)?;
    let line = line as usize;
    let first = line.saturating_sub(ROUND).max(1);
    let last = (line + ROUND).min(source.line_count());
    let text = source.line(line);
    let call = span::call(text, frame.column);
    let path = context.stacks.path(path);
    // In a narrow window it is the folder that is cut.
    let (folder, name) = path.split_at(path.rfind('/').map_or(0, |at| at + 1));
    Some(html! {
        figure.source {
            figcaption title=(format!("{path}:{line}")) {
                span.folder { (folder) } span.file { (name) ":" (line) }
            }
            pre { code {
                @for number in first..=last {
                    span .l .here[number == line] {
                        span.no { (number) } " "
                        @if number == line && call.end <= WIDTH {
                            (clean(&text[..call.start])) mark { (clean(&text[call.clone()])) }
                            (cut(&clean(&text[call.end..])))
                        } @else { (cut(&clean(source.line(number)))) }
                        "\n"
                    }
                }
            } }
        }
    })
}

fn clean(line: &str) -> String {
    plain(&line.replace('\t', "    "))
}

fn cut(line: &str) -> String {
    if line.chars().count() <= WIDTH {
        return line.to_owned();
    }
    let head: String = line.chars().take(WIDTH).collect();
    format!("{head} ...")
}
