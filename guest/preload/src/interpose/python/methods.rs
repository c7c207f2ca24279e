//! The functions that intercept calls of the methods of CPython's locks. The interpreter's own functions get their arguments as
//! they are.

use core::ffi::{CStr, c_char, c_int, c_long, c_void};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, Ordering::*};

use lockwright_cpython::{HAS_WAITERS, LENGTH, LOCK as LOCK_BYTE, LOCKED, TYPE};
use lockwright_ledger::rows::mode;

use super::tables::{Found, NONE, Place, TUPLE, TUPLE_AND_DICT, Type};
use crate::callsite::Return;
use crate::lock_id::by_address::{PythonLock, PythonRecursiveLock};
use crate::lock_id::python_calls::{self, Call};
use crate::lockdep::python_lock;
use crate::os::{loader, sys};
use crate::recorder::measured::measured_short;

/// An object of CPython's.
type Object = *mut c_void;

/// The address of a function of the interpreter's that one of those below intercepts. It is stored before the program's main, and
/// read by what that calls later.
type Own = AtomicPtr<c_void>;

/// The functions of a type.
struct Owns {
    /// Its objects are no semaphores.
    are_bytes: AtomicBool,
    /// As [`tables::LOCK`] or [`tables::RECURSIVE`].
    methods: [Own; 7],
    dealloc: Own,
    new: Own,
}

impl Owns {
    const fn new() -> Self {
        Self {
            are_bytes: AtomicBool::new(false),
            methods: [const { AtomicPtr::new(core::ptr::null_mut()) }; 7],
            dealloc: AtomicPtr::new(core::ptr::null_mut()),
            new: AtomicPtr::new(core::ptr::null_mut()),
        }
    }
}

/// The lock's, and the recursive lock's.
static OWN: [Owns; 2] = [const { Owns::new() }; 2];

/// Numbers in [`OWN`].
const LOCK: usize = 0;
const RECURSIVE: usize = 1;

/// As [`tables::MAKERS`].
static MAKERS: [Own; 2] = [const { AtomicPtr::new(core::ptr::null_mut()) }; 2];

/// Functions and objects of the interpreter's that are used here. None of them allocates or takes a lock with the arguments that
/// it gets here.
macro_rules! interpreters {
    ($($name:ident)*) => {
        #[allow(non_upper_case_globals, reason = "named as the symbols are")]
        mod symbol {
            use super::*;
            $(pub static $name: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());)*
        }

        /// Finds what is used of the interpreter. False: it has not all of that.
        pub fn find_functions() -> bool {
            let all = [$((concat!(stringify!($name), "\0"), &symbol::$name)),*];
            all.into_iter().all(|(name, word)| {
                let name = CStr::from_bytes_with_nul(name.as_bytes());
                let found = name.ok().and_then(loader::anywhere);
                word.store(found.unwrap_or(core::ptr::null_mut()), Relaxed);
                found.is_some()
            })
        }
    };
}

interpreters! {
    PyTuple_Size
    PyTuple_GetItem
    PyDict_Next
    PyUnicode_CompareWithASCIIString
    PyLong_AsLongAndOverflow
    PyFloat_AsDouble
    PyLong_Type
    PyFloat_Type
    _Py_TrueStruct
    _Py_FalseStruct
}

fn is(object: Object, what: &AtomicPtr<c_void>) -> bool {
    object == what.load(Relaxed)
}

/// The number that an argument is.
fn number(object: Object) -> Option<f64> {
    if is(object, &symbol::_Py_TrueStruct) {
        return Some(1.0);
    }
    if is(object, &symbol::_Py_FalseStruct) {
        return Some(0.0);
    }
    // SAFETY: an argument of the program's own call is an object, of which this is the type. The functions have these types;
    // an object of just that type is read by them, and nothing is called.
    unsafe {
        let kind = object.byte_add(TYPE).cast::<Object>().read();
        if is(kind, &symbol::PyLong_Type) {
            type Get = extern "C" fn(Object, *mut c_int) -> c_long;
            let get = core::mem::transmute::<*mut c_void, Get>(
                symbol::PyLong_AsLongAndOverflow.load(Relaxed),
            );
            // Without this, a number that is too large would be an error of the program's.
            let mut overflow = 0;
            let number = get(object, &raw mut overflow);
            return Some(if overflow == 0 { number as f64 } else { f64::from(overflow) });
        }
        if is(kind, &symbol::PyFloat_Type) {
            type Get = extern "C" fn(Object) -> f64;
            let get =
                core::mem::transmute::<*mut c_void, Get>(symbol::PyFloat_AsDouble.load(Relaxed));
            return Some(get(object));
        }
    }
    None
}

/// An item of a tuple, if it has so many.
///
/// # Safety
/// `tuple` is one, or null.
unsafe fn item(tuple: Object, at: isize) -> Option<Object> {
    type Size = extern "C" fn(Object) -> isize;
    type Item = extern "C" fn(Object, isize) -> Object;
    // SAFETY: functions of these types.
    let (size, item) = unsafe {
        (
            core::mem::transmute::<*mut c_void, Size>(symbol::PyTuple_Size.load(Relaxed)),
            core::mem::transmute::<*mut c_void, Item>(symbol::PyTuple_GetItem.load(Relaxed)),
        )
    };
    (!tuple.is_null() && at < size(tuple)).then(|| item(tuple, at))
}

/// What `acquire(blocking=True, timeout=-1)` was given.
struct Given {
    /// The first argument.
    blocking: Option<Object>,
    /// The second.
    timeout: Option<Object>,
}

impl Given {
    /// By the tuple and the dict of arguments, each of which may be null.
    ///
    /// # Safety
    /// Such arguments of the program's own call.
    unsafe fn by_tuple(tuple: Object, dict: Object) -> Self {
        // SAFETY: the caller promises a tuple, or null. A tuple has its length there, in all versions.
        let is_empty =
            tuple.is_null() || unsafe { tuple.byte_add(LENGTH).cast::<isize>().read() } == 0;
        if is_empty && dict.is_null() {
            return Self { blocking: None, timeout: None };
        }
        type Next = extern "C" fn(Object, *mut isize, *mut Object, *mut Object) -> c_int;
        // SAFETY: a function of this type.
        let next =
            unsafe { core::mem::transmute::<*mut c_void, Next>(symbol::PyDict_Next.load(Relaxed)) };
        // SAFETY: the caller promises a tuple, or null.
        let [blocking, timeout] = [0, 1].map(|at| unsafe { item(tuple, at) });
        let mut given = Self { blocking, timeout };
        let (mut at, mut key, mut value) = (0, core::ptr::null_mut(), core::ptr::null_mut());
        while !dict.is_null() && next(dict, &raw mut at, &raw mut key, &raw mut value) != 0 {
            // SAFETY: a key of the arguments by name, and its value.
            unsafe { given.by_name(key, value) };
        }
        given
    }

    /// # Safety
    /// `key` is a string.
    unsafe fn by_name(&mut self, key: Object, value: Object) {
        type Compare = extern "C" fn(Object, *const c_char) -> c_int;
        // SAFETY: a function of this type.
        let compare = unsafe {
            core::mem::transmute::<*mut c_void, Compare>(
                symbol::PyUnicode_CompareWithASCIIString.load(Relaxed),
            )
        };
        if compare(key, c"blocking".as_ptr()) == 0 {
            self.blocking = Some(value);
        } else if compare(key, c"timeout".as_ptr()) == 0 {
            self.timeout = Some(value);
        }
    }

    /// How the lock is acquired then. What is not understood may wait, and need not.
    fn mode(&self) -> u16 {
        let number = |given: Option<Object>, unless: f64| match given {
            None => Some(unless),
            Some(object) => number(object),
        };
        if self.blocking.is_none() && self.timeout.is_none() {
            return 0;
        }
        match (number(self.blocking, 1.0), number(self.timeout, -1.0)) {
            (Some(0.0), _) | (_, Some(0.0)) => mode::TRY,
            (Some(_), Some(timeout)) if timeout < 0.0 => 0,
            _ => mode::TIMED,
        }
    }
}

/// The lock's byte.
fn byte(lock: Object) -> u8 {
    // SAFETY: the object of the program's own call, in which this byte is the lock; others change it atomically.
    unsafe { AtomicU8::from_ptr(lock.byte_add(LOCK_BYTE).cast()) }.load(Relaxed)
}

/// Takes a lock by `method`, which answers an object, or null for an error: true or false, or something else if it is taken
/// in any case.
///
/// # Safety
/// The interpreter's call of the lock's method, which has not returned.
unsafe fn take(call: &Call, method: impl FnOnce() -> Object) -> Object {
    if !call.is_byte {
        return python_calls::during(call, method);
    }
    let mut result = core::ptr::null_mut();
    let method = || {
        result = method();
        !result.is_null() && !is(result, &symbol::_Py_FalseStruct)
    };
    let is_taken = byte(call.lock as Object) & LOCKED != 0;
    // SAFETY: the caller promises a call that has not returned.
    unsafe { python_lock::acquire(call, is_taken, method) };
    result
}

/// The type of a method of three arguments. One that has fewer does not read the others.
type Method = unsafe extern "C-unwind" fn(Object, Object, Object) -> Object;

/// The interpreter's function.
///
/// # Safety
/// It is of such a type, and has been found.
unsafe fn method(own: &Own) -> Method {
    // SAFETY: the caller promises it.
    unsafe { core::mem::transmute::<*mut c_void, Method>(own.load(Relaxed)) }
}

/// `acquire`, `acquire_lock` and `__enter__`, the number `AT` of the type `OF`.
///
/// # Safety
/// Called by the interpreter as that method; the stub passes `site` and `back`.
unsafe extern "C-unwind" fn acquire<const OF: usize, const AT: usize>(
    lock: Object,
    tuple: Object,
    dict: Object,
    site: u64,
    back: Return,
) -> Object {
    // SAFETY: the interpreter's arguments of a method of this type.
    unsafe {
        let mode = measured_short(|| Given::by_tuple(tuple, dict).mode());
        let levels = (OF == RECURSIVE).then_some(1);
        let is_byte = OWN[OF].are_bytes.load(Relaxed);
        let call = Call { lock: lock as u64, is_byte, mode, levels, site, back };
        take(&call, || method(&OWN[OF].methods[AT])(lock, tuple, dict))
    }
}

/// `_acquire_restore` of a recursive lock: takes it as often as the first item of its argument says.
///
/// # Safety
/// As for [`acquire`].
unsafe extern "C-unwind" fn restore<const AT: usize>(
    lock: Object,
    tuple: Object,
    dict: Object,
    site: u64,
    back: Return,
) -> Object {
    // SAFETY: the interpreter's arguments of a method of this type.
    unsafe {
        let state = item(tuple, 0);
        let levels = state.and_then(|state| item(state, 0)).and_then(number);
        let levels = Some(levels.map_or(1, |levels| levels as u64));
        let is_byte = OWN[RECURSIVE].are_bytes.load(Relaxed);
        let call = Call { lock: lock as u64, is_byte, mode: 0, levels, site, back };
        take(&call, || method(&OWN[RECURSIVE].methods[AT])(lock, tuple, dict))
    }
}

/// What releases a lock.
///
/// # Safety
/// As for [`acquire`].
unsafe extern "C-unwind" fn release<const OF: usize, const AT: usize>(
    lock: Object,
    first: Object,
    second: Object,
    site: u64,
) -> Object {
    // SAFETY: the interpreter's arguments of a method of this type.
    let method = || unsafe { method(&OWN[OF].methods[AT])(lock, first, second) };
    let byte = byte(lock);
    if byte & LOCKED == 0 {
        return method();
    }
    let mut result = core::ptr::null_mut();
    // `_release_save` gives all levels up.
    let levels = (OF == RECURSIVE).then_some(u64::from(AT != 4));
    let back = Return::UNKNOWN;
    let call = Call { lock: lock as u64, is_byte: true, mode: 0, levels, site, back };
    let method = || {
        result = method();
        !result.is_null()
    };
    match OF {
        RECURSIVE => python_lock::release_recursive(&call, method),
        _ => python_lock::release(&call, byte & HAS_WAITERS != 0, method),
    }
    result
}

/// `_at_fork_reinit`: the lock is free again, whoever had it in the parent.
///
/// # Safety
/// As for [`acquire`].
unsafe extern "C-unwind" fn reinitialise<const OF: usize>(
    lock: Object,
    first: Object,
    second: Object,
) -> Object {
    python_lock::is_free_in_child(lock as *const PythonLock);
    // SAFETY: the interpreter's arguments of a method of this type.
    unsafe { method(&OWN[OF].methods[6])(lock, first, second) }
}

/// A function that makes a lock, the number `AT` of [`MAKERS`].
///
/// # Safety
/// As for [`acquire`].
unsafe extern "C-unwind" fn make<const AT: usize>(module: Object, nothing: Object) -> Object {
    // SAFETY: the interpreter's arguments of a function that reads no third.
    let lock = unsafe { method(&MAKERS[AT])(module, nothing, core::ptr::null_mut()) };
    made::<LOCK>(lock)
}

/// A type's `tp_new`.
///
/// # Safety
/// As for [`acquire`].
unsafe extern "C-unwind" fn new<const OF: usize>(
    kind: Object,
    tuple: Object,
    dict: Object,
) -> Object {
    // SAFETY: the interpreter's arguments of a function of this type.
    made::<OF>(unsafe { method(&OWN[OF].new)(kind, tuple, dict) })
}

fn made<const OF: usize>(lock: Object) -> Object {
    if !lock.is_null() {
        match OF {
            RECURSIVE => python_lock::recursive_begins(lock as *const PythonRecursiveLock),
            _ => python_lock::begins(lock as *const PythonLock),
        }
    }
    lock
}

/// A type's `tp_dealloc`.
///
/// # Safety
/// As for [`acquire`].
unsafe extern "C-unwind" fn dealloc<const OF: usize>(lock: Object) {
    type Dealloc = unsafe extern "C-unwind" fn(Object);
    python_lock::ends(lock as *const PythonLock);
    // SAFETY: the interpreter's argument of a function of this type.
    unsafe {
        core::mem::transmute::<*mut c_void, Dealloc>(OWN[OF].dealloc.load(Relaxed))(lock);
    }
}

/// `name: pass = wrapper`: a stub that passes on what [`pass!`] says, after three arguments.
macro_rules! stubs {
    ($($name:ident: $pass:ident = $to:path;)*) => { $(
        /// # Safety
        /// Called by the interpreter as a method of the lock.
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            code!(pass $pass 3, to = sym $to)
        }
    )* };
}

stubs! {
    lock_acquire: site_return = acquire::<LOCK, 0>;
    lock_acquire_lock: site_return = acquire::<LOCK, 1>;
    lock_enter: site_return = acquire::<LOCK, 2>;
    lock_release: site = release::<LOCK, 3>;
    lock_release_lock: site = release::<LOCK, 4>;
    lock_exit: site = release::<LOCK, 5>;
    recursive_acquire: site_return = acquire::<RECURSIVE, 0>;
    recursive_restore: site_return = restore::<1>;
    recursive_enter: site_return = acquire::<RECURSIVE, 2>;
    recursive_release: site = release::<RECURSIVE, 3>;
    recursive_save: site = release::<RECURSIVE, 4>;
    recursive_exit: site = release::<RECURSIVE, 5>;
}

/// Intercepts calls of what was found: of types whose objects `are_bytes`, as [`OWN`], of all that concerns the lock, else of
/// what takes it. A type of which not all was found, or which has functions that are called in another way, is left as it is.
pub fn exchange(found: &Found, are_bytes: [bool; 2]) {
    // As `tables::LOCK` and `tables::RECURSIVE`.
    let stubs: [[unsafe extern "C" fn(); 6]; 2] = [
        [lock_acquire, lock_acquire_lock, lock_enter, lock_release, lock_release_lock, lock_exit],
        [
            recursive_acquire,
            recursive_restore,
            recursive_enter,
            recursive_release,
            recursive_save,
            recursive_exit,
        ],
    ];
    let ends = [
        (reinitialise::<LOCK> as *const (), dealloc::<LOCK> as *const (), new::<LOCK> as *const ()),
        (
            reinitialise::<RECURSIVE> as *const (),
            dealloc::<RECURSIVE> as *const (),
            new::<RECURSIVE> as *const (),
        ),
    ];
    for (number, of) in [&found.lock, &found.recursive].into_iter().enumerate() {
        let makers: &[Place] = if number == LOCK { &found.makers } else { &[] };
        let is_whole = !are_bytes[number] || can_exchange(of.new) && can_exchange(of.dealloc);
        if !are_called_as_here(of, number)
            || !is_whole
            || are_bytes[number] && !makers.iter().all(|maker| is_called(*maker, &[NONE]))
        {
            continue;
        }
        let own = &OWN[number];
        own.are_bytes.store(are_bytes[number], Relaxed);
        let stubs = stubs[number].map(|stub| stub as *const ());
        let exchanged = if are_bytes[number] { stubs.len() } else { TAKES };
        let methods = of.methods.iter().zip(stubs).zip(&own.methods);
        for ((place, stub), own) in methods.take(exchanged) {
            intercept(place.word, stub, own);
        }
        if are_bytes[number] {
            let (reinitialise, dealloc, new) = ends[number];
            intercept(of.methods[6].word, reinitialise, &own.methods[6]);
            intercept(of.dealloc, dealloc, &own.dealloc);
            intercept(of.new, new, &own.new);
            let makes = [make::<0> as *const (), make::<1> as *const ()];
            for ((maker, function), own) in makers.iter().zip(makes).zip(&MAKERS) {
                intercept(maker.word, function, own);
            }
        }
    }
}

/// So many methods, the first ones, take the lock.
const TAKES: usize = 3;

/// All methods of the type number `number` have been found, and are called as those here are.
fn are_called_as_here(of: &Type, number: usize) -> bool {
    of.methods.iter().enumerate().all(|(at, &place)| match at {
        1 if number == RECURSIVE => is_called(place, &[TUPLE]),
        0..TAKES => is_called(place, &[TUPLE_AND_DICT]),
        6 => is_called(place, &[NONE]),
        _ => is_called(place, &[TUPLE, NONE]),
    })
}

/// The function has been found, and is called in one of these ways.
fn is_called(place: Place, ways: &[u32]) -> bool {
    ways.contains(&place.flags) && can_exchange(place.word)
}

/// The word has been found, and can be written to.
fn can_exchange(word: u64) -> bool {
    // SAFETY: a word of the interpreter's own object, which is mapped and stays.
    word != 0 && unsafe { sys::can_write(word as *const u32) }
}

/// `function` is at `word` from now on, in front of what is there.
fn intercept(word: u64, function: *const (), own: &Own) {
    // SAFETY: a word that `tables::find` has found, of an object that stays; it can be written to, and nobody reads it yet.
    unsafe {
        let word = word as *mut *mut c_void;
        own.store(word.read(), Relaxed);
        word.write(function.cast_mut().cast());
    }
}
