//! Which CPU is where, and how far from another.

use super::Shape;

/// How far two CPUs are from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    /// They are threads of one core, or the same.
    Core,
    /// They share a last-level cache.
    Complex,
    /// They share a socket.
    Socket,
    /// They do not.
    Cross,
}

/// Where CPUs are. They are numbered as Linux does: the first threads of all cores, socket by
/// socket, then the second ones.
#[derive(Clone, Debug)]
pub struct Topology {
    cores: u32,
    complex: u32,
    socket: u32,
    threads: u32,
}

impl Topology {
    /// The topology of a machine of this shape.
    pub const fn new(shape: &Shape) -> Self {
        let socket = shape.complexes * shape.cores;
        Self { cores: shape.sockets * socket, complex: shape.cores, socket, threads: shape.threads }
    }

    /// The core of a CPU.
    pub const fn core(&self, cpu: u32) -> u32 {
        cpu % self.cores
    }

    /// The socket of a core.
    pub const fn socket(&self, core: u32) -> u32 {
        core / self.socket
    }

    /// The part of a socket that a core belongs to, numbered over all sockets.
    pub const fn complex(&self, core: u32) -> u32 {
        core / self.complex
    }

    /// How many cores lie between a core and a place of its complex' ring, the shorter way round.
    pub const fn hops(&self, core: u32, place: u32) -> u32 {
        let apart = (core % self.complex).abs_diff(place % self.complex);
        if apart <= self.complex - apart { apart } else { self.complex - apart }
    }

    /// How many CPUs there are.
    pub const fn cpus(&self) -> u32 {
        self.cores * self.threads
    }

    /// Where thread `n` of a few begins on an idle machine: each goes where least run, so to another socket than the
    /// one before it, and there to another complex; second threads of cores come last.
    pub const fn idlest(&self, n: u32) -> u32 {
        let (sockets, complexes) = (self.cores / self.socket, self.socket / self.complex);
        let (socket, n) = (n % sockets, n / sockets);
        let (complex, n) = (n % complexes, n / complexes);
        let (core, thread) = (n % self.complex, n / self.complex);
        thread * self.cores + socket * self.socket + complex * self.complex + core
    }

    /// How far two cores are apart.
    pub fn between(&self, a: u32, b: u32) -> Distance {
        if a == b {
            Distance::Core
        } else if self.complex(a) == self.complex(b) {
            Distance::Complex
        } else if self.socket(a) == self.socket(b) {
            Distance::Socket
        } else {
            Distance::Cross
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpus_are_numbered_as_linux_does() {
        let shape = Shape { sockets: 2, complexes: 2, cores: 3, threads: 2 };
        let topology = Topology::new(&shape);
        assert_eq!([0, 11, 12, 23].map(|cpu| topology.core(cpu)), [0, 11, 0, 11]);
        assert_eq!(topology.between(0, 0), Distance::Core);
        assert_eq!(topology.between(0, 2), Distance::Complex);
        assert_eq!(topology.between(0, 3), Distance::Socket);
        assert_eq!(topology.between(5, 6), Distance::Cross);
    }

    #[test]
    fn a_ring_is_gone_round_the_shorter_way() {
        let shape = Shape { sockets: 2, complexes: 1, cores: 5, threads: 1 };
        let topology = Topology::new(&shape);
        assert_eq!([0, 1, 2, 3, 4].map(|place| topology.hops(6, place)), [1, 0, 1, 2, 2]);
    }

    #[test]
    fn few_threads_are_far_from_each_other() {
        let shape = Shape { sockets: 2, complexes: 2, cores: 3, threads: 2 };
        let topology = Topology::new(&shape);
        let of: Vec<u32> = (0..topology.cpus()).map(|n| topology.idlest(n)).collect();
        assert_eq!(of[..6], [0, 6, 3, 9, 1, 7]);
        assert_eq!(of[12], 12, "the first core's second thread");
        let mut all = of;
        all.sort_unstable();
        assert_eq!(all, (0..24).collect::<Vec<_>>());
    }
}
