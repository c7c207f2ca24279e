//! Locks and code of modules that are loaded late and gone before the report is made.

use crate::harness::{FOUND, build, check, frames, functions, lock_names, program};

#[test]
fn a_lock_in_a_dlopened_module() {
    let plugin = build("plugin.c", &["-shared", "-fPIC"]);
    let run = check(program("plugin_host.c")).arg(&plugin).run();
    assert_eq!(run.text(), "the end\n", "{}", run.stderr);
    let verdicts = [("circular-dependency", "likely"), ("callback-with-lock-held", "ordered")];
    assert_eq!(run.verdicts(), verdicts, "{}", run.stderr);
    let finding = &run.findings()[0];
    assert_eq!(lock_names(finding), ["host_lock", "plugin_lock"]);
    let functions = functions(finding);
    assert!(
        functions.contains(&"plugin_poke") && functions.contains(&"plugin_run"),
        "{functions:?}"
    );
    let in_plugin = frames(finding).find(|f| f["function"] == "plugin_poke").expect("seen above");
    assert_eq!(in_plugin["module"].as_str(), plugin.to_str());
    assert!(in_plugin["file"].as_str().is_some_and(|f| f.ends_with("tests/programs/plugin.c")));
    assert!(in_plugin["line"].as_u64().is_some_and(|line| line > 0));
    assert_eq!(run.code(), FOUND);
}
