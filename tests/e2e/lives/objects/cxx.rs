//! Objects as C++ has them: in classes, arrays and containers, made by new and ended by delete.

use crate::harness::{FOUND, check, check_with, functions, native, program};

const SOURCE: &str = "object_lives.cc";

#[test]
fn a_condition_variable_is_deleted_while_it_is_waited_on() {
    let run = check(program(SOURCE)).arg("waited").run();
    assert_eq!(run.verdicts(), [("object-destroyed-active", "likely")], "{}", run.stderr);
    assert_eq!(run.text(), "the end\n");
    assert_eq!(run.code(), FOUND);
}

#[test]
fn a_destructor_that_forgets_is_untidy() {
    let run = check_with(&["--all"], program(SOURCE)).arg("forgetful").run();
    assert!(run.findings().is_empty(), "{}", run.stderr);
    let [left] = run.untidy() else { panic!("{}", run.stderr) };
    assert_eq!(left["kind"], "object-never-destroyed");
    let has = |name: &str| functions(left).iter().any(|function| function.contains(name));
    assert!(has("Forgetful::Forgetful"), "where it was initialised: {left:#}");
    assert_eq!(run.code(), 0);
}

#[test]
fn lives_as_the_standard_library_has_them_are_no_finding() {
    for how in ["clean", "throws"] {
        let natively = native(program(SOURCE)).arg(how).run();
        let run = check_with(&["--all"], program(SOURCE)).arg(how).run();
        assert!(run.findings().is_empty() && run.untidy().is_empty(), "{how}: {}", run.stderr);
        assert_eq!(run.text(), natively.text(), "{how}");
        assert_eq!(run.code(), 0, "{how}: {}", run.stderr);
    }
}
