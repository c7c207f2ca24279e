//! A store, and how it takes effect.

use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

/// What is written, and where. The memory is there as long as the simulation.
#[derive(Clone, Copy, Debug)]
pub enum Write {
    /// A value, to a word of so many bytes.
    Value { address: usize, size: usize, value: u64 },
    /// 0, to the lowest byte of a word.
    Byte(*const AtomicU32),
    /// Nothing: the line is prefetched to be written to.
    Nothing(usize),
}

impl Write {
    pub fn address(self) -> usize {
        match self {
            Self::Value { address, .. } | Self::Nothing(address) => address,
            Self::Byte(word) => word.addr(),
        }
    }

    /// The bytes that it is to.
    pub const fn size(self) -> usize {
        match self {
            Self::Value { size, .. } => size,
            Self::Byte(_) | Self::Nothing(_) => 1,
        }
    }

    pub fn overlaps(self, address: usize, size: usize) -> bool {
        address < self.address() + self.size() && self.address() < address + size
    }

    /// It takes effect. Relaxed, all: one thread of the host runs the whole simulation.
    pub fn apply(self) {
        // SAFETY: placed memory, a fiber's stack, or a user's library: it is there as long as the
        // simulation, aligned as a word of this size, and only used by atomic operations of this
        // thread of the host.
        unsafe {
            match self {
                Self::Value { address, size, value } => match size {
                    1 => AtomicU8::from_ptr(address as *mut u8).store(value as u8, Relaxed),
                    2 => AtomicU16::from_ptr(address as *mut u16).store(value as u16, Relaxed),
                    4 => AtomicU32::from_ptr(address as *mut u32).store(value as u32, Relaxed),
                    _ => AtomicU64::from_ptr(address as *mut u64).store(value, Relaxed),
                },
                Self::Byte(word) => {
                    (*word).fetch_and(!0xff, Relaxed);
                }
                Self::Nothing(_) => {}
            }
        }
    }
}

/// A store that has retired.
#[derive(Clone, Copy, Debug)]
pub struct Posted {
    pub write: Write,
    /// Where.
    pub cpu: u32,
    /// Its line is on its way.
    pub is_served: bool,
}
