//! Which engines the preload library is to run in the program, and how.

use std::process::Command;

use crate::args::MeteringArgs;

/// The engines of a run.
#[derive(Clone, Copy, Debug)]
pub struct Engines<'a> {
    /// Lock orders and misuse.
    pub lockdep: bool,
    /// The checker of objects' lives.
    pub objects: bool,
    /// The lock statistics.
    pub lockmeter: Option<&'a MeteringArgs>,
    /// lockmeter also counts bounces, and looks for the shortest holds.
    pub bounces: bool,
    /// lockmeter also records a timeline of so many bytes.
    pub timeline: Option<u64>,
    /// Where memory is allocated is tracked, for the names of locks in it.
    pub allocations: bool,
}

impl Engines<'_> {
    /// Tells the library in `command`, whatever an outer lockwright told this process.
    pub fn tell(&self, command: &mut Command) {
        let names = [
            self.lockdep.then_some("lockdep"),
            self.objects.then_some("debugobjects"),
            self.lockmeter.is_some().then_some("lockmeter"),
        ];
        let names: Vec<&str> = names.into_iter().flatten().collect();
        command.env("LOCKWRIGHT_ENGINES", names.join(","));
        command.env_remove("LOCKWRIGHT_HOLD").env_remove("LOCKWRIGHT_INSTANCES");
        command.env_remove("LOCKWRIGHT_BOUNCES").env_remove("LOCKWRIGHT_TIMELINE");
        match self.allocations {
            true => command.env("LOCKWRIGHT_TRACK_ALLOCATIONS", "1"),
            false => command.env_remove("LOCKWRIGHT_TRACK_ALLOCATIONS"),
        };
        if let Some(args) = self.lockmeter {
            command.env("LOCKWRIGHT_HOLD", args.hold.to_string());
            if args.instances {
                command.env("LOCKWRIGHT_INSTANCES", "1");
            }
            if self.bounces {
                command.env("LOCKWRIGHT_BOUNCES", "1");
            }
            if let Some(bytes) = self.timeline {
                command.env("LOCKWRIGHT_TIMELINE", (bytes >> 10).to_string());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::HoldTiming;

    #[test]
    fn the_library_is_told_all_it_has_to_know() {
        let told = |engines: Engines<'_>| {
            let mut command = Command::new("true");
            engines.tell(&mut command);
            let text = |value: Option<&std::ffi::OsStr>| value?.to_str().map(str::to_owned);
            command
                .get_envs()
                .map(|(name, value)| (name.to_str().unwrap().to_owned(), text(value)))
                .collect::<Vec<_>>()
        };
        let pair = |name: &str, value: Option<&str>| (name.to_owned(), value.map(str::to_owned));
        let metering = MeteringArgs { hold: HoldTiming::Sample(9), instances: true, listen: None };
        let all = told(Engines {
            lockdep: true,
            objects: true,
            lockmeter: Some(&metering),
            bounces: true,
            timeline: Some(3 << 20),
            allocations: true,
        });
        let expected = [
            pair("LOCKWRIGHT_BOUNCES", Some("1")),
            pair("LOCKWRIGHT_ENGINES", Some("lockdep,debugobjects,lockmeter")),
            pair("LOCKWRIGHT_HOLD", Some("sample:9")),
            pair("LOCKWRIGHT_INSTANCES", Some("1")),
            pair("LOCKWRIGHT_TIMELINE", Some("3072")),
            pair("LOCKWRIGHT_TRACK_ALLOCATIONS", Some("1")),
        ];
        assert_eq!(all, expected);
        let expected = [
            pair("LOCKWRIGHT_BOUNCES", None),
            pair("LOCKWRIGHT_ENGINES", Some("lockdep")),
            pair("LOCKWRIGHT_HOLD", None),
            pair("LOCKWRIGHT_INSTANCES", None),
            pair("LOCKWRIGHT_TIMELINE", None),
            pair("LOCKWRIGHT_TRACK_ALLOCATIONS", None),
        ];
        let one = Engines {
            lockdep: true,
            objects: false,
            lockmeter: None,
            bounces: false,
            timeline: None,
            allocations: false,
        };
        assert_eq!(told(one), expected);
    }
}
