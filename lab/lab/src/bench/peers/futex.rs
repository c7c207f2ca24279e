//! How often a thread calls the kernel's futex: counted by the kernel, at its tracepoint of the
//! call, which needs root and slows every call down. So it is done in runs of their own.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Where the kernel shows its tracepoints.
const TRACING: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// The kernel's tracepoint.
#[derive(Clone, Copy, Debug)]
pub struct Tracepoint(u64);

/// `struct perf_event_attr` of <linux/perf_event.h> in its first version.
#[derive(Default)]
#[repr(C)]
struct Attributes {
    event_type: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    breakpoint_address: u64,
}

/// PERF_TYPE_TRACEPOINT.
const TRACEPOINT: u32 = 2;

impl Tracepoint {
    /// That of the call, if this thread may count it.
    ///
    /// # Errors
    /// Why it may not.
    pub fn find() -> Result<Self, String> {
        let file = |root| format!("{root}/events/syscalls/sys_enter_futex/id");
        let numbers = TRACING.map(|root| fs::read_to_string(file(root)));
        let [first, second] = numbers;
        let text = first.or(second).map_err(|e| {
            format!(
                "{}: {e}; `mount -t tracefs tracefs {}` may help root",
                file(TRACING[0]),
                TRACING[0]
            )
        })?;
        let number = text.trim().parse().map_err(|_| format!("no number: {text:?}"))?;
        let found = Self(number);
        Calls::begin(found).map_err(|e| format!("perf_event_open: {e}"))?;
        Ok(found)
    }
}

/// The calls of one thread from one moment on.
pub struct Calls(OwnedFd);

impl Calls {
    /// Attaches to the calling thread, from now on.
    ///
    /// # Errors
    /// The kernel's.
    pub fn begin(tracepoint: Tracepoint) -> io::Result<Self> {
        let attributes = Attributes {
            event_type: TRACEPOINT,
            size: size_of::<Attributes>() as u32,
            config: tracepoint.0,
            ..Attributes::default()
        };
        const NO_GROUP: i32 = -1;
        const ANY_CPU: i32 = -1;
        const THIS_THREAD: i32 = 0;
        // SAFETY: attributes of the size that they name; the others are numbers.
        let fd = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                THIS_THREAD,
                ANY_CPU,
                NO_GROUP,
                0u64,
            )
        };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a new descriptor, which is nobody else's.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd as i32) }))
    }

    /// How many they are so far.
    ///
    /// # Errors
    /// The kernel's.
    pub fn count(&self) -> io::Result<u64> {
        let mut count = 0u64;
        // SAFETY: it writes as many bytes as the number has.
        let read = unsafe { libc::read(self.0.as_raw_fd(), (&raw mut count).cast(), 8) };
        if read == 8 { Ok(count) } else { Err(io::Error::last_os_error()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call that returns at once: the number is not what is expected there.
    fn call() {
        let word = 1u32;
        // SAFETY: a word that is there; it does not wait, as the word is not 0.
        unsafe { libc::syscall(libc::SYS_futex, &raw const word, libc::FUTEX_WAIT, 0, 0usize) };
    }

    #[test]
    fn each_call_counts_where_it_can_be_counted() {
        let tracepoint = match Tracepoint::find() {
            Ok(tracepoint) => tracepoint,
            Err(why) => return assert!(!why.is_empty()),
        };
        let calls = Calls::begin(tracepoint).unwrap();
        let before = calls.count().unwrap();
        (0..7).for_each(|_| call());
        assert_eq!(calls.count().unwrap() - before, 7);
    }
}
