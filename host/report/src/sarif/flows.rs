//! Each thread's actions, as SARIF's code flows: one thread flow for each thread of a finding.

use serde::Serialize;

use super::message::Message;
use super::places::{self, Location, Places};
use crate::prose::words;
use lockwright_analysis::finding::action::Action;
use lockwright_analysis::finding::{Finding, Frame};

/// codeFlow (3.36).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CodeFlow {
    thread_flows: Vec<ThreadFlow>,
}

/// threadFlow (3.37).
#[derive(Serialize)]
struct ThreadFlow {
    id: String,
    message: Message,
    locations: Vec<Stop>,
}

/// threadFlowLocation (3.38).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Stop {
    location: Location,
    #[serde(skip_serializing_if = "Option::is_none")]
    stack: Option<Stack>,
    kinds: &'static [&'static str],
    /// So many locks of the finding the thread holds already.
    nesting_level: usize,
    importance: &'static str,
}

/// stack (3.44).
#[derive(Serialize)]
struct Stack {
    frames: Vec<StackFrame>,
}

/// stackFrame (3.45).
#[derive(Serialize)]
struct StackFrame {
    location: Location,
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<String>,
}

/// The code flow of a finding; none if it has no steps.
pub fn of(finding: &Finding, places: &Places) -> Vec<CodeFlow> {
    // By who it is, in words: threads of several processes may have one number.
    let mut threads: Vec<(String, Vec<Stop>)> = Vec::new();
    for (number, step) in finding.steps.iter().enumerate() {
        let mut stops = Vec::new();
        for held in places::part(step) {
            let location = places.stack(&held.stack, places::taken(step, held));
            stops.push(Stop {
                location,
                stack: stack(&held.stack, places),
                kinds: &["acquire", "lock"],
                nesting_level: stops.len(),
                importance: "essential",
            });
        }
        stops.push(Stop {
            location: places.of_step(finding, step),
            stack: stack(&step.stack, places),
            kinds: kinds(step.action),
            nesting_level: stops.len(),
            importance: "essential",
        });
        let who = words::who(finding, number);
        match threads.iter_mut().find(|(known, _)| *known == who) {
            Some((_, all)) => all.extend(stops),
            None => threads.push((who, stops)),
        }
    }
    if threads.is_empty() {
        return Vec::new();
    }
    let flow = |(i, (who, locations)): (usize, (String, Vec<Stop>))| ThreadFlow {
        id: format!("{}", i + 1),
        message: Message::new(words::plain(&who)),
        locations,
    };
    vec![CodeFlow { thread_flows: threads.into_iter().enumerate().map(flow).collect() }]
}

/// SARIF's words for an action.
fn kinds(action: Action) -> &'static [&'static str] {
    match action {
        Action::Unlocks => &["release", "lock"],
        Action::Acquires { .. }
        | Action::Reacquires
        | Action::WaitsFor
        | Action::NeverUnlocks(_)
        | Action::Took(_)
        | Action::TookInParent => &["acquire", "lock"],
        _ => &["lock"],
    }
}

fn stack(frames: &[Frame], places: &Places) -> Option<Stack> {
    let frame = |frame: &Frame| StackFrame {
        location: places.frame(frame, None),
        module: frame.module.as_deref().map(words::plain),
    };
    (!frames.is_empty()).then(|| Stack { frames: frames.iter().map(frame).collect() })
}
