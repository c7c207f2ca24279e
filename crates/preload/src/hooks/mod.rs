//! The functions that we stand in front of, as the program sees them: one list. An entry with a
//! register is a stub that passes the return address, which is the call site, as one argument more;
//! a stub is not a frame, so stacks begin with the program's.

mod aliases;
mod allocate;
mod annotate;
mod attribute;
mod c11;
mod cond;
mod ending;
mod execute;
mod fork;
mod freed;
mod guarded;
pub mod inherited;
mod jump;
mod misuse;
mod mutex;
mod once;
mod rwlock;
mod seccomp;
mod semaphore;
mod signal;
mod signal_sysv;
mod signal_wait;
mod specific;
mod spin;
mod sync;
mod thread;
mod timer;
mod tried;
mod unheard;
mod unpatched;
pub mod watch;

pub use aliases::part as part_aliases;
pub use allocate::start as track_allocations;
pub use annotate::own::{OwnLock, flag as own_flag};
pub use c11::start as watch_c11;
pub use ending::start as watch_exit_code;
pub use execute::start as choose_spawns;
pub use fork::{register as register_fork, unseen as fork_unseen};
pub use freed::{may_have_objects, note_lock, note_object, start as watch_frees};
pub use guarded::begin as begin_guarding;
pub use misuse::place;
pub use spin::this as spin_lock;
pub use thread::ended as thread_ended;
pub use timer::{armed_until, at_exit as timers_at_exit, forked as timers_forked};
pub use unheard::Begin;

use core::arch::naked_asm;
use core::ffi::c_int;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use lockwright_engines::lockdep::ThreadState;
use lockwright_ledger::rows::mode;
use lockwright_ledger::rows::object::object_end;

use self::annotate::own;
use crate::objects::{COND_IMPOSSIBLE, COND_WREFS, ONCE_DONE};
use crate::{meter, sys};

/// `name(register): function` exports `name`, which jumps to `function` with its return address in
/// `register`, the first argument register that `name` itself does not use. `name(register, other, third)` also passes
/// in `other` where on the stack the return address is, and in `third` the caller's frame pointer: a
/// [`crate::sites::Return`].
macro_rules! export {
    ($($name:ident($register:literal $(, $stack:literal, $frame:literal)?): $function:path;)*) => { $(
        #[doc = concat!("Stands in front of the C library's `", stringify!($name), "`.")]
        /// # Safety
        /// As the function itself.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() -> c_int {
            naked_asm!(concat!("mov ", $register, ", [rsp]"),
                       $(concat!("mov ", $stack, ", rsp"), concat!("mov ", $frame, ", rbp"),)?
                       "jmp {to}", to = sym $function)
        }
    )* };
}

/// As `export`, for what lockmeter counts: `name(register): the validator's, lockmeter's, both`. The
/// stub goes where [`choose`] said. The third register, of the frame pointer, may be left out.
macro_rules! export_counted {
    ($($name:ident($register:literal $(, $stack:literal $(, $frame:literal)?)?): $check:path, $meter:path, $both:path;)*) => {
        mod chosen {
            use super::*;
            $(
                #[allow(non_upper_case_globals, reason = "named as the function is")]
                pub static $name: AtomicPtr<()> = AtomicPtr::new($check as *mut ());
            )*
        }

        $(
            #[doc = concat!("`", stringify!($name), "`: the C library's, or an annotation.")]
            /// # Safety
            /// As the function itself.
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name() -> c_int {
                naked_asm!(concat!("mov ", $register, ", [rsp]"), $(concat!("mov ", $stack, ", rsp"),
                           $(concat!("mov ", $frame, ", rbp"),)?)? "jmp qword ptr [rip + {to}]", to = sym chosen::$name)
            }
        )*

        /// Has the stubs go to lockmeter's functions, beside the validator's or alone. Called at start,
        /// before any thread.
        pub fn choose(both: bool) {
            $(chosen::$name.store(if both { $both as *mut () } else { $meter as *mut () }, Relaxed);)*
        }
    };
}

export! {
    pthread_mutex_init("rdx"): mutex::init;
    pthread_mutex_destroy("rsi"): mutex::destroy;
    pthread_mutex_consistent("rsi"): mutex::consistent;
    pthread_mutex_consistent_np("rsi"): mutex::consistent;
    pthread_mutex_setprioceiling("rcx"): mutex::setprioceiling;

    pthread_rwlock_init("rdx"): rwlock::init;
    pthread_rwlock_destroy("rsi"): rwlock::destroy;

    pthread_cond_init("rdx"): cond::init;
    pthread_cond_destroy("rsi"): cond::destroy;

    pthread_create("r8"): thread::create;
    pthread_timedjoin_np("rcx"): thread::timedjoin;
    pthread_tryjoin_np("rdx"): thread::tryjoin;
    pthread_clockjoin_np("r8"): thread::clockjoin;
    pthread_setname_np("rdx"): thread::setname;
    pthread_cancel("rsi"): thread::cancel;
    pthread_key_create("rdx"): specific::key_create;
    tss_create("rdx"): specific::tss_create;

    mtx_init("rdx"): c11::mtx_init;
    mtx_destroy("rsi"): c11::mtx_destroy;
    cnd_init("rsi"): c11::cnd_init;
    cnd_destroy("rsi"): c11::cnd_destroy;
    thrd_create("rcx"): c11::thrd_create;

    pthread_spin_init("rdx"): spin::init;
    pthread_spin_destroy("rsi"): spin::destroy;

    pthread_barrier_init("rcx"): sync::barrier_init;
    pthread_barrier_destroy("rsi"): sync::barrier_destroy;
    sem_init("rcx"): semaphore::init;
    sem_destroy("rsi"): semaphore::destroy;
    sem_post("rsi"): semaphore::post;
    sem_trywait("rsi", "rdx", "rcx"): semaphore::trywait;

    timer_create("rcx"): timer::create;
    timer_delete("rsi"): timer::delete;
    timer_settime("r8"): timer::settime;
    timer_gettime("rdx"): timer::gettime;
    timer_getoverrun("rsi"): timer::getoverrun;

    sigaction("rcx"): signal::sigaction;
    __sigaction("rcx"): signal::sigaction;
    signal("rdx"): signal::signal;
    bsd_signal("rdx"): signal::signal;
    ssignal("rdx"): signal::signal;
    sysv_signal("rdx"): signal::sysv_signal;
    __sysv_signal("rdx"): signal::sysv_signal;
    pthread_sigmask("rcx"): signal::pthread_sigmask;
    sigprocmask("rcx"): signal::sigprocmask;
    sigset("rdx"): signal_sysv::sigset;
    sighold("rsi"): signal_sysv::sighold;
    sigrelse("rsi"): signal_sysv::sigrelse;
    sigblock("rsi"): signal_sysv::sigblock;
    sigsetmask("rsi"): signal_sysv::sigsetmask;
    sigsuspend("rsi"): signal_wait::sigsuspend;
    __sigsuspend("rsi"): signal_wait::sigsuspend;
    sigpause("rsi"): signal_wait::sigpause;
    __xpg_sigpause("rsi"): signal_wait::xpg_sigpause;
    ppoll("r8"): signal_wait::ppoll;
    __ppoll_chk("r9"): signal_wait::ppoll_chk;
    epoll_pwait("r9"): signal_wait::epoll_pwait;
    epoll_pwait2("r9"): signal_wait::epoll_pwait2;
    longjmp("rdx"): jump::longjmp;
    _longjmp("rdx"): jump::longjmp;
    siglongjmp("rdx"): jump::longjmp;
    __longjmp_chk("rdx"): jump::longjmp_chk;

    _Fork("rdi"): unheard::bare;

    _exit("rsi"): ending::exit_at_once;
    _Exit("rsi"): ending::exit_at_once;
    quick_exit("rsi"): ending::quick_exit;

    munmap("rdx"): freed::munmap;
    mremap("r9"): freed::mremap;
    dlclose("rsi"): unload;
}

export_counted! {
    pthread_mutex_lock("rsi", "rdx"): mutex::lock, meter::mutex::lock::<false>, meter::both::mutex_lock;
    pthread_mutex_trylock("rsi", "rdx", "rcx"): mutex::trylock, meter::mutex::trylock, meter::both::mutex_trylock;
    pthread_mutex_timedlock("rdx", "rcx", "r8"): mutex::timedlock, meter::mutex::timedlock, meter::both::mutex_timedlock;
    pthread_mutex_clocklock("rcx", "r8", "r9"): mutex::clocklock, meter::mutex::clocklock, meter::both::mutex_clocklock;
    pthread_mutex_unlock("rsi"): mutex::unlock, meter::mutex::unlock::<false>, meter::both::mutex_unlock;
    __pthread_mutex_init("rdx"): mutex::init, mutex::init, mutex::init;
    __pthread_mutex_destroy("rsi"): mutex::destroy, mutex::destroy, mutex::destroy;
    __pthread_mutex_lock("rsi", "rdx"): mutex::lock, meter::mutex::lock::<false>, meter::both::mutex_lock;
    __pthread_mutex_trylock("rsi", "rdx", "rcx"): mutex::trylock, meter::mutex::trylock, meter::both::mutex_trylock;
    __pthread_mutex_unlock("rsi"): mutex::unlock, meter::mutex::unlock::<false>, meter::both::mutex_unlock;
    pthread_rwlock_rdlock("rsi", "rdx", "rcx"): rwlock::rdlock, meter::rwlock::rdlock, meter::both::rwlock_rdlock;
    pthread_rwlock_wrlock("rsi", "rdx", "rcx"): rwlock::wrlock, meter::rwlock::wrlock, meter::both::rwlock_wrlock;
    pthread_rwlock_tryrdlock("rsi", "rdx", "rcx"): rwlock::tryrdlock, meter::rwlock::tryrdlock, meter::both::rwlock_tryrdlock;
    pthread_rwlock_trywrlock("rsi", "rdx", "rcx"): rwlock::trywrlock, meter::rwlock::trywrlock, meter::both::rwlock_trywrlock;
    pthread_rwlock_timedrdlock("rdx", "rcx", "r8"): rwlock::timedrdlock, meter::rwlock::timedrdlock, meter::both::rwlock_timedrdlock;
    pthread_rwlock_timedwrlock("rdx", "rcx", "r8"): rwlock::timedwrlock, meter::rwlock::timedwrlock, meter::both::rwlock_timedwrlock;
    pthread_rwlock_clockrdlock("rcx", "r8", "r9"): rwlock::clockrdlock, meter::rwlock::clockrdlock, meter::both::rwlock_clockrdlock;
    pthread_rwlock_clockwrlock("rcx", "r8", "r9"): rwlock::clockwrlock, meter::rwlock::clockwrlock, meter::both::rwlock_clockwrlock;
    pthread_rwlock_unlock("rsi"): rwlock::unlock, meter::rwlock::unlock, meter::both::rwlock_unlock;
    __pthread_rwlock_init("rdx"): rwlock::init, rwlock::init, rwlock::init;
    __pthread_rwlock_destroy("rsi"): rwlock::destroy, rwlock::destroy, rwlock::destroy;
    __pthread_rwlock_rdlock("rsi", "rdx", "rcx"): rwlock::rdlock, meter::rwlock::rdlock, meter::both::rwlock_rdlock;
    __pthread_rwlock_wrlock("rsi", "rdx", "rcx"): rwlock::wrlock, meter::rwlock::wrlock, meter::both::rwlock_wrlock;
    __pthread_rwlock_tryrdlock("rsi", "rdx", "rcx"): rwlock::tryrdlock, meter::rwlock::tryrdlock, meter::both::rwlock_tryrdlock;
    __pthread_rwlock_trywrlock("rsi", "rdx", "rcx"): rwlock::trywrlock, meter::rwlock::trywrlock, meter::both::rwlock_trywrlock;
    __pthread_rwlock_unlock("rsi"): rwlock::unlock, meter::rwlock::unlock, meter::both::rwlock_unlock;
    pthread_cond_wait("rdx"): cond::wait, meter::cond::wait, meter::both::cond_wait;
    pthread_cond_timedwait("rcx"): cond::timedwait, meter::cond::timedwait, meter::both::cond_timedwait;
    pthread_cond_clockwait("r8"): cond::clockwait, meter::cond::clockwait, meter::both::cond_clockwait;
    pthread_join("rdx"): thread::join, meter::waits::pthread_join, meter::both::join;
    mtx_lock("rsi", "rdx", "rcx"): c11::check::mtx_lock, c11::meter::mtx_lock, c11::both::mtx_lock;
    mtx_trylock("rsi", "rdx", "rcx"): c11::check::mtx_trylock, c11::meter::mtx_trylock, c11::both::mtx_trylock;
    mtx_timedlock("rdx", "rcx", "r8"): c11::check::mtx_timedlock, c11::meter::mtx_timedlock, c11::both::mtx_timedlock;
    mtx_unlock("rsi"): c11::check::mtx_unlock, c11::meter::mtx_unlock, c11::both::mtx_unlock;
    cnd_wait("rdx"): c11::check::cnd_wait, c11::meter::cnd_wait, c11::both::cnd_wait;
    cnd_timedwait("rcx"): c11::check::cnd_timedwait, c11::meter::cnd_timedwait, c11::both::cnd_timedwait;
    thrd_join("rdx"): thread::join_c11, meter::waits::thrd_join, meter::both::thrd_join;
    pthread_spin_lock("rsi", "rdx", "rcx"): spin::lock, meter::spin::lock, meter::both::spin_lock;
    pthread_spin_trylock("rsi", "rdx", "rcx"): spin::trylock, meter::spin::trylock, meter::both::spin_trylock;
    pthread_spin_unlock("rsi"): spin::unlock, meter::spin::unlock, meter::both::spin_unlock;
    pthread_barrier_wait("rsi"): sync::barrier_wait, meter::waits::barrier_wait, meter::both::barrier_wait;
    sem_wait("rsi", "rdx", "rcx"): semaphore::wait, meter::waits::sem_wait, meter::both::sem_wait;
    sem_timedwait("rdx", "rcx", "r8"): semaphore::timedwait, meter::waits::sem_timedwait, meter::both::sem_timedwait;
    sem_clockwait("rcx", "r8", "r9"): semaphore::clockwait, meter::waits::sem_clockwait, meter::both::sem_clockwait;
    lockwright_acquire("rdx", "rcx", "r8"): own::acquire, meter::own::acquire, meter::own::both::acquire;
    lockwright_contended("rsi"): own::contended, meter::own::contended, meter::own::both::contended;
    lockwright_acquired("rsi"): own::acquired, meter::own::acquired, meter::own::both::acquired;
    lockwright_abandoned("rsi"): own::abandoned, meter::own::abandoned, meter::own::both::abandoned;
    lockwright_release("rsi"): own::release, meter::own::release, meter::own::both::release;
}

/// `name: function` exports `name`, which forwards to libc unless the condition variable's bytes are such as none has
/// that may be used, or somebody has waited with another lock kept, so that it matters who signals. Programs signal
/// often, and rarely is either so: it costs four instructions.
macro_rules! export_signals {
    ($($name:ident: $strange:path;)*) => { $(
        #[doc = concat!("Stands in front of the C library's `", stringify!($name), "`.")]
        /// # Safety
        /// As the function itself.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() -> c_int {
            naked_asm!("test dword ptr [rdi + {wrefs}], {impossible}", "jnz {strange}",
                       "cmp byte ptr [rip + {asks}], 0", "jne {strange}",
                       "jmp qword ptr [rip + {next}]", wrefs = const COND_WREFS, asks = sym cond::SIGNALS_MATTER,
                       impossible = const COND_IMPOSSIBLE as i32, strange = sym $strange,
                       next = sym crate::real::slot::$name)
        }
    )* };
}

export_signals! {
    pthread_cond_signal: cond::signal_strange;
    pthread_cond_broadcast: cond::broadcast_strange;
    cnd_signal: cond::cnd_signal_strange;
    cnd_broadcast: cond::cnd_broadcast_strange;
}

/// `name -> next: function` exports `name`, which goes straight on to `next` where the routine has run.
macro_rules! export_once {
    ($($name:ident -> $next:ident: $run:path;)*) => { $(
        #[doc = concat!("Stands in front of the C library's `", stringify!($name), "`.")]
        /// # Safety
        /// As the function itself.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() -> c_int {
            naked_asm!("test dword ptr [rdi], {done}", "jz {run}", "jmp qword ptr [rip + {next}]",
                       done = const ONCE_DONE as i32, run = sym $run, next = sym crate::real::slot::$next)
        }
    )* };
}

export_once! {
    pthread_once -> pthread_once: once::pthread_once;
    __pthread_once -> pthread_once: once::pthread_once;
    call_once -> call_once: once::call_once;
}

/// `name` exports `name`, which goes straight on but for a child with a memory of its own.
macro_rules! export_clones {
    ($($name:ident),*) => { $(
        #[doc = concat!("Stands in front of the C library's `", stringify!($name), "`.")]
        /// # Safety
        /// As the function itself.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() -> c_int {
            naked_asm!("test edx, {shares}", "jz {process}", "jmp qword ptr [rip + {next}]",
                       shares = const unheard::SHARES, process = sym unheard::clone,
                       next = sym crate::real::slot::clone)
        }
    )* };
}

export_clones! { clone, __clone }

const _: () = assert!(libc::SYS_fork == libc::SYS_clone + 1);

/// Stands in front of the C library's `syscall`: goes straight on but for those that fork, or forbid system calls.
///
/// # Safety
/// As the function itself.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syscall() -> core::ffi::c_long {
    naked_asm!("lea eax, [rdi - {clone}]", "cmp eax, 1", "jbe {forks}", "cmp edi, {clone3}", "je {forks}",
               "cmp edi, {prctl}", "je {restricts}", "cmp edi, {seccomp}", "je {restricts}",
               "jmp qword ptr [rip + {next}]", clone = const libc::SYS_clone,
               clone3 = const libc::SYS_clone3, forks = sym unheard::syscall_that_forks,
               prctl = const libc::SYS_prctl, seccomp = const libc::SYS_seccomp,
               restricts = sym seccomp::syscall_that_restricts,
               next = sym crate::real::slot::syscall)
}

/// Stands in front of the C library's `prctl`: goes straight on but for PR_SET_SECCOMP.
///
/// # Safety
/// As the function itself.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prctl() -> c_int {
    naked_asm!("cmp edi, {set_seccomp}", "je {restricts}", "jmp qword ptr [rip + {next}]",
               set_seccomp = const libc::PR_SET_SECCOMP, restricts = sym seccomp::prctl,
               next = sym crate::real::slot::prctl)
}

// Six arguments or more: there is no register left for the call site.
export! {
    pselect("rax"): signal_wait::pselect;
    posix_spawn("rax"): execute::posix_spawn;
    posix_spawnp("rax"): execute::posix_spawnp;
}

export! {
    execve("rcx"): execute::execve;
    execv("rdx"): execute::execv;
    execvp("rdx"): execute::execvp;
    execvpe("rcx"): execute::execvpe;
    fexecve("rcx"): execute::fexecve;
    execveat("r9"): execute::execveat;
    system("rsi"): execute::system;
    popen("rdx"): execute::popen;
}

/// `name: function` exports `name`, whose arguments after the first may be any number: `function` gets where they are in
/// a row, those that came in registers before those on the stack.
macro_rules! export_listed {
    ($($name:ident: $function:path;)*) => { $(
        #[doc = concat!("Stands in front of the C library's `", stringify!($name), "`.")]
        /// # Safety
        /// As the function itself.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() -> c_int {
            // The return address makes way for them, and comes below them, which aligns the stack.
            naked_asm!("pop rax", "push r9", "push r8", "push rcx", "push rdx", "push rsi", "mov rsi, rsp",
                       "push rax", "call {to}", "pop rcx", "add rsp, 40", "push rcx", "ret", to = sym $function)
        }
    )* };
}

export_listed! {
    execl: execute::execl;
    execlp: execute::execlp;
    execle: execute::execle;
}

/// As `export_counted`, for calls that lockmeter counts and the validator does not: without the meter the stub
/// goes straight on.
macro_rules! export_passed {
    ($($name:ident($register:literal);)*) => {
        mod passed {
            use super::*;
            $(
                #[allow(non_upper_case_globals, reason = "named as the function is")]
                pub static $name: AtomicPtr<()> = AtomicPtr::new(meter::blocking::$name as *mut ());
            )*
        }

        $(
            #[doc = concat!("Stands in front of the C library's `", stringify!($name), "`.")]
            /// # Safety
            /// As the function itself.
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name() -> c_int {
                naked_asm!(concat!("mov ", $register, ", [rsp]"), "jmp qword ptr [rip + {to}]",
                           to = sym passed::$name)
            }
        )*

        /// Has the stubs go straight on. Called at start, before any thread.
        pub fn pass() {
            $(passed::$name.store(crate::real::slot::$name.load(Relaxed).cast(), Relaxed);)*
        }
    };
}

export_passed! {
    read("rcx");
    write("rcx");
    pread("r8");
    pread64("r8");
    pwrite("r8");
    pwrite64("r8");
    readv("rcx");
    writev("rcx");
    preadv("r8");
    preadv64("r8");
    pwritev("r8");
    pwritev64("r8");
    fsync("rsi");
    fdatasync("rsi");
    msync("rcx");
    flock("rdx");
    poll("rcx");
    select("r9");
    epoll_wait("r8");
    nanosleep("rdx");
    clock_nanosleep("r8");
    usleep("rsi");
    sleep("rsi");
    recv("r8");
    recvmsg("rcx");
    send("r8");
    sendmsg("rcx");
    accept("rcx");
    accept4("r8");
    connect("rcx");
    waitpid("rcx");
}

/// Has the stubs of mutexes go to lockmeter's functions that time every hold by the time-stamp counter. Called at
/// start, after [`choose`].
pub fn choose_every() {
    let (lock, unlock) = (meter::mutex::lock::<true>, meter::mutex::unlock::<true>);
    for stub in [&chosen::pthread_mutex_lock, &chosen::__pthread_mutex_lock] {
        stub.store(lock as *mut (), Relaxed);
    }
    for stub in [&chosen::pthread_mutex_unlock, &chosen::__pthread_mutex_unlock] {
        stub.store(unlock as *mut (), Relaxed);
    }
}

/// The validator's wrappers, for lockmeter's to stand before.
pub mod check {
    pub use super::annotate::own;
    pub use super::cond::{
        clockwait as cond_clockwait, timedwait as cond_timedwait, wait as cond_wait,
    };
    pub use super::mutex::{
        clocklock as mutex_clocklock, lock as mutex_lock, lock_slowly as mutex_lock_slowly,
        timedlock as mutex_timedlock, trylock as mutex_trylock, unlock as mutex_unlock,
    };
    pub use super::rwlock::{
        clockrdlock as rwlock_clockrdlock, clockwrlock as rwlock_clockwrlock,
        rdlock as rwlock_rdlock, timedrdlock as rwlock_timedrdlock,
        timedwrlock as rwlock_timedwrlock, tryrdlock as rwlock_tryrdlock,
        trywrlock as rwlock_trywrlock, unlock as rwlock_unlock, wrlock as rwlock_wrlock,
    };
    pub use super::semaphore::{
        clockwait as sem_clockwait, timedwait as sem_timedwait, wait as sem_wait,
    };
    pub use super::spin::{lock as spin_lock, trylock as spin_trylock, unlock as spin_unlock};
    pub use super::sync::barrier_wait;
    pub use super::thread::{join, join_c11};
}

// What annotations call: include/lockwright.h and the crate `lockwright` find these by name.
export! {
    lockwright_set_name("r8"): annotate::set_name;
    lockwright_set_subclass("rcx"): annotate::set_subclass;
    lockwright_set_nest_lock("r8"): annotate::set_nest_lock;
    lockwright_set_wait_type("rcx"): annotate::set_wait_type;
    lockwright_lock_order("rdx"): annotate::lock_order;
    lockwright_assert_held("rcx"): annotate::assert_held;
    lockwright_pin("rdx"): annotate::pin;
    lockwright_unpin("rcx"): annotate::unpin;

    lockwright_lock_init("rcx"): annotate::own::init;
    lockwright_lock_destroy("rsi"): annotate::own::destroy;

    lockwright_resource_acquire("rdx"): annotate::context::resource_acquire;
    lockwright_resource_release("rdx"): annotate::context::resource_release;
    lockwright_wait_begin("rsi"): annotate::context::wait_begin;
    lockwright_wait_end("rsi"): annotate::context::wait_end;
    lockwright_complete("rsi"): annotate::context::complete;

    lockwright_object("r9"): annotate::object::object;
}

/// The calling thread is unwound out of a wrapper, because it was cancelled or ends: what it waited for in
/// there it waits for no more.
#[cfg_attr(test, expect(dead_code, reason = "tests have the standard library's unwinding"))]
pub fn unwound() {
    crate::objects::waits::unwound();
    // SAFETY: as `watch::thread`.
    let Some(thread) = (unsafe { crate::tls::get().as_mut() }) else { return };
    if let Some(wait) = thread.wait_unwound() {
        wait_left(thread, wait);
    }
}

/// The calling thread makes a long jump to the frame at `target`: a wait in a frame below is over, and takes nothing.
fn jumped(target: u64) {
    meter::wait_left();
    // SAFETY: as `watch::thread`.
    let Some(thread) = (unsafe { crate::tls::get().as_mut() }) else { return };
    // Stacks grow down. A handler that interrupts the wait runs below it, or on a stack of its own.
    if thread.wait_frame().is_some_and(|frame| frame < target && !sys::is_on_alternate(target))
        && let Some(wait) = thread.wait_unwound()
    {
        wait_left(thread, wait);
    }
}

/// The calling thread has left a wait without its call having returned.
fn wait_left(thread: &mut ThreadState, (addr, mode): (u64, u16)) {
    match mode {
        _ if mode & mode::COND_WAIT != 0 => cond::left(addr),
        _ if mode & mode::JOIN != 0 => thread::not_joined(addr as u32),
        _ => thread.abandon_waited(),
    }
}

/// dlclose: what was mapped there is no module any more.
unsafe extern "C-unwind" fn unload(handle: *mut core::ffi::c_void, _site: u64) -> c_int {
    // Stacks of what is about to go must be resolved against the list as it is.
    crate::state::with_core(crate::modules::rescan);
    // SAFETY: forwarded.
    let result = unsafe { crate::real::dlclose(handle) };
    // As many as are unloaded at once, with what they alone needed.
    let mut gone = [(0, 0); 16];
    crate::state::with_core(|core| {
        let mut free = gone.iter_mut();
        crate::modules::rescan_seeing(core, &mut |from, to| {
            if let Some(free) = free.next() {
                *free = (from, to);
            }
        });
    });
    crate::objects::program::unloaded();
    for (from, to) in gone.into_iter().filter(|&(from, to)| from < to && may_have_objects(from, to))
    {
        crate::objects::gone::check(from, to, object_end::UNLOADED, None);
    }
    result
}
