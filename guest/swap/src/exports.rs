//! The functions that this library interposes, under the names that programs call: one table. Their
//! versions are none, so they serve whichever version a program asks for.

use core::ffi::c_int;

use lockwright_exec::loader;

use crate::cancel_type::condition;
use crate::counts::{Count, count};
use crate::lock_choice::{choose, target};
use crate::{c11, cancel, cancel_type, cond, execute, layout, mutex, rwlock, selection, spin};

/// `name = aliases: how to;`, where a function is either always the same (`always`; `second` and
/// `third`: with where it returns to as such an argument), or goes where the chosen lock's is
/// (`chosen`).
macro_rules! exports {
    ($($name:ident $(= $alias:ident)*: $how:ident $to:path;)*) => { $(
        export! { $name, $how, $to }
        $(export! { $alias, $how, $to })*
    )* };
}

macro_rules! export {
    ($name:ident, always, $to:path) => {
        export! { $name, { go }, $to }
    };
    ($name:ident, chosen, $to:path) => {
        export! { $name, { go_on }, $to }
    };
    ($name:ident, second, $to:path) => {
        export! { $name, { pass site 1 }, $to }
    };
    ($name:ident, third, $to:path) => {
        export! { $name, { pass site 2 }, $to }
    };
    // Its arguments are put in a row, after the first.
    ($name:ident, variadic, $to:path) => {
        export! { $name, { variadic }, $to }
    };
    ($name:ident, { $($does:tt)+ }, $to:path) => {
        #[doc = concat!("`", stringify!($name), "`.")]
        ///
        /// # Safety
        /// As the function itself.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() -> c_int {
            code!($($does)+, to = sym $to)
        }
    };
}

exports! {
    pthread_mutex_init = __pthread_mutex_init: third mutex::init;
    pthread_mutex_destroy = __pthread_mutex_destroy: always mutex::destroy;
    pthread_mutex_lock = __pthread_mutex_lock: chosen target::mutex_lock;
    pthread_mutex_trylock = __pthread_mutex_trylock: chosen target::mutex_trylock;
    pthread_mutex_timedlock: chosen target::mutex_timedlock;
    pthread_mutex_clocklock: chosen target::mutex_clocklock;
    pthread_mutex_unlock = __pthread_mutex_unlock: chosen target::mutex_unlock;

    pthread_rwlock_init = __pthread_rwlock_init: third rwlock::init;
    pthread_rwlock_destroy = __pthread_rwlock_destroy: always rwlock::destroy;
    pthread_rwlock_rdlock = __pthread_rwlock_rdlock: chosen target::rwlock_rdlock;
    pthread_rwlock_wrlock = __pthread_rwlock_wrlock: chosen target::rwlock_wrlock;
    pthread_rwlock_tryrdlock = __pthread_rwlock_tryrdlock: chosen target::rwlock_tryrdlock;
    pthread_rwlock_trywrlock = __pthread_rwlock_trywrlock: chosen target::rwlock_trywrlock;
    pthread_rwlock_timedrdlock: chosen target::rwlock_timedrdlock;
    pthread_rwlock_timedwrlock: chosen target::rwlock_timedwrlock;
    pthread_rwlock_clockrdlock: chosen target::rwlock_clockrdlock;
    pthread_rwlock_clockwrlock: chosen target::rwlock_clockwrlock;
    pthread_rwlock_unlock = __pthread_rwlock_unlock: chosen target::rwlock_unlock;

    pthread_spin_init: third spin::init;
    pthread_spin_destroy: always spin::destroy;
    pthread_spin_lock: chosen target::spin_lock;
    pthread_spin_trylock: chosen target::spin_trylock;
    pthread_spin_unlock: chosen target::spin_unlock;

    pthread_cond_init: always cond::init;
    pthread_cond_destroy: chosen condition::destroy;
    pthread_cond_wait: chosen condition::wait;
    pthread_cond_timedwait: chosen condition::timedwait;
    pthread_cond_clockwait: chosen condition::clockwait;
    pthread_cond_signal: chosen condition::signal;
    pthread_cond_broadcast: chosen condition::broadcast;

    pthread_setcanceltype: always cancel_type::set;

    execve: always execute::execve;
    execv: always execute::execv;
    execvp: always execute::execvp;
    execvpe: always execute::execvpe;
    execl: variadic execute::execl;
    execlp: variadic execute::execlp;
    execle: variadic execute::execle;
    fexecve: always execute::fexecve;
    execveat: always execute::execveat;
    posix_spawn: always execute::posix_spawn;
    posix_spawnp: always execute::posix_spawnp;

    mtx_init: third c11::mtx_init;
    mtx_destroy: always c11::mtx_destroy;
    mtx_lock: always c11::mtx_lock;
    mtx_trylock: always c11::mtx_trylock;
    mtx_timedlock: always c11::mtx_timedlock;
    mtx_unlock: always c11::mtx_unlock;
    cnd_init: always c11::cnd_init;
    cnd_destroy: always c11::cnd_destroy;
    cnd_wait: always c11::cnd_wait;
    cnd_timedwait: always c11::cnd_timedwait;
    cnd_signal: always c11::cnd_signal;
    cnd_broadcast: always c11::cnd_broadcast;
}

/// Runs when the library has been loaded, which may be after the program's first locks.
#[used]
// SAFETY: the loader calls what stands in this section with C's calling convention.
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = {
    extern "C" fn start() {
        loader::start();
        selection::start();
        choose();
        cancel::prepare();
        layout::try_out();
        count(Count::Programs);
    }
    start
};
