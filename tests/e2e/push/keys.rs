//! What a sample goes by is the same in each run, whichever addresses it had, and after a rebuild.

use std::collections::BTreeSet;
use std::path::Path;

use super::program::{Pushed, meter};
use super::server::{Profile, Server, pushed, well};
use crate::harness::{Scratch, build, program, until};

/// A lock, and the frames that waited for it: the function and its line, or where that is not known the offset.
type Key = (String, Vec<(String, i64)>);

/// The keys of all samples of a run, the build ids of the program's own modules, and the addresses.
fn run(program: &Path) -> (BTreeSet<Key>, BTreeSet<String>, BTreeSet<u64>) {
    let server = Server::start(|_, _| well());
    let scratch = Scratch::new();
    let url = format!("pyroscope+http://{}", server.address);
    let running = Pushed::by(meter(&scratch, &url, &[]), scratch, program);
    until("four pushes", || (server.received().len() >= 4).then_some(()));
    running.end();
    let (mut keys, mut builds, mut addresses) = Default::default();
    for request in server.received() {
        let (profile, ..) = pushed(&request);
        for sample in &profile.sample {
            // Joins depend on which thread ends last.
            let lock = profile.lock(sample);
            if ["journal", "table"].contains(&lock.as_str()) {
                keys_of(&profile, sample, lock, &mut keys, &mut builds, &mut addresses);
            }
        }
    }
    (keys, builds, addresses)
}

fn keys_of(
    profile: &Profile,
    sample: &super::server::Sample,
    lock: String,
    keys: &mut BTreeSet<Key>,
    builds: &mut BTreeSet<String>,
    addresses: &mut BTreeSet<u64>,
) {
    let frames = sample.location.iter().map(|&id| {
        let location = profile.location.iter().find(|it| it.id == id).expect("a location");
        let line = &location.line[0];
        let function = profile.function.iter().find(|it| it.id == line.function).unwrap();
        let file = profile.string(function.file);
        if file.ends_with("pushed.c") {
            let mapping = profile.mapping.iter().find(|it| it.id == location.mapping).unwrap();
            builds.insert(profile.string(mapping.build_id).to_owned());
            addresses.insert(location.address);
        }
        (profile.string(function.name).to_owned(), line.line)
    });
    keys.insert((lock, frames.collect()));
}

#[test]
fn keys_are_the_same_in_each_run_and_after_a_rebuild() {
    // Addresses differ from run to run.
    let flags = ["-pie", "-fPIE"];
    let first = run(&build("pushed.c", &flags));
    let second = run(&build("pushed.c", &flags));
    assert_eq!(first, second);
    let places = |(keys, ..): &(BTreeSet<Key>, BTreeSet<String>, BTreeSet<u64>)| {
        let inner = keys.iter().map(|(lock, frames)| (lock.clone(), frames[0].0.clone()));
        inner.collect::<BTreeSet<_>>()
    };
    let is = |lock: &str, function: &str| (lock.to_owned(), function.to_owned());
    assert_eq!(places(&first), BTreeSet::from([is("journal", "append"), is("table", "insert")]));
    let rebuilt = run(&build("pushed.c", &["-pie", "-fPIE", "-DMOVED", "-O0"]));
    assert_eq!(rebuilt.0, first.0);
    assert!(rebuilt.1 != first.1 && rebuilt.1.len() == 1, "another build id: {:?}", rebuilt.1);
    assert_ne!(rebuilt.2, first.2, "its code is elsewhere");
}

#[test]
fn without_debug_information_the_offset_is_the_key() {
    let stripped = build("pushed.c", &["-pie", "-fPIE", "-s", "-g0"]);
    let first = run(&stripped);
    assert_eq!(first, run(&stripped));
    // The program of the other test has the names.
    let _ = program("pushed.c");
}
