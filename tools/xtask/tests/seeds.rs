//! docs/lab/seeds.md names what exists: files, the lab's locks, and commands with their options.

use std::path::Path;

use clap::Parser;

/// Words that begin so are files.
const FOLDERS: &[&str] =
    &["guest/", "ledger/", "host/", "locks/", "lab/", "examples/", "include/lockwright"];

#[test]
fn the_documents_seeds_are_where_they_are_said_to_be() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the workspace");
    let page = std::fs::read_to_string(root.join("docs/lab/seeds.md")).expect("docs/lab/seeds.md");
    let (mut files, mut commands) = (0, 0);
    for line in page.lines().filter(|line| line.starts_with('|')) {
        for word in line.split('`').skip(1).step_by(2) {
            if FOLDERS.iter().any(|at| word.starts_with(at)) {
                assert!(root.join(word).exists(), "docs/lab/seeds.md: no {word}");
                files += 1;
            } else if word.starts_with("lockwright") {
                is_a_command(word);
                commands += 1;
            }
        }
    }
    assert!(files > 30 && commands > 30, "{files} files and {commands} commands");
}

fn is_a_command(text: &str) {
    let words = text.split(' ');
    let error = match text.starts_with("lockwright-lab ") {
        true => lockwright_lab_cli::args::Cli::try_parse_from(words).err(),
        false => lockwright_cli::args::Cli::try_parse_from(words).err(),
    };
    if let Some(error) = error {
        panic!("docs/lab/seeds.md: {text}: {error}");
    }
    let lock = text.strip_prefix("lockwright-lab torture ").filter(|lock| !lock.contains('-'));
    if let Some(lock) = lock {
        let known = lockwright_lab::torture::TYPES.iter().any(|type_| type_.name == lock);
        assert!(known || lock == "ww", "docs/lab/seeds.md: no lock is called {lock}");
    }
}
