//! Cache lines: which CPU has a copy, which may write, and what it costs to get one (MESI, with
//! exclusive and modified as one state, *owned*).
//!
//! ```text
//!   nobody   -- load, store -->  owned
//!   owned    -- load of another core -->  shared by both
//!   shared   -- store, locked instruction -->  owned: all others have given it up
//! ```
//!
//! A line serves one request at a time: a directory holds back requests for a line until the one before is
//! complete. Requests of the socket that has the line do not come to the other sockets' directory, so a few of
//! them go first; else it is first come, first served. A copy of a shared line comes from the last-level cache,
//! and keeps the next request for the read occupancy only; ownership keeps it for the whole transfer.
//! For half of it the request is on its way to the owner, which can still write: a core that has
//! failed to exchange a word can try again at once.

use crate::account::Class;
use crate::machine::{Distance, Machine, Topology};
use crate::time::{Time, nanoseconds};

/// The most cores, as bits of a line's sharers.
pub const MOST_CORES: u32 = 256;
/// No core.
const NONE: u16 = u16::MAX;

/// A scale of 1.
pub const ON_AVERAGE: Time = 1_000;

/// What is done to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Load,
    Store,
    /// A locked read-modify-write, which takes the line also where it fails.
    Exchange,
}

/// Costs in picoseconds.
#[derive(Clone, Debug)]
pub struct Costs {
    distance: [Time; 4],
    memory: Time,
    invalidation: Time,
    occupancy: Time,
    last_level: Time,
    /// Requests that may go before one of another socket.
    pub local_first: u32,
    hop: Time,
    /// What a request of another socket than a line's home's comes later, there and back.
    other_socket: Time,
    /// How far transfers are from the average, in thousandths.
    pub spread: Time,
    pub load: Time,
    pub store: Time,
    pub locked: Time,
}

impl Costs {
    pub fn new(machine: &Machine) -> Self {
        let cycles = |count| nanoseconds(machine.cycles(count));
        let line = &machine.line;
        Self {
            distance: [line.sibling, line.complex, line.socket, line.cross].map(nanoseconds),
            memory: nanoseconds(line.memory),
            invalidation: nanoseconds(line.invalidation),
            occupancy: nanoseconds(line.read_occupancy),
            last_level: nanoseconds(line.last_level),
            local_first: line.local_first,
            hop: nanoseconds(line.hop),
            other_socket: match line.hop > 0.0 {
                true => nanoseconds(line.cross - line.complex),
                false => 0,
            },
            spread: (line.spread * ON_AVERAGE as f64) as Time,
            load: cycles(machine.instruction.load),
            store: cycles(machine.instruction.store),
            locked: cycles(machine.instruction.locked),
        }
    }

    const fn transfer(&self, distance: Distance) -> Time {
        self.distance[distance as usize]
    }
}

/// Cores, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cores([u64; MOST_CORES as usize / 64]);

impl Cores {
    const fn has(&self, core: u32) -> bool {
        self.0[core as usize / 64] & (1 << (core % 64)) != 0
    }

    const fn add(&mut self, core: u32) {
        self.0[core as usize / 64] |= 1 << (core % 64);
    }

    fn iter(&self) -> impl Iterator<Item = u32> {
        (0..).zip(self.0).flat_map(|(word, mut bits)| {
            std::iter::from_fn(move || {
                let bit = (bits != 0).then(|| bits.trailing_zeros())?;
                bits &= bits - 1;
                Some(word * 64 + bit)
            })
        })
    }
}

/// A cache line.
#[derive(Clone, Debug)]
pub struct Line {
    /// The socket that touched it first, where its memory and its directory are.
    home: u32,
    /// Its place in the last-level cache.
    place: u32,
    owner: u16,
    /// The CPU that wrote last, while its sibling has not looked since.
    fresh: Option<u32>,
    sharers: Cores,
    /// Ownership is on its way to somebody, and leaves its owner then.
    leaves: Option<Time>,
    /// Until when the last copy keeps the next request.
    pub free_at: Time,
}

/// What a request costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// How the line comes.
    pub class: Class,
    /// Until the CPU has it.
    pub took: Time,
    /// Nobody else is served until then; otherwise for the read occupancy only.
    pub is_whole: bool,
}

impl Line {
    /// In memory only, of a socket; its number says where in the last-level cache it has its place.
    pub fn new(home: u32, number: usize) -> Self {
        // Neighbours lie apart, as addresses are hashed: the golden ratio's bits.
        let place = ((number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32;
        Self {
            home,
            place,
            owner: NONE,
            fresh: None,
            sharers: Cores::default(),
            leaves: None,
            free_at: 0,
        }
    }

    /// How much later than at once a request of a core comes to where requests are put in order.
    pub fn way(&self, core: u32, topology: &Topology, costs: &Costs) -> Time {
        if topology.socket(core) == self.home {
            costs.hop * Time::from(topology.hops(core, self.place))
        } else {
            // To the link, which is at the first place.
            costs.other_socket + costs.hop * Time::from(topology.hops(core, 0))
        }
    }

    /// Whether a load of the core hits.
    pub fn is_at(&self, core: u32) -> bool {
        u32::from(self.owner) == core || self.sharers.has(core)
    }

    /// The core that has it alone.
    pub fn owner(&self) -> Option<u32> {
        (self.owner != NONE).then(|| self.owner.into())
    }

    /// Whether a request is being served.
    pub const fn is_served(&self) -> bool {
        self.leaves.is_some()
    }

    /// An operation of a CPU whose core has what it takes, and its costs; none if it has not.
    pub fn hit(
        &mut self,
        operation: Operation,
        cpu: u32,
        now: Time,
        topology: &Topology,
        costs: &Costs,
    ) -> Option<Service> {
        let core = topology.core(cpu);
        let own = u32::from(self.owner) == core && self.leaves.is_none_or(|leaves| now < leaves);
        let instruction = match operation {
            Operation::Load if self.is_at(core) => costs.load,
            Operation::Store if own => costs.store,
            Operation::Exchange if own => costs.locked,
            _ => return None,
        };
        let from_sibling = self.fresh.is_some_and(|writer| writer != cpu);
        if operation != Operation::Load {
            self.fresh = Some(cpu);
        } else if from_sibling {
            self.fresh = None;
        }
        let (class, took) = if from_sibling {
            (Class::Sibling, costs.transfer(Distance::Core).max(instruction))
        } else {
            (Class::Hit, instruction)
        };
        Some(Service { class, took, is_whole: false })
    }

    /// Begins to serve the request of a core that has not what it takes.
    /// `scale` is what its transfer takes, in thousandths of what it takes on average.
    pub fn begin(
        &mut self,
        operation: Operation,
        scale: Time,
        cpu: u32,
        now: Time,
        topology: &Topology,
        costs: &Costs,
    ) -> Service {
        let core = topology.core(cpu);
        let mut service = if operation == Operation::Load {
            self.load(core, topology, costs)
        } else {
            let instruction =
                if operation == Operation::Store { costs.store } else { costs.locked };
            let (class, took) = if self.owner == NONE {
                self.take_from_sharers(core, topology, costs)
            } else {
                let distance = topology.between(core, self.owner.into());
                (class_of(distance), costs.transfer(distance))
            };
            Service { class, took: took + instruction, is_whole: true }
        };
        service.took = service.took * scale / ON_AVERAGE;
        if service.is_whole {
            self.leaves = Some(now + service.took / 2);
        } else {
            self.sharers.add(core);
            self.free_at = now + costs.occupancy;
        }
        service
    }

    /// The request that keeps the line has been served.
    pub fn complete(&mut self, operation: Operation, cpu: u32, now: Time, topology: &Topology) {
        let core = topology.core(cpu);
        let from_memory = self.owner == NONE && self.sharers == Cores::default();
        if operation == Operation::Load && !from_memory {
            self.sharers.add(self.owner.into());
            self.sharers.add(core);
            self.owner = NONE;
            self.fresh = None;
        } else {
            // The first copy is exclusive: a store that follows costs nothing more.
            self.owner = core as u16;
            self.sharers = Cores::default();
            self.fresh = (operation != Operation::Load).then_some(cpu);
        }
        self.leaves = None;
        self.free_at = now;
    }

    fn load(&self, core: u32, topology: &Topology, costs: &Costs) -> Service {
        if self.owner != NONE {
            let distance = topology.between(core, self.owner.into());
            let took = costs.transfer(distance);
            return Service { class: class_of(distance), took, is_whole: true };
        }
        match self.sharers.iter().map(|sharer| topology.between(core, sharer)).min() {
            Some(distance) => {
                let took = match distance {
                    Distance::Complex => costs.last_level.min(costs.transfer(distance)),
                    _ => costs.transfer(distance),
                };
                Service { class: class_of(distance), took, is_whole: false }
            }
            None => Service { class: Class::Memory, took: costs.memory, is_whole: true },
        }
    }

    /// The farthest copy takes longest to be given up, and each one more takes a while.
    fn take_from_sharers(&self, core: u32, topology: &Topology, costs: &Costs) -> (Class, Time) {
        let others = self.sharers.iter().filter(|sharer| *sharer != core);
        let (mut count, mut farthest) = (0, None);
        for sharer in others {
            count += 1;
            farthest = farthest.max(Some(topology.between(core, sharer)));
        }
        match farthest {
            None if self.sharers.has(core) => (Class::Upgrade, 0),
            None => (Class::Memory, costs.memory),
            Some(distance) => {
                let class =
                    if self.sharers.has(core) { Class::Upgrade } else { class_of(distance) };
                (class, costs.transfer(distance) + (count - 1) * costs.invalidation)
            }
        }
    }
}

const fn class_of(distance: Distance) -> Class {
    match distance {
        Distance::Core => Class::Sibling,
        Distance::Complex => Class::Complex,
        Distance::Socket => Class::Socket,
        Distance::Cross => Class::Cross,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::named;

    struct Box {
        line: Line,
        topology: Topology,
        costs: Costs,
    }

    impl Box {
        fn new() -> Self {
            let machine = named("broadwell-72").expect("a preset");
            let topology = Topology::new(&machine.shape);
            Self { line: Line::new(0, 0), topology, costs: Costs::new(&machine) }
        }

        /// An operation that nobody disturbs.
        fn access(&mut self, operation: Operation, cpu: u32, now: Time) -> Service {
            let Self { line, topology, costs } = self;
            if let Some(hit) = line.hit(operation, cpu, now, topology, costs) {
                return hit;
            }
            let service = line.begin(operation, ON_AVERAGE, cpu, now, topology, costs);
            if service.is_whole {
                line.complete(operation, cpu, now + service.took, topology);
            }
            service
        }
    }

    #[test]
    fn states_and_what_changes_them() {
        let mut at = Box::new();
        assert_eq!(at.access(Operation::Load, 0, 0).class, Class::Memory);
        assert_eq!(at.access(Operation::Store, 0, 1_000_000).class, Class::Hit, "it was exclusive");
        assert_eq!(at.access(Operation::Load, 72, 2_000_000).class, Class::Sibling);
        assert_eq!(at.access(Operation::Load, 72, 2_500_000).class, Class::Hit);
        assert_eq!(at.access(Operation::Load, 1, 3_000_000).class, Class::Complex);
        assert_eq!(at.access(Operation::Load, 18, 4_000_000).class, Class::Cross);
        assert_eq!(at.access(Operation::Load, 19, 5_000_000).class, Class::Complex, "the nearest");
        assert_eq!(at.access(Operation::Exchange, 1, 6_000_000).class, Class::Upgrade);
        assert!(at.line.is_at(1) && !at.line.is_at(0) && !at.line.is_at(19));
        assert_eq!(at.access(Operation::Exchange, 1, 7_000_000).class, Class::Hit);
    }

    #[test]
    fn requests_of_the_home_socket_and_from_near_come_first() {
        let Box { line, topology, costs } = Box::new();
        let way = |core| line.way(core, &topology, &costs);
        assert_eq!([0, 1, 9, 17].map(way), [0, 1_800, 9 * 1_800, 1_800]);
        assert_eq!([18, 19].map(way), [74_000, 75_800]);
    }

    #[test]
    fn an_invalidation_grows_with_the_sharers() {
        let mut took = Vec::new();
        for sharers in 2..18 {
            let mut at = Box::new();
            for cpu in 0..sharers {
                at.access(Operation::Load, cpu, 0);
            }
            took.push(at.access(Operation::Exchange, 0, 100_000_000).took);
        }
        let steps: Vec<_> = took.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(steps.iter().all(|step| *step == Box::new().costs.invalidation), "{steps:?}");
    }

    #[test]
    fn the_owner_writes_until_the_request_has_come_to_it() {
        let mut at = Box::new();
        at.access(Operation::Store, 0, 0);
        let Box { line, topology, costs } = &mut at;
        let service = line.begin(Operation::Exchange, ON_AVERAGE, 18, 1_000_000, topology, costs);
        assert!(line.is_served());
        let gone = 1_000_000 + service.took / 2;
        let mut writes = |now| line.hit(Operation::Exchange, 0, now, topology, costs).is_some();
        assert!(writes(gone - 1) && !writes(gone));
        assert!(line.hit(Operation::Load, 0, gone, topology, costs).is_some(), "it reads on");
        line.complete(Operation::Exchange, 18, 1_000_000 + service.took, topology);
        assert!(line.hit(Operation::Load, 0, gone, topology, costs).is_none());
    }
}
