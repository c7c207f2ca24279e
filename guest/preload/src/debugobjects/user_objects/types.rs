//! Types of user-defined objects. What its descriptors say is copied when they are first met, and
//! stays: a module may be unloaded while the engine knows objects of its types, and its names are
//! wanted for the report.

use core::ffi::{CStr, c_char, c_void};
use core::ptr::{self, null_mut};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicPtr};

use lockwright_engines::debugobjects::{Descr, Fault, Fixup, IsStaticObject, Rules};
use lockwright_engines::index::hash;
use lockwright_engines::lockdep::MAX_NAME;
use lockwright_ledger::rows::object::object_end;

use super::type_memory::allocate;
use crate::stack::modules;

/// Numbers of types: in the lower bits a hash of the name. So one type may have several
/// descriptors, as a `static` one in a header has, and objects of two types lie at one address, as
/// a struct and its first member do.
const OWN: u32 = 1 << 31;

/// Rules of a type's own: `LW_OBJECT_INIT_ONCE` and its siblings in lockwright/objects.h.
const RULES: [(u32, Rules); 3] =
    [(1, Rules::INIT_ONCE), (2, Rules::REINIT), (4, Rules::MUST_DESTROY)];

/// `struct lw_object_descr` of lockwright/objects.h, as far as this library knows it. Functions are
/// addresses here.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
struct Told {
    name: *const c_char,
    debug_hint: usize,
    is_static_object: usize,
    fixup_init: usize,
    fixup_activate: usize,
    fixup_destroy: usize,
    fixup_free: usize,
    fixup_assert_init: usize,
    flags: u32,
}

/// A type of user-defined objects, by one of its descriptors.
pub struct OwnType {
    descr: Descr,
    /// Where the descriptor is, or was.
    at: u64,
    told: Told,
    /// Its module was unloaded, and nobody has come with the descriptor since.
    gone: AtomicBool,
    /// Older ones of the same bucket. Set before it is published, then never changed.
    next: *const OwnType,
    name: [u8; MAX_NAME + 1],
}

/// All of them, by where their descriptors are. Nothing is ever taken out.
static TYPES: [AtomicPtr<OwnType>; 64] = [const { AtomicPtr::new(null_mut()) }; 64];

/// The type whose descriptor is at `at` now, where the program has `size` bytes of it. `None`:
/// there is no memory.
///
/// # Safety
/// `at` points to so many bytes of a `struct lw_object_descr`, with functions of its types and a
/// name that is null or NUL terminated.
pub unsafe fn of(at: *const c_void, size: usize) -> Option<&'static Descr> {
    // SAFETY: all zeros are a value of it; as many bytes as both sides know.
    let told = unsafe {
        let mut told = core::mem::zeroed::<Told>();
        let known = size.min(size_of::<Told>());
        (&raw mut told).cast::<u8>().copy_from_nonoverlapping(at.cast(), known);
        told
    };
    let at = at as u64;
    let bucket = &TYPES[hash(&[at]) as usize % TYPES.len()];
    // Acquire pairs with the Release in `publish`: the types below are complete.
    let newest = bucket.load(Acquire);
    // SAFETY: `newest` is null or was published in this bucket, and published types stay.
    let own = match unsafe { find(newest, at, &told) } {
        Some(own) => own,
        // SAFETY: `newest` is null or published in this bucket, and the program's descriptor has a
        // C string or null.
        None => unsafe { publish(bucket, newest, at, &told) }?,
    };
    if own.gone.load(Relaxed) {
        // The module was loaded again, to where it was.
        own.gone.store(false, Relaxed);
    }
    Some(&own.descr)
}

/// # Safety
/// Null or a published type.
unsafe fn find(newest: *const OwnType, at: u64, told: &Told) -> Option<&'static OwnType> {
    // SAFETY: the caller promises null or a published type, as `all` asks.
    unsafe { all(newest) }.find(|own| own.at == at && own.told == *told)
}

/// A type and all older ones of its bucket.
///
/// # Safety
/// Null or a published type.
unsafe fn all(newest: *const OwnType) -> impl Iterator<Item = &'static OwnType> {
    let mut next = newest;
    core::iter::from_fn(move || {
        // SAFETY: the caller promises null or a published type, and published types stay as they
        // are.
        let own = unsafe { next.as_ref() }?;
        next = own.next;
        Some(own)
    })
}

/// Adds a type to a bucket.
///
/// # Safety
/// As [`of`].
#[cold]
unsafe fn publish(
    bucket: &AtomicPtr<OwnType>,
    mut newest: *mut OwnType,
    at: u64,
    told: &Told,
) -> Option<&'static OwnType> {
    let new = allocate::<OwnType>();
    if new.is_null() {
        return None;
    }
    // SAFETY: room for a type, which nobody else has; the caller's name.
    unsafe {
        new.write(OwnType {
            descr: Descr::new(OWN, Rules::KERNEL),
            at,
            told: *told,
            gone: AtomicBool::new(false),
            next: newest,
            name: [0; MAX_NAME + 1],
        });
        let name = copy_name(told.name, &mut (*new).name);
        (*new).descr = descr_of(told, name, &(*new).gone);
    }
    loop {
        // Release pairs with the Acquire in `of`, Acquire with this.
        match bucket.compare_exchange(newest, new, Release, Acquire) {
            // SAFETY: complete, and from now on only read.
            Ok(_) => return unsafe { new.as_ref() },
            Err(newer) => newest = newer,
        }
        // Another thread's, or one of a handler that came between: for the same descriptor perhaps.
        // Then the memory is left.
        // SAFETY: published types; `new` is not yet.
        unsafe {
            if let Some(own) = find(newest, at, told) {
                return Some(own);
            }
            (*new).next = newest;
        }
    }
}

/// # Safety
/// Null or NUL terminated.
unsafe fn copy_name(from: *const c_char, to: &'static mut [u8; MAX_NAME + 1]) -> &'static [u8] {
    if !from.is_null() {
        // SAFETY: `from` is not null, so the caller promises a NUL-terminated name there.
        let name = unsafe { CStr::from_ptr(from) }.to_bytes();
        let len = name.len().min(MAX_NAME);
        to[..len].copy_from_slice(&name[..len]);
    }
    if to[0] == 0 {
        let unnamed = b"object";
        to[..unnamed.len()].copy_from_slice(unnamed);
    }
    to
}

/// For the engine. `name` is padded with zeros.
fn descr_of(told: &Told, name: &'static [u8], gone: &'static AtomicBool) -> Descr {
    let mut words = [0; (MAX_NAME + 1) / 8];
    for (word, bytes) in words.iter_mut().zip(name.chunks_exact(8)) {
        *word = u64::from_ne_bytes([
            bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7],
        ]);
    }
    let told_rules = RULES.iter().filter(|(flag, _)| told.flags & flag != 0);
    let rules = told_rules.fold(Rules::KERNEL, |rules, &(_, rule)| rules.or(rule));
    let rules = if told.is_static_object == 0 { rules } else { rules.or(Rules::STATIC) };
    // SAFETY: null or a function of that type, which is called with what its type says: `of`'s
    // promise. The states that the engine passes are those of `enum lw_object_state`.
    let fixup = |at: usize| unsafe { core::mem::transmute::<usize, Option<Fixup>>(at) };
    Descr {
        name: name.as_ptr().cast(),
        // SAFETY: 0 is `None`, and any other value is the program's function of the type that its
        // descriptor declares.
        is_static_object: unsafe {
            core::mem::transmute::<usize, Option<IsStaticObject>>(told.is_static_object)
        },
        fixup_init: fixup(told.fixup_init),
        fixup_activate: fixup(told.fixup_activate),
        fixup_destroy: fixup(told.fixup_destroy),
        fixup_free: fixup(told.fixup_free),
        fixup_assert_init: fixup(told.fixup_assert_init),
        gone: Some(gone),
        ..Descr::new(OWN | hash(&words) as u32, rules)
    }
}

/// A module was unloaded: of types whose functions are no module's any more none is called.
pub fn unloaded() {
    for own in published() {
        let told = &own.told;
        let called_late = [told.fixup_free, told.debug_hint];
        let is_there = |&at: &usize| at == 0 || modules::find(at as u64).is_some();
        if !called_late.iter().all(is_there) {
            own.gone.store(true, Relaxed);
        }
    }
}

fn published() -> impl Iterator<Item = &'static OwnType> {
    // Acquire pairs with the Release in `publish`.
    // SAFETY: each bucket is null or has a published type, as `all` asks.
    TYPES.iter().flat_map(|bucket| unsafe { all(bucket.load(Acquire)) })
}

/// The answer of the type's `debug_hint` for the object of a fault. Calls the program: with no lock
/// held.
pub fn hint(fault: &Fault) -> Option<u64> {
    type Hint = unsafe extern "C" fn(addr: *mut c_void) -> *mut c_void;
    // What the memory has become nobody knows where that is gone.
    let is_there = matches!(fault.how, object_end::NONE | object_end::FREED | object_end::UNMAPPED);
    if fault.descr.type_id & OWN == 0 || !is_there {
        return None;
    }
    let own = published().find(|own| ptr::eq(&raw const own.descr, fault.descr))?;
    if own.told.debug_hint == 0 || own.gone.load(Relaxed) {
        return None;
    }
    // SAFETY: a function of that type, `of`'s promise, of a module that is there; the call about
    // the object is under way.
    let hint = unsafe {
        core::mem::transmute::<usize, Hint>(own.told.debug_hint)(fault.addr as *mut c_void)
    };
    (!hint.is_null()).then_some(hint as u64)
}
