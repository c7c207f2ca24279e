//! The interposition table. A row:
//!
//! `name(arity) = aliases ~ internal name: kind(what the kind needs);`
//!
//! The arity says which registers are left for a wrapper's further arguments: `site`, `site_stack`
//! or `site_return`. The kinds, and their code, are in `stubs.rs`; the internal names in
//! `locks/internal_names.rs`. The functions that a signal handler must not call are a list of their own,
//! `signals/guarded.rs`.

use core::ffi::CStr;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use super::engine::{Both, Lockdep, Lockmeter};
use super::guarded::Guarded;
use super::{
    annotated_object, bare_fork, barrier, both_engines, both_user_locks, c11, children, cond,
    dl_iterate_phdr, dlclose, dlopen, execute, freed_memory, internal_names, longjmp, may_sleep,
    metered_semaphore, mutex, once, process_exit, pthread_cancel, pthread_create, rwlock, seccomp,
    semaphore, signal_unsafe, spin, syscall, thread_keys,
};
use crate::debugobjects::{COND_IMPOSSIBLE, ONCE_DONE, attribute_calls, timer, types};
use crate::layouts::COND_WREFS;
use crate::libc::real::{self, literal, slot};
use crate::lockdep::annotate::{self, context, user_locks};
use crate::lockdep::{self, signal, signal_sysv, signal_wait, thread};
use crate::lockmeter::{self, blocking, sync_waits};
use crate::process::fork;
use crate::recorder::cond_signals::SIGNALS_MATTER;

interpose! {
    pthread_mutex_init(2) ~ __pthread_mutex_init: call(site_return, mutex::init);
    pthread_mutex_destroy(1) ~ __pthread_mutex_destroy: call(site_return, mutex::destroy);
    pthread_mutex_lock(1) ~ __pthread_mutex_lock: engines(site_stack, lockdep::mutex::lock, lockmeter::mutex::lock::<false>, both_engines::mutex_lock);
    pthread_mutex_trylock(1) ~ __pthread_mutex_trylock: engine(site_return, mutex::trylock);
    pthread_mutex_timedlock(2): engine(site_return, mutex::timedlock);
    pthread_mutex_clocklock(3): engine(site_return, mutex::clocklock);
    pthread_mutex_unlock(1) ~ __pthread_mutex_unlock: engines(site, lockdep::mutex::unlock, lockmeter::mutex::unlock::<false, false>, both_engines::mutex_unlock);
    pthread_mutex_consistent(1) = pthread_mutex_consistent_np: call(site, lockdep::mutex::consistent);
    pthread_mutex_setprioceiling(3): call(site, lockdep::mutex::setprioceiling);

    pthread_rwlock_init(2) ~ __pthread_rwlock_init: call(site_return, rwlock::init);
    pthread_rwlock_destroy(1) ~ __pthread_rwlock_destroy: call(site_return, rwlock::destroy);
    pthread_rwlock_rdlock(1) ~ __pthread_rwlock_rdlock: engine(site_return, rwlock::rdlock);
    pthread_rwlock_wrlock(1) ~ __pthread_rwlock_wrlock: engine(site_return, rwlock::wrlock);
    pthread_rwlock_tryrdlock(1) ~ __pthread_rwlock_tryrdlock: engine(site_return, rwlock::tryrdlock);
    pthread_rwlock_trywrlock(1) ~ __pthread_rwlock_trywrlock: engine(site_return, rwlock::trywrlock);
    pthread_rwlock_timedrdlock(2): engine(site_return, rwlock::timedrdlock);
    pthread_rwlock_timedwrlock(2): engine(site_return, rwlock::timedwrlock);
    pthread_rwlock_clockrdlock(3): engine(site_return, rwlock::clockrdlock);
    pthread_rwlock_clockwrlock(3): engine(site_return, rwlock::clockwrlock);
    pthread_rwlock_unlock(1) ~ __pthread_rwlock_unlock: engines(site, lockdep::rwlock::unlock, lockmeter::rwlock::unlock, both_engines::rwlock_unlock);

    pthread_spin_init(2): call(site_return, spin::init);
    pthread_spin_destroy(1): call(site_return, spin::destroy);
    pthread_spin_lock(1): engine(site_return, spin::lock);
    pthread_spin_trylock(1): engine(site_return, spin::trylock);
    pthread_spin_unlock(1): engines(site, lockdep::spin::unlock, lockmeter::spin::unlock, both_engines::spin_unlock);

    pthread_cond_init(2): call(site, cond::init);
    pthread_cond_destroy(1): call(site, cond::destroy);
    pthread_cond_wait(2): engines(site, cond::wait, lockmeter::cond::wait, both_engines::cond_wait);
    pthread_cond_timedwait(3): engines(site, cond::timedwait, lockmeter::cond::timedwait, both_engines::cond_timedwait);
    pthread_cond_clockwait(4): engines(site, cond::clockwait, lockmeter::cond::clockwait, both_engines::cond_clockwait);
    pthread_cond_signal(1): signals(cond::signal_strange);
    pthread_cond_broadcast(1): signals(cond::broadcast_strange);

    pthread_barrier_init(3): call(site, barrier::init);
    pthread_barrier_destroy(1): call(site, barrier::destroy);
    pthread_barrier_wait(1): engines(site, barrier::wait, sync_waits::barrier_wait, both_engines::barrier_wait);

    pthread_once(2) = __pthread_once: once(pthread_once);
    call_once(2): once(call_once);

    sem_init(3): call(site_return, semaphore::init);
    sem_destroy(1): call(site_return, semaphore::destroy);
    sem_post(1): engines(site, lockdep::semaphore::post, metered_semaphore::post, metered_semaphore::both::post);
    sem_trywait(1): engines(site_return, lockdep::semaphore::trywait, metered_semaphore::trywait, metered_semaphore::both::trywait);
    sem_wait(1): engines(site_return, semaphore::wait, metered_semaphore::wait, metered_semaphore::both::wait);
    sem_timedwait(2): engines(site_return, semaphore::timedwait, metered_semaphore::timedwait, metered_semaphore::both::timedwait);
    sem_clockwait(3): engines(site_return, semaphore::clockwait, metered_semaphore::clockwait, metered_semaphore::both::clockwait);

    mtx_init(2): call(site_return, c11::mtx_init);
    mtx_destroy(1): call(site_return, c11::mtx_destroy);
    mtx_lock(1): engine(site_return, c11::mtx_lock);
    mtx_trylock(1): engine(site_return, c11::mtx_trylock);
    mtx_timedlock(2): engine(site_return, c11::mtx_timedlock);
    mtx_unlock(1): engines(site, c11::lockdep::mtx_unlock, c11::lockmeter::mtx_unlock, c11::both::mtx_unlock);
    cnd_init(1): call(site, c11::cnd_init);
    cnd_destroy(1): call(site, c11::cnd_destroy);
    cnd_wait(2): engines(site, c11::lockdep::cnd_wait, c11::lockmeter::cnd_wait, c11::both::cnd_wait);
    cnd_timedwait(3): engines(site, c11::lockdep::cnd_timedwait, c11::lockmeter::cnd_timedwait, c11::both::cnd_timedwait);
    cnd_signal(1): signals(cond::cnd_signal_strange);
    cnd_broadcast(1): signals(cond::cnd_broadcast_strange);

    pthread_create(4): call(site, pthread_create::pthread_create);
    thrd_create(3): call(site, c11::thrd_create);
    pthread_join(2): engines(site, thread::join, sync_waits::pthread_join, both_engines::join);
    thrd_join(2): engines(site, thread::join_c11, sync_waits::thrd_join, both_engines::thrd_join);
    pthread_timedjoin_np(3): call(site, thread::timedjoin);
    pthread_tryjoin_np(2): call(site, thread::tryjoin);
    pthread_clockjoin_np(4): call(site, thread::clockjoin);
    pthread_setname_np(2): call(site, thread::setname);
    pthread_cancel(1): call(site, pthread_cancel::pthread_cancel);
    pthread_key_create(2): call(site, thread_keys::key_create);
    tss_create(2): call(site, thread_keys::tss_create);

    pthread_attr_init(1): attribute(ATTR, initialises);
    pthread_attr_destroy(1): attribute(ATTR, destroys);
    pthread_attr_setdetachstate(2): attribute(ATTR, uses);
    pthread_attr_setguardsize(2): attribute(ATTR, uses);
    pthread_attr_setinheritsched(2): attribute(ATTR, uses);
    pthread_attr_setschedparam(2): attribute(ATTR, uses);
    pthread_attr_setschedpolicy(2): attribute(ATTR, uses);
    pthread_attr_setscope(2): attribute(ATTR, uses);
    pthread_attr_setsigmask_np(2): attribute(ATTR, uses);
    pthread_attr_setstack(3): attribute(ATTR, uses);
    pthread_attr_setstackaddr(2): attribute(ATTR, uses);
    pthread_attr_setstacksize(2): attribute(ATTR, uses);
    pthread_getattr_default_np(1): attribute(ATTR, initialises);
    pthread_getattr_np(2): whole(attribute_calls::pthread_getattr_np);
    pthread_mutexattr_init(1) = __pthread_mutexattr_init: attribute(MUTEXATTR, initialises);
    pthread_mutexattr_destroy(1) = __pthread_mutexattr_destroy: attribute(MUTEXATTR, destroys);
    pthread_mutexattr_setkind_np(2): attribute(MUTEXATTR, uses);
    pthread_mutexattr_setprioceiling(2): attribute(MUTEXATTR, uses);
    pthread_mutexattr_setprotocol(2): attribute(MUTEXATTR, uses);
    pthread_mutexattr_setpshared(2): attribute(MUTEXATTR, uses);
    pthread_mutexattr_setrobust(2): attribute(MUTEXATTR, uses);
    pthread_mutexattr_setrobust_np(2): attribute(MUTEXATTR, uses);
    pthread_mutexattr_settype(2) = __pthread_mutexattr_settype: attribute(MUTEXATTR, uses);
    pthread_rwlockattr_init(1): attribute(RWLOCKATTR, initialises);
    pthread_rwlockattr_destroy(1): attribute(RWLOCKATTR, destroys);
    pthread_rwlockattr_setkind_np(2): attribute(RWLOCKATTR, uses);
    pthread_rwlockattr_setpshared(2): attribute(RWLOCKATTR, uses);
    pthread_condattr_init(1): attribute(CONDATTR, initialises);
    pthread_condattr_destroy(1): attribute(CONDATTR, destroys);
    pthread_condattr_setclock(2): attribute(CONDATTR, uses);
    pthread_condattr_setpshared(2): attribute(CONDATTR, uses);
    pthread_barrierattr_init(1): attribute(BARRIERATTR, initialises);
    pthread_barrierattr_destroy(1): attribute(BARRIERATTR, destroys);
    pthread_barrierattr_setpshared(2): attribute(BARRIERATTR, uses);

    timer_create(3): call(site, timer::create);
    timer_delete(1): call(site, timer::delete);
    timer_settime(4): call(site, timer::settime);
    timer_gettime(2): call(site, timer::gettime);
    timer_getoverrun(1): call(site, timer::getoverrun);

    sigaction(3) = __sigaction: call(site, signal::sigaction);
    signal(2) = bsd_signal = ssignal: call(site, signal::signal);
    sysv_signal(2) = __sysv_signal: call(site, signal::sysv_signal);
    pthread_sigmask(3): call(site, signal::pthread_sigmask);
    sigprocmask(3): call(site, signal::sigprocmask);
    sigset(2): call(site, signal_sysv::sigset);
    sighold(1): call(site, signal_sysv::sighold);
    sigrelse(1): call(site, signal_sysv::sigrelse);
    sigblock(1): call(site, signal_sysv::sigblock);
    sigsetmask(1): call(site, signal_sysv::sigsetmask);
    sigsuspend(1) = __sigsuspend: call(site, signal_wait::sigsuspend);
    sigpause(1): call(site, signal_wait::sigpause);
    __xpg_sigpause(1): call(site, signal_wait::xpg_sigpause);
    ppoll(4): call(site, signal_wait::ppoll);
    __ppoll_chk(5): call(site, signal_wait::ppoll_chk);
    pselect(6): call(site, signal_wait::pselect);
    epoll_pwait(5): call(site, signal_wait::epoll_pwait);
    epoll_pwait2(5): call(site, signal_wait::epoll_pwait2);
    longjmp(2) = _longjmp = siglongjmp: call(site, longjmp::longjmp);
    __longjmp_chk(2): call(site, longjmp::longjmp_chk);

    _Fork(0): call(site, bare_fork::bare);
    clone(7) = __clone: clones();
    syscall(7): whole(syscall::syscall);
    prctl(5): whole(seccomp::prctl);
    __register_atfork(4): whole(fork::__register_atfork);
    execve(3): call(site, execute::execve);
    execv(2): call(site, execute::execv);
    execvp(2): call(site, execute::execvp);
    execvpe(3): call(site, execute::execvpe);
    fexecve(3): call(site, execute::fexecve);
    execveat(5): call(site, execute::execveat);
    execl(1): variadic(execute::execl);
    execlp(1): variadic(execute::execlp);
    execle(1): variadic(execute::execle);
    posix_spawn(6): call(site, execute::posix_spawn);
    posix_spawnp(6): call(site, execute::posix_spawnp);
    system(1): call(site, execute::system);
    popen(2): call(site, execute::popen);
    _exit(1) = _Exit: call(site, process_exit::exit_at_once);
    quick_exit(1): call(site, process_exit::quick_exit);

    free(1): whole(signal_unsafe::free);
    munmap(2): call(site, freed_memory::munmap);
    mremap(5): call(site, freed_memory::mremap);
    dlopen(2): loads(dlopen::prepare, dlopen::dlopen);
    dlclose(1): call(site_return, dlclose::dlclose);
    dl_iterate_phdr(2): call(site_return, dl_iterate_phdr::dl_iterate_phdr);

    read(3): blocking();
    write(3): blocking();
    pread(4): blocking();
    pread64(4): blocking();
    pwrite(4): blocking();
    pwrite64(4): blocking();
    readv(3): blocking();
    writev(3): blocking();
    preadv(4): blocking();
    preadv64(4): blocking();
    pwritev(4): blocking();
    pwritev64(4): blocking();
    fsync(1): blocking();
    fdatasync(1): blocking();
    msync(3): blocking();
    flock(2): blocking();
    poll(3): idling();
    select(5): idling();
    epoll_wait(4): idling();
    nanosleep(2): idling();
    clock_nanosleep(4): idling();
    usleep(1): idling();
    sleep(1): idling();
    recv(4): idling();
    recvmsg(3): idling();
    send(4): blocking();
    sendmsg(3): blocking();
    accept(3): idling();
    accept4(4): idling();
    connect(3): blocking();
    waitpid(3): call(site, children::waitpid);
    wait(1): call(site, children::wait);
    wait3(3): call(site, children::wait3);
    wait4(4): call(site, children::wait4);
    waitid(4): call(site, children::waitid);

    // Annotations: include/lockwright.h and the crate `lockwright` find these by name.
    lockwright_set_name(4): call(site, annotate::set_name);
    lockwright_set_subclass(3): call(site, annotate::set_subclass);
    lockwright_set_nest_lock(4): call(site, annotate::set_nest_lock);
    lockwright_set_wait_type(3): call(site, annotate::set_wait_type);
    lockwright_lock_order(2): call(site, annotate::lock_order);
    lockwright_assert_held(3): call(site, annotate::assert_held);
    lockwright_pin(2): call(site, annotate::pin);
    lockwright_unpin(3): call(site, annotate::unpin);
    lockwright_lock_init(3): call(site, user_locks::init);
    lockwright_lock_destroy(1): call(site, user_locks::destroy);
    lockwright_acquire(2): engines(site_return, user_locks::acquire, lockmeter::user_locks::acquire, both_user_locks::acquire);
    lockwright_contended(1): engines(site, user_locks::contended, lockmeter::user_locks::contended, both_user_locks::contended);
    lockwright_acquired(1): engines(site, user_locks::acquired, lockmeter::user_locks::acquired, both_user_locks::acquired);
    lockwright_abandoned(1): engines(site, user_locks::abandoned, lockmeter::user_locks::abandoned, both_user_locks::abandoned);
    lockwright_release(1): engines(site, user_locks::release, lockmeter::user_locks::release, both_user_locks::release);
    lockwright_resource_acquire(2): call(site, context::resource_acquire);
    lockwright_resource_release(2): call(site, context::resource_release);
    lockwright_wait_begin(1): call(site, context::wait_begin);
    lockwright_wait_end(1): call(site, context::wait_end);
    lockwright_complete(1): call(site, context::complete);
    lockwright_object(5): call(site, annotated_object::object);
}

guarded_functions! { guarded_stubs }

/// Has the stubs of C11's functions forward. Called at start, after [`choose()`].
pub fn forward_c11() {
    for (stub, slot) in [
        (&target::mtx_lock, &slot::mtx_lock),
        (&target::mtx_trylock, &slot::mtx_trylock),
        (&target::mtx_timedlock, &slot::mtx_timedlock),
        (&target::mtx_unlock, &slot::mtx_unlock),
        (&target::cnd_wait, &slot::cnd_wait),
        (&target::cnd_timedwait, &slot::cnd_timedwait),
        (&target::thrd_join, &slot::thrd_join),
    ] {
        stub.store(slot.load(Relaxed).cast(), Relaxed);
    }
}

/// Has the stubs of mutexes go to lockmeter's functions that time every hold by the time-stamp
/// counter. Called at start, after [`choose()`]. With a timeline, a release also knows which lock it was.
pub fn choose_every() {
    target::pthread_mutex_lock.store(lockmeter::mutex::lock::<true> as *mut (), Relaxed);
    let unlock = match lockmeter::timeline::is_wanted() {
        true => lockmeter::mutex::unlock::<true, true>,
        false => lockmeter::mutex::unlock::<true, false>,
    };
    target::pthread_mutex_unlock.store(unlock as *mut (), Relaxed);
}
