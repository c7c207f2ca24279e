//! A process of which something is counted, as it was when it was met.

use std::fs;
use std::path::PathBuf;

use crate::run::attach::{ProcessMemory, maps_of, root_of};
use lockwright_analysis::attached::{Maps, Memory};
use lockwright_analysis::traced::Place;

/// A process, as it was when something of it was met last that was not known before.
pub struct Process {
    pid: u32,
    pub command: String,
    pub root: PathBuf,
    memory: Option<ProcessMemory>,
    pub maps: Maps,
}

impl Process {
    /// Looks at it; knows nothing of one that is gone or not ours.
    pub fn of(pid: u32) -> Self {
        let command = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let mut process = Self {
            pid,
            command: command.trim_end().to_owned(),
            root: root_of(pid),
            memory: ProcessMemory::open(pid).ok(),
            maps: Maps::default(),
        };
        process.look();
        process
    }

    fn look(&mut self) {
        let Some(memory) = &self.memory else { return };
        let maps = fs::read(format!("/proc/{}/maps", self.pid)).unwrap_or_default();
        // One that has ended since has none.
        if !maps.is_empty() {
            self.maps = maps_of(self.pid, &maps, &self.root, memory);
        }
    }

    /// Looks again, if a place is in what was not there before, or its stack names such.
    pub fn meet(&mut self, place: &Place) {
        let is_known = |address: u64| self.maps.at(address).is_some();
        // Threads' stacks come with them.
        if !is_known(place.pc) || !is_known(place.sp) {
            self.look();
        }
    }
}

impl Memory for Process {
    fn read(&self, address: u64, to: &mut [u8]) -> bool {
        self.memory.as_ref().is_some_and(|memory| memory.read(address, to))
    }
}
