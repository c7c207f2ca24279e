//! Locks that a compiler has inlined (Rust's `std::sync`, `parking_lot`): where a module takes and releases them, and the code
//! that is called there instead. The command finds the places and writes a table for each module among the ledgers; the
//! library checks each place's bytes and puts a call at it.
//!
//! A file is a [`Header`], its [`Place`]s, its [`Relocation`]s, and then a block of code for x86-64. The block begins
//! with a table of pointers, [`SLOTS`] words, which the library fills in: code calls the hooks through it. At each place a
//! call of 5 bytes to the place's entry in the block is put, and what is left of the bytes there is never run.
//!
//! At every call of a hook, and at every call that returns into the block, the stack is [`DEPTH`] bytes deeper than
//! where the place's own call left it: `[rsp + DEPTH]` is that call's return address, which is the call site.
//! A hook has the lock's address in `rdi` and the flags of the acquisition in `esi`, as [`flag`] has them; [`Hook::Releases`] has no
//! flags. What it changes say [`Keeps`] and [`scratch`].

/// First word of the file. Its last byte is the version of the layout.
pub const MAGIC: u64 = u64::from_le_bytes(*b"lwinlin\x02");

/// The name of a module's file in the run's directory begins so; its build id in hexadecimal digits follows.
pub const FILE_PREFIX: &str = "inlined-";

/// The name of the pipe in the run's directory by which processes ask for the table of a module: with [`Request`]s.
pub const REQUESTS: &str = "inlined";

/// Bytes of a path in a request, at most, with its NUL.
pub const MOST_PATH: usize = 1024;

/// A request for a module's table. The answer is the file; an empty one says that there is no such lock in the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Request {
    /// The build id in hexadecimal digits; the rest is zeros.
    pub build_id: [u8; 64],
    /// The file as the process has it, NUL terminated; the rest is zeros.
    pub path: [u8; MOST_PATH],
}

impl Request {
    /// Bytes of a request: few enough for a pipe to take them as a whole.
    pub const BYTES: usize = size_of::<Self>();

    /// One of nothing.
    pub const NONE: Self = Self { build_id: [0; 64], path: [0; MOST_PATH] };

    /// As it goes through the pipe.
    pub fn as_bytes(&self) -> &[u8; Self::BYTES] {
        // SAFETY: bytes alone, without padding.
        unsafe { &*core::ptr::from_ref(self).cast() }
    }

    /// As it came out of the pipe.
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Self {
        let (build_id, path) = bytes.split_at(64);
        let mut request = Self::NONE;
        request.build_id.copy_from_slice(build_id);
        request.path.copy_from_slice(path);
        request
    }
}

/// Bytes between the stack pointer at a call in the block and the return address that the place's call has put there. With that
/// address they are 64: where a call of the module's is moved to the block, the stack is aligned as it was at the place. There is
/// room for the flags and the six registers that a block may have to keep.
pub const DEPTH: usize = 56;

/// Bytes at a place, at most.
pub const MOST_BYTES: usize = 24;

/// What a hook is called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Hook {
    /// The lock has been taken, at once.
    Acquired = 0,
    /// The thread is about to take the lock, which may be free.
    Wants = 1,
    /// The lock was not free: the thread is about to wait for it.
    Waits = 2,
    /// The lock has been taken, after [`Hook::Wants`] or [`Hook::Waits`].
    Got = 3,
    /// The lock was not taken, after [`Hook::Wants`] or [`Hook::Waits`].
    GaveUp = 4,
    /// The lock is about to be released.
    Releases = 5,
}

/// How many hooks there are.
pub const HOOKS: usize = 6;

/// What a hook leaves as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Keeps {
    /// What every function does: `rbx`, `rbp`, `rsp` and `r12` to `r15`.
    Callee = 0,
    /// All general registers except the hook's [`scratch`] ones.
    General = 1,
    /// Those, and all vector and mask registers in full.
    All = 2,
}

/// Registers that a hook may change whatever it [keeps](Keeps), by their numbers: the block keeps those of them that are in use.
/// They are few, and such as are seldom in use there.
pub const fn scratch(hook: Hook) -> &'static [u8] {
    const RAX: u8 = 0;
    const RCX: u8 = 1;
    const R10: u8 = 10;
    const R11: u8 = 11;
    match hook {
        // After a compare-and-exchange that has succeeded `rax` is what it was before.
        Hook::Acquired => &[RAX, RCX, R10, R11],
        // No function has an argument in these.
        Hook::Releases => &[R10, R11],
        _ => &[],
    }
}

/// Words of the table that the block begins with.
pub const SLOTS: usize = HOOKS * 3;

/// Which word of the table has a hook's address.
pub const fn slot(hook: Hook, keeps: Keeps) -> usize {
    hook as usize * 3 + keeps as usize
}

/// Bits of the flags of an acquisition: the values of `LW_READ` and its siblings in lockwright.h.
pub mod flag {
    /// Shared with other readers.
    pub const READ: u32 = 1;
    /// It is held already: a trylock that succeeded.
    pub const TRY: u32 = 2;
    /// Its holder may take it again.
    pub const RECURSIVE: u32 = 4;
    /// It can back out.
    pub const TIMED: u32 = 8;
    /// It came to nothing: a trylock that failed.
    pub const FAILED: u32 = 16;
    /// With [`READ`]: it waits behind a writer that waits.
    pub const FAIR: u32 = 32;
    /// With [`READ`]: it may become the writer, and so excludes others that may.
    pub const UPGRADABLE: u32 = 64;
}

/// The beginning of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Header {
    /// [`MAGIC`].
    pub magic: u64,
    /// How many places there are.
    pub places: u32,
    /// How many relocations there are.
    pub relocations: u32,
    /// Bytes of the block.
    pub code: u32,
    /// Acquisitions that the module has, as far as can be seen.
    pub acquisitions: u32,
    /// Those among them that have a place.
    pub placed_acquisitions: u32,
    /// Releases that the module has.
    pub releases: u32,
    /// Those among them that have a place.
    pub placed_releases: u32,
    /// Zero.
    pub reserved: u32,
}

/// Where a call is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Place {
    /// ELF address of the first byte.
    pub address: u64,
    /// Where the block is entered, in bytes from its beginning.
    pub entry: u32,
    /// Bytes at the place: 5 or more.
    pub len: u32,
    /// What they are before.
    pub original: [u8; MOST_BYTES],
}

/// Four bytes of the block that depend on how far from the module it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Relocation {
    /// ELF address that is meant.
    pub target: u64,
    /// Where the bytes are, from the block's beginning.
    pub at: u32,
    /// What the processor adds them to: the end of the instruction, from the block's beginning.
    pub next: u32,
}
