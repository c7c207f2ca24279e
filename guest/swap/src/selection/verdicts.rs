//! The command's verdicts on locks: it reads symbol tables and debug information, which this
//! library leaves alone. The library asks it over a socket, whose end shows that the command is
//! gone.
//!
//! A question is [`Question`], and then the texts whose lengths that has, in its order; the answer is
//! the number of the pattern that fits, or [`NONE`] (`cli/src/run/swap/selection.rs`).

use core::ffi::c_int;
use core::mem::{MaybeUninit, offset_of};
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicU32, AtomicU64};

use super::module::{self, Module};
use crate::os;

/// No pattern fits.
const NONE: u32 = u32::MAX;

/// The command's answer.
#[derive(Clone, Copy)]
pub enum Answer {
    /// The pattern of this number fits.
    Pattern(u32),
    /// None does.
    Nothing,
    /// It does not say: it has ended, or cannot be reached.
    Nobody,
}

impl Answer {
    fn new(number: u32) -> Self {
        if number == NONE { Self::Nothing } else { Self::Pattern(number) }
    }
}

/// A place in a module.
#[repr(C)]
#[derive(Default)]
struct Place {
    /// The address in the module's file.
    address: u64,
    /// Bytes of the directory that the path is relative to, 0: it is absolute.
    directory: u32,
    /// Bytes of the path, 0: there is no such place.
    path: u32,
    /// Bytes of the build id.
    build_id: u32,
    _unused: u32,
}

/// The question.
#[repr(C)]
struct Question {
    /// Where the lock is, if it is in a module.
    lock: Place,
    /// Where the call is.
    call: Place,
}

/// How long a path may be that is not the loader's.
const LONGEST: usize = 1024;

/// A module with the texts that are sent of it.
struct Described {
    module: Module,
    address: usize,
    own: [MaybeUninit<u8>; LONGEST],
    own_len: usize,
}

impl Described {
    /// Writes down what of the path the loader does not know: the program's own, and the directory
    /// of a relative one.
    fn new(module: Module, address: usize) -> Self {
        let mut own = [MaybeUninit::uninit(); LONGEST];
        let (at, room) = (own.as_mut_ptr().addr(), LONGEST);
        let written = match module.path {
            [] => {
                let file = c"/proc/self/exe".as_ptr().addr();
                // SAFETY: writes no more than there is room for. -100 is AT_FDCWD.
                unsafe {
                    let here = libc::AT_FDCWD as usize;
                    os::call(libc::SYS_readlinkat, [here, file, at, room, 0, 0])
                }
            }
            [b'/', ..] => 0,
            // SAFETY: writes no more than there is room for, and counts the byte that ends it.
            _ => unsafe { os::call(libc::SYS_getcwd, [at, room, 0, 0, 0, 0]) - 1 },
        };
        Self { module, address, own, own_len: usize::try_from(written).unwrap_or(0) }
    }

    fn own(&self) -> &[u8] {
        // SAFETY: the first `own_len` bytes of the buffer have been written.
        unsafe { core::slice::from_raw_parts(self.own.as_ptr().cast(), self.own_len) }
    }

    /// Directory, path and build id.
    fn texts(&self) -> [&[u8]; 3] {
        match self.module.path {
            [] => [&[], self.own(), self.module.build_id],
            path => [self.own(), path, self.module.build_id],
        }
    }

    fn place(&self) -> Place {
        let [directory, path, build_id] = self.texts().map(|text| text.len() as u32);
        let address = self.address.wrapping_sub(self.module.bias) as u64;
        Place { address, directory, path, build_id, _unused: 0 }
    }
}

/// An answer that is known.
struct Known {
    /// The key of the question; 0: none.
    key: AtomicU64,
    /// The answer plus 2, modulo 2^32; 0: it is not there yet.
    answer: AtomicU32,
}

/// Answers that are remembered: of calls that make or take locks outside of modules. There are
/// seldom more such calls; what has no room is asked each time.
const REMEMBERED: usize = 1 << 12;
static KNOWN: [Known; REMEMBERED] =
    [const { Known { key: AtomicU64::new(0), answer: AtomicU32::new(0) } }; REMEMBERED];

/// Where an answer is sought.
const PROBES: usize = 16;

/// Where the answer to this question is, or is to be.
fn known(key: u64) -> Option<&'static Known> {
    (0..PROBES).map(|probe| &KNOWN[(key as usize + probe) % REMEMBERED]).find(|known| {
        // Relaxed: key and answer say all, each by itself.
        match known.key.compare_exchange(0, key, Relaxed, Relaxed) {
            Ok(_) => true,
            Err(seen) => seen == key,
        }
    })
}

/// The key of a call, which differs if another module has taken the place of its own. Not 0.
fn key(call: &Module, address: usize) -> u64 {
    // FNV-1a.
    let hash = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    let address = address.to_ne_bytes();
    let bytes = address.iter().chain(call.path).chain(call.build_id);
    bytes.fold(0xcbf2_9ce4_8422_2325, hash).max(1)
}

/// The number of the pattern that fits the lock at this address, or the call at that one.
pub fn of(socket: &[u8], lock: usize, call: usize) -> Answer {
    // SAFETY: a lock that is used, and a function that has called us.
    let (of_lock, of_call) = unsafe { (module::of(lock), module::of(call)) };
    let remembered = match (&of_lock, &of_call) {
        (None, Some(module)) => known(key(module, call)),
        (None, None) => return Answer::Nothing,
        // A variable is asked for as often as it is a new lock.
        (Some(_), _) => None,
    };
    let answer = remembered.map(|known| known.answer.load(Relaxed).wrapping_sub(2));
    if let Some(answer) = answer.filter(|answer| *answer != 0_u32.wrapping_sub(2)) {
        return Answer::new(answer);
    }
    let lock = of_lock.map(|module| Described::new(module, lock));
    let call = of_call.map(|module| Described::new(module, call));
    let Some(answer) = ask(socket, lock.as_ref(), call.as_ref()) else {
        return Answer::Nobody;
    };
    if let Some(known) = remembered {
        known.answer.store(answer.wrapping_add(2), Relaxed);
    }
    Answer::new(answer)
}

/// Asks the command. None: it does not answer.
fn ask(socket: &[u8], lock: Option<&Described>, call: Option<&Described>) -> Option<u32> {
    let place =
        |described: Option<&Described>| described.map_or_else(Place::default, Described::place);
    let question = Question { lock: place(lock), call: place(call) };
    // SAFETY: a `Question` is made of integers without gaps, so all its bytes are initialised.
    let question: &[u8; size_of::<Question>()] = unsafe { &*(&raw const question).cast() };
    let texts = [lock, call].into_iter().flatten().flat_map(Described::texts);
    let connection = Connection::open(socket)?;
    for part in core::iter::once(&question[..]).chain(texts) {
        connection.send(part)?;
    }
    connection.receive()
}

/// A connection to the command.
struct Connection(usize);

impl Connection {
    fn open(path: &[u8]) -> Option<Self> {
        let mut to = libc::sockaddr_un { sun_family: libc::AF_UNIX as u16, sun_path: [0; 108] };
        if path.len() >= to.sun_path.len() {
            return None;
        }
        to.sun_path.iter_mut().zip(path).for_each(|(to, byte)| *to = *byte as libc::c_char);
        let (unix, kind) = (libc::AF_UNIX as usize, libc::SOCK_STREAM | libc::SOCK_CLOEXEC);
        // SAFETY: `socket` takes numbers alone, so no memory of ours is at stake.
        let fd = unsafe { os::call(libc::SYS_socket, [unix, kind as usize, 0, 0, 0, 0]) };
        let this = Self(usize::try_from(fd).ok()?);
        let len = offset_of!(libc::sockaddr_un, sun_path) + path.len() + 1;
        // SAFETY: `to` is an address of `len` bytes, which the kernel only reads.
        let done = again(|| unsafe {
            os::call(libc::SYS_connect, [this.0, (&raw const to).addr(), len, 0, 0, 0])
        });
        (done == 0).then_some(this)
    }

    /// Sends all of it.
    fn send(&self, mut bytes: &[u8]) -> Option<()> {
        while !bytes.is_empty() {
            let (at, flags) = (bytes.as_ptr().addr(), libc::MSG_NOSIGNAL as usize);
            // SAFETY: the kernel reads at most `bytes.len()` bytes of the slice.
            let sent = again(|| unsafe {
                os::call(libc::SYS_sendto, [self.0, at, bytes.len(), flags, 0, 0])
            });
            bytes = bytes.get(usize::try_from(sent).ok()?..)?;
        }
        Some(())
    }

    /// Waits for the answer: for as long as the command has not ended.
    fn receive(&self) -> Option<u32> {
        let mut answer = 0_u32;
        let (at, all) = ((&raw mut answer).addr(), libc::MSG_WAITALL as usize);
        // SAFETY: the kernel writes at most 4 bytes, for which `answer` has room.
        let received = again(|| unsafe {
            os::call(libc::SYS_recvfrom, [self.0, at, size_of::<u32>(), all, 0, 0])
        });
        (received == size_of::<u32>() as isize).then_some(answer)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // SAFETY: opened by us, and nobody else knows of it.
        unsafe { os::call(libc::SYS_close, [self.0, 0, 0, 0, 0, 0]) };
    }
}

/// Makes a system call again as long as signals interrupt it.
fn again(call: impl Fn() -> isize) -> isize {
    loop {
        let result = call();
        if result as c_int != -libc::EINTR {
            return result;
        }
    }
}
