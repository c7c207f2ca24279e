//! Locks and code of modules that are loaded late and gone before the report is made.

use std::fs;

use crate::harness::{
    FOUND, Scratch, build, check, check_with, frames, functions, lock_names, program,
};

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

/// Without symbols, each frame shows the object instead of a function. Its whole path is said once,
/// with what it lacks; in the JSON with each frame.
#[test]
fn an_object_without_symbols_has_a_short_name() {
    let bare = ["-shared", "-fPIC", "-g0", "-s"];
    let plugin = build("plugin.c", &bare);
    let host = build("plugin_host.c", &["-g0", "-s"]);
    let scratch = Scratch::new();
    let page = scratch.join("page.html");
    let run = check_with(&["--html".as_ref(), page.as_os_str()], &host).arg(&plugin).run();
    assert_eq!(run.verdicts()[0], ("circular-dependency", "likely"), "{}", run.stderr);
    let whole = host.to_str().expect("UTF-8");
    assert!(frames(&run.findings()[0]).any(|f| f["module"] == whole), "{}", run.stderr);
    let page = fs::read_to_string(page).expect("the page");
    for object in [&host, &plugin] {
        let (path, name) = (object.to_str().unwrap(), object.file_name().unwrap());
        let name = format!("{}+0x", name.to_str().unwrap());
        assert!(run.stderr.matches(&name).count() > 1, "{name}: {}", run.stderr);
        for line in run.stderr.lines().filter(|line| line.contains(path)) {
            assert!(line.starts_with("note: ") && line.contains(" has no "), "{line}");
        }
        assert!(run.stderr.matches(path).count() <= 1, "{path}: {}", run.stderr);
        assert!(!page.contains(&format!("{path}+0x")), "{path} in the page");
    }
}
