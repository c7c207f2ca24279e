//! Loads the programs, and reads what they counted.

mod counted;
pub mod futexes;
pub mod kernel;
mod namespace;
mod waiting;

use std::fmt::Write;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

use aya::maps::{MapError, PerCpuArray};
use aya::programs::{ProgramError, RawTracePoint};
use aya::{Ebpf, EbpfError, EbpfLoader};

use crate::messages::{Obstacle, Refusal};

/// Memory that the rows of a map may take in all, on all processors.
const ROW_BYTES: u64 = 48 << 20;

/// Bytes of a row on each processor, at the most, with what the kernel adds.
const ROW_SIZE: u64 = 144;

/// Rows of a map.
const ROWS: std::ops::RangeInclusive<u64> = 2048..=65536;

/// An object, aligned as ELF files are read.
#[repr(C, align(8))]
struct Aligned<B: ?Sized>(B);

/// The objects that clang made of `programs/`.
macro_rules! object {
    ($name:literal) => {{
        static OBJECT: &$crate::load::Aligned<[u8]> =
            &$crate::load::Aligned(*include_bytes!(concat!("../../objects/", $name)));
        &OBJECT.0
    }};
}
pub(crate) use object;

/// How many rows a map has on this machine.
fn rows() -> u32 {
    let cpus = aya::util::nr_cpus().unwrap_or(1) as u64;
    let rows = (ROW_BYTES / (ROW_SIZE * cpus)).clamp(*ROWS.start(), *ROWS.end());
    rows.try_into().unwrap_or(u32::MAX)
}

/// Loads an object whose map `map` has as many rows as there may be.
fn load(object: &'static [u8], map: &'static str) -> Result<Ebpf, Refusal> {
    // Before Linux 5.11 maps count as locked memory.
    let all = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: reads a structure; where it is not permitted, nothing changes.
    unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &raw const all) };
    EbpfLoader::new().map_max_entries(map, rows()).load(object).map_err(|error| of_loader(&error))
}

/// Loads the programs of these names, and then attaches each to its tracepoint, in their order; gives the
/// numbers of their descriptors.
fn attach<const N: usize>(
    bpf: &mut Ebpf,
    programs: [(&str, &str); N],
) -> Result<[i32; N], Refusal> {
    // The kernel's check of a program takes long: what is attached meanwhile would be attached alone.
    for (name, point) in programs {
        program(bpf, name)?.load().map_err(|error| of_program(&error, point))?;
    }
    let mut descriptors = [0; N];
    for ((name, point), descriptor) in programs.into_iter().zip(&mut descriptors) {
        let program = program(bpf, name)?;
        program.attach(point).map_err(|error| of_program(&error, point))?;
        *descriptor = program.fd().map_err(|error| of_program(&error, point))?.as_fd().as_raw_fd();
    }
    Ok(descriptors)
}

fn program<'b>(bpf: &'b mut Ebpf, name: &str) -> Result<&'b mut RawTracePoint, Refusal> {
    let program = bpf.program_mut(name);
    let program = program.ok_or_else(|| other(format!("the object has no program {name}")))?;
    program.try_into().map_err(|error| of_program(&error, name))
}

fn of_program(error: &ProgramError, point: &str) -> Refusal {
    refusal(error, Some(point))
}

/// How often the kernel left this program out, as it ran already on the processor.
fn missed(descriptor: i32) -> u64 {
    let info = fs::read_to_string(format!("/proc/self/fdinfo/{descriptor}")).unwrap_or_default();
    let count = info.lines().find_map(|line| line.strip_prefix("recursion_misses:"));
    count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

/// The counters of all processors, by their numbers.
fn counters(bpf: &Ebpf, count: usize) -> Result<Vec<u64>, Refusal> {
    let map = bpf.map("counters").ok_or_else(|| other("the object has no counters".into()))?;
    let map = PerCpuArray::<_, u64>::try_from(map).map_err(|error| of_map(&error))?;
    let sum = |at: u32| {
        let values = map.get(&at, 0).map_err(|error| of_map(&error))?;
        Ok(values.iter().sum())
    };
    (0..count as u32).map(sum).collect()
}

fn of_loader(error: &EbpfError) -> Refusal {
    refusal(error, None)
}

fn of_map(error: &MapError) -> Refusal {
    refusal(error, None)
}

fn other(error: String) -> Refusal {
    Refusal { why: Obstacle::Other, error }
}

/// The obstacle, by the error of the kernel that is behind one of the loader's.
fn refusal(error: &(dyn std::error::Error + 'static), point: Option<&str>) -> Refusal {
    let (mut text, mut source, mut code) = (error.to_string(), Some(error), None);
    while let Some(error) = source {
        code = code.or_else(|| error.downcast_ref::<io::Error>()?.raw_os_error());
        source = error.source();
        if let Some(error) = source {
            text = format!("{text}: {error}");
        }
    }
    let why = match code {
        Some(libc::EPERM | libc::EACCES) => Obstacle::Privilege,
        Some(libc::ENOSYS) => Obstacle::NoBpf,
        Some(libc::ENOENT) if point.is_some() => Obstacle::NoTracepoint,
        _ => Obstacle::Other,
    };
    Refusal { why, error: text }
}

/// Bytes in hexadecimal digits.
fn digits(bytes: &[u8]) -> String {
    let mut digits = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

/// The text in a fixed array that ends at the first null byte.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Wrapped(io::Error);

    impl std::fmt::Display for Wrapped {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a call failed")
        }
    }

    impl std::error::Error for Wrapped {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn an_obstacle_is_known_by_the_kernels_error() {
        let of = |code, point| refusal(&Wrapped(io::Error::from_raw_os_error(code)), point).why;
        assert_eq!(of(libc::EPERM, None), Obstacle::Privilege);
        assert_eq!(of(libc::ENOSYS, None), Obstacle::NoBpf);
        assert_eq!(of(libc::ENOENT, Some("contention_begin")), Obstacle::NoTracepoint);
        assert_eq!(of(libc::ENOENT, None), Obstacle::Other);
        let refused = refusal(&Wrapped(io::Error::from_raw_os_error(libc::EPERM)), None);
        assert!(refused.error.starts_with("a call failed: "), "{}", refused.error);
    }

    #[test]
    fn rows_are_bounded() {
        assert!(ROWS.contains(&rows().into()));
    }

    #[test]
    fn text_ends_at_its_null_byte() {
        assert_eq!(text(b"comm\0rest"), "comm");
        assert_eq!(text(b"full"), "full");
    }
}
