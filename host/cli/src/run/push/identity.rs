//! What the profiles of a program go by.

use std::path::Path;

use lockwright_report::lockmeter::push::{Identity, Label};

/// By the user's name for it, or by that of its executable.
pub fn of_program(file: &Path, name: Option<&str>, labels: Vec<Label>) -> Identity {
    let own = || {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let name = Identity::plain_name(&name);
        if name.is_empty() { "unknown".to_owned() } else { name }
    };
    Identity { name: name.map_or_else(own, str::to_owned), labels }
}
