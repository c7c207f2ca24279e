//! The memory of another process.

/// Reads memory of a process, or a copy of some of it.
pub trait Memory {
    /// Fills `to` from `address`. False if not all of it can be read.
    fn read(&self, address: u64, to: &mut [u8]) -> bool;

    /// The 8 bytes at `address`.
    fn u64(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes).then(|| u64::from_le_bytes(bytes))
    }

    /// The 4 bytes at `address`.
    fn u32(&self, address: u64) -> Option<u32> {
        let mut bytes = [0; 4];
        self.read(address, &mut bytes).then(|| u32::from_le_bytes(bytes))
    }
}

/// Part of a stack that was copied at some time, and the process for all else: what its modules
/// hold does not change.
#[derive(Debug)]
pub struct Copied<'m, M> {
    /// Address of the first byte.
    pub start: u64,
    /// What was there.
    pub bytes: &'m [u8],
    /// The process.
    pub rest: &'m M,
}

impl<M: Memory> Memory for Copied<'_, M> {
    fn read(&self, address: u64, to: &mut [u8]) -> bool {
        let offset =
            address.checked_sub(self.start).and_then(|offset| usize::try_from(offset).ok());
        let copied = offset.and_then(|offset| self.bytes.get(offset..)?.get(..to.len()));
        match copied {
            Some(bytes) => to.copy_from_slice(bytes),
            None => return self.rest.read(address, to),
        }
        true
    }
}
