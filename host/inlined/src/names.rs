//! The functions behind inlined locks, by name: a row for each.
//!
//! The names of modules changed between std's versions (`sys::unix::locks::futex_mutex`, `sys::sync::mutex::futex`); those of
//! types and functions did not since 1.62, which brought these locks. So a row has the crate, the type and the function.

use std::sync::LazyLock;

use iced_x86::Register;
use lockwright_ledger::inlined::flag;
use memchr::memmem::Finder;

/// What a function is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The cold half of an acquisition: it waits.
    Waits(Acquisition),
    /// The cold half of a try: it does not wait, and returns whether it has taken the lock.
    Tries(Acquisition),
    /// The cold half of a release: the lock is free when it is called, or it sets it free itself.
    Wakes(Release),
    /// A whole acquisition, which was not inlined.
    Locks(Acquisition),
    /// A whole try, which was not inlined.
    TriesWhole(Acquisition),
    /// A whole release, which was not inlined.
    Unlocks(Release),
}

/// An acquisition, by the function behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acquisition {
    /// Bits of [`flag`] that are always right.
    pub flags: u32,
    /// Where its argument is that makes a reader go before writers that wait.
    pub recursive: Option<Register>,
    /// Where the nanoseconds of its deadline are, an `Option<Instant>`.
    pub nanoseconds: Option<Register>,
    /// Whether it returns if it has taken the lock.
    pub returns_success: bool,
}

/// A release, by the function behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// The atomic instruction that goes before.
    pub by: Atomic,
}

/// The atomic instruction of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Atomic {
    /// Sets the word to zero, and looks at what was there.
    Exchange,
    /// Takes something off the word.
    Subtract,
    /// Sets the word free if nobody waits.
    CompareExchange,
}

/// What `Option<Instant>` has as nanoseconds if it is `None`: the first value that a time cannot have.
pub const NO_DEADLINE: i64 = 1_000_000_000;

/// What std's futex word of a mutex is while somebody waits.
pub const CONTENDED: i64 = 2;

const WRITER: u32 = 0;
/// `RwLock::read` of std waits if `has_writers_waiting`, and parking_lot's if `WRITER_BIT` is set, which a writer sets before it
/// waits for readers to leave.
const READER: u32 = flag::READ | flag::FAIR;
const UPGRADABLE: u32 = flag::READ | flag::UPGRADABLE;

const fn plain(flags: u32) -> Acquisition {
    Acquisition { flags, recursive: None, nanoseconds: None, returns_success: false }
}

const fn tried(flags: u32) -> Acquisition {
    Acquisition { flags: flags | flag::TRY, returns_success: true, ..plain(0) }
}

/// With a deadline in `rsi` and `edx`.
const fn until(flags: u32) -> Acquisition {
    Acquisition { nanoseconds: Some(Register::EDX), returns_success: true, ..plain(flags) }
}

/// With a flag in `esi`, and a deadline in `rdx` and `ecx`.
const SHARED_UNTIL: Acquisition = Acquisition {
    flags: READER,
    recursive: Some(Register::ESI),
    nanoseconds: Some(Register::ECX),
    returns_success: true,
};

const SHARED_TRY: Acquisition = Acquisition { recursive: Some(Register::ESI), ..tried(READER) };

const fn timed(flags: u32) -> Acquisition {
    Acquisition { returns_success: true, ..plain(flags | flag::TIMED) }
}

const fn release(by: Atomic) -> Release {
    Release { by }
}

/// Waking is the same for readers and writers in std.
const STD_RWLOCK: Release = release(Atomic::Subtract);

/// A release by std's mutex, whose waking is inlined, too.
pub const STD_MUTEX: Release = release(Atomic::Exchange);

use Atomic::{CompareExchange, Exchange, Subtract};
use Role::{Locks, Tries, TriesWhole, Unlocks, Waits, Wakes};

/// Crate, type, function, and what it is for.
type Row = (&'static str, &'static str, &'static str, Role);

const ROWS: &[Row] = &[
    ("std", "Mutex", "lock_contended", Waits(plain(WRITER))),
    ("std", "Mutex", "wake", Wakes(STD_MUTEX)),
    ("std", "Mutex", "lock", Locks(plain(WRITER))),
    ("std", "Mutex", "try_lock", TriesWhole(tried(WRITER))),
    ("std", "Mutex", "unlock", Unlocks(release(Exchange))),
    ("std", "RwLock", "read_contended", Waits(plain(READER))),
    ("std", "RwLock", "write_contended", Waits(plain(WRITER))),
    ("std", "RwLock", "wake_writer_or_readers", Wakes(STD_RWLOCK)),
    ("std", "RwLock", "read", Locks(plain(READER))),
    ("std", "RwLock", "write", Locks(plain(WRITER))),
    ("std", "RwLock", "try_read", TriesWhole(tried(READER))),
    ("std", "RwLock", "try_write", TriesWhole(tried(WRITER))),
    ("std", "RwLock", "read_unlock", Unlocks(release(Subtract))),
    ("std", "RwLock", "write_unlock", Unlocks(release(Subtract))),
    ("parking_lot", "RawMutex", "lock_slow", Waits(until(WRITER))),
    ("parking_lot", "RawMutex", "unlock_slow", Wakes(release(CompareExchange))),
    ("parking_lot", "RawMutex", "lock", Locks(plain(WRITER))),
    ("parking_lot", "RawMutex", "try_lock", TriesWhole(tried(WRITER))),
    ("parking_lot", "RawMutex", "try_lock_for", Locks(timed(WRITER))),
    ("parking_lot", "RawMutex", "try_lock_until", Locks(timed(WRITER))),
    ("parking_lot", "RawMutex", "unlock", Unlocks(release(CompareExchange))),
    ("parking_lot", "RawMutex", "unlock_fair", Unlocks(release(CompareExchange))),
    ("parking_lot", "RawRwLock", "lock_shared_slow", Waits(SHARED_UNTIL)),
    ("parking_lot", "RawRwLock", "lock_exclusive_slow", Waits(until(WRITER))),
    ("parking_lot", "RawRwLock", "lock_upgradable_slow", Waits(until(UPGRADABLE))),
    ("parking_lot", "RawRwLock", "try_lock_shared_slow", Tries(SHARED_TRY)),
    ("parking_lot", "RawRwLock", "try_lock_upgradable_slow", Tries(tried(UPGRADABLE))),
    ("parking_lot", "RawRwLock", "unlock_shared_slow", Wakes(release(Subtract))),
    ("parking_lot", "RawRwLock", "unlock_exclusive_slow", Wakes(release(CompareExchange))),
    ("parking_lot", "RawRwLock", "unlock_upgradable_slow", Wakes(release(CompareExchange))),
    ("parking_lot", "RawRwLock", "lock_shared", Locks(plain(READER))),
    ("parking_lot", "RawRwLock", "lock_shared_recursive", Locks(plain(flag::READ))),
    ("parking_lot", "RawRwLock", "lock_exclusive", Locks(plain(WRITER))),
    ("parking_lot", "RawRwLock", "lock_upgradable", Locks(plain(UPGRADABLE))),
    ("parking_lot", "RawRwLock", "try_lock_shared", TriesWhole(tried(READER))),
    ("parking_lot", "RawRwLock", "try_lock_shared_recursive", TriesWhole(tried(flag::READ))),
    ("parking_lot", "RawRwLock", "try_lock_exclusive", TriesWhole(tried(WRITER))),
    ("parking_lot", "RawRwLock", "try_lock_upgradable", TriesWhole(tried(UPGRADABLE))),
    ("parking_lot", "RawRwLock", "try_lock_shared_for", Locks(timed(READER))),
    ("parking_lot", "RawRwLock", "try_lock_shared_until", Locks(timed(READER))),
    ("parking_lot", "RawRwLock", "try_lock_exclusive_for", Locks(timed(WRITER))),
    ("parking_lot", "RawRwLock", "try_lock_exclusive_until", Locks(timed(WRITER))),
    ("parking_lot", "RawRwLock", "unlock_shared", Unlocks(release(Subtract))),
    ("parking_lot", "RawRwLock", "unlock_exclusive", Unlocks(release(CompareExchange))),
    ("parking_lot", "RawRwLock", "unlock_upgradable", Unlocks(release(CompareExchange))),
];

/// What the function is for that has this symbol.
pub fn role(symbol: &[u8]) -> Option<Role> {
    // Most symbols of a large program are others', and to demangle takes long.
    static PARTS: LazyLock<[Finder<'_>; 2]> =
        LazyLock::new(|| ["futex", "parking_lot"].map(Finder::new));
    if !PARTS.iter().any(|part| part.find(symbol).is_some()) {
        return None;
    }
    let symbol = std::str::from_utf8(symbol).ok()?;
    // Symbols of the dynamic table may have a version.
    let symbol = symbol.split('@').next().unwrap_or(symbol);
    let name = format!("{:#}", rustc_demangle::try_demangle(symbol).ok()?);
    let (krate, of_type, function) = parts(&name)?;
    let found = ROWS.iter().find(|row| (row.0, row.1, row.2) == (krate, of_type, function));
    found.map(|row| row.3)
}

/// What std's function of a type and name is for.
pub fn std_role((of_type, function): (&str, &str)) -> Option<Role> {
    let found = ROWS.iter().find(|row| (row.0, row.1, row.2) == ("std", of_type, function));
    found.map(|row| row.3)
}

/// Whether the symbol is that of a function which is a compare-and-exchange. Programs that are not optimised call it.
///
/// All have the word's address in `rdi`, and return zero in `al` if they have succeeded.
pub fn is_compare_exchange(symbol: &[u8]) -> bool {
    static PART: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("compare_exchange"));
    let is_candidate = PART.find(symbol).is_some();
    let name = std::str::from_utf8(symbol).ok().filter(|_| is_candidate);
    let Some(Ok(name)) = name.map(rustc_demangle::try_demangle) else { return false };
    let name = format!("{name:#}");
    name.trim_start_matches('<').starts_with("core::sync::atomic::")
}

/// The crate, type and function of a method: `<a::b::Type as c::Trait>::function` or `a::b::Type::function`.
fn parts(name: &str) -> Option<(&str, &str, &str)> {
    let (of, function) = name.rsplit_once("::")?;
    let of = of.strip_prefix('<').unwrap_or(of);
    let of = of.strip_suffix('>').unwrap_or(of);
    let of = of.split(" as ").next().unwrap_or(of);
    let (module, of_type) = of.rsplit_once("::")?;
    let krate = module.split("::").next()?;
    // std has other mutexes by that name, which are made of these or for other systems.
    let is_right = krate != "std" || module.contains("futex");
    is_right.then_some((krate, of_type, function))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_of_the_names_is_known() {
        let mutex = Some(Waits(plain(WRITER)));
        for symbol in [
            "_ZN3std3sys4unix5locks11futex_mutex5Mutex14lock_contended17h0f0a94e99b717832E",
            "_ZN3std3sys3pal4unix5locks11futex_mutex5Mutex14lock_contended17h0f0a94e99b717832E",
            "_ZN3std3sys5locks5mutex5futex5Mutex14lock_contended17h0f0a94e99b717832E",
            "_ZN3std3sys4sync5mutex5futex5Mutex14lock_contended17h0f0a94e99b717832E",
            "_RNvMNtNtNtNtCsjrHSEGnQ3l9_3std3sys4sync5mutex5futexNtB2_5Mutex14lock_contended",
        ] {
            assert_eq!(role(symbol.as_bytes()), mutex, "{symbol}");
        }
        let slow = b"_RNvMs1_NtCshSXczoMgUJA_11parking_lot9raw_mutexNtB5_8RawMutex9lock_slow";
        assert_eq!(role(slow), Some(Waits(until(WRITER))));
        let whole = b"_ZN78_$LT$parking_lot..raw_mutex..RawMutex$u20$as$u20$lock_api..mutex..RawMutex$GT$4lock17h0f0a94e99b717832E";
        assert_eq!(role(whole), Some(Locks(plain(WRITER))));
    }

    #[test]
    fn compare_and_exchange_has_several_names() {
        for symbol in [
            "_ZN4core4sync6atomic23atomic_compare_exchange17h40661a197e8979f3E",
            "_ZN4core4sync6atomic28atomic_compare_exchange_weak17h5385d746c199d2b7E",
            "_ZN4core4sync6atomic9AtomicU3216compare_exchange17h5385d746c199d2b7E",
        ] {
            assert!(is_compare_exchange(symbol.as_bytes()), "{symbol}");
        }
        assert!(!is_compare_exchange(b"_ZN3own16compare_exchange17h5385d746c199d2b7E"));
    }

    #[test]
    fn others_by_the_same_name_are_not() {
        for symbol in [
            "_ZN3std4sync6poison5mutex14Mutex$LT$T$GT$4lock17h0f0a94e99b717832E",
            "_RNvMs0_NtCscsvS5OffelI_7dashmap4lockNtB5_9RawRwLock19lock_exclusive_slow",
            "pthread_mutex_lock",
            "_ZN11parking_lot",
            "",
        ] {
            assert_eq!(role(symbol.as_bytes()), None, "{symbol}");
        }
    }
}
