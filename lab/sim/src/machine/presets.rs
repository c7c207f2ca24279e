//! The machines of what was published, and one of today.

use super::{Machine, parse};

/// A machine that is known by name.
#[derive(Debug)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Its file.
    pub text: &'static str,
}

macro_rules! presets {
    ($($name:literal: $about:literal;)*) => {
        /// All of them.
        pub const PRESETS: &[Preset] = &[$(Preset {
            name: $name,
            about: $about,
            text: include_str!(concat!("presets/", $name, ".toml")),
        },)*];
    };
}

presets! {
    "e5-2699v3": "2 sockets of 18 cores, Haswell, no SMT: Long's hybrid pvqspinlock (2017)";
    "e5-2699v3-smt": "2 sockets of 18 cores, Haswell, 72 threads: Long's debugobjects patches (2019)";
    "e5-2620v4": "2 sockets of 8 cores, Broadwell, 32 threads: Long's hybrid pvqspinlock (2017)";
    "e5-2650": "2 sockets of 10 cores, Haswell-EP (v3), 40 threads: Song's rwsem patch (2021)";
    "skylake-22": "1 socket of 22 cores, Skylake-SP, 44 threads: Long's lockdep patches (2018)";
    "broadwell-72": "4 sockets of 18 cores, Broadwell-EX, 144 threads: Long's lockdep patches (2018)";
    "e7-8895v3": "4 sockets of 18 cores, Haswell-EX, 144 threads: CNA's";
    "e7-4830v3": "4 sockets of 12 cores, Haswell-EX, no SMT: LiTL's";
    "pentium3-8": "8 sockets of one core, Pentium III Xeon on a bus: Hansen's BKL patches (2002)";
    "xeon-8580": "2 sockets of 60 cores, Emerald Rapids, 240 threads: parking_lot's change 419";
    "epyc-9654": "2 sockets of 12 complexes of 8 cores, Zen 4, 384 threads";
}

/// The machine of a name.
pub fn named(name: &str) -> Option<Machine> {
    let preset = PRESETS.iter().find(|preset| preset.name == name)?;
    Some(parse(name, preset.text).expect("a test reads all presets"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_machines_and_say_where_their_constants_are_from() {
        for Preset { name, text, .. } in PRESETS {
            let machine = parse(name, text).expect(name);
            assert_eq!(machine.name, *name);
            let values = text.lines().filter(|line| line.contains('=') && !line.starts_with('#'));
            for value in values {
                assert!(value.contains(" # "), "{name}: `{value}` has no source");
            }
        }
        let cpus = |name| named(name).map(|machine| machine.cpus());
        assert_eq!(cpus("e5-2699v3"), Some(36));
        assert_eq!(cpus("broadwell-72"), Some(144));
        assert_eq!(cpus("no such"), None);
    }
}
