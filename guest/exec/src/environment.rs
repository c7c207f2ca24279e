//! Environments, with lockwright's libraries in LD_PRELOAD and without.

use core::ffi::{CStr, c_char, c_int};
use core::mem::MaybeUninit;

use lockwright_glibc::library::THREADS_LIBRARY;

use crate::Strings;

const PRELOAD: &[u8] = b"LD_PRELOAD=";

/// The strings of an environment.
///
/// # Safety
/// A valid environment, or null, which is an empty one.
pub unsafe fn variables<'e>(environment: Strings) -> impl Iterator<Item = &'e CStr> + Clone {
    let mut at = environment;
    core::iter::from_fn(move || {
        // SAFETY: the caller promises an environment: null ends it, and each text before that is
        // NUL terminated.
        let variable = unsafe { at.as_ref() }.filter(|text| !text.is_null())?;
        // SAFETY: the entry is a NUL-terminated text and not the null that ends the list, so
        // another follows.
        unsafe {
            at = at.add(1);
            Some(CStr::from_ptr(*variable))
        }
    })
}

/// The value of a variable, by its name and `=`.
///
/// # Safety
/// As for [`variables`].
pub unsafe fn value<'e>(environment: Strings, name: &[u8]) -> Option<&'e [u8]> {
    // SAFETY: the caller promises a valid environment or null, as `variables` asks.
    let mut all = unsafe { variables(environment) };
    all.find_map(|variable| variable.to_bytes().strip_prefix(name))
}

/// The value of LD_PRELOAD; empty if there is none.
///
/// # Safety
/// As for [`variables`].
pub unsafe fn preloaded<'e>(environment: Strings) -> &'e [u8] {
    // SAFETY: the caller promises a valid environment or null, as `value` asks.
    unsafe { value(environment, PRELOAD) }.unwrap_or_default()
}

/// The entries of a list as LD_PRELOAD is one.
pub fn entries(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|b| b" :".contains(b)).filter(|entry| !entry.is_empty())
}

/// Whether an entry of LD_PRELOAD is one of lockwright's libraries: a file of its name, or a
/// descriptor where no file system would hold it.
pub fn is_ours(entry: &[u8]) -> bool {
    is_for_watching(entry) || is_replacing(entry)
}

/// Whether it is the one that replaces locks.
pub fn is_replacing(entry: &[u8]) -> bool {
    entry.ends_with(b"/liblockwright_swap.so") || is_open_file(entry)
}

/// Whether it is the one that watches.
pub fn is_watching(entry: &[u8]) -> bool {
    entry.ends_with(b"/liblockwright.so") || is_open_file(entry)
}

/// Whether it is that one or [`THREADS_LIBRARY`], which comes with it where the C library has no
/// threads.
pub fn is_for_watching(entry: &[u8]) -> bool {
    is_watching(entry) || entry == THREADS_LIBRARY.as_bytes()
}

fn is_open_file(entry: &[u8]) -> bool {
    entry.starts_with(b"/proc/") && entry.windows(4).any(|part| part == b"/fd/")
}

/// Calls `go` with the environment without those entries of LD_PRELOAD: the others stay, in their
/// order, and where there are none the variable goes. The new environment lies on the stack, as the
/// caller has no other memory. An environment of more than 250 KB goes on as it is.
///
/// # Safety
/// As for [`variables`].
pub unsafe fn without(
    goes: fn(&[u8]) -> bool,
    environment: Strings,
    go: &mut dyn FnMut(Strings) -> c_int,
) -> c_int {
    // SAFETY: the caller promises a valid environment or null, as `variables` asks.
    let all = unsafe { variables(environment) };
    let list = |variable: &CStr| {
        let list = variable.to_bytes().strip_prefix(PRELOAD)?;
        entries(list).any(goes).then_some(list.len())
    };
    let lists = all.clone().filter_map(list);
    let bytes: usize = lists.map(|len| PRELOAD.len() + len + 2).sum();
    if bytes == 0 {
        return go(environment);
    }
    // Each list begins with a word of its own.
    let words = all.count() + 1 + bytes.div_ceil(WORD) + 1;
    // SAFETY: the caller promises a valid environment, and each arm has as many words as were
    // counted.
    unsafe {
        match words {
            ..64 => with::<64>(goes, environment, go),
            64..128 => with::<128>(goes, environment, go),
            128..256 => with::<256>(goes, environment, go),
            256..512 => with::<512>(goes, environment, go),
            512..1024 => with::<1024>(goes, environment, go),
            1024..4096 => with::<4096>(goes, environment, go),
            4096..32768 => with::<32768>(goes, environment, go),
            _ => go(environment),
        }
    }
}

const WORD: usize = size_of::<*const c_char>();

/// The same, with so many words of the stack.
///
/// # Safety
/// As for [`variables`]; the words are enough.
#[inline(never)]
unsafe fn with<const WORDS: usize>(
    goes: fn(&[u8]) -> bool,
    environment: Strings,
    go: &mut dyn FnMut(Strings) -> c_int,
) -> c_int {
    let mut words = [const { MaybeUninit::<*const c_char>::uninit() }; WORDS];
    // SAFETY: the caller promises a valid environment or null, as `variables` asks.
    let all = unsafe { variables(environment) };
    let count = all.clone().count() + 1;
    let (pointers, texts) = words.split_at_mut(count);
    // SAFETY: bytes of the words, which nobody else uses.
    let mut room = unsafe {
        core::slice::from_raw_parts_mut(
            texts.as_mut_ptr().cast::<MaybeUninit<u8>>(),
            texts.len() * WORD,
        )
    };
    let mut next = pointers.iter_mut();
    let mut push = |text: *const c_char| {
        if let Some(place) = next.next() {
            place.write(text);
        }
    };
    for variable in all {
        let list = variable.to_bytes().strip_prefix(PRELOAD);
        match list.filter(|list| entries(list).any(goes)) {
            None => push(variable.as_ptr()),
            Some(list) => {
                let (text, rest) = room.split_at_mut(PRELOAD.len() + list.len() + 2);
                room = rest;
                if write_others(text, list, goes) {
                    push(text.as_ptr().cast());
                }
            }
        }
    }
    push(core::ptr::null());
    go(words.as_ptr().cast())
}

/// Writes the variable with what stays of `list`. False: that is nothing.
fn write_others(text: &mut [MaybeUninit<u8>], list: &[u8], goes: fn(&[u8]) -> bool) -> bool {
    let mut room = text.iter_mut();
    let mut push = |bytes: &[u8]| {
        // In this order: the other one would lose a place at each end.
        for (byte, place) in bytes.iter().zip(room.by_ref()) {
            place.write(*byte);
        }
    };
    push(PRELOAD);
    let mut is_any = false;
    for other in entries(list).filter(|entry| !goes(entry)) {
        if is_any {
            push(b":");
        }
        push(other);
        is_any = true;
    }
    push(b"\0");
    is_any
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The environment that a program gets from `variables`.
    fn given(variables: &[&CStr]) -> Vec<String> {
        let mut environment: Vec<_> = variables.iter().map(|text| text.as_ptr()).collect();
        environment.push(core::ptr::null());
        let mut given = Vec::new();
        let mut go = |passed: Strings| {
            // SAFETY: `without` passes an array of C strings that a null ends, which stays during
            // this call.
            let all = unsafe { super::variables(passed) };
            given.extend(all.map(|text| text.to_str().unwrap().to_owned()));
            7
        };
        // SAFETY: the array's texts are NUL terminated, and null ends it.
        assert_eq!(unsafe { without(is_ours, environment.as_ptr(), &mut go) }, 7);
        given
    }

    #[test]
    fn ours_go_and_others_stay_in_their_order() {
        let ours = c"LD_PRELOAD=/dev/shm/lockwright-0/1-2/liblockwright.so";
        assert_eq!(given(&[c"A=1", ours, c"B=2"]), ["A=1", "B=2"]);
        let more = c"LD_PRELOAD=/b.so /a/liblockwright.so:c.so:/d/liblockwright_swap.so";
        assert_eq!(given(&[more, c"B="]), ["LD_PRELOAD=/b.so:c.so", "B="]);
        let with_threads = c"LD_PRELOAD=/a/liblockwright.so:libpthread.so.0:/b.so";
        assert_eq!(given(&[with_threads]), ["LD_PRELOAD=/b.so"]);
        assert_eq!(given(&[c"LD_PRELOAD=/b.so c.so"]), ["LD_PRELOAD=/b.so c.so"], "as it was");
        assert_eq!(given(&[]), [] as [&str; 0]);
        assert_eq!(given(&[ours, c"C=3", ours]), ["C=3"], "twice");
    }

    #[test]
    fn environments_of_every_length() {
        let ours = c"LD_PRELOAD=/proc/42/fd/5:/opt/libjemalloc.so";
        for len in (0..600).chain([1000, 5000, 30_000]) {
            let mut all = vec![c"A=1"; len];
            all.push(ours);
            let given = given(&all);
            assert_eq!(given.len(), len + 1);
            assert_eq!(given[len], "LD_PRELOAD=/opt/libjemalloc.so", "{len}");
        }
    }

    #[test]
    fn no_environment_is_an_empty_one() {
        // SAFETY: `without` takes null for an empty environment.
        let result =
            unsafe { without(is_ours, core::ptr::null(), &mut |none| none.is_null().into()) };
        assert_eq!(result, 1);
    }

    #[test]
    fn the_library_by_its_name_or_in_memory() {
        assert!(is_ours(b"/dev/shm/lockwright-0/1-2/liblockwright.so"));
        assert!(is_ours(b"/dev/shm/lockwright-0/1-2/liblockwright_swap.so"));
        assert!(is_ours(b"/proc/42/fd/5"));
        for other in [b"".as_slice(), b"liblockwright.so.1", b"/opt/libjemalloc.so", b"/proc/x"] {
            assert!(!is_ours(other));
        }
    }
}
