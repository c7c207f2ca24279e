/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * lockwright/locks.h: the Linux kernel's locks for C and C++; link with -llockwright.
 *
 * Made from locks/capi/src: do not edit. docs/c-api.md tells how to use it.
 *
 * Functions return 0 or an errno value, as told at each; errno itself stays as it was. Times are absolute, of
 * CLOCK_MONOTONIC. A lock is free where its memory is zero, except a debug lock. It must not be copied, nor move while in use. All
 * locks are private to a process, and none is fit for signal handlers that interrupt its users.
 */

#ifndef LOCKWRIGHT_LOCKS_H
#define LOCKWRIGHT_LOCKS_H

#include <stdint.h>
#include <time.h>

#define LW_ALIGNED_(bytes) __attribute__((aligned(bytes)))

/* The younger never waits for the older: it has to give up what it has. For few contexts at a
 * time. */
#define LW_WAIT_DIE 0

/* The younger has to give up what it has when it comes to wait the next time. Fewer have to begin
 * again. */
#define LW_WOUND_WAIT 1

/* A reader-writer semaphore that knows its writer and how many readers it has, and whether it is
 * one: its functions refuse what is a misuse of it, and tell which. Zeros are no lock. Its memory
 * must outlive each call of its functions, not only the last hold. */
typedef struct lw_debug_rwsem_t {
        /* The lock's own. */
        uintptr_t opaque[9];
} lw_debug_rwsem_t;

/* A reader-writer lock of eight bytes for more threads than CPUs: many readers or one writer, and
 * one reader that may become the writer. A waiter spins for a moment and sleeps; no thread
 * starves. Not recursive, except for readers that ask for it. The last thread to release it may
 * free it. */
typedef struct lw_hybrid_rwlock_t {
        /* The lock's own. */
        uint32_t opaque[2];
} lw_hybrid_rwlock_t;
#define LW_HYBRID_RWLOCK_INIT {{0}}

/* A per-CPU reader-writer semaphore: reading costs next to nothing, writing much; sleeps. Not
 * recursive, for readers neither. It is at home on a boundary of 64 bytes: see aligned_alloc. Its
 * memory must outlive each call of its functions, not only the last hold. */
typedef struct LW_ALIGNED_(64) lw_percpu_rwsem_t {
        /* The lock's own. */
        uintptr_t opaque[136];
} lw_percpu_rwsem_t;
#define LW_PERCPU_RWSEM_INIT {{0}}

/* A queued reader-writer spinlock: many readers or one writer; first come, first served; spins.
 * Not recursive. */
typedef struct lw_qrwlock_t {
        /* The lock's own. */
        uint32_t opaque[2];
} lw_qrwlock_t;
#define LW_QRWLOCK_INIT {{0}}

/* A reader-writer semaphore: many readers or one writer; sleeps, and spins instead as long as a
 * writer runs; nobody starves. Not recursive, for readers neither. Its memory must outlive each
 * call of its functions, not only the last hold. */
typedef struct lw_rwsem_t {
        /* The lock's own. */
        uintptr_t opaque[6];
} lw_rwsem_t;
#define LW_RWSEM_INIT {{0}}

/* A sequence lock: readers take nothing, and read again if a writer was there meanwhile. The
 * guarded data must be made of atomics, accessed with memory_order_relaxed; what was read must
 * not be relied on before it is known to be good. Writers spin, and are not recursive. */
typedef struct lw_seqlock_t {
        /* The lock's own. */
        uint32_t opaque[2];
} lw_seqlock_t;
#define LW_SEQLOCK_INIT {{0}}

/* A big kernel lock: recursive, and given away at sleeps. There can be several. */
typedef struct lw_bkl_t {
        /* The lock's own. */
        uintptr_t opaque[7];
} lw_bkl_t;
#define LW_BKL_INIT {{0}}

/* A completion: threads wait until others have done something. A thread may free it as soon as its
 * wait returns. */
typedef struct lw_completion_t {
        /* The completion's own. */
        uintptr_t opaque[4];
} lw_completion_t;
#define LW_COMPLETION_INIT {{0}}

/* A condition variable, for what a mutex guards. First come, first woken; no wake comes of
 * nothing. */
typedef struct lw_condvar_t {
        /* The condition variable's own. */
        uintptr_t opaque[3];
} lw_condvar_t;
#define LW_CONDVAR_INIT {{0}}

/* A mutex: a waiter sleeps, but spins instead while the owner runs; no thread starves. Not
 * recursive; the thread that locked it unlocks it. The last thread to unlock it may free it. */
typedef struct lw_mutex_t {
        /* The lock's own. */
        uintptr_t opaque[5];
} lw_mutex_t;
#define LW_MUTEX_INIT {{0}}

/* A mutex that knows its owner, and whether it is one: its functions refuse what is a misuse of it,
 * and tell which. Zeros are no lock. */
typedef struct lw_debug_mutex_t {
        /* The lock's own. */
        uintptr_t opaque[8];
} lw_debug_mutex_t;

/* A mutex with priority inheritance that knows whether it is one: its functions refuse what is a
 * misuse of it, and tell which. Zeros are no lock. */
typedef struct lw_debug_rtmutex_t {
        /* The lock's own. */
        uintptr_t opaque[7];
} lw_debug_rtmutex_t;

/* A condition variable, for what a hybrid mutex guards. First come, first woken; no wake comes of
 * nothing. */
typedef struct lw_hybrid_condvar_t {
        /* The condition variable's own. */
        uintptr_t opaque[3];
} lw_hybrid_condvar_t;
#define LW_HYBRID_CONDVAR_INIT {{0}}

/* A mutex of four bytes for more threads than CPUs: one waiter spins for a moment, the others
 * sleep. A newcomer may take the lock first, as long as no waiter starves. Not recursive; the
 * thread that locked it unlocks it. The last thread to unlock it may free it. */
typedef struct lw_hybrid_mutex_t {
        /* The lock's own. */
        uint32_t opaque[1];
} lw_hybrid_mutex_t;
#define LW_HYBRID_MUTEX_INIT {{0}}

/* A mutex with priority inheritance, which detects its deadlocks. Not recursive; the thread that
 * locked it unlocks it. */
typedef struct lw_rtmutex_t {
        /* The lock's own. */
        uintptr_t opaque[4];
} lw_rtmutex_t;
#define LW_RTMUTEX_INIT {{0}}

/* A counting semaphore: first come, first served; sleeps. Anyone may go up. Zeroed, nobody can go
 * down. */
typedef struct lw_semaphore_t {
        /* The semaphore's own. */
        uintptr_t opaque[4];
} lw_semaphore_t;
#define LW_SEMAPHORE_INIT {{0}}

/* Locks that are used together. Zeroed, its algorithm is wait-die. */
typedef struct lw_ww_class_t {
        /* The class's own. */
        uintptr_t opaque[2];
} lw_ww_class_t;
#define LW_WW_CLASS_INIT {{0}}

/* An acquire context: with it one thread takes several locks of a class, in any order. */
typedef struct lw_ww_ctx_t {
        /* The context's own. */
        uintptr_t opaque[3];
} lw_ww_ctx_t;

/* A wound/wait mutex: as a mutex, but several are taken in any order by a context. If two contexts
 * want each other's locks, the younger one is refused: it releases all and begins again. Not
 * recursive. Its memory must outlive each call of its functions, not only the last hold. */
typedef struct lw_ww_mutex_t {
        /* The lock's own. */
        uintptr_t opaque[6];
} lw_ww_mutex_t;
#define LW_WW_MUTEX_INIT {{0}}

/* A queued spinlock that knows its owner, and whether it is one: its functions refuse what is a
 * misuse of it, and tell which. Zeros are no lock. */
typedef struct lw_debug_spinlock_t {
        /* The lock's own. */
        uintptr_t opaque[3];
} lw_debug_spinlock_t;

/* An MCS lock: first come, first served; each waiter spins on a word of its own. Not recursive. */
typedef struct lw_mcs_t {
        /* The lock's own. */
        uintptr_t opaque[2];
} lw_mcs_t;
#define LW_MCS_INIT {{0}}

/* A queued spinlock whose waiters sleep if the lock is long in coming, and which those that come
 * may take ahead of the queue, as long as nobody starves: for more threads than CPUs. Not
 * recursive. */
typedef struct lw_pvqspinlock_t {
        /* The lock's own. */
        uint32_t opaque[1];
} lw_pvqspinlock_t;
#define LW_PVQSPINLOCK_INIT {{0}}

/* A queued spinlock whose waiters sleep if the lock is long in coming, and which each that comes
 * tries once to take ahead of the queue: Linux 4.5 to 4.14 had it. For comparing. Not recursive. */
typedef struct lw_pvqspinlock_single_steal_t {
        /* The lock's own. */
        uint32_t opaque[1];
} lw_pvqspinlock_single_steal_t;
#define LW_PVQSPINLOCK_SINGLE_STEAL_INIT {{0}}

/* A spinlock without a queue: the first thread to see it free takes it, and any thread may starve.
 * Linux has it under hypervisors that cannot halt virtual CPUs. For comparing. Not recursive. */
typedef struct lw_pvqspinlock_unfair_t {
        /* The lock's own. */
        uint32_t opaque[1];
} lw_pvqspinlock_unfair_t;
#define LW_PVQSPINLOCK_UNFAIR_INIT {{0}}

/* The queued spinlock: an MCS lock in four bytes. Not recursive. */
typedef struct lw_qspinlock_t {
        /* The lock's own. */
        uint32_t opaque[1];
} lw_qspinlock_t;
#define LW_QSPINLOCK_INIT {{0}}

/* A test-and-set lock: unfair; spins. Not recursive. */
typedef struct lw_tas_t {
        /* The lock's own. */
        uint32_t opaque[1];
} lw_tas_t;
#define LW_TAS_INIT {{0}}

/* A ticket lock: first come, first served; spins. Not recursive; for fewer than 65,536 threads at
 * once. */
typedef struct lw_ticket_t {
        /* The lock's own. */
        uint32_t opaque[1];
} lw_ticket_t;
#define LW_TICKET_INIT {{0}}

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/* Blocks all signals that can be in this thread, and says in flags which were. Returns 0.
 * - The caller must restore the flags in the same thread, and nested flags in the reverse order.
 * - The caller must not cause a fault (SIGSEGV and the like): it would end the process, even
 *   with a handler.
 * Wants: memory for the flags. */
int lw_local_irq_save(uint64_t *flags);

/* Blocks in this thread the signals that were blocked before, and lets in those that came
 * meanwhile. Returns 0.
 * - The flags must be those of the last lw_local_irq_save of this thread. */
int lw_local_irq_restore(uint64_t flags);

/* Writes the kernel's table of lock events to a file descriptor, a line for each: its name, and
 * its count since the start or the last lw_lock_events_reset, or the average that the kernel
 * shows. With LOCKWRIGHT_EVENTS=FILE in its environment a program does so at its exit. Returns
 * 0, ENOTSUP if the library was built without the feature lock_events, or why it could not be
 * written. */
int lw_lock_events_write(int fd);

/* Tells how often the event of this name was counted, pv_lock_stealing for example; latencies
 * are sums, in nanoseconds. Returns 0, EINVAL if there is no such event, or ENOTSUP if the library
 * was built without the feature lock_events.
 * Wants: a string, and a place for the count. */
int lw_lock_event_count(const char *name, uint64_t *count);

/* Lets counting begin at 0 again, as the kernel's file .reset_counts does. Counts of other
 * threads during the call may stay, or get lost. Returns 0, or ENOTSUP if the library was built
 * without the feature lock_events. */
int lw_lock_events_reset(void);

/* Makes a free lock of any memory: always needed, as zeros are none. Returns 0.
 * - The caller must do this before any other thread uses the memory, and never for a lock in
 *   use: its waiters would be lost.
 * Wants: memory for a lock, which nobody uses as one. */
int lw_debug_rwsem_init(lw_debug_rwsem_t *lock);

/* Ends the life of a lock. Returns 0, EBUSY if somebody has it, EINVAL if it is none.
 * - A lock that was destroyed must not be used, except by init: each call returns EINVAL.
 * Wants: memory of a lock. */
int lw_debug_rwsem_destroy(lw_debug_rwsem_t *lock);

/* Waits for the lock and takes it to read, with other readers. Returns 0, EDEADLK if this thread writes,
 * EINVAL if it is none.
 * - The caller must not go on as if it had the lock after an error.
 * - A reader must not call this again: a writer may have come in between, and the two would wait
 *   for each other. Readers are only counted, so this is not refused.
 * - The caller must not hold a spinning lock: this call may sleep.
 * - A signal handler must not call this: it may have interrupted a holder or a waiter.
 * Wants: memory of a lock. */
int lw_debug_rwsem_down_read(lw_debug_rwsem_t *lock);

/* Takes the lock to read, with other readers, if that needs no waiting. Returns 0, EBUSY, or EINVAL if
 * it is none.
 * - Any thread may call this: it does not wait. A reader that calls it again must release the
 *   lock once more.
 * Wants: memory of a lock. */
int lw_debug_rwsem_trydown_read(lw_debug_rwsem_t *lock);

/* Takes the lock to read, with other readers, or gives up at a time of CLOCK_MONOTONIC; null: never.
 * Returns 0; ETIMEDOUT, if that has come; EDEADLK if this thread writes; EINVAL if it is no lock, or
 * the time's nanoseconds are not below 1,000,000,000.
 * - The rules of lw_debug_rwsem_down_read apply.
 * - The lock is taken if it is free, even if the time has passed.
 * Wants: memory of a lock; a time or null. */
int lw_debug_rwsem_timeddown_read(lw_debug_rwsem_t *lock, const struct timespec *until);

/* Releases the lock. Returns 0, EALREADY if nobody has it, EPERM if a writer has, EINVAL if it
 * is none; then it stays as it is. Readers are a number: that another thread's hold is released is
 * not told.
 * - A thread that does not read must not call this: it would release the hold of another reader,
 *   which is not refused.
 * - The memory must stay until this call has returned, even if another thread has the lock by
 *   then.
 * Wants: memory of a lock. */
int lw_debug_rwsem_up_read(lw_debug_rwsem_t *lock);

/* Waits for the lock and takes it to write, alone. Returns 0, EDEADLK if this thread writes,
 * EINVAL if it is none.
 * - The caller must not go on as if it had the lock after an error.
 * - A reader must not call this: it would wait for ever. Readers are only counted, so this is
 *   not refused.
 * - The caller must not hold a spinning lock: this call may sleep.
 * - A signal handler must not call this: it may have interrupted a holder or a waiter.
 * Wants: memory of a lock. */
int lw_debug_rwsem_down_write(lw_debug_rwsem_t *lock);

/* Takes the lock to write, alone, if that needs no waiting. Returns 0, EBUSY, or EINVAL if
 * it is none.
 * - Any thread may call this: it does not wait. A holder gets EBUSY.
 * Wants: memory of a lock. */
int lw_debug_rwsem_trydown_write(lw_debug_rwsem_t *lock);

/* Takes the lock to write, alone, or gives up at a time of CLOCK_MONOTONIC; null: never.
 * Returns 0; ETIMEDOUT, if that has come; EDEADLK if this thread writes; EINVAL if it is no lock, or
 * the time's nanoseconds are not below 1,000,000,000.
 * - The rules of lw_debug_rwsem_down_write apply.
 * - The lock is taken if it is free, even if the time has passed.
 * Wants: memory of a lock; a time or null. */
int lw_debug_rwsem_timeddown_write(lw_debug_rwsem_t *lock, const struct timespec *until);

/* Releases the lock. Returns 0, EALREADY if nobody has it, EPERM if readers or another thread
 * have, EINVAL if it is none; then it stays as it is.
 * - The caller must not call this again after an error: the lock is not the caller's.
 * - The memory must stay until this call has returned, even if another thread has the lock by
 *   then.
 * Wants: memory of a lock. */
int lw_debug_rwsem_up_write(lw_debug_rwsem_t *lock);

/* Makes a writer a reader, without letting another writer in between. Returns 0, EALREADY if nobody
 * has it, EPERM if readers or another thread have, EINVAL if it is none; then it stays as it is.
 * - Only the writer may call this. It must release the lock by lw_debug_rwsem_up_read.
 * Wants: memory of a lock. */
int lw_debug_rwsem_downgrade(lw_debug_rwsem_t *lock);

/* Makes a free lock of any memory. Not needed where LW_HYBRID_RWLOCK_INIT or zeros are. Returns 0.
 * - The caller must do this before any other thread uses the memory, and never for a lock in
 *   use: its waiters would be lost.
 * Wants: memory for a lock, which nobody uses as one. */
int lw_hybrid_rwlock_init(lw_hybrid_rwlock_t *lock);

/* Ends the life of a lock. Nothing but the tool learns of it. Returns 0.
 * - No thread may hold, await or use the lock: nothing checks that.
 * Wants: a lock that nobody holds or waits for, and nobody uses from here on. */
int lw_hybrid_rwlock_destroy(lw_hybrid_rwlock_t *lock);

/* Waits for the lock and takes it to read, with other readers. Returns 0.
 * - The caller must not hold the lock already: a writer may have come in between, and the two
 *   would wait for each other. A reader calls lw_hybrid_rwlock_read_lock_recursive.
 * - The caller must not hold a spinning lock: this call may sleep.
 * - A signal handler must not call this: it may have interrupted a holder or a waiter.
 * Wants: a lock, which this thread does not hold. */
int lw_hybrid_rwlock_read_lock(lw_hybrid_rwlock_t *lock);

/* As lw_hybrid_rwlock_read_lock, also for a thread that reads already: it goes ahead of writers
 * that wait for it. Returns 0.
 * - A writer must not call this: it would wait for ever.
 * - The caller should not use this for all reading: it keeps writers that wait outside.
 * - The caller must not hold a spinning lock: this call may sleep.
 * - A signal handler must not call this: it may have interrupted a holder or a waiter.
 * Wants: a lock, which this thread does not hold but to read. */
int lw_hybrid_rwlock_read_lock_recursive(lw_hybrid_rwlock_t *lock);

/* Takes the lock to read, with other readers, if that needs no waiting. Returns 0, or EBUSY.
 * - Any thread may call this: it does not wait. A reader that calls it again must release the
 *   lock once more.
 * Wants: a lock. */
int lw_hybrid_rwlock_read_trylock(lw_hybrid_rwlock_t *lock);

/* Takes the lock to read, with other readers, or gives up at a time of CLOCK_MONOTONIC; null:
 * never. Returns 0; ETIMEDOUT, if that has come; EINVAL, if its nanoseconds are not below
 * 1,000,000,000.
 * - The rules of lw_hybrid_rwlock_read_lock apply.
 * - The lock is taken if it is free, even if the time has passed.
 * Wants: a lock, which this thread does not hold; a time or null. */
int lw_hybrid_rwlock_read_timedlock(lw_hybrid_rwlock_t *lock, const struct timespec *until);

/* Releases the lock. Returns 0.
 * - The reader must release the lock once for each time it took it. One call too many lets a
 *   writer in next to a reader.
 * - The caller may free the lock afterwards, if no other thread will use it.
 * Wants: a lock that this thread reads. */
int lw_hybrid_rwlock_read_unlock(lw_hybrid_rwlock_t *lock);

/* Waits for the lock and takes it to write, alone. Returns 0.
 * - The caller must not hold the lock already, in either mode: it would wait for ever.
 *   lockwright check reports it.
 * - The caller must not hold a spinning lock: this call may sleep.
 * - A signal handler must not call this: it may have interrupted a holder or a waiter.
 * Wants: a lock, which this thread does not hold. */
int lw_hybrid_rwlock_write_lock(lw_hybrid_rwlock_t *lock);

/* Takes the lock to write, alone, if that needs no waiting. Returns 0, or EBUSY.
 * - Any thread may call this: it does not wait. A holder gets EBUSY.
 * Wants: a lock. */
int lw_hybrid_rwlock_write_trylock(lw_hybrid_rwlock_t *lock);

/* Takes the lock to write, alone, or gives up at a time of CLOCK_MONOTONIC; null: never. Returns
 * 0; ETIMEDOUT, if that has come; EINVAL, if its nanoseconds are not below 1,000,000,000.
 * - The rules of lw_hybrid_rwlock_write_lock apply.
 * - The lock is taken if it is free, even if the time has passed.
 * Wants: a lock, which this thread does not hold; a time or null. */
int lw_hybrid_rwlock_write_timedlock(lw_hybrid_rwlock_t *lock, const struct timespec *until);

/* Releases the lock. Returns 0.
 * - Only the writer may release the lock, once. After any other call the lock is in an undefined
 *   state.
 * - The caller may free the lock afterwards, if no other thread will use it.
 * Wants: a lock that this thread writes. */
int lw_hybrid_rwlock_write_unlock(lw_hybrid_rwlock_t *lock);

/* Makes a writer a reader, without letting another writer in between. Returns 0.
 * - Only the writer may call this. It must release the lock by lw_hybrid_rwlock_read_unlock.
 * Wants: a lock that this thread writes. */
int lw_hybrid_rwlock_downgrade(lw_hybrid_rwlock_t *lock);

/* Waits for the lock and takes it to read, with other readers, perhaps to write later: nobody else
 * may read so or write. Returns 0.
 * - The caller must not hold the lock already, in any mode. The writer and the upgradable reader
 *   would wait for ever, and so would a reader for which a writer waits.
 * - The caller must not hold a spinning lock: this call may sleep.
 * - A signal handler must not call this: it may have interrupted a holder or a waiter.
 * Wants: a lock, which this thread does not hold. */
int lw_hybrid_rwlock_upgradable_lock(lw_hybrid_rwlock_t *lock);

/* As lw_hybrid_rwlock_upgradable_lock, if that needs no waiting. Returns 0, or EBUSY.
 * - Any thread may call this: it does not wait. The writer and the upgradable reader get EBUSY.
 * Wants: a lock. */
int lw_hybrid_rwlock_upgradable_trylock(lw_hybrid_rwlock_t *lock);

/* Releases the lock. Returns 0.
 * - Only the upgradable reader may release the lock so, once.
 * - The caller may free the lock afterwards, if no other thread will use it.
 * Wants: a lock that this thread has by lw_hybrid_rwlock_upgradable_lock. */
int lw_hybrid_rwlock_upgradable_unlock(lw_hybrid_rwlock_t *lock);

/* Makes an upgradable reader a writer, without letting another writer in between; waits for the
 * other readers to leave. Returns 0.
 * - The caller must not read the lock besides: it would wait for itself for ever.
 * - The caller must release the lock by lw_hybrid_rwlock_write_unlock.
 * - The caller must not hold a spinning lock: this call may sleep.
 * - A signal handler must not call this: it may have interrupted a holder or a waiter.
 * Wants: a lock that this thread has by lw_hybrid_rwlock_upgradable_lock. */
int lw_hybrid_rwlock_upgrade(lw_hybrid_rwlock_t *lock);

/* As lw_hybrid_rwlock_upgrade, if nobody else reads. Returns 0, or EBUSY: it is an upgradable
 * reader's still.
 * - After 0 the caller must release the lock by lw_hybrid_rwlock_write_unlock, after EBUSY by
 *   lw_hybrid_rwlock_upgradable_unlock.
 * Wants: a lock that this thread has by lw_hybrid_rwlock_upgradable_lock. */
int lw_hybrid_rwlock_tryupgrade(lw_hybrid_rwlock_t *lock);

/* Makes a writer an upgradable reader, without letting another writer in between. Returns 0.
 * - Only the writer may call this. It must release the lock by
 *   lw_hybrid_rwlock_upgradable_unlock.
 * Wants: a lock that this thread writes. */
int lw_hybrid_rwlock_downgrade_to_upgradable(lw_hybrid_rwlock_t *lock);

/* Makes a free lock of any memory, so aligned. Not needed where LW_PERCPU_RWSEM_INIT or zeros
 * are. Returns 0.
 * - The caller must do this before any other thread uses the memory, and never for a lock in
 *   use: its waiters would be lost.
 * Wants: memory for a lock, which nobody uses as one. */
int lw_percpu_rwsem_init(lw_percpu_rwsem_t *lock);

/* Ends the life of a lock. Nothing but the tool learns of it. Returns 0.
 * - No thread may hold, await or use the lock: nothing checks that.
 * Wants: a lock that nobody holds or waits for, and nobody uses from here on. */
int lw_percpu_rwsem_destroy(lw_percpu_rwsem_t *lock);

/* Waits for the lock and takes it to read, with other readers. Returns 0.
 * - The caller must not hold the lock already, not even to read: a writer may have come in
 *   between, and the two would wait for each other.
 * - The caller must not hold a spinning lock: this call may sleep.
 * - A signal handler must not call this: it may have interrupted a holder or a waiter.
 * Wants: a lock, which this thread does not hold. */
int lw_percpu_rwsem_down_read(lw_percpu_rwsem_t *lock);

/* Takes the lock to read, with other readers, if that needs no waiting. Returns 0, or EBUSY.
 * - Any thread may call this: it does not wait. A reader that calls it again must release the
 *   lock once more.
 * Wants: a lock. */
int lw_percpu_rwsem_trydown_read(lw_percpu_rwsem_t *lock);

/* Releases the lock. Returns 0.
 * - Another thread may release the lock for the reader, once for each time the reader took it.
 *   After one call too many a writer waits for ever, or enters next to a reader.
 * - The memory must stay until this call has returned, even if another thread has the lock by
 *   then.
 * Wants: a lock that this thread reads. */
int lw_percpu_rwsem_up_read(lw_percpu_rwsem_t *lock);

/* Waits for the lock and takes it to write, alone. Returns 0.
 * - The caller must not hold the lock already, in either mode: it would wait for ever.
 *   lockwright check reports it.
 * - The caller must not hold a spinning lock: this call may sleep.
 * - A signal handler must not call this: it may have interrupted a holder or a waiter.
 * Wants: a lock, which this thread does not hold. */
int lw_percpu_rwsem_down_write(lw_percpu_rwsem_t *lock);

/* Takes the lock to write, alone, if that needs no waiting. Returns 0, or EBUSY.
 * - Any thread may call this: it does not wait. A holder gets EBUSY.
 * - The caller should not use this often: it delays all readers by a barrier on all CPUs.
 * Wants: a lock. */
int lw_percpu_rwsem_trydown_write(lw_percpu_rwsem_t *lock);

/* Releases the lock. Returns 0.
 * - Another thread may release the lock for the writer, once.
 * - The memory must stay until this call has returned, even if another thread has the lock by
 *   then.
 * Wants: a lock that this thread writes. */
int lw_percpu_rwsem_up_write(lw_percpu_rwsem_t *lock);

/* Makes a free lock of any memory. Not needed where LW_QRWLOCK_INIT or zeros are. Returns 0.
 * - The caller must do this before any other thread uses the memory, and never for a lock in
 *   use: its waiters would be lost.
 * Wants: memory for a lock, which nobody uses as one. */
int lw_qrwlock_init(lw_qrwlock_t *lock);

/* Ends the life of a lock. Nothing but the tool learns of it. Returns 0.
 * - No thread may hold, await or use the lock: nothing checks that.
 * Wants: a lock that nobody holds or waits for, and nobody uses from here on. */
int lw_qrwlock_destroy(lw_qrwlock_t *lock);

/* Waits for the lock and takes it to read, with other readers. Returns 0.
 * - The caller must not hold the lock already, not even to read: a writer may have come in
 *   between, and the two would spin for ever.
 * - The holder must not sleep: the waiters spin meanwhile.
 * - A signal handler may call this only if every other user, readers too, takes the lock by an
 *   irqsave function.
 * Wants: a lock, which this thread does not hold. */
int lw_qrwlock_read_lock(lw_qrwlock_t *lock);

/* Takes the lock to read, with other readers, if that needs no waiting. Returns 0, or EBUSY.
 * - Any thread may call this: it does not wait. A reader that calls it again must release the
 *   lock once more.
 * Wants: a lock. */
int lw_qrwlock_read_trylock(lw_qrwlock_t *lock);

/* Releases the lock. Returns 0.
 * - The reader must release the lock once for each time it took it. One call too many lets a
 *   writer in next to a reader.
 * Wants: a lock that this thread reads. */
int lw_qrwlock_read_unlock(lw_qrwlock_t *lock);

/* Waits for the lock and takes it to write, alone. Returns 0.
 * - The caller must not hold the lock already, in either mode: it would spin for ever.
 *   lockwright check reports it.
 * - The holder must not sleep: the waiters spin meanwhile.
 * - A signal handler may call this only if every other user, readers too, takes the lock by an
 *   irqsave function.
 * Wants: a lock, which this thread does not hold. */
int lw_qrwlock_write_lock(lw_qrwlock_t *lock);

/* Takes the lock to write, alone, if that needs no waiting. Returns 0, or EBUSY.
 * - Any thread may call this: it does not wait. A holder gets EBUSY.
 * Wants: a lock. */
int lw_qrwlock_write_trylock(lw_qrwlock_t *lock);

/* Releases the lock. Returns 0.
 * - Only the writer may release the lock, once. After any other call the lock is in an undefined
 *   state.
 * Wants: a lock that this thread writes. */
int lw_qrwlock_write_unlock(lw_qrwlock_t *lock);

/* Blocks all signals in this thread, and says in flags which were; then waits for the lock and takes it to
 * read, with other readers. Returns 0.
 * - The rules of lw_qrwlock_read_lock apply. Signal handlers may call this.
 * - The caller must release the lock by the irqrestore function with the same flags, and several
 *   locks in the reverse order.
 * - The holder must not cause a fault (SIGSEGV and the like): it would end the process, even
 *   with a handler.
 * Wants: a lock, which this thread does not hold; memory for the flags. */
int lw_qrwlock_read_lock_irqsave(lw_qrwlock_t *lock, uint64_t *flags);

/* As lw_qrwlock_read_lock_irqsave, if that needs no waiting. Returns 0; or EBUSY, and the mask is as
 * it was.
 * - The rules of lw_qrwlock_read_lock_irqsave apply. It does not wait.
 * Wants: a lock; memory for the flags. */
int lw_qrwlock_read_trylock_irqsave(lw_qrwlock_t *lock, uint64_t *flags);

/* Releases the lock, then lets in the signals that came meanwhile. Returns 0.
 * - The rules of lw_qrwlock_read_unlock apply.
 * - The flags must be those of the same hold: others leave signals blocked, or let them in
 *   early.
 * Wants: a lock that this thread has taken to read so, and the flags that say so. */
int lw_qrwlock_read_unlock_irqrestore(lw_qrwlock_t *lock, uint64_t flags);

/* Blocks all signals in this thread, and says in flags which were; then waits for the lock and takes it to
 * write, alone. Returns 0.
 * - The rules of lw_qrwlock_write_lock apply. Signal handlers may call this.
 * - The caller must release the lock by the irqrestore function with the same flags, and several
 *   locks in the reverse order.
 * - The holder must not cause a fault (SIGSEGV and the like): it would end the process, even
 *   with a handler.
 * Wants: a lock, which this thread does not hold; memory for the flags. */
int lw_qrwlock_write_lock_irqsave(lw_qrwlock_t *lock, uint64_t *flags);

/* As lw_qrwlock_write_lock_irqsave, if that needs no waiting. Returns 0; or EBUSY, and the mask is as
 * it was.
 * - The rules of lw_qrwlock_write_lock_irqsave apply. It does not wait.
 * Wants: a lock; memory for the flags. */
int lw_qrwlock_write_trylock_irqsave(lw_qrwlock_t *lock, uint64_t *flags);

/* Releases the lock, then lets in the signals that came meanwhile. Returns 0.
 * - The rules of lw_qrwlock_write_unlock apply.
 * - The flags must be those of the same hold: others leave signals blocked, or let them in
 *   early.
 * Wants: a lock that this thread has taken to write so, and the flags that say so. */
int lw_qrwlock_write_unlock_irqrestore(lw_qrwlock_t *lock, uint64_t flags);

/* Makes a free lock of any memory. Not needed where LW_RWSEM_INIT or zeros are. Returns 0.
 * - The caller must do this before any other thread uses the memory, and never for a lock in
 *   use: its waiters would be lost.
 * Wants: memory for a lock, which nobody uses as one. */
int lw_rwsem_init(lw_rwsem_t *lock);

/* Ends the life of a lock. Nothing but the tool learns of it. Returns 0.
 * - No thread may hold, await or use the lock: nothing checks that.
 * Wants: a lock that nobody holds or waits for, and nobody uses from here on. */
int lw_rwsem_destroy(lw_rwsem_t *lock);

/* Waits for the lock and takes it to read, with other readers. Returns 0.
 * - The caller must not hold the lock already, not even to read: a writer may have come in
 *   between, and the two would wait for each other.
 * - The caller must not hold a spinning lock: this call may sleep.
 * - A signal handler must not call this: it may have interrupted a holder or a waiter.
 * Wants: a lock, which this thread does not hold. */
int lw_rwsem_down_read(lw_rwsem_t *lock);

/* Takes the lock to read, with other readers, if that needs no waiting. Returns 0, or EBUSY.
 * - Any thread may call this: it does not wait. A reader that calls it again must release the
 *   lock once more.
 * Wants: a lock. */
int lw_rwsem_trydown_read(lw_rwsem_t *lock);

/* Takes the lock to read, with other readers, or gives up at a time of CLOCK_MONOTONIC; null:
 * never. Returns 0; ETIMEDOUT, if that has come; EINVAL, if its nanoseconds are not below
 * 1,000,000,000.
 * - The rules of lw_rwsem_down_read apply.
 * - The lock is taken if it is free, even if the time has passed.
 * Wants: a lock, which this thread does not hold; a time or null. */
int lw_rwsem_timeddown_read(lw_rwsem_t *lock, const struct timespec *until);

/* Releases the lock. Returns 0.
 * - The reader must release the lock once for each time it took it. One call too many lets a
 *   writer in next to a reader.
 * - The memory must stay until this call has returned, even if another thread has the lock by
 *   then.
 * Wants: a lock that this thread reads. */
int lw_rwsem_up_read(lw_rwsem_t *lock);

/* Waits for the lock and takes it to write, alone. Returns 0.
 * - The caller must not hold the lock already, in either mode: it would wait for ever.
 *   lockwright check reports it.
 * - The caller must not hold a spinning lock: this call may sleep.
 * - A signal handler must not call this: it may have interrupted a holder or a waiter.
 * Wants: a lock, which this thread does not hold. */
int lw_rwsem_down_write(lw_rwsem_t *lock);

/* Takes the lock to write, alone, if that needs no waiting. Returns 0, or EBUSY.
 * - Any thread may call this: it does not wait. A holder gets EBUSY.
 * Wants: a lock. */
int lw_rwsem_trydown_write(lw_rwsem_t *lock);

/* Takes the lock to write, alone, or gives up at a time of CLOCK_MONOTONIC; null: never. Returns
 * 0; ETIMEDOUT, if that has come; EINVAL, if its nanoseconds are not below 1,000,000,000.
 * - The rules of lw_rwsem_down_write apply.
 * - The lock is taken if it is free, even if the time has passed.
 * Wants: a lock, which this thread does not hold; a time or null. */
int lw_rwsem_timeddown_write(lw_rwsem_t *lock, const struct timespec *until);

/* Releases the lock. Returns 0.
 * - Only the writer may release the lock, once. After any other call the lock is in an undefined
 *   state.
 * - The memory must stay until this call has returned, even if another thread has the lock by
 *   then.
 * Wants: a lock that this thread writes. */
int lw_rwsem_up_write(lw_rwsem_t *lock);

/* Makes a writer a reader, without letting another writer in between. Returns 0.
 * - Only the writer may call this. It must release the lock by lw_rwsem_up_read.
 * Wants: a lock that this thread writes. */
int lw_rwsem_downgrade(lw_rwsem_t *lock);

/* Makes a free lock of any memory. Not needed where LW_SEQLOCK_INIT or zeros are. Returns 0.
 * - The caller must do this before any other thread uses the memory, and never for a lock in
 *   use: its waiters would be lost.
 * Wants: memory for a lock, which nobody uses as one. */
int lw_seqlock_init(lw_seqlock_t *lock);

/* Ends the life of a lock. Nothing but the tool learns of it. Returns 0.
 * - No thread may hold, await or use the lock: nothing checks that.
 * Wants: a lock that nobody holds or waits for, and nobody uses from here on. */
int lw_seqlock_destroy(lw_seqlock_t *lock);

/* Begins to read, once nobody writes. Returns what lw_seqlock_read_retry is to be given.
 * - The writer must not call this, nor a signal handler that may have interrupted the writer: it
 *   would spin for ever.
 * Wants: a lock, which this thread does not write. */
uint32_t lw_seqlock_read_begin(lw_seqlock_t *lock);

/* Whether what was read since is worth nothing, and is to be read again from
 * lw_seqlock_read_begin on. Returns 0 if it is good, else 1.
 * - The reader must not use what it has read before this has returned 0.
 * Wants: a lock. */
int lw_seqlock_read_retry(lw_seqlock_t *lock, uint32_t begun);

/* Waits for the lock and takes it to write. Returns 0.
 * - The caller must not hold the lock already: it would spin for ever. lockwright check reports
 *   it.
 * - The writer must not sleep: all readers spin meanwhile.
 * - A signal handler may call this only if every other user takes the lock by an irqsave
 *   function.
 * Wants: a lock, which this thread does not hold. */
int lw_seqlock_write_lock(lw_seqlock_t *lock);

/* Takes the lock to write if no writer has it. Returns 0, or EBUSY.
 * - Any thread may call this: it does not wait. The holder gets EBUSY.
 * Wants: a lock. */
int lw_seqlock_write_trylock(lw_seqlock_t *lock);

/* Releases the lock. Returns 0.
 * - Only the writer may release the lock, once. After any other call the lock is in an undefined
 *   state.
 * Wants: a lock that this thread writes. */
int lw_seqlock_write_unlock(lw_seqlock_t *lock);

/* Blocks all signals in this thread, and says in flags which were; then waits for the lock and takes it to
 * write. Returns 0.
 * - The rules of lw_seqlock_write_lock apply. Signal handlers may call this.
 * - The caller must release the lock by the irqrestore function with the same flags, and several
 *   locks in the reverse order.
 * - The holder must not cause a fault (SIGSEGV and the like): it would end the process, even
 *   with a handler.
 * Wants: a lock, which this thread does not hold; memory for the flags. */
int lw_seqlock_write_lock_irqsave(lw_seqlock_t *lock, uint64_t *flags);

/* As lw_seqlock_write_lock_irqsave, if no writer has the lock. Returns 0; or EBUSY, and the mask is
 * as it was.
 * - The rules of lw_seqlock_write_lock_irqsave apply. It does not wait.
 * Wants: a lock; memory for the flags. */
int lw_seqlock_write_trylock_irqsave(lw_seqlock_t *lock, uint64_t *flags);

/* Releases the lock, then lets in the signals that came meanwhile. Returns 0.
 * - The rules of lw_seqlock_write_unlock apply.
 * - The flags must be those of the same hold: others leave signals blocked, or let them in
 *   early.
 * Wants: a lock that this thread has taken to write so, and the flags that say so. */
int lw_seqlock_write_unlock_irqrestore(lw_seqlock_t *lock, uint64_t flags);

/* Makes a free lock of any memory. Not needed where LW_BKL_INIT or zeros are. Returns 0.
 * - The caller must do this before any other thread uses the memory, and never for a lock in
 *   use: its waiters would be lost.
 * Wants: memory for a lock, which nobody uses as one. */
int lw_bkl_init(lw_bkl_t *lock);

/* Ends the life of a lock. Nothing but the tool learns of it. Returns 0.
 * - No thread may hold, await or use the lock: nothing checks that.
 * Wants: a lock that nobody holds or waits for, and nobody uses from here on. */
int lw_bkl_destroy(lw_bkl_t *lock);

/* Waits for the lock and takes it, once more if this thread has it. Returns 0.
 * - The owner may call this again, and must release the lock as often.
 * - The caller must not hold a spinning lock: this call may sleep.
 * - A signal handler must not call this: it shares the hold of its thread.
 * Wants: a lock. */
int lw_bkl_lock(lw_bkl_t *lock);

/* Takes the lock if that needs no waiting, once more if this thread has it. Returns 0, or EBUSY.
 * - Any thread may call this: it does not wait. The owner always gets 0.
 * Wants: a lock. */
int lw_bkl_trylock(lw_bkl_t *lock);

/* Releases the lock, once. Returns 0.
 * - Only the owner may call this, once for each time it took the lock. Any other call is
 *   undefined.
 * Wants: a lock that this thread holds. */
int lw_bkl_unlock(lw_bkl_t *lock);

/* Sleeps: calls sleep with argument, without the lock if this thread has it, and has it again
 * afterwards as deep as before. Returns 0.
 * - The caller must not rely on data from before: another thread may change it during sleep.
 * - sleep must not leave by longjmp or an exception: the lock would not be taken again.
 * Wants: a lock; a function that returns. */
int lw_bkl_schedule(lw_bkl_t *lock, void (*sleep)(void *argument), void *argument);

/* How often this thread has taken the lock and not yet released it.
 * - Any thread may call this. Only the calling thread changes the answer.
 * Wants: a lock. */
int lw_bkl_depth(lw_bkl_t *lock);

/* Makes a completion of any memory: nothing is done. Not needed where LW_COMPLETION_INIT or
 * zeros are. Returns 0.
 * - The caller must do this before any other thread uses the memory. lw_completion_reinit is for
 *   later.
 * Wants: memory for a completion, which nobody uses as one. */
int lw_completion_init(lw_completion_t *completion);

/* Waits until completed, as long as it takes. Uses up one lw_completion_complete. Returns 0.
 * - The caller must not hold a lock that the completing thread needs first: the two would wait
 *   for each other.
 * - The caller must not hold a spinning lock: this call may sleep.
 * - A signal handler must not call this: it may have interrupted a change of the completion.
 * Wants: a completion. */
int lw_completion_wait(lw_completion_t *completion);

/* Uses up one lw_completion_complete, if there is any. Returns 0, or EBUSY.
 * - Any thread may call this: it does not wait to be completed.
 * - A signal handler must not call this: it may have interrupted a change of the completion.
 * Wants: a completion. */
int lw_completion_trywait(lw_completion_t *completion);

/* Waits until completed, or gives up at a time of CLOCK_MONOTONIC; null: never. Returns 0;
 * ETIMEDOUT, if that has come; EINVAL, if its nanoseconds are not below 1,000,000,000.
 * - The rules of lw_completion_wait apply.
 * Wants: a completion; a time or null. */
int lw_completion_timedwait(lw_completion_t *completion, const struct timespec *until);

/* Completes the wait of the longest waiter, or of the next one to come. Returns 0.
 * - Any thread may call this. It must not touch the completion afterwards, if the waiter may
 *   free it.
 * - A signal handler must not call this: it may have interrupted a change of the completion.
 * Wants: a completion. */
int lw_completion_complete(lw_completion_t *completion);

/* Completes all waits, also those to come, until lw_completion_reinit. Returns 0.
 * - The rules of lw_completion_complete apply.
 * Wants: a completion. */
int lw_completion_complete_all(lw_completion_t *completion);

/* Resets the completion to "nothing is done". Returns 0.
 * - No thread may wait or complete meanwhile: a wait that was completed could begin again.
 * Wants: a completion that nobody waits for or completes meanwhile. */
int lw_completion_reinit(lw_completion_t *completion);

/* Makes a condition variable of any memory: nobody waits. Not needed where LW_CONDVAR_INIT or
 * zeros are. Returns 0.
 * - The caller must do this before any other thread uses the memory, and never while a thread
 *   waits.
 * Wants: memory for a condition variable, which nobody uses as one. */
int lw_condvar_init(lw_condvar_t *condvar);

/* Releases the mutex, waits for a signal as long as it takes, and takes the mutex again. Returns
 * 0.
 * - The caller must check the condition again afterwards: another thread may have changed it
 *   first.
 * - The caller must not hold another lock that the signalling thread needs: the two would wait
 *   for each other.
 * - A signal handler must not call this: it may have interrupted a change of the wait list.
 * Wants: a condition variable; a mutex that this thread holds, the same for all who wait. */
int lw_condvar_wait(lw_condvar_t *condvar, struct lw_mutex_t *mutex);

/* As lw_condvar_wait, or gives up at a time of CLOCK_MONOTONIC; null: never. The mutex is held
 * afterwards in any case. Returns 0; ETIMEDOUT, if the time has come; EINVAL, if its nanoseconds
 * are not below 1,000,000,000.
 * - The rules of lw_condvar_wait apply.
 * Wants: as lw_condvar_wait; a time or null. */
int lw_condvar_timedwait(lw_condvar_t *condvar,
                         struct lw_mutex_t *mutex,
                         const struct timespec *until);

/* Wakes the longest waiter. Returns 0.
 * - Any thread may call this. It should change the condition with the lw_mutex_t held; it may
 *   signal after it has released it.
 * - A signal handler must not call this: it may have interrupted a change of the wait list.
 * Wants: a condition variable. */
int lw_condvar_signal(lw_condvar_t *condvar);

/* Wakes everybody. Returns 0.
 * - The rules of lw_condvar_signal apply.
 * Wants: a condition variable. */
int lw_condvar_broadcast(lw_condvar_t *condvar);

/* Makes a free lock of any memory: always needed, as zeros are none. Returns 0.
 * - The caller must do this before any other thread uses the memory, and never for a lock in
 *   use: its waiters would be lost.
 * Wants: memory for a lock, which nobody uses as one. */
int lw_debug_mutex_init(lw_debug_mutex_t *lock);

/* Ends the life of a lock. Returns 0, EBUSY if somebody holds it, EINVAL if it is none.
 * - A lock that was destroyed must not be used, except by init: each call returns EINVAL.
 * Wants: memory of a lock. */
int lw_debug_mutex_destroy(lw_debug_mutex_t *lock);

/* Waits for the lock and takes it. Returns 0, EDEADLK if this thread holds it, EINVAL if it is
 * none.
 * - The caller must not go on as if it had the lock after an error.
 * - The caller must not hold a spinning lock: this call may sleep.
 * - A signal handler must not call this: it may have interrupted a holder or a waiter.
 * Wants: memory of a lock. */
int lw_debug_mutex_lock(lw_debug_mutex_t *lock);

/* Takes the lock if nobody has it. Returns 0, EBUSY, or EINVAL if it is none.
 * - Any thread may call this: it does not wait. The holder gets EBUSY, not EDEADLK.
 * Wants: memory of a lock. */
int lw_debug_mutex_trylock(lw_debug_mutex_t *lock);

/* Releases the lock. Returns 0, EALREADY if nobody holds it, EPERM if another thread does, EINVAL
 * if it is none; then it stays as it is.
 * - The caller must not call this again after an error: the lock is not the caller's.
 * Wants: memory of a lock. */
int lw_debug_mutex_unlock(lw_debug_mutex_t *lock);

/* Makes a free lock of any memory: always needed, as zeros are none. Returns 0.
 * - The caller must do this before any other thread uses the memory, and never for a lock in
 *   use: its waiters would be lost.
 * Wants: memory for a lock, which nobody uses as one. */
int lw_debug_rtmutex_init(lw_debug_rtmutex_t *lock);

/* Ends the life of a lock. Returns 0, EBUSY if somebody holds it, EINVAL if it is none.
 * - A lock that was destroyed must not be used, except by init: each call returns EINVAL.
 * Wants: memory of a lock. */
int lw_debug_rtmutex_destroy(lw_debug_rtmutex_t *lock);

/* Waits for the lock and takes it. Returns 0; EDEADLK if this thread holds it, or that were to
 * wait for oneself, along a chain of owners that wait for each other's locks; EINVAL if it is none.
 * - The caller must not go on as if it had the lock after an error.
 * - The caller must not hold a spinning lock: this call may sleep.
 * - A signal handler must not call this: it may have interrupted a holder or a waiter.
 * Wants: memory of a lock. */
int lw_debug_rtmutex_lock(lw_debug_rtmutex_t *lock);

/* Takes the lock, or gives up at a time of CLOCK_MONOTONIC; null: never. Returns 0; ETIMEDOUT, if
 * that has come; EDEADLK as lw_debug_rtmutex_lock; EINVAL if it is no lock, or the time's
 * nanoseconds are not below 1,000,000,000.
 * - The rules of lw_debug_rtmutex_lock apply.
 * - The lock is taken if it is free, even if the time has passed.
 * Wants: memory of a lock; a time or null. */
int lw_debug_rtmutex_timedlock(lw_debug_rtmutex_t *lock, const struct timespec *until);

/* Takes the lock if nobody has it. Returns 0, EBUSY, or EINVAL if it is none.
 * - Any thread may call this: it does not wait. The holder gets EBUSY, not EDEADLK.
 * Wants: memory of a lock. */
int lw_debug_rtmutex_trylock(lw_debug_rtmutex_t *lock);

/* Releases the lock. Returns 0, EALREADY if nobody holds it, EPERM if another thread does, EINVAL
 * if it is none; then it stays as it is.
 * - The caller must not call this again after an error: the lock is not the caller's.
 * Wants: memory of a lock. */
int lw_debug_rtmutex_unlock(lw_debug_rtmutex_t *lock);

/* Makes a condition variable of any memory: nobody waits. Not needed where LW_HYBRID_CONDVAR_INIT or
 * zeros are. Returns 0.
 * - The caller must do this before any other thread uses the memory, and never while a thread
 *   waits.
 * Wants: memory for a condition variable, which nobody uses as one. */
int lw_hybrid_condvar_init(lw_hybrid_condvar_t *condvar);

/* Releases the mutex, waits for a signal as long as it takes, and takes the mutex again. Returns
 * 0.
 * - The caller must check the condition again afterwards: another thread may have changed it
 *   first.
 * - The caller must not hold another lock that the signalling thread needs: the two would wait
 *   for each other.
 * - A signal handler must not call this: it may have interrupted a change of the wait list.
 * Wants: a condition variable; a mutex that this thread holds, the same for all who wait. */
int lw_hybrid_condvar_wait(lw_hybrid_condvar_t *condvar, struct lw_hybrid_mutex_t *mutex);

/* As lw_hybrid_condvar_wait, or gives up at a time of CLOCK_MONOTONIC; null: never. The mutex is held
 * afterwards in any case. Returns 0; ETIMEDOUT, if the time has come; EINVAL, if its nanoseconds
 * are not below 1,000,000,000.
 * - The rules of lw_hybrid_condvar_wait apply.
 * Wants: as lw_hybrid_condvar_wait; a time or null. */
int lw_hybrid_condvar_timedwait(lw_hybrid_condvar_t *condvar,
                                struct lw_hybrid_mutex_t *mutex,
                                const struct timespec *until);

/* Wakes the longest waiter. Returns 0.
 * - Any thread may call this. It should change the condition with the lw_hybrid_mutex_t held; it
 *   may signal after it has released it.
 * - A signal handler must not call this: it may have interrupted a change of the wait list.
 * Wants: a condition variable. */
int lw_hybrid_condvar_signal(lw_hybrid_condvar_t *condvar);

/* Wakes everybody. Returns 0.
 * - The rules of lw_hybrid_condvar_signal apply.
 * Wants: a condition variable. */
int lw_hybrid_condvar_broadcast(lw_hybrid_condvar_t *condvar);

/* Makes a free lock of any memory. Not needed where LW_HYBRID_MUTEX_INIT or zeros are. Returns 0.
 * - The caller must do this before any other thread uses the memory, and never for a lock in
 *   use: its waiters would be lost.
 * Wants: memory for a lock, which nobody uses as one. */
int lw_hybrid_mutex_init(lw_hybrid_mutex_t *lock);

/* Ends the life of a lock. Nothing but the tool learns of it. Returns 0.
 * - No thread may hold, await or use the lock: nothing checks that.
 * Wants: a lock that nobody holds or waits for, and nobody uses from here on. */
int lw_hybrid_mutex_destroy(lw_hybrid_mutex_t *lock);

/* Waits for the lock and takes it. Returns 0.
 * - The caller must not hold the lock already: it would wait for ever. lockwright check reports
 *   it.
 * - The caller must not hold a spinning lock: this call may sleep.
 * - A signal handler must not call this: it may have interrupted a holder or a waiter.
 * Wants: a lock, which this thread does not hold. */
int lw_hybrid_mutex_lock(lw_hybrid_mutex_t *lock);

/* Takes the lock if it is free. Returns 0, or EBUSY.
 * - Any thread may call this: it does not wait. The holder gets EBUSY.
 * Wants: a lock. */
int lw_hybrid_mutex_trylock(lw_hybrid_mutex_t *lock);

/* Takes the lock, or gives up at a time of CLOCK_MONOTONIC; null: never. Returns 0; ETIMEDOUT, if
 * that has come; EINVAL, if its nanoseconds are not below 1,000,000,000.
 * - The rules of lw_hybrid_mutex_lock apply.
 * - The lock is taken if it is free, even if the time has passed.
 * Wants: a lock, which this thread does not hold; a time or null. */
int lw_hybrid_mutex_timedlock(lw_hybrid_mutex_t *lock, const struct timespec *until);

/* Releases the lock. Returns 0.
 * - Only the thread that took the lock may release it, once. After any other call two threads
 *   can be inside at once.
 * - The caller may free the lock afterwards, if no other thread will use it.
 * Wants: a lock that this thread holds. */
int lw_hybrid_mutex_unlock(lw_hybrid_mutex_t *lock);

/* Releases the lock to its waiters: no newcomer takes it before them. Returns 0.
 * - The rules of lw_hybrid_mutex_unlock apply.
 * Wants: a lock that this thread holds. */
int lw_hybrid_mutex_unlock_fair(lw_hybrid_mutex_t *lock);

/* Makes a free lock of any memory. Not needed where LW_MUTEX_INIT or zeros are. Returns 0.
 * - The caller must do this before any other thread uses the memory, and never for a lock in
 *   use: its waiters would be lost.
 * Wants: memory for a lock, which nobody uses as one. */
int lw_mutex_init(lw_mutex_t *lock);

/* Ends the life of a lock. Nothing but the tool learns of it. Returns 0.
 * - No thread may hold, await or use the lock: nothing checks that.
 * Wants: a lock that nobody holds or waits for, and nobody uses from here on. */
int lw_mutex_destroy(lw_mutex_t *lock);

/* Waits for the lock and takes it. Returns 0.
 * - The caller must not hold the lock already: it would wait for ever. lockwright check reports
 *   it.
 * - The caller must not hold a spinning lock: this call may sleep.
 * - A signal handler must not call this: it may have interrupted a holder or a waiter.
 * Wants: a lock, which this thread does not hold. */
int lw_mutex_lock(lw_mutex_t *lock);

/* Takes the lock if it is free. Returns 0, or EBUSY.
 * - Any thread may call this: it does not wait. The holder gets EBUSY.
 * Wants: a lock. */
int lw_mutex_trylock(lw_mutex_t *lock);

/* Takes the lock, or gives up at a time of CLOCK_MONOTONIC; null: never. Returns 0; ETIMEDOUT, if
 * that has come; EINVAL, if its nanoseconds are not below 1,000,000,000.
 * - The rules of lw_mutex_lock apply.
 * - The lock is taken if it is free, even if the time has passed.
 * Wants: a lock, which this thread does not hold; a time or null. */
int lw_mutex_timedlock(lw_mutex_t *lock, const struct timespec *until);

/* Releases the lock. Returns 0.
 * - Only the thread that took the lock may release it, once. After any other call two threads
 *   can be inside at once.
 * - The caller may free the lock afterwards, if no other thread will use it.
 * Wants: a lock that this thread holds. */
int lw_mutex_unlock(lw_mutex_t *lock);

/* Makes a free lock of any memory. Not needed where LW_RTMUTEX_INIT or zeros are. Returns 0.
 * - The caller must do this before any other thread uses the memory, and never for a lock in
 *   use: its waiters would be lost.
 * Wants: memory for a lock, which nobody uses as one. */
int lw_rtmutex_init(lw_rtmutex_t *lock);

/* Ends the life of a lock. Nothing but the tool learns of it. Returns 0.
 * - No thread may hold, await or use the lock: nothing checks that.
 * Wants: a lock that nobody holds or waits for, and nobody uses from here on. */
int lw_rtmutex_destroy(lw_rtmutex_t *lock);

/* Waits for the lock and takes it. Returns 0; EDEADLK, if that were to wait for oneself, along a
 * chain of owners that wait for each other's locks.
 * - The caller must not go on as if it had the lock after EDEADLK.
 * - The caller must not hold a spinning lock: this call may sleep.
 * - A signal handler must not call this: it may have interrupted a holder or a waiter.
 * Wants: a lock. */
int lw_rtmutex_lock(lw_rtmutex_t *lock);

/* Takes the lock if it is free, and nobody of a higher priority waits. Returns 0, or EBUSY.
 * - Any thread may call this: it does not wait for the owner. The holder gets EBUSY.
 * - A signal handler must not call this: it may have interrupted a holder or a waiter.
 * Wants: a lock. */
int lw_rtmutex_trylock(lw_rtmutex_t *lock);

/* Takes the lock, or gives up at a time of CLOCK_MONOTONIC; null: never. Returns 0; ETIMEDOUT, if
 * that has come; EDEADLK as lw_rtmutex_lock; EINVAL, if the time's nanoseconds are not below
 * 1,000,000,000.
 * - The rules of lw_rtmutex_lock apply.
 * - The lock is taken if it is free, even if the time has passed.
 * Wants: a lock; a time or null. */
int lw_rtmutex_timedlock(lw_rtmutex_t *lock, const struct timespec *until);

/* Releases the lock. Returns 0.
 * - Only the thread that took the lock may release it, once. After any other call two threads
 *   can be inside at once.
 * - The caller may lose its CPU in this call: the priority that it inherited ends.
 * Wants: a lock that this thread holds. */
int lw_rtmutex_unlock(lw_rtmutex_t *lock);

/* Makes a semaphore that count can go down at once. Returns 0.
 * - The caller must do this before any other thread uses the memory, and never for a semaphore
 *   in use: its waiters would be lost.
 * Wants: memory for a semaphore, which nobody uses as one. */
int lw_semaphore_init(lw_semaphore_t *semaphore, uint32_t count);

/* Goes down, and waits for that as long as it takes. Returns 0.
 * - A thread must not call this with the last count taken by itself, unless another thread will
 *   go up.
 * - The caller must not hold a spinning lock: this call may sleep.
 * - A signal handler must not call this: it may have interrupted a change of the semaphore.
 * Wants: a semaphore. */
int lw_semaphore_down(lw_semaphore_t *semaphore);

/* Goes down if that needs no waiting. Returns 0, or EBUSY.
 * - Any thread may call this: it does not wait for the semaphore to go up.
 * - A signal handler must not call this: it may have interrupted a change of the semaphore.
 * Wants: a semaphore. */
int lw_semaphore_trydown(lw_semaphore_t *semaphore);

/* Goes down, or gives up at a time of CLOCK_MONOTONIC; null: never. Returns 0; ETIMEDOUT, if that
 * has come; EINVAL, if its nanoseconds are not below 1,000,000,000.
 * - The rules of lw_semaphore_down apply.
 * Wants: a semaphore; a time or null. */
int lw_semaphore_timeddown(lw_semaphore_t *semaphore, const struct timespec *until);

/* Goes up: the first waiter gets it, or the next one to come. Returns 0.
 * - Any thread may call this, also one that did not go down. One call too many lets one thread
 *   too many go down, and nothing reports it.
 * - A signal handler must not call this: it may have interrupted a change of the semaphore.
 * - The caller may free the semaphore afterwards, if no other thread will use it.
 * Wants: a semaphore. */
int lw_semaphore_up(lw_semaphore_t *semaphore);

/* Makes a class without locks, with LW_WAIT_DIE or LW_WOUND_WAIT. Returns 0, or EINVAL for
 * another algorithm.
 * - The class must live as long as any context of it.
 * Wants: memory for a class, which nobody uses as one. */
int lw_ww_class_init(lw_ww_class_t *class_, uint32_t algorithm);

/* Makes the youngest context of a class, which the calling thread takes locks by. It keeps its age
 * as long as it begins again. Returns 0.
 * - The context must stay where it is, and only its thread may use it. A copy is no context.
 * Wants: memory for a context, which nobody uses as one; it stays there until all is unlocked that it
 * locks. A class. */
int lw_ww_ctx_init(lw_ww_ctx_t *ctx, struct lw_ww_class_t *class_);

/* Makes a free lock of any memory. Not needed where LW_WW_MUTEX_INIT or zeros are. Returns 0.
 * - The caller must do this before any other thread uses the memory, and never for a lock in
 *   use: its waiters would be lost.
 * Wants: memory for a lock, which nobody uses as one. */
int lw_ww_mutex_init(lw_ww_mutex_t *lock);

/* Ends the life of a lock. Nothing but the tool learns of it. Returns 0.
 * - No thread may hold, await or use the lock: nothing checks that.
 * Wants: a lock that nobody holds or waits for, and nobody uses from here on. */
int lw_ww_mutex_destroy(lw_ww_mutex_t *lock);

/* Waits for the lock and takes it by a context; if that is null, as a mutex. Returns 0; EALREADY,
 * if the context has it; EDEADLK, if it has to release all locks that it has, best take this one
 * by lw_ww_mutex_lock_slow, and begin again.
 * - After EDEADLK the caller must release all locks of the context before it waits for anything:
 *   otherwise the older context waits for ever.
 * - A thread that took the lock without a context must not call this: it would wait for ever.
 * - The caller must not hold a spinning lock: this call may sleep.
 * - A signal handler must not call this: it may have interrupted a holder or a waiter.
 * Wants: a lock; a context of this thread, of the class that all contexts of this lock are of, or null. */
int lw_ww_mutex_lock(lw_ww_mutex_t *lock, struct lw_ww_ctx_t *ctx);

/* As lw_ww_mutex_lock, or gives up at a time of CLOCK_MONOTONIC; null: never. Returns the same;
 * ETIMEDOUT, if the time has come; EINVAL, if its nanoseconds are not below 1,000,000,000.
 * - The rules of lw_ww_mutex_lock apply.
 * - The lock is taken if it is free, even if the time has passed.
 * Wants: as lw_ww_mutex_lock; a time or null. */
int lw_ww_mutex_timedlock(lw_ww_mutex_t *lock, struct lw_ww_ctx_t *ctx, const struct timespec *until);

/* Waits for the lock that the context was refused, and takes it. Returns 0.
 * - The context must hold no lock: with one, two contexts could wait for each other.
 * - The caller must not hold a spinning lock: this call may sleep.
 * - A signal handler must not call this: it may have interrupted a holder or a waiter.
 * Wants: as lw_ww_mutex_lock; the context is not null, and has released all its locks. */
int lw_ww_mutex_lock_slow(lw_ww_mutex_t *lock, struct lw_ww_ctx_t *ctx);

/* Takes the lock if it is free. Returns 0, or EBUSY, also if the context has it.
 * - Any thread may call this: it does not wait. EBUSY does not oblige the context to release its
 *   other locks.
 * Wants: as lw_ww_mutex_lock. */
int lw_ww_mutex_trylock(lw_ww_mutex_t *lock, struct lw_ww_ctx_t *ctx);

/* Releases the lock. Returns 0.
 * - Only the thread that took the lock may release it, once. After any other call two threads
 *   can be inside at once.
 * - The caller may release the locks of a context in any order.
 * Wants: a lock that this thread holds; the context that it was taken by is where it was. */
int lw_ww_mutex_unlock(lw_ww_mutex_t *lock);

/* Makes a free lock of any memory: always needed, as zeros are none. Returns 0.
 * - The caller must do this before any other thread uses the memory, and never for a lock in
 *   use: its waiters would be lost.
 * Wants: memory for a lock, which nobody uses as one. */
int lw_debug_spinlock_init(lw_debug_spinlock_t *lock);

/* Ends the life of a lock. Returns 0, EBUSY if somebody holds it, EINVAL if it is none.
 * - A lock that was destroyed must not be used, except by init: each call returns EINVAL.
 * Wants: memory of a lock. */
int lw_debug_spinlock_destroy(lw_debug_spinlock_t *lock);

/* Waits for the lock and takes it. Returns 0, EDEADLK if this thread holds it, EINVAL if it is
 * none.
 * - The caller must not go on as if it had the lock after an error.
 * - The holder must not sleep: the waiters spin meanwhile.
 * - A signal handler may call this only if every other user takes the lock by an irqsave
 *   function.
 * Wants: memory of a lock. */
int lw_debug_spinlock_lock(lw_debug_spinlock_t *lock);

/* Takes the lock if nobody has it. Returns 0, EBUSY, or EINVAL if it is none.
 * - Any thread may call this: it does not wait. The holder gets EBUSY, not EDEADLK.
 * Wants: memory of a lock. */
int lw_debug_spinlock_trylock(lw_debug_spinlock_t *lock);

/* Releases the lock. Returns 0, EALREADY if nobody holds it, EPERM if another thread does, EINVAL
 * if it is none; then it stays as it is.
 * - The caller must not call this again after an error: the lock is not the caller's.
 * Wants: memory of a lock. */
int lw_debug_spinlock_unlock(lw_debug_spinlock_t *lock);

/* Blocks all signals in this thread, and says in flags which were; then waits for the lock and takes it. Returns 0; or an error as
 * lw_debug_spinlock_lock, and the mask is as it was.
 * - The rules of lw_debug_spinlock_lock apply. Signal handlers may call this.
 * - The caller must release the lock by the irqrestore function with the same flags, and several
 *   locks in the reverse order.
 * - The holder must not cause a fault (SIGSEGV and the like): it would end the process, even
 *   with a handler.
 * Wants: memory of a lock; memory for the flags. */
int lw_debug_spinlock_lock_irqsave(lw_debug_spinlock_t *lock,
                                   uint64_t *flags);

/* As lw_debug_spinlock_lock_irqsave, if nobody has the lock. Returns 0; EBUSY, or EINVAL if it is none, and
 * the mask is as it was.
 * - The rules of lw_debug_spinlock_lock_irqsave apply. It does not wait.
 * Wants: memory of a lock; memory for the flags. */
int lw_debug_spinlock_trylock_irqsave(lw_debug_spinlock_t *lock, uint64_t *flags);

/* Releases the lock, then lets in the signals that came meanwhile. Returns 0; or an
 * error as lw_debug_spinlock_unlock, and both stay as they are.
 * - The rules of lw_debug_spinlock_unlock apply.
 * - The flags must be those of the same hold: others leave signals blocked, or let them in
 *   early.
 * Wants: memory of a lock that this thread has taken so, and the flags that say so. */
int lw_debug_spinlock_unlock_irqrestore(lw_debug_spinlock_t *lock, uint64_t flags);

/* Makes a free lock of any memory. Not needed where LW_MCS_INIT or zeros are. Returns 0.
 * - The caller must do this before any other thread uses the memory, and never for a lock in
 *   use: its waiters would be lost.
 * Wants: memory for a lock, which nobody uses as one. */
int lw_mcs_init(lw_mcs_t *lock);

/* Ends the life of a lock. Nothing but the tool learns of it. Returns 0.
 * - No thread may hold, await or use the lock: nothing checks that.
 * Wants: a lock that nobody holds or waits for, and nobody uses from here on. */
int lw_mcs_destroy(lw_mcs_t *lock);

/* Waits for the lock and takes it. Returns 0.
 * - The caller must not hold the lock already: it would spin for ever. lockwright check reports
 *   it.
 * - The holder must not sleep: the waiters spin meanwhile.
 * - A signal handler may call this only if every other user takes the lock by an irqsave
 *   function.
 * Wants: a lock, which this thread does not hold. */
int lw_mcs_lock(lw_mcs_t *lock);

/* Takes the lock if it is free. Returns 0, or EBUSY.
 * - Any thread may call this: it does not wait. The holder gets EBUSY.
 * Wants: a lock. */
int lw_mcs_trylock(lw_mcs_t *lock);

/* Releases the lock. Returns 0.
 * - Only the thread that took the lock may release it, once. After any other call two threads
 *   can be inside at once.
 * Wants: a lock that this thread holds. */
int lw_mcs_unlock(lw_mcs_t *lock);

/* Blocks all signals in this thread, and says in flags which were; then waits for the lock and takes it. Returns 0.
 * - The rules of lw_mcs_lock apply. Signal handlers may call this.
 * - The caller must release the lock by the irqrestore function with the same flags, and several
 *   locks in the reverse order.
 * - The holder must not cause a fault (SIGSEGV and the like): it would end the process, even
 *   with a handler.
 * Wants: a lock, which this thread does not hold; memory for the flags. */
int lw_mcs_lock_irqsave(lw_mcs_t *lock,
                        uint64_t *flags);

/* As lw_mcs_lock_irqsave, if the lock is free. Returns 0; or EBUSY, and the mask is as it was.
 * - The rules of lw_mcs_lock_irqsave apply. It does not wait.
 * Wants: a lock; memory for the flags. */
int lw_mcs_trylock_irqsave(lw_mcs_t *lock, uint64_t *flags);

/* Releases the lock, then lets in the signals that came meanwhile. Returns 0.
 * - The rules of lw_mcs_unlock apply.
 * - The flags must be those of the same hold: others leave signals blocked, or let them in
 *   early.
 * Wants: a lock that this thread has taken so, and the flags that say so. */
int lw_mcs_unlock_irqrestore(lw_mcs_t *lock, uint64_t flags);

/* Makes a free lock of any memory. Not needed where LW_PVQSPINLOCK_INIT or zeros are. Returns 0.
 * - The caller must do this before any other thread uses the memory, and never for a lock in
 *   use: its waiters would be lost.
 * Wants: memory for a lock, which nobody uses as one. */
int lw_pvqspinlock_init(lw_pvqspinlock_t *lock);

/* Ends the life of a lock. Nothing but the tool learns of it. Returns 0.
 * - No thread may hold, await or use the lock: nothing checks that.
 * Wants: a lock that nobody holds or waits for, and nobody uses from here on. */
int lw_pvqspinlock_destroy(lw_pvqspinlock_t *lock);

/* Waits for the lock and takes it. Returns 0.
 * - The caller must not hold the lock already: it would wait for ever. lockwright check reports
 *   it.
 * - The holder should not sleep: the waiters spin before they halt.
 * - A signal handler may call this only if every other user takes the lock by an irqsave
 *   function.
 * Wants: a lock, which this thread does not hold. */
int lw_pvqspinlock_lock(lw_pvqspinlock_t *lock);

/* Takes the lock if it is free. Returns 0, or EBUSY.
 * - Any thread may call this: it does not wait. The holder gets EBUSY.
 * Wants: a lock. */
int lw_pvqspinlock_trylock(lw_pvqspinlock_t *lock);

/* Releases the lock. Returns 0.
 * - Only the thread that took the lock may release it, once. After any other call two threads
 *   can be inside at once.
 * - The caller may free the lock afterwards, if no other thread will use it.
 * Wants: a lock that this thread holds. */
int lw_pvqspinlock_unlock(lw_pvqspinlock_t *lock);

/* Blocks all signals in this thread, and says in flags which were; then waits for the lock and takes it. Returns 0.
 * - The rules of lw_pvqspinlock_lock apply. Signal handlers may call this.
 * - The caller must release the lock by the irqrestore function with the same flags, and several
 *   locks in the reverse order.
 * - The holder must not cause a fault (SIGSEGV and the like): it would end the process, even
 *   with a handler.
 * Wants: a lock, which this thread does not hold; memory for the flags. */
int lw_pvqspinlock_lock_irqsave(lw_pvqspinlock_t *lock,
                                uint64_t *flags);

/* As lw_pvqspinlock_lock_irqsave, if the lock is free. Returns 0; or EBUSY, and the mask is as it was.
 * - The rules of lw_pvqspinlock_lock_irqsave apply. It does not wait.
 * Wants: a lock; memory for the flags. */
int lw_pvqspinlock_trylock_irqsave(lw_pvqspinlock_t *lock, uint64_t *flags);

/* Releases the lock, then lets in the signals that came meanwhile. Returns 0.
 * - The rules of lw_pvqspinlock_unlock apply.
 * - The flags must be those of the same hold: others leave signals blocked, or let them in
 *   early.
 * Wants: a lock that this thread has taken so, and the flags that say so. */
int lw_pvqspinlock_unlock_irqrestore(lw_pvqspinlock_t *lock, uint64_t flags);

/* Makes a free lock of any memory. Not needed where LW_PVQSPINLOCK_SINGLE_STEAL_INIT or zeros are. Returns 0.
 * - The caller must do this before any other thread uses the memory, and never for a lock in
 *   use: its waiters would be lost.
 * Wants: memory for a lock, which nobody uses as one. */
int lw_pvqspinlock_single_steal_init(lw_pvqspinlock_single_steal_t *lock);

/* Ends the life of a lock. Nothing but the tool learns of it. Returns 0.
 * - No thread may hold, await or use the lock: nothing checks that.
 * Wants: a lock that nobody holds or waits for, and nobody uses from here on. */
int lw_pvqspinlock_single_steal_destroy(lw_pvqspinlock_single_steal_t *lock);

/* Waits for the lock and takes it. Returns 0.
 * - The caller must not hold the lock already: it would wait for ever. lockwright check reports
 *   it.
 * - The holder should not sleep: the waiters spin before they halt.
 * - A signal handler may call this only if every other user takes the lock by an irqsave
 *   function.
 * Wants: a lock, which this thread does not hold. */
int lw_pvqspinlock_single_steal_lock(lw_pvqspinlock_single_steal_t *lock);

/* Takes the lock if it is free. Returns 0, or EBUSY.
 * - Any thread may call this: it does not wait. The holder gets EBUSY.
 * Wants: a lock. */
int lw_pvqspinlock_single_steal_trylock(lw_pvqspinlock_single_steal_t *lock);

/* Releases the lock. Returns 0.
 * - Only the thread that took the lock may release it, once. After any other call two threads
 *   can be inside at once.
 * - The caller may free the lock afterwards, if no other thread will use it.
 * Wants: a lock that this thread holds. */
int lw_pvqspinlock_single_steal_unlock(lw_pvqspinlock_single_steal_t *lock);

/* Blocks all signals in this thread, and says in flags which were; then waits for the lock and takes it. Returns 0.
 * - The rules of lw_pvqspinlock_single_steal_lock apply. Signal handlers may call this.
 * - The caller must release the lock by the irqrestore function with the same flags, and several
 *   locks in the reverse order.
 * - The holder must not cause a fault (SIGSEGV and the like): it would end the process, even
 *   with a handler.
 * Wants: a lock, which this thread does not hold; memory for the flags. */
int lw_pvqspinlock_single_steal_lock_irqsave(lw_pvqspinlock_single_steal_t *lock,
                                             uint64_t *flags);

/* As lw_pvqspinlock_single_steal_lock_irqsave, if the lock is free. Returns 0; or EBUSY, and the mask is as it was.
 * - The rules of lw_pvqspinlock_single_steal_lock_irqsave apply. It does not wait.
 * Wants: a lock; memory for the flags. */
int lw_pvqspinlock_single_steal_trylock_irqsave(lw_pvqspinlock_single_steal_t *lock,
                                                uint64_t *flags);

/* Releases the lock, then lets in the signals that came meanwhile. Returns 0.
 * - The rules of lw_pvqspinlock_single_steal_unlock apply.
 * - The flags must be those of the same hold: others leave signals blocked, or let them in
 *   early.
 * Wants: a lock that this thread has taken so, and the flags that say so. */
int lw_pvqspinlock_single_steal_unlock_irqrestore(lw_pvqspinlock_single_steal_t *lock, uint64_t flags);

/* Makes a free lock of any memory. Not needed where LW_PVQSPINLOCK_UNFAIR_INIT or zeros are. Returns 0.
 * - The caller must do this before any other thread uses the memory, and never for a lock in
 *   use: its waiters would be lost.
 * Wants: memory for a lock, which nobody uses as one. */
int lw_pvqspinlock_unfair_init(lw_pvqspinlock_unfair_t *lock);

/* Ends the life of a lock. Nothing but the tool learns of it. Returns 0.
 * - No thread may hold, await or use the lock: nothing checks that.
 * Wants: a lock that nobody holds or waits for, and nobody uses from here on. */
int lw_pvqspinlock_unfair_destroy(lw_pvqspinlock_unfair_t *lock);

/* Waits for the lock and takes it. Returns 0.
 * - The caller must not hold the lock already: it would spin for ever. lockwright check reports
 *   it.
 * - The holder must not sleep: the waiters spin meanwhile.
 * - A signal handler may call this only if every other user takes the lock by an irqsave
 *   function.
 * Wants: a lock, which this thread does not hold. */
int lw_pvqspinlock_unfair_lock(lw_pvqspinlock_unfair_t *lock);

/* Takes the lock if it is free. Returns 0, or EBUSY.
 * - Any thread may call this: it does not wait. The holder gets EBUSY.
 * Wants: a lock. */
int lw_pvqspinlock_unfair_trylock(lw_pvqspinlock_unfair_t *lock);

/* Releases the lock. Returns 0.
 * - Only the thread that took the lock may release it, once. After any other call two threads
 *   can be inside at once.
 * - The caller may free the lock afterwards, if no other thread will use it.
 * Wants: a lock that this thread holds. */
int lw_pvqspinlock_unfair_unlock(lw_pvqspinlock_unfair_t *lock);

/* Blocks all signals in this thread, and says in flags which were; then waits for the lock and takes it. Returns 0.
 * - The rules of lw_pvqspinlock_unfair_lock apply. Signal handlers may call this.
 * - The caller must release the lock by the irqrestore function with the same flags, and several
 *   locks in the reverse order.
 * - The holder must not cause a fault (SIGSEGV and the like): it would end the process, even
 *   with a handler.
 * Wants: a lock, which this thread does not hold; memory for the flags. */
int lw_pvqspinlock_unfair_lock_irqsave(lw_pvqspinlock_unfair_t *lock,
                                       uint64_t *flags);

/* As lw_pvqspinlock_unfair_lock_irqsave, if the lock is free. Returns 0; or EBUSY, and the mask is as it was.
 * - The rules of lw_pvqspinlock_unfair_lock_irqsave apply. It does not wait.
 * Wants: a lock; memory for the flags. */
int lw_pvqspinlock_unfair_trylock_irqsave(lw_pvqspinlock_unfair_t *lock,
                                          uint64_t *flags);

/* Releases the lock, then lets in the signals that came meanwhile. Returns 0.
 * - The rules of lw_pvqspinlock_unfair_unlock apply.
 * - The flags must be those of the same hold: others leave signals blocked, or let them in
 *   early.
 * Wants: a lock that this thread has taken so, and the flags that say so. */
int lw_pvqspinlock_unfair_unlock_irqrestore(lw_pvqspinlock_unfair_t *lock, uint64_t flags);

/* Makes a free lock of any memory. Not needed where LW_QSPINLOCK_INIT or zeros are. Returns 0.
 * - The caller must do this before any other thread uses the memory, and never for a lock in
 *   use: its waiters would be lost.
 * Wants: memory for a lock, which nobody uses as one. */
int lw_qspinlock_init(lw_qspinlock_t *lock);

/* Ends the life of a lock. Nothing but the tool learns of it. Returns 0.
 * - No thread may hold, await or use the lock: nothing checks that.
 * Wants: a lock that nobody holds or waits for, and nobody uses from here on. */
int lw_qspinlock_destroy(lw_qspinlock_t *lock);

/* Waits for the lock and takes it. Returns 0.
 * - The caller must not hold the lock already: it would spin for ever. lockwright check reports
 *   it.
 * - The holder must not sleep: the waiters spin meanwhile.
 * - A signal handler may call this only if every other user takes the lock by an irqsave
 *   function.
 * Wants: a lock, which this thread does not hold. */
int lw_qspinlock_lock(lw_qspinlock_t *lock);

/* Takes the lock if it is free. Returns 0, or EBUSY.
 * - Any thread may call this: it does not wait. The holder gets EBUSY.
 * Wants: a lock. */
int lw_qspinlock_trylock(lw_qspinlock_t *lock);

/* Releases the lock. Returns 0.
 * - Only the thread that took the lock may release it, once. After any other call two threads
 *   can be inside at once.
 * - The caller may free the lock afterwards, if no other thread will use it.
 * Wants: a lock that this thread holds. */
int lw_qspinlock_unlock(lw_qspinlock_t *lock);

/* Blocks all signals in this thread, and says in flags which were; then waits for the lock and takes it. Returns 0.
 * - The rules of lw_qspinlock_lock apply. Signal handlers may call this.
 * - The caller must release the lock by the irqrestore function with the same flags, and several
 *   locks in the reverse order.
 * - The holder must not cause a fault (SIGSEGV and the like): it would end the process, even
 *   with a handler.
 * Wants: a lock, which this thread does not hold; memory for the flags. */
int lw_qspinlock_lock_irqsave(lw_qspinlock_t *lock,
                              uint64_t *flags);

/* As lw_qspinlock_lock_irqsave, if the lock is free. Returns 0; or EBUSY, and the mask is as it was.
 * - The rules of lw_qspinlock_lock_irqsave apply. It does not wait.
 * Wants: a lock; memory for the flags. */
int lw_qspinlock_trylock_irqsave(lw_qspinlock_t *lock, uint64_t *flags);

/* Releases the lock, then lets in the signals that came meanwhile. Returns 0.
 * - The rules of lw_qspinlock_unlock apply.
 * - The flags must be those of the same hold: others leave signals blocked, or let them in
 *   early.
 * Wants: a lock that this thread has taken so, and the flags that say so. */
int lw_qspinlock_unlock_irqrestore(lw_qspinlock_t *lock, uint64_t flags);

/* Makes a free lock of any memory. Not needed where LW_TAS_INIT or zeros are. Returns 0.
 * - The caller must do this before any other thread uses the memory, and never for a lock in
 *   use: its waiters would be lost.
 * Wants: memory for a lock, which nobody uses as one. */
int lw_tas_init(lw_tas_t *lock);

/* Ends the life of a lock. Nothing but the tool learns of it. Returns 0.
 * - No thread may hold, await or use the lock: nothing checks that.
 * Wants: a lock that nobody holds or waits for, and nobody uses from here on. */
int lw_tas_destroy(lw_tas_t *lock);

/* Waits for the lock and takes it. Returns 0.
 * - The caller must not hold the lock already: it would spin for ever. lockwright check reports
 *   it.
 * - The holder must not sleep: the waiters spin meanwhile.
 * - A signal handler may call this only if every other user takes the lock by an irqsave
 *   function.
 * Wants: a lock, which this thread does not hold. */
int lw_tas_lock(lw_tas_t *lock);

/* Takes the lock if it is free. Returns 0, or EBUSY.
 * - Any thread may call this: it does not wait. The holder gets EBUSY.
 * Wants: a lock. */
int lw_tas_trylock(lw_tas_t *lock);

/* Releases the lock. Returns 0.
 * - Only the thread that took the lock may release it, once. After any other call two threads
 *   can be inside at once.
 * - The caller may free the lock afterwards, if no other thread will use it.
 * Wants: a lock that this thread holds. */
int lw_tas_unlock(lw_tas_t *lock);

/* Blocks all signals in this thread, and says in flags which were; then waits for the lock and takes it. Returns 0.
 * - The rules of lw_tas_lock apply. Signal handlers may call this.
 * - The caller must release the lock by the irqrestore function with the same flags, and several
 *   locks in the reverse order.
 * - The holder must not cause a fault (SIGSEGV and the like): it would end the process, even
 *   with a handler.
 * Wants: a lock, which this thread does not hold; memory for the flags. */
int lw_tas_lock_irqsave(lw_tas_t *lock,
                        uint64_t *flags);

/* As lw_tas_lock_irqsave, if the lock is free. Returns 0; or EBUSY, and the mask is as it was.
 * - The rules of lw_tas_lock_irqsave apply. It does not wait.
 * Wants: a lock; memory for the flags. */
int lw_tas_trylock_irqsave(lw_tas_t *lock, uint64_t *flags);

/* Releases the lock, then lets in the signals that came meanwhile. Returns 0.
 * - The rules of lw_tas_unlock apply.
 * - The flags must be those of the same hold: others leave signals blocked, or let them in
 *   early.
 * Wants: a lock that this thread has taken so, and the flags that say so. */
int lw_tas_unlock_irqrestore(lw_tas_t *lock, uint64_t flags);

/* Makes a free lock of any memory. Not needed where LW_TICKET_INIT or zeros are. Returns 0.
 * - The caller must do this before any other thread uses the memory, and never for a lock in
 *   use: its waiters would be lost.
 * Wants: memory for a lock, which nobody uses as one. */
int lw_ticket_init(lw_ticket_t *lock);

/* Ends the life of a lock. Nothing but the tool learns of it. Returns 0.
 * - No thread may hold, await or use the lock: nothing checks that.
 * Wants: a lock that nobody holds or waits for, and nobody uses from here on. */
int lw_ticket_destroy(lw_ticket_t *lock);

/* Waits for the lock and takes it. Returns 0.
 * - The caller must not hold the lock already: it would spin for ever. lockwright check reports
 *   it.
 * - The holder must not sleep: the waiters spin meanwhile.
 * - A signal handler may call this only if every other user takes the lock by an irqsave
 *   function.
 * Wants: a lock, which this thread does not hold. */
int lw_ticket_lock(lw_ticket_t *lock);

/* Takes the lock if it is free. Returns 0, or EBUSY.
 * - Any thread may call this: it does not wait. The holder gets EBUSY.
 * Wants: a lock. */
int lw_ticket_trylock(lw_ticket_t *lock);

/* Releases the lock. Returns 0.
 * - Only the thread that took the lock may release it, once. After any other call two threads
 *   can be inside at once.
 * - The caller may free the lock afterwards, if no other thread will use it.
 * Wants: a lock that this thread holds. */
int lw_ticket_unlock(lw_ticket_t *lock);

/* Blocks all signals in this thread, and says in flags which were; then waits for the lock and takes it. Returns 0.
 * - The rules of lw_ticket_lock apply. Signal handlers may call this.
 * - The caller must release the lock by the irqrestore function with the same flags, and several
 *   locks in the reverse order.
 * - The holder must not cause a fault (SIGSEGV and the like): it would end the process, even
 *   with a handler.
 * Wants: a lock, which this thread does not hold; memory for the flags. */
int lw_ticket_lock_irqsave(lw_ticket_t *lock,
                           uint64_t *flags);

/* As lw_ticket_lock_irqsave, if the lock is free. Returns 0; or EBUSY, and the mask is as it was.
 * - The rules of lw_ticket_lock_irqsave apply. It does not wait.
 * Wants: a lock; memory for the flags. */
int lw_ticket_trylock_irqsave(lw_ticket_t *lock, uint64_t *flags);

/* Releases the lock, then lets in the signals that came meanwhile. Returns 0.
 * - The rules of lw_ticket_unlock apply.
 * - The flags must be those of the same hold: others leave signals blocked, or let them in
 *   early.
 * Wants: a lock that this thread has taken so, and the flags that say so. */
int lw_ticket_unlock_irqrestore(lw_ticket_t *lock, uint64_t flags);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* LOCKWRIGHT_LOCKS_H */

/* Under ThreadSanitizer the functions tell it of each acquisition and release. */
#if defined(__SANITIZE_THREAD__)
#include "tsan.h"
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#include "tsan.h"
#endif
#endif
