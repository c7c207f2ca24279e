//! OpenMP's locks and critical sections, as GCC's runtime has them and LLVM's. A section cannot be
//! tried for.

use core::ffi::{c_int, c_void};

use super::steps::{self, Call};
use crate::callsite::Return;
use crate::lock_id::by_address::flag;

pub type Lock = *mut c_void;
/// The place of the call that the compiler passes to LLVM's runtime.
pub type Place = *mut c_void;

next_functions! {
    omp_init_lock(l: Lock) -> ();
    omp_destroy_lock(l: Lock) -> ();
    omp_set_lock(l: Lock) -> ();
    omp_test_lock(l: Lock) -> c_int;
    omp_unset_lock(l: Lock) -> ();
    omp_init_nest_lock(l: Lock) -> ();
    omp_destroy_nest_lock(l: Lock) -> ();
    omp_set_nest_lock(l: Lock) -> ();
    omp_test_nest_lock(l: Lock) -> c_int;
    omp_unset_nest_lock(l: Lock) -> ();
    GOMP_critical_start() -> ();
    GOMP_critical_end() -> ();
    GOMP_critical_name_start(name: Lock) -> ();
    GOMP_critical_name_end(name: Lock) -> ();
    GOMP_atomic_start() -> ();
    GOMP_atomic_end() -> ();
    __kmpc_critical(p: Place, t: c_int, name: Lock) -> ();
    __kmpc_critical_with_hint(p: Place, t: c_int, name: Lock, hint: u32) -> ();
    __kmpc_end_critical(p: Place, t: c_int, name: Lock) -> ();
}

/// A section without a name is one lock of the whole process: known by the address of this.
struct Section(&'static str);

static CRITICAL: Section = Section("critical");
static ATOMIC: Section = Section("atomic");

impl Section {
    fn lock(&'static self) -> u64 {
        let lock = &raw const *self as u64;
        steps::name(lock, self.0);
        lock
    }
}

/// `omp_init_lock`.
///
/// # Safety
/// The arguments keep the contract of `omp_init_lock`; the stub passes `site`.
pub unsafe extern "C-unwind" fn init(l: Lock, site: u64) {
    // SAFETY: the next `omp_init_lock` gets the program's own `l` unchanged, as without us.
    unsafe { next::omp_init_lock(l) };
    steps::init(l as u64, site);
}

/// `omp_destroy_lock`.
///
/// # Safety
/// The arguments keep the contract of `omp_destroy_lock`; the stub passes `site`.
pub unsafe extern "C-unwind" fn destroy(l: Lock, site: u64) {
    steps::destroy(l as u64, site);
    // SAFETY: the next `omp_destroy_lock` gets the program's own `l` unchanged, as without us.
    unsafe { next::omp_destroy_lock(l) };
}

/// `omp_set_lock`.
///
/// # Safety
/// The arguments keep the contract of `omp_set_lock`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn set(l: Lock, site: u64, back: Return) {
    let call = Call { lock: l as u64, flags: 0, site, back };
    // SAFETY: the program passed `l` to `omp_set_lock`, which asks of it what `omp_test_lock` asks.
    let attempt = || unsafe { next::omp_test_lock(l) } != 0;
    // SAFETY: the next `omp_set_lock` gets the program's own `l` unchanged, as without us.
    steps::take(call, attempt, || unsafe { next::omp_set_lock(l) });
}

/// `omp_test_lock`.
///
/// # Safety
/// The arguments keep the contract of `omp_test_lock`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn test(l: Lock, site: u64, back: Return) -> c_int {
    // SAFETY: the next `omp_test_lock` gets the program's own `l` unchanged, as without us.
    let had = unsafe { next::omp_test_lock(l) };
    steps::tried(Call { lock: l as u64, flags: 0, site, back }, had != 0);
    had
}

/// `omp_unset_lock`.
///
/// # Safety
/// The arguments keep the contract of `omp_unset_lock`; the stub passes `site`.
pub unsafe extern "C-unwind" fn unset(l: Lock, site: u64) {
    steps::release(l as u64, site);
    // SAFETY: the next `omp_unset_lock` gets the program's own `l` unchanged, as without us.
    unsafe { next::omp_unset_lock(l) };
}

/// `omp_init_nest_lock`.
///
/// # Safety
/// The arguments keep the contract of `omp_init_nest_lock`; the stub passes `site`.
pub unsafe extern "C-unwind" fn init_nest(l: Lock, site: u64) {
    // SAFETY: the next `omp_init_nest_lock` gets the program's own `l` unchanged, as without us.
    unsafe { next::omp_init_nest_lock(l) };
    steps::init(l as u64, site);
}

/// `omp_destroy_nest_lock`.
///
/// # Safety
/// The arguments keep the contract of `omp_destroy_nest_lock`; the stub passes `site`.
pub unsafe extern "C-unwind" fn destroy_nest(l: Lock, site: u64) {
    steps::destroy(l as u64, site);
    // SAFETY: the next `omp_destroy_nest_lock` gets the program's own `l` unchanged, as without us.
    unsafe { next::omp_destroy_nest_lock(l) };
}

/// `omp_set_nest_lock`.
///
/// # Safety
/// The arguments keep the contract of `omp_set_nest_lock`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn set_nest(l: Lock, site: u64, back: Return) {
    let call = Call { lock: l as u64, flags: flag::RECURSIVE, site, back };
    // SAFETY: the program passed `l` to `omp_set_nest_lock`, which asks of it what
    // `omp_test_nest_lock` asks.
    let attempt = || unsafe { next::omp_test_nest_lock(l) } != 0;
    // SAFETY: the next `omp_set_nest_lock` gets the program's own `l` unchanged, as without us.
    steps::take(call, attempt, || unsafe { next::omp_set_nest_lock(l) });
}

/// `omp_test_nest_lock`, which answers how often it is held.
///
/// # Safety
/// The arguments keep the contract of `omp_test_nest_lock`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn test_nest(l: Lock, site: u64, back: Return) -> c_int {
    // SAFETY: the next `omp_test_nest_lock` gets the program's own `l` unchanged, as without us.
    let had = unsafe { next::omp_test_nest_lock(l) };
    steps::tried(Call { lock: l as u64, flags: flag::RECURSIVE, site, back }, had != 0);
    had
}

/// `omp_unset_nest_lock`.
///
/// # Safety
/// The arguments keep the contract of `omp_unset_nest_lock`; the stub passes `site`.
pub unsafe extern "C-unwind" fn unset_nest(l: Lock, site: u64) {
    steps::release(l as u64, site);
    // SAFETY: the next `omp_unset_nest_lock` gets the program's own `l` unchanged, as without us.
    unsafe { next::omp_unset_nest_lock(l) };
}

/// `GOMP_critical_start`.
///
/// # Safety
/// The arguments keep the contract of `GOMP_critical_start`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn critical_start(site: u64, back: Return) {
    let call = Call { lock: CRITICAL.lock(), flags: 0, site, back };
    // SAFETY: the next `GOMP_critical_start` takes no arguments, and the program itself has called
    // it.
    steps::take_untried(call, || unsafe { next::GOMP_critical_start() });
}

/// `GOMP_critical_end`.
///
/// # Safety
/// The arguments keep the contract of `GOMP_critical_end`; the stub passes `site`.
pub unsafe extern "C-unwind" fn critical_end(site: u64) {
    steps::give_back(CRITICAL.lock(), site);
    // SAFETY: the next `GOMP_critical_end` takes no arguments, and the program itself has called
    // it.
    unsafe { next::GOMP_critical_end() };
}

/// `GOMP_critical_name_start`. The name is a variable of the program.
///
/// # Safety
/// The arguments keep the contract of `GOMP_critical_name_start`; the stub passes `site` and
/// `back`.
pub unsafe extern "C-unwind" fn critical_name_start(name: Lock, site: u64, back: Return) {
    let call = Call { lock: name as u64, flags: 0, site, back };
    // SAFETY: the next `GOMP_critical_name_start` gets the program's own `name` unchanged, as
    // without us.
    steps::take_untried(call, || unsafe { next::GOMP_critical_name_start(name) });
}

/// `GOMP_critical_name_end`.
///
/// # Safety
/// The arguments keep the contract of `GOMP_critical_name_end`; the stub passes `site`.
pub unsafe extern "C-unwind" fn critical_name_end(name: Lock, site: u64) {
    steps::give_back(name as u64, site);
    // SAFETY: the next `GOMP_critical_name_end` gets the program's own `name` unchanged, as without
    // us.
    unsafe { next::GOMP_critical_name_end(name) };
}

/// `GOMP_atomic_start`: for what no instruction does atomically.
///
/// # Safety
/// The arguments keep the contract of `GOMP_atomic_start`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn atomic_start(site: u64, back: Return) {
    let call = Call { lock: ATOMIC.lock(), flags: 0, site, back };
    // SAFETY: the next `GOMP_atomic_start` takes no arguments, and the program itself has called
    // it.
    steps::take_untried(call, || unsafe { next::GOMP_atomic_start() });
}

/// `GOMP_atomic_end`.
///
/// # Safety
/// The arguments keep the contract of `GOMP_atomic_end`; the stub passes `site`.
pub unsafe extern "C-unwind" fn atomic_end(site: u64) {
    steps::give_back(ATOMIC.lock(), site);
    // SAFETY: the next `GOMP_atomic_end` takes no arguments, and the program itself has called it.
    unsafe { next::GOMP_atomic_end() };
}

/// `__kmpc_critical`. The name is a variable of the program, of a section without one, too.
///
/// # Safety
/// The arguments keep the contract of `__kmpc_critical`; the stub passes `site` and `back`.
pub unsafe extern "C-unwind" fn kmpc_critical(
    place: Place,
    thread: c_int,
    name: Lock,
    site: u64,
    back: Return,
) {
    let call = Call { lock: name as u64, flags: 0, site, back };
    // SAFETY: the next `__kmpc_critical` gets the program's own arguments unchanged, as without us.
    steps::take_untried(call, || unsafe { next::__kmpc_critical(place, thread, name) });
}

/// `__kmpc_critical_with_hint`. No register is left for where the call is from but its site.
///
/// # Safety
/// The arguments keep the contract of `__kmpc_critical_with_hint`; the stub passes `site`.
pub unsafe extern "C-unwind" fn kmpc_critical_with_hint(
    place: Place,
    thread: c_int,
    name: Lock,
    hint: u32,
    site: u64,
) {
    let call = Call { lock: name as u64, flags: 0, site, back: Return::UNKNOWN };
    // SAFETY: the next `__kmpc_critical_with_hint` gets the program's own arguments unchanged, as
    // without us.
    steps::take_untried(call, || unsafe {
        next::__kmpc_critical_with_hint(place, thread, name, hint);
    });
}

/// `__kmpc_end_critical`.
///
/// # Safety
/// The arguments keep the contract of `__kmpc_end_critical`; the stub passes `site`.
pub unsafe extern "C-unwind" fn kmpc_end_critical(
    place: Place,
    thread: c_int,
    name: Lock,
    site: u64,
) {
    steps::give_back(name as u64, site);
    // SAFETY: the next `__kmpc_end_critical` gets the program's own arguments unchanged, as without
    // us.
    unsafe { next::__kmpc_end_critical(place, thread, name) };
}
