//! The diagnosis in JSON follows its published schema.

#[path = "../../report/tests/schema/mod.rs"]
mod schema;

use std::process::Command;

use schema::{errors, load};
use serde_json::Value;

/// The tool's diagnosis of `subject`.
fn diagnosis(subject: &str) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lockwright"));
    let dir = format!("{}/doctor-{}", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    // As a file, `-` is standard output; the text goes elsewhere.
    command.args(["doctor", "--json", "-", "-o", "/dev/null", "--ledger-dir", &dir, subject]);
    let output = command.output().unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{subject}: {error}: {output:?}"))
}

#[test]
fn the_schema_fits_programs_and_processes() {
    let schema = load("doctor.schema.json");
    for subject in ["/bin/sh", env!("CARGO_BIN_EXE_lockwright"), &std::process::id().to_string()] {
        let value = diagnosis(subject);
        assert_eq!(errors(&schema, &schema, &value, "$"), Vec::<String>::new(), "{value:#}");
    }
}

#[test]
fn the_schema_sees_what_is_wrong() {
    let schema = load("doctor.schema.json");
    let mut value = diagnosis("/bin/sh");
    value["verdict"] = "perhaps".into();
    assert!(!errors(&schema, &schema, &value, "$").is_empty());
}
