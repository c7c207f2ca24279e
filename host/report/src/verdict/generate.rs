//! The rule that matches one finding, for people to paste into a file.

use std::fmt::Write;

use super::identity;
use crate::glob;
use crate::prose::told;
use crate::prose::words;
use crate::text::stack::is_runtime;
use lockwright_analysis::finding::{Finding, Frame, LockInfo};
use lockwright_analysis::symbolize::portable::portable;
use lockwright_analysis::symbolize::wrapper::own_frames;

/// The text of the rules for these findings, each rule once.
pub fn rules<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> String {
    let mut bodies: Vec<String> = Vec::new();
    let mut text = String::new();
    for finding in findings {
        let body = body(finding);
        if bodies.contains(&body) {
            continue;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "[{}]",
            identity::without_addresses(&words::plain(&told(finding).title))
        );
        text += &body;
        bodies.push(body);
    }
    text
}

/// All of the rule but its name: kind, classes, and the functions of each stack. No grade, for how
/// sure a finding is may differ from run to run.
fn body(finding: &Finding) -> String {
    let mut text = format!("kind: {}\n", finding.kind.name());
    let mut classes: Vec<String> = finding.locks.iter().map(class_pattern).collect();
    classes.sort();
    classes.dedup();
    for class in classes.iter().filter(|class| !class.is_empty()) {
        let _ = writeln!(text, "class: {class}");
    }
    // The steps that led to a misuse may differ from run to run.
    let steps = match finding.kind.is_misuse() {
        true => finding.steps.get(..1).unwrap_or_default(),
        false => &finding.steps,
    };
    let mut stacks: Vec<String> = Vec::new();
    for step in steps {
        let part = step.held.iter().filter(|held| held.lock.is_some()).map(|held| &held.stack);
        stacks.extend(part.chain([&step.stack]).map(|stack| lines(stack)));
    }
    stacks.sort();
    stacks.dedup();
    for stack in stacks.iter().filter(|stack| !stack.is_empty()) {
        let _ = write!(text, "stack:\n{stack}");
    }
    text
}

/// The pattern for the class of a lock.
fn class_pattern(lock: &LockInfo) -> String {
    match identity::class_of_any_run(lock) {
        (name, false) => pattern(&portable(name)),
        (name, true) => pattern(name.trim_end()) + " *",
    }
}

/// The reader's own functions of a stack: which functions of libraries are round and between them
/// depends on the library and on what the compiler inlined. A rule is matched with stacks without
/// these, too.
fn lines(stack: &[Frame]) -> String {
    let own = own_frames(stack);
    let mut text = String::new();
    if own.len() < stack.len() {
        text += "    ...\n";
    }
    for frame in own.iter().filter(|frame| !is_runtime(frame)) {
        let _ = writeln!(text, "    {}", pattern(&identity::portable_frame(frame)));
    }
    if text == "    ...\n" { String::new() } else { text }
}

/// The pattern for a name, which stays right when lines are added above.
fn pattern(name: &str) -> String {
    let mut text = identity::steady(&words::plain(name), "*", glob::escaped);
    // Not to be taken for a comment, nor for any number of frames, nor trimmed.
    if text == "..." || text.starts_with('#') {
        text.insert(0, '\\');
    }
    // Nor for a function and its module.
    text = text.replace(" in ", " \\in ");
    if text.starts_with(' ') {
        text.replace_range(..1, "?");
    }
    if text.ends_with(' ') {
        text.replace_range(text.len() - 1.., "?");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::Policy;
    use super::super::rule::Source;
    use super::super::suppressions::parse;
    use super::*;
    use lockwright_analysis::finding::Details;
    use lockwright_analysis::finding::action::{Access, Action};
    use lockwright_analysis::finding::lock_kind::{LockKind, Subject};
    use lockwright_analysis::finding::order::{Fault, OrderFault};
    use lockwright_analysis::finding::{
        Grade, HeldLock, Kind, LockInfo, LockOrigin, Name, Report, Step, ThreadInfo,
    };

    fn stack(names: &[&str]) -> Vec<Frame> {
        let frame = |name: &&str| Frame {
            function: (!name.is_empty()).then(|| (*name).to_owned()),
            module: Some("/usr/lib/libpool.so.2".into()),
            ..Frame::default()
        };
        names.iter().map(frame).collect()
    }

    fn lock(class: &str) -> LockInfo {
        LockInfo {
            name: Name::symbol(format!("{class} at 0x7f00")),
            class: Name::symbol(class),
            class_by_place: None,
            kind: Subject::Lock(LockKind::Mutex),
            addr: Some(0x7f00),
            created: vec![],
            origin: LockOrigin::Init,
        }
    }

    /// Two locks, taken by these functions.
    fn finding(classes: [&str; 2], functions: [&[&str]; 2]) -> Finding {
        let step = |lock: usize| Step {
            thread: ThreadInfo { name: String::new(), tid: 7, number: 1 },
            lock,
            action: Action::Acquires { access: Access::Exclusive, timed: false },
            held: vec![HeldLock {
                lock: Some(1 - lock),
                name: Name::symbol("x"),
                stack: stack(functions[lock]),
            }],
            stack: stack(functions[lock]),
        };
        Finding {
            kind: Kind::CircularDependency,
            grade: Grade::Likely,
            details: Details::Order(OrderFault {
                fault: Fault::Cycle,
                evidence: Vec::new(),
                remedies: Vec::new(),
            }),
            locks: classes.map(lock).into(),
            steps: vec![step(0), step(1)],
            pid: 1,
            process: None,
            origins: Vec::new(),
            confirmation: None,
            also: 0,
        }
    }

    fn report(findings: Vec<Finding>) -> Report {
        Report { findings, ..Report::default() }
    }

    #[test]
    fn a_rule_matches_the_finding_that_it_was_made_of_and_no_other() {
        let findings = [
            finding(["a", "b"], [&["f", "main"], &["g", "main"]]),
            finding(["a", "b"], [&["f", "main"], &["h", "main"]]),
            finding(["a", "c"], [&["f", "main"], &["g", "main"]]),
            finding(["a*", "b"], [&["f", "main"], &["g", "main"]]),
            finding(["a", "b"], [&["f(char*, int?)", r"\x"], &["...", "# g"]]),
            finding(["a", "b"], [&["", ""], &["g", ""]]),
            finding(
                ["a", "mutex of class 3"],
                [&["std::mutex::lock", "f", "start_thread"], &["g"]],
            ),
            finding(
                ["mutex initialised at p.c:9 (init)", "b"],
                [&["pthread_mutex_lock"], &["g\n"]],
            ),
        ];
        for (i, finding) in findings.iter().enumerate() {
            let text = rules([finding]);
            assert!(!text.contains("0x"), "{text}");
            let rules = parse(Source::File, "x.supp", &text)
                .unwrap_or_else(|error| panic!("{text}{error}"));
            assert_eq!(rules.len(), 1, "{text}");
            let policy = Policy { rules, baseline: None };
            let report = report(findings.to_vec());
            let judged = policy.judge(&report);
            let suppressed: Vec<usize> =
                (0..findings.len()).filter(|&j| judged.standings[j].suppressed.is_some()).collect();
            assert_eq!(suppressed, [i], "{text}");
        }
    }

    #[test]
    fn rules_of_all_findings_leave_none_and_are_all_of_use() {
        let same = || finding(["a", "b"], [&["f", "main"], &["g", "main"]]);
        let report = report(vec![same(), same(), finding(["a", "c"], [&["f"], &["g"]])]);
        let policy = Policy::default();
        let text = policy.judge(&report).generated(false);
        let policy =
            Policy { rules: parse(Source::File, "x.supp", &text).unwrap(), baseline: None };
        let judged = policy.judge(&report);
        assert_eq!(judged.counted().count(), 0, "{text}");
        assert_eq!(judged.rules.iter().map(|rule| rule.1).collect::<Vec<_>>(), [2, 1], "{text}");
        assert_eq!(
            judged.remarks(true).parts,
            ["2 suppressed by x.supp:1 and 1 suppressed by x.supp:12"]
        );
        assert!(judged.remarks(true).notes.is_empty());
    }

    #[test]
    fn a_rule_outlives_another_compiler() {
        // As gcc without and with optimisation, clang, and rustc's two manglings have them.
        let unoptimised: &[&str] = &[
            "std::mutex::lock",
            "bank::turns<int>(int)::{lambda()#1}::operator() const",
            "std::__invoke_impl<void, bank::turns<int>(int)::{lambda()#1}>",
            "std::function<void ()>::operator() const",
            "Pool<int, std::allocator<int> >::run",
            "std::thread::_State_impl<std::thread::_Invoker<std::tuple<int> > >::_M_run",
            "main",
        ];
        let optimised: &[&str] = &["bank::turns::$_0::operator()", "Pool<int>::run", "main"];
        let legacy: &[&str] = &[
            "lockwright::sync::mutex::Mutex<T>::lock",
            "app::Job<T>::run::{{closure}}",
            "<core::panic::unwind_safe::AssertUnwindSafe<F> as core::ops::function::FnOnce<()>>::call_once",
            "app::start",
        ];
        let v0: &[&str] = &["<app::Job<u32>>::run::{closure#0}", "app::start::<u32>"];
        for (one, other) in [(unoptimised, optimised), (legacy, v0)] {
            for (from, to) in [(one, other), (other, one)] {
                let [before, after] = [from, to].map(|names| finding(["a", "b"], [names, &["g"]]));
                let text = rules([&before]);
                for noise in ["#", "<", "std::", "core::", "$_"] {
                    assert!(!text.contains(noise), "{text}");
                }
                let rules = parse(Source::File, "x.supp", &text).unwrap();
                assert!(rules[0].matches(&before), "{text}");
                assert!(rules[0].matches(&after), "{text}");
                assert_eq!(identity::fingerprint(&before), identity::fingerprint(&after), "{text}");
                let another = finding(["a", "b"], [&["bank::other", "main"], &["g"]]);
                assert!(!rules[0].matches(&another), "{text}");
            }
        }
    }

    #[test]
    fn a_rule_outlives_an_edit() {
        let before = finding(["mutex initialised at p.c:9 (init)", "b"], [&["f"], &["g"]]);
        let after = finding(["mutex initialised at p.c:12 (init)", "b"], [&["f"], &["g"]]);
        let rules = parse(Source::File, "x.supp", &rules([&before])).unwrap();
        assert!(rules[0].matches(&after));
        assert_eq!(identity::fingerprint(&before), identity::fingerprint(&after));
    }

    #[test]
    fn which_thread_came_first_does_not_matter() {
        let found = |place: &str| {
            let name = format!("mutex first taken at {place}");
            let mut found = finding([&name, "b"], [&["f"], &["g"]]);
            for lock in &mut found.locks {
                lock.origin = LockOrigin::FirstAcquisition;
            }
            found
        };
        let (before, after) = (found("p.c:9 (put)"), found("q.c:4 (get)"));
        let text = rules([&before]);
        assert!(text.contains("class: mutex first taken at *\n"), "{text}");
        assert!(text.contains("class: b\n"), "{text}");
        let rules = parse(Source::File, "x.supp", &text).unwrap();
        assert!(rules[0].matches(&after), "{text}");
        assert_eq!(identity::fingerprint(&before), identity::fingerprint(&after));
        // The place of an init call is the same in each run.
        let named = |place: &str| {
            finding([&format!("mutex initialised at {place}"), "b"], [&["f"], &["g"]])
        };
        let [one, other] = [named("p.c:9 (put)"), named("q.c:4 (get)")];
        assert_ne!(identity::fingerprint(&one), identity::fingerprint(&other));
    }
}
