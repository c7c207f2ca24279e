//! Readers that wait for readers, through a writer that waits between them: only where a lock has
//! new readers wait behind it.

use crate::harness::{FOUND, check, program};

#[test]
fn readers_wait_behind_writers_where_the_kind_says_so() {
    let nothing: &[(&str, &str)] = &[];
    for (how, kind, verdicts) in [
        ("twice", "nonrecursive", [("recursive-locking", "likely")].as_slice()),
        ("twice", "default", nothing),
        ("twice", "writer", nothing),
        ("both", "nonrecursive", &[("circular-dependency", "likely")]),
        ("both", "default", nothing),
        ("both", "writer", nothing),
        ("alone", "nonrecursive", nothing),
    ] {
        let run = check(program("readers.c")).args([how, kind]).run();
        assert_eq!(run.text(), "the end\n", "{how} {kind}");
        assert_eq!(run.verdicts(), verdicts, "{how} {kind}: {}", run.stderr);
        assert_eq!(run.code(), if verdicts.is_empty() { 0 } else { FOUND }, "{how} {kind}");
    }
}

/// libstdc++ makes a std::shared_mutex of glibc's default kind, whose readers never wait for readers.
#[test]
fn readers_of_a_shared_mutex_wait_for_writers_only() {
    let nothing: &[(&str, &str)] = &[];
    for (how, verdicts) in
        [("twice", nothing), ("both", nothing), ("writer", &[("circular-dependency", "likely")])]
    {
        let run = check(program("cxx_readers.cc")).arg(how).run();
        assert_eq!(run.text(), "the end\n", "{how}");
        assert_eq!(run.verdicts(), verdicts, "{how}: {}", run.stderr);
        assert_eq!(run.code(), if verdicts.is_empty() { 0 } else { FOUND }, "{how}");
    }
}
