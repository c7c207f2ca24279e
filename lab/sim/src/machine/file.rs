//! A machine as a TOML file.

use std::fmt;

use super::Machine;

/// The most CPUs: a line's sharers are bits of a fixed array.
const MOST_CPUS: u32 = 1024;

/// Why a file is no machine.
#[derive(Debug)]
pub struct Unreadable(String);

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Unreadable {}

/// Reads a machine. `name` is what errors call the file.
///
/// # Errors
/// If it is no machine; with the line, where it is one that is wrong.
pub fn parse(name: &str, text: &str) -> Result<Machine, Unreadable> {
    let machine: Machine =
        toml::from_str(text).map_err(|error| at(name, text, error.span(), error.message()))?;
    match wrong(&machine) {
        Some((key, what)) => Err(at(name, text, span_of(text, key), &what)),
        None => Ok(machine),
    }
}

/// An error at the line where a stretch of the text begins.
fn at(name: &str, text: &str, span: Option<std::ops::Range<usize>>, what: &str) -> Unreadable {
    let Some(span) = span else { return Unreadable(format!("{name}: {what}")) };
    let line = text[..span.start.min(text.len())].matches('\n').count() + 1;
    Unreadable(format!("{name}:{line}: {what}"))
}

/// Where a key of `[section]` stands, as `section.key`.
fn span_of(text: &str, key: &str) -> Option<std::ops::Range<usize>> {
    let (section, key) = key.rsplit_once('.').map_or(("", key), |(section, key)| (section, key));
    let (mut begin, mut inside) = (0, section.is_empty());
    for line in text.split_inclusive('\n') {
        if let Some(header) = line.trim().strip_prefix('[') {
            inside = header.trim_end_matches(']').trim() == section;
        } else if inside && line.split('=').next().is_some_and(|at| at.trim() == key) {
            return Some(begin..begin + line.len());
        }
        begin += line.len();
    }
    None
}

/// What no machine can be: the key, and why.
fn wrong(machine: &Machine) -> Option<(&'static str, String)> {
    let Machine { shape, line, instruction, scheduler, hypervisor, .. } = machine;
    let counts = [
        ("shape.sockets", shape.sockets),
        ("shape.complexes", shape.complexes),
        ("shape.cores", shape.cores),
        ("shape.threads", shape.threads),
    ];
    if let Some((key, _)) = counts.iter().find(|(_, count)| !(1..=MOST_CPUS).contains(count)) {
        return Some((key, format!("`{key}` must be from 1 to {MOST_CPUS}")));
    }
    let cpus = counts.iter().map(|(_, count)| u64::from(*count)).product::<u64>();
    if cpus > u64::from(MOST_CPUS) {
        return Some((
            "shape.cores",
            format!("{cpus} hardware threads are more than the {MOST_CPUS} that can be simulated"),
        ));
    }
    let costs = [
        ("line.sibling", line.sibling),
        ("line.complex", line.complex),
        ("line.socket", line.socket),
        ("line.cross", line.cross),
        ("line.memory", line.memory),
        ("line.invalidation", line.invalidation),
        ("line.read_occupancy", line.read_occupancy),
        ("line.last_level", line.last_level),
        ("line.spread", line.spread),
        ("line.hop", line.hop),
        ("instruction.store", instruction.store),
        ("instruction.locked", instruction.locked),
        ("instruction.step", instruction.step),
        ("scheduler.switch_us", scheduler.switch_us),
        ("scheduler.wake_us", scheduler.wake_us),
        ("scheduler.waker_us", scheduler.waker_us),
        ("scheduler.syscall_ns", scheduler.syscall_ns),
        ("scheduler.wakeup_ms", scheduler.wakeup_ms),
        ("scheduler.other_work_us", scheduler.other_work_us),
        ("hypervisor.exit_cycles", hypervisor.exit_cycles),
        ("hypervisor.pause_gap_cycles", hypervisor.pause_gap_cycles),
        ("hypervisor.pause_window_cycles", hypervisor.pause_window_cycles),
        ("hypervisor.poll_start_us", hypervisor.poll_start_us),
        ("hypervisor.poll_most_us", hypervisor.poll_most_us),
    ];
    if let Some((key, _)) = costs.iter().find(|(_, cost)| !(0.0..1e6).contains(cost)) {
        return Some((key, format!("`{key}` must be a cost: 0 or more, below a million")));
    }
    // Time must pass where threads spin and take turns.
    let positive = [
        ("ghz", machine.ghz),
        ("instruction.load", instruction.load),
        ("instruction.pause", instruction.pause),
        ("scheduler.latency_ms", scheduler.latency_ms),
        ("scheduler.min_granularity_ms", scheduler.min_granularity_ms),
        ("scheduler.balance_ms", scheduler.balance_ms),
        ("scheduler.other_work_ms", scheduler.other_work_ms),
        ("scheduler.patience_us", scheduler.patience_us),
        ("hypervisor.pause_window_grow", hypervisor.pause_window_grow),
    ];
    let least = |cost: f64| (0.01..1e6).contains(&cost);
    positive
        .iter()
        .find(|(_, cost)| !least(*cost))
        .map(|(key, _)| (*key, format!("`{key}` must be from 0.01 to a million")))
}

#[cfg(test)]
mod tests {
    use super::super::PRESETS;
    use super::*;

    fn error(old: &str, new: &str) -> String {
        let text = PRESETS[0].text.replacen(old, new, 1);
        assert_ne!(text, PRESETS[0].text);
        parse("box.toml", &text).expect_err("it is wrong").to_string()
    }

    #[test]
    fn a_wrong_value_is_told_with_its_line() {
        let line = |key: &str| {
            let mut lines = PRESETS[0].text.lines();
            lines.position(|line| line.starts_with(key)).expect("a line of its own") + 1
        };
        let sockets = line("sockets");
        assert_eq!(
            error("sockets = 2", "sockets = 0"),
            format!("box.toml:{sockets}: `shape.sockets` must be from 1 to 1024")
        );
        let unknown = error("sockets = 2", "socket = 2");
        assert!(
            unknown.starts_with(&format!("box.toml:{sockets}: unknown field `socket`")),
            "{unknown}"
        );
        let negative = error("pause = 1", "pause = -1");
        assert!(
            negative.starts_with(&format!("box.toml:{}: `instruction.pause`", line("pause"))),
            "{negative}"
        );
        let unfinished = error("sockets = 2", "sockets =");
        assert!(unfinished.starts_with(&format!("box.toml:{sockets}: ")), "{unfinished}");
    }

    #[test]
    fn what_lacks_is_named() {
        let text = error("ghz", "# ghz");
        assert!(text.contains("ghz"), "{text}");
    }
}
