/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * lockwright/tsan.h: tells ThreadSanitizer of the locks, which it cannot see at work, as the library is not
 * instrumented. lockwright/locks.h includes it where the sanitizer is on.
 */
#ifndef LOCKWRIGHT_TSAN_H
#define LOCKWRIGHT_TSAN_H

#include <sanitizer/tsan_interface.h>

/* Taking: reported before and after, with the outcome. A lock call with a deadline is no dependency. */
#define LW_TSAN_TAKE_(function, type, flags)                                                                           \
	static inline int function##_tsan_(type *lock)                                                                 \
	{                                                                                                              \
		__tsan_mutex_pre_lock(lock, (flags));                                                                  \
		int error = function(lock);                                                                            \
		__tsan_mutex_post_lock(lock, (flags) | (error != 0 ? __tsan_mutex_try_lock_failed : 0u), 0);           \
		return error;                                                                                          \
	}

#define LW_TSAN_TAKE_UNTIL_(function, type, flags)                                                                     \
	static inline int function##_tsan_(type *lock, const struct timespec *until)                                   \
	{                                                                                                              \
		__tsan_mutex_pre_lock(lock, (flags) | __tsan_mutex_try_lock);                                          \
		int error = function(lock, until);                                                                     \
		__tsan_mutex_post_lock(                                                                                \
		    lock, (flags) | __tsan_mutex_try_lock | (error != 0 ? __tsan_mutex_try_lock_failed : 0u), 0);      \
		return error;                                                                                          \
	}

/* With signals blocked: `irq` is where it says which were, or what says so. */
#define LW_TSAN_TAKE_IRQSAVE_(function, type, flags)                                                                   \
	static inline int function##_tsan_(type *lock, uint64_t *irq)                                                  \
	{                                                                                                              \
		__tsan_mutex_pre_lock(lock, (flags));                                                                  \
		int error = function(lock, irq);                                                                       \
		__tsan_mutex_post_lock(lock, (flags) | (error != 0 ? __tsan_mutex_try_lock_failed : 0u), 0);           \
		return error;                                                                                          \
	}

#define LW_TSAN_GIVE_IRQRESTORE_(function, type, flags)                                                                \
	static inline int function##_tsan_(type *lock, uint64_t irq)                                                   \
	{                                                                                                              \
		__tsan_mutex_pre_unlock(lock, (flags));                                                                \
		int error = function(lock, irq);                                                                       \
		__tsan_mutex_post_unlock(lock, (flags));                                                               \
		return error;                                                                                          \
	}

#define LW_TSAN_GIVE_(function, type, flags)                                                                           \
	static inline int function##_tsan_(type *lock)                                                                 \
	{                                                                                                              \
		__tsan_mutex_pre_unlock(lock, (flags));                                                                \
		int error = function(lock);                                                                            \
		__tsan_mutex_post_unlock(lock, (flags));                                                               \
		return error;                                                                                          \
	}

#define LW_TSAN_LIFE_(name, type)                                                                                      \
	static inline int name##_init_tsan_(type *lock)                                                                \
	{                                                                                                              \
		__tsan_mutex_create(lock, __tsan_mutex_not_static);                                                    \
		return name##_init(lock);                                                                              \
	}                                                                                                              \
	static inline int name##_destroy_tsan_(type *lock)                                                             \
	{                                                                                                              \
		__tsan_mutex_destroy(lock, 0);                                                                         \
		return name##_destroy(lock);                                                                           \
	}

/* A lock with one sort of holder. */
#define LW_TSAN_LOCK_(name)                                                                                            \
	LW_TSAN_LIFE_(name, name##_t)                                                                                  \
	LW_TSAN_TAKE_(name##_lock, name##_t, 0u)                                                                       \
	LW_TSAN_TAKE_(name##_trylock, name##_t, (unsigned)__tsan_mutex_try_lock)                                       \
	LW_TSAN_GIVE_(name##_unlock, name##_t, 0u)

/* The same with signals blocked. */
#define LW_TSAN_IRQSAVE_(name, type, read)                                                                             \
	LW_TSAN_TAKE_IRQSAVE_(name##lock_irqsave, type, read)                                                          \
	LW_TSAN_TAKE_IRQSAVE_(name##trylock_irqsave, type, (read) | (unsigned)__tsan_mutex_try_lock)                   \
	LW_TSAN_GIVE_IRQRESTORE_(name##unlock_irqrestore, type, read)

/* --- Test-and-set ------------------------------------------------------------------------------------- */

LW_TSAN_LOCK_(lw_tas)
LW_TSAN_IRQSAVE_(lw_tas_, lw_tas_t, 0u)
#define lw_tas_init(lock) lw_tas_init_tsan_(lock)
#define lw_tas_destroy(lock) lw_tas_destroy_tsan_(lock)
#define lw_tas_lock(lock) lw_tas_lock_tsan_(lock)
#define lw_tas_trylock(lock) lw_tas_trylock_tsan_(lock)
#define lw_tas_unlock(lock) lw_tas_unlock_tsan_(lock)
#define lw_tas_lock_irqsave(lock, irq) lw_tas_lock_irqsave_tsan_(lock, irq)
#define lw_tas_trylock_irqsave(lock, irq) lw_tas_trylock_irqsave_tsan_(lock, irq)
#define lw_tas_unlock_irqrestore(lock, irq) lw_tas_unlock_irqrestore_tsan_(lock, irq)

/* --- Ticket ------------------------------------------------------------------------------------------- */

LW_TSAN_LOCK_(lw_ticket)
LW_TSAN_IRQSAVE_(lw_ticket_, lw_ticket_t, 0u)
#define lw_ticket_init(lock) lw_ticket_init_tsan_(lock)
#define lw_ticket_destroy(lock) lw_ticket_destroy_tsan_(lock)
#define lw_ticket_lock(lock) lw_ticket_lock_tsan_(lock)
#define lw_ticket_trylock(lock) lw_ticket_trylock_tsan_(lock)
#define lw_ticket_unlock(lock) lw_ticket_unlock_tsan_(lock)
#define lw_ticket_lock_irqsave(lock, irq) lw_ticket_lock_irqsave_tsan_(lock, irq)
#define lw_ticket_trylock_irqsave(lock, irq) lw_ticket_trylock_irqsave_tsan_(lock, irq)
#define lw_ticket_unlock_irqrestore(lock, irq) lw_ticket_unlock_irqrestore_tsan_(lock, irq)

/* --- Mutex -------------------------------------------------------------------------------------------- */

LW_TSAN_LOCK_(lw_mutex)
LW_TSAN_TAKE_UNTIL_(lw_mutex_timedlock, lw_mutex_t, 0u)
#define lw_mutex_init(lock) lw_mutex_init_tsan_(lock)
#define lw_mutex_destroy(lock) lw_mutex_destroy_tsan_(lock)
#define lw_mutex_lock(lock) lw_mutex_lock_tsan_(lock)
#define lw_mutex_trylock(lock) lw_mutex_trylock_tsan_(lock)
#define lw_mutex_timedlock(lock, until) lw_mutex_timedlock_tsan_(lock, until)
#define lw_mutex_unlock(lock) lw_mutex_unlock_tsan_(lock)

/* --- Hybrid mutex --------------------------------------------------------------------------------------- */

LW_TSAN_LOCK_(lw_hybrid_mutex)
LW_TSAN_TAKE_UNTIL_(lw_hybrid_mutex_timedlock, lw_hybrid_mutex_t, 0u)
LW_TSAN_GIVE_(lw_hybrid_mutex_unlock_fair, lw_hybrid_mutex_t, 0u)
#define lw_hybrid_mutex_init(lock) lw_hybrid_mutex_init_tsan_(lock)
#define lw_hybrid_mutex_destroy(lock) lw_hybrid_mutex_destroy_tsan_(lock)
#define lw_hybrid_mutex_lock(lock) lw_hybrid_mutex_lock_tsan_(lock)
#define lw_hybrid_mutex_trylock(lock) lw_hybrid_mutex_trylock_tsan_(lock)
#define lw_hybrid_mutex_unlock(lock) lw_hybrid_mutex_unlock_tsan_(lock)
#define lw_hybrid_mutex_unlock_fair(lock) lw_hybrid_mutex_unlock_fair_tsan_(lock)
#define lw_hybrid_mutex_timedlock(lock, until) lw_hybrid_mutex_timedlock_tsan_(lock, until)

/* --- Hybrid reader-writer lock -------------------------------------------------------------------------- */

LW_TSAN_LIFE_(lw_hybrid_rwlock, lw_hybrid_rwlock_t)
LW_TSAN_TAKE_(lw_hybrid_rwlock_read_lock, lw_hybrid_rwlock_t, (unsigned)__tsan_mutex_read_lock)
LW_TSAN_TAKE_(lw_hybrid_rwlock_read_lock_recursive, lw_hybrid_rwlock_t, (unsigned)__tsan_mutex_read_lock)
LW_TSAN_TAKE_(lw_hybrid_rwlock_read_trylock, lw_hybrid_rwlock_t, (unsigned)__tsan_mutex_read_lock | __tsan_mutex_try_lock)
LW_TSAN_TAKE_UNTIL_(lw_hybrid_rwlock_read_timedlock, lw_hybrid_rwlock_t, (unsigned)__tsan_mutex_read_lock)
LW_TSAN_GIVE_(lw_hybrid_rwlock_read_unlock, lw_hybrid_rwlock_t, (unsigned)__tsan_mutex_read_lock)
LW_TSAN_TAKE_(lw_hybrid_rwlock_write_lock, lw_hybrid_rwlock_t, 0u)
LW_TSAN_TAKE_(lw_hybrid_rwlock_write_trylock, lw_hybrid_rwlock_t, (unsigned)__tsan_mutex_try_lock)
LW_TSAN_TAKE_UNTIL_(lw_hybrid_rwlock_write_timedlock, lw_hybrid_rwlock_t, 0u)
LW_TSAN_GIVE_(lw_hybrid_rwlock_write_unlock, lw_hybrid_rwlock_t, 0u)

/* An upgradable reader is a reader. */
LW_TSAN_TAKE_(lw_hybrid_rwlock_upgradable_lock, lw_hybrid_rwlock_t, (unsigned)__tsan_mutex_read_lock)
LW_TSAN_TAKE_(lw_hybrid_rwlock_upgradable_trylock, lw_hybrid_rwlock_t, (unsigned)__tsan_mutex_read_lock | __tsan_mutex_try_lock)
LW_TSAN_GIVE_(lw_hybrid_rwlock_upgradable_unlock, lw_hybrid_rwlock_t, (unsigned)__tsan_mutex_read_lock)

/* A release in one way, and an acquisition in another that nobody can come before; or of neither. */
#define LW_TSAN_BECOMES_(function, was, is)                                                                            \
	static inline int function##_tsan_(lw_hybrid_rwlock_t *lock)                                                        \
	{                                                                                                              \
		__tsan_mutex_pre_unlock(lock, (was));                                                                  \
		__tsan_mutex_post_unlock(lock, (was));                                                                 \
		int error = function(lock);                                                                            \
		unsigned as = (error != 0 ? (was) : (is)) | (unsigned)__tsan_mutex_try_lock;                           \
		__tsan_mutex_pre_lock(lock, as);                                                                       \
		__tsan_mutex_post_lock(lock, as, 0);                                                                   \
		return error;                                                                                          \
	}

LW_TSAN_BECOMES_(lw_hybrid_rwlock_downgrade, 0u, (unsigned)__tsan_mutex_read_lock)
LW_TSAN_BECOMES_(lw_hybrid_rwlock_downgrade_to_upgradable, 0u, (unsigned)__tsan_mutex_read_lock)
LW_TSAN_BECOMES_(lw_hybrid_rwlock_upgrade, (unsigned)__tsan_mutex_read_lock, 0u)
LW_TSAN_BECOMES_(lw_hybrid_rwlock_tryupgrade, (unsigned)__tsan_mutex_read_lock, 0u)

#define lw_hybrid_rwlock_init(lock) lw_hybrid_rwlock_init_tsan_(lock)
#define lw_hybrid_rwlock_destroy(lock) lw_hybrid_rwlock_destroy_tsan_(lock)
#define lw_hybrid_rwlock_read_lock(lock) lw_hybrid_rwlock_read_lock_tsan_(lock)
#define lw_hybrid_rwlock_read_lock_recursive(lock) lw_hybrid_rwlock_read_lock_recursive_tsan_(lock)
#define lw_hybrid_rwlock_read_trylock(lock) lw_hybrid_rwlock_read_trylock_tsan_(lock)
#define lw_hybrid_rwlock_read_unlock(lock) lw_hybrid_rwlock_read_unlock_tsan_(lock)
#define lw_hybrid_rwlock_write_lock(lock) lw_hybrid_rwlock_write_lock_tsan_(lock)
#define lw_hybrid_rwlock_write_trylock(lock) lw_hybrid_rwlock_write_trylock_tsan_(lock)
#define lw_hybrid_rwlock_write_unlock(lock) lw_hybrid_rwlock_write_unlock_tsan_(lock)
#define lw_hybrid_rwlock_upgradable_lock(lock) lw_hybrid_rwlock_upgradable_lock_tsan_(lock)
#define lw_hybrid_rwlock_upgradable_trylock(lock) lw_hybrid_rwlock_upgradable_trylock_tsan_(lock)
#define lw_hybrid_rwlock_upgradable_unlock(lock) lw_hybrid_rwlock_upgradable_unlock_tsan_(lock)
#define lw_hybrid_rwlock_downgrade(lock) lw_hybrid_rwlock_downgrade_tsan_(lock)
#define lw_hybrid_rwlock_downgrade_to_upgradable(lock) lw_hybrid_rwlock_downgrade_to_upgradable_tsan_(lock)
#define lw_hybrid_rwlock_upgrade(lock) lw_hybrid_rwlock_upgrade_tsan_(lock)
#define lw_hybrid_rwlock_tryupgrade(lock) lw_hybrid_rwlock_tryupgrade_tsan_(lock)
#define lw_hybrid_rwlock_read_timedlock(lock, until) lw_hybrid_rwlock_read_timedlock_tsan_(lock, until)
#define lw_hybrid_rwlock_write_timedlock(lock, until) lw_hybrid_rwlock_write_timedlock_tsan_(lock, until)

/* --- Mutex with checks --------------------------------------------------------------------------------- */

LW_TSAN_LOCK_(lw_debug_mutex)
#define lw_debug_mutex_init(lock) lw_debug_mutex_init_tsan_(lock)
#define lw_debug_mutex_destroy(lock) lw_debug_mutex_destroy_tsan_(lock)
#define lw_debug_mutex_lock(lock) lw_debug_mutex_lock_tsan_(lock)
#define lw_debug_mutex_trylock(lock) lw_debug_mutex_trylock_tsan_(lock)
#define lw_debug_mutex_unlock(lock) lw_debug_mutex_unlock_tsan_(lock)

/* --- Mutex with priority inheritance and checks --------------------------------------------------------- */

LW_TSAN_LOCK_(lw_debug_rtmutex)
LW_TSAN_TAKE_UNTIL_(lw_debug_rtmutex_timedlock, lw_debug_rtmutex_t, 0u)
#define lw_debug_rtmutex_init(lock) lw_debug_rtmutex_init_tsan_(lock)
#define lw_debug_rtmutex_destroy(lock) lw_debug_rtmutex_destroy_tsan_(lock)
#define lw_debug_rtmutex_lock(lock) lw_debug_rtmutex_lock_tsan_(lock)
#define lw_debug_rtmutex_trylock(lock) lw_debug_rtmutex_trylock_tsan_(lock)
#define lw_debug_rtmutex_timedlock(lock, until) lw_debug_rtmutex_timedlock_tsan_(lock, until)
#define lw_debug_rtmutex_unlock(lock) lw_debug_rtmutex_unlock_tsan_(lock)

/* --- Queued spinlock with checks ----------------------------------------------------------------------- */

LW_TSAN_LOCK_(lw_debug_spinlock)
LW_TSAN_IRQSAVE_(lw_debug_spinlock_, lw_debug_spinlock_t, 0u)
#define lw_debug_spinlock_init(lock) lw_debug_spinlock_init_tsan_(lock)
#define lw_debug_spinlock_destroy(lock) lw_debug_spinlock_destroy_tsan_(lock)
#define lw_debug_spinlock_lock(lock) lw_debug_spinlock_lock_tsan_(lock)
#define lw_debug_spinlock_trylock(lock) lw_debug_spinlock_trylock_tsan_(lock)
#define lw_debug_spinlock_unlock(lock) lw_debug_spinlock_unlock_tsan_(lock)
#define lw_debug_spinlock_lock_irqsave(lock, irq) lw_debug_spinlock_lock_irqsave_tsan_(lock, irq)
#define lw_debug_spinlock_trylock_irqsave(lock, irq) lw_debug_spinlock_trylock_irqsave_tsan_(lock, irq)
#define lw_debug_spinlock_unlock_irqrestore(lock, irq) lw_debug_spinlock_unlock_irqrestore_tsan_(lock, irq)

/* --- MCS ----------------------------------------------------------------------------------------------- */

LW_TSAN_LOCK_(lw_mcs)
LW_TSAN_IRQSAVE_(lw_mcs_, lw_mcs_t, 0u)
#define lw_mcs_init(lock) lw_mcs_init_tsan_(lock)
#define lw_mcs_destroy(lock) lw_mcs_destroy_tsan_(lock)
#define lw_mcs_lock(lock) lw_mcs_lock_tsan_(lock)
#define lw_mcs_trylock(lock) lw_mcs_trylock_tsan_(lock)
#define lw_mcs_unlock(lock) lw_mcs_unlock_tsan_(lock)
#define lw_mcs_lock_irqsave(lock, irq) lw_mcs_lock_irqsave_tsan_(lock, irq)
#define lw_mcs_trylock_irqsave(lock, irq) lw_mcs_trylock_irqsave_tsan_(lock, irq)
#define lw_mcs_unlock_irqrestore(lock, irq) lw_mcs_unlock_irqrestore_tsan_(lock, irq)

/* --- Queued spinlock ----------------------------------------------------------------------------------- */

LW_TSAN_LOCK_(lw_qspinlock)
LW_TSAN_IRQSAVE_(lw_qspinlock_, lw_qspinlock_t, 0u)
#define lw_qspinlock_init(lock) lw_qspinlock_init_tsan_(lock)
#define lw_qspinlock_destroy(lock) lw_qspinlock_destroy_tsan_(lock)
#define lw_qspinlock_lock(lock) lw_qspinlock_lock_tsan_(lock)
#define lw_qspinlock_trylock(lock) lw_qspinlock_trylock_tsan_(lock)
#define lw_qspinlock_unlock(lock) lw_qspinlock_unlock_tsan_(lock)
#define lw_qspinlock_lock_irqsave(lock, irq) lw_qspinlock_lock_irqsave_tsan_(lock, irq)
#define lw_qspinlock_trylock_irqsave(lock, irq) lw_qspinlock_trylock_irqsave_tsan_(lock, irq)
#define lw_qspinlock_unlock_irqrestore(lock, irq) lw_qspinlock_unlock_irqrestore_tsan_(lock, irq)

/* --- Mutex with priority inheritance ------------------------------------------------------------------- */

LW_TSAN_LOCK_(lw_rtmutex)
LW_TSAN_TAKE_UNTIL_(lw_rtmutex_timedlock, lw_rtmutex_t, 0u)
#define lw_rtmutex_init(lock) lw_rtmutex_init_tsan_(lock)
#define lw_rtmutex_destroy(lock) lw_rtmutex_destroy_tsan_(lock)
#define lw_rtmutex_lock(lock) lw_rtmutex_lock_tsan_(lock)
#define lw_rtmutex_trylock(lock) lw_rtmutex_trylock_tsan_(lock)
#define lw_rtmutex_timedlock(lock, until) lw_rtmutex_timedlock_tsan_(lock, until)
#define lw_rtmutex_unlock(lock) lw_rtmutex_unlock_tsan_(lock)

/* --- Reader-writer semaphore --------------------------------------------------------------------------- */

LW_TSAN_LIFE_(lw_rwsem, lw_rwsem_t)
LW_TSAN_TAKE_(lw_rwsem_down_read, lw_rwsem_t, (unsigned)__tsan_mutex_read_lock)
LW_TSAN_TAKE_(lw_rwsem_trydown_read, lw_rwsem_t, (unsigned)__tsan_mutex_read_lock | __tsan_mutex_try_lock)
LW_TSAN_TAKE_UNTIL_(lw_rwsem_timeddown_read, lw_rwsem_t, (unsigned)__tsan_mutex_read_lock)
LW_TSAN_GIVE_(lw_rwsem_up_read, lw_rwsem_t, (unsigned)__tsan_mutex_read_lock)
LW_TSAN_TAKE_(lw_rwsem_down_write, lw_rwsem_t, 0u)
LW_TSAN_TAKE_(lw_rwsem_trydown_write, lw_rwsem_t, (unsigned)__tsan_mutex_try_lock)
LW_TSAN_TAKE_UNTIL_(lw_rwsem_timeddown_write, lw_rwsem_t, 0u)
LW_TSAN_GIVE_(lw_rwsem_up_write, lw_rwsem_t, 0u)

/* A writer's release, and a reader's acquisition that nobody can come before. */
static inline int lw_rwsem_downgrade_tsan_(lw_rwsem_t *lock)
{
	__tsan_mutex_pre_unlock(lock, 0);
	__tsan_mutex_post_unlock(lock, 0);
	__tsan_mutex_pre_lock(lock, (unsigned)__tsan_mutex_read_lock | __tsan_mutex_try_lock);
	int error = lw_rwsem_downgrade(lock);
	__tsan_mutex_post_lock(lock, (unsigned)__tsan_mutex_read_lock | __tsan_mutex_try_lock, 0);
	return error;
}

#define lw_rwsem_init(lock) lw_rwsem_init_tsan_(lock)
#define lw_rwsem_destroy(lock) lw_rwsem_destroy_tsan_(lock)
#define lw_rwsem_down_read(lock) lw_rwsem_down_read_tsan_(lock)
#define lw_rwsem_trydown_read(lock) lw_rwsem_trydown_read_tsan_(lock)
#define lw_rwsem_timeddown_read(lock, until) lw_rwsem_timeddown_read_tsan_(lock, until)
#define lw_rwsem_up_read(lock) lw_rwsem_up_read_tsan_(lock)
#define lw_rwsem_down_write(lock) lw_rwsem_down_write_tsan_(lock)
#define lw_rwsem_trydown_write(lock) lw_rwsem_trydown_write_tsan_(lock)
#define lw_rwsem_timeddown_write(lock, until) lw_rwsem_timeddown_write_tsan_(lock, until)
#define lw_rwsem_up_write(lock) lw_rwsem_up_write_tsan_(lock)
#define lw_rwsem_downgrade(lock) lw_rwsem_downgrade_tsan_(lock)

/* --- Reader-writer semaphore with checks ------------------------------------------------------------------- */

LW_TSAN_LIFE_(lw_debug_rwsem, lw_debug_rwsem_t)
LW_TSAN_TAKE_(lw_debug_rwsem_down_read, lw_debug_rwsem_t, (unsigned)__tsan_mutex_read_lock)
LW_TSAN_TAKE_(lw_debug_rwsem_trydown_read, lw_debug_rwsem_t, (unsigned)__tsan_mutex_read_lock | __tsan_mutex_try_lock)
LW_TSAN_TAKE_UNTIL_(lw_debug_rwsem_timeddown_read, lw_debug_rwsem_t, (unsigned)__tsan_mutex_read_lock)
LW_TSAN_GIVE_(lw_debug_rwsem_up_read, lw_debug_rwsem_t, (unsigned)__tsan_mutex_read_lock)
LW_TSAN_TAKE_(lw_debug_rwsem_down_write, lw_debug_rwsem_t, 0u)
LW_TSAN_TAKE_(lw_debug_rwsem_trydown_write, lw_debug_rwsem_t, (unsigned)__tsan_mutex_try_lock)
LW_TSAN_TAKE_UNTIL_(lw_debug_rwsem_timeddown_write, lw_debug_rwsem_t, 0u)
LW_TSAN_GIVE_(lw_debug_rwsem_up_write, lw_debug_rwsem_t, 0u)

/* A writer's release, and a reader's acquisition that nobody can come before. */
static inline int lw_debug_rwsem_downgrade_tsan_(lw_debug_rwsem_t *lock)
{
	__tsan_mutex_pre_unlock(lock, 0);
	__tsan_mutex_post_unlock(lock, 0);
	__tsan_mutex_pre_lock(lock, (unsigned)__tsan_mutex_read_lock | __tsan_mutex_try_lock);
	int error = lw_debug_rwsem_downgrade(lock);
	__tsan_mutex_post_lock(lock, (unsigned)__tsan_mutex_read_lock | __tsan_mutex_try_lock, 0);
	return error;
}

#define lw_debug_rwsem_init(lock) lw_debug_rwsem_init_tsan_(lock)
#define lw_debug_rwsem_destroy(lock) lw_debug_rwsem_destroy_tsan_(lock)
#define lw_debug_rwsem_down_read(lock) lw_debug_rwsem_down_read_tsan_(lock)
#define lw_debug_rwsem_trydown_read(lock) lw_debug_rwsem_trydown_read_tsan_(lock)
#define lw_debug_rwsem_timeddown_read(lock, until) lw_debug_rwsem_timeddown_read_tsan_(lock, until)
#define lw_debug_rwsem_up_read(lock) lw_debug_rwsem_up_read_tsan_(lock)
#define lw_debug_rwsem_down_write(lock) lw_debug_rwsem_down_write_tsan_(lock)
#define lw_debug_rwsem_trydown_write(lock) lw_debug_rwsem_trydown_write_tsan_(lock)
#define lw_debug_rwsem_timeddown_write(lock, until) lw_debug_rwsem_timeddown_write_tsan_(lock, until)
#define lw_debug_rwsem_up_write(lock) lw_debug_rwsem_up_write_tsan_(lock)
#define lw_debug_rwsem_downgrade(lock) lw_debug_rwsem_downgrade_tsan_(lock)

/* --- Queued reader-writer spinlock --------------------------------------------------------------------- */

LW_TSAN_LIFE_(lw_qrwlock, lw_qrwlock_t)
LW_TSAN_TAKE_(lw_qrwlock_read_lock, lw_qrwlock_t, (unsigned)__tsan_mutex_read_lock)
LW_TSAN_TAKE_(lw_qrwlock_read_trylock, lw_qrwlock_t, (unsigned)__tsan_mutex_read_lock | __tsan_mutex_try_lock)
LW_TSAN_GIVE_(lw_qrwlock_read_unlock, lw_qrwlock_t, (unsigned)__tsan_mutex_read_lock)
LW_TSAN_TAKE_(lw_qrwlock_write_lock, lw_qrwlock_t, 0u)
LW_TSAN_TAKE_(lw_qrwlock_write_trylock, lw_qrwlock_t, (unsigned)__tsan_mutex_try_lock)
LW_TSAN_GIVE_(lw_qrwlock_write_unlock, lw_qrwlock_t, 0u)
LW_TSAN_IRQSAVE_(lw_qrwlock_read_, lw_qrwlock_t, (unsigned)__tsan_mutex_read_lock)
LW_TSAN_IRQSAVE_(lw_qrwlock_write_, lw_qrwlock_t, 0u)
#define lw_qrwlock_init(lock) lw_qrwlock_init_tsan_(lock)
#define lw_qrwlock_destroy(lock) lw_qrwlock_destroy_tsan_(lock)
#define lw_qrwlock_read_lock(lock) lw_qrwlock_read_lock_tsan_(lock)
#define lw_qrwlock_read_trylock(lock) lw_qrwlock_read_trylock_tsan_(lock)
#define lw_qrwlock_read_unlock(lock) lw_qrwlock_read_unlock_tsan_(lock)
#define lw_qrwlock_write_lock(lock) lw_qrwlock_write_lock_tsan_(lock)
#define lw_qrwlock_write_trylock(lock) lw_qrwlock_write_trylock_tsan_(lock)
#define lw_qrwlock_write_unlock(lock) lw_qrwlock_write_unlock_tsan_(lock)
#define lw_qrwlock_read_lock_irqsave(lock, irq) lw_qrwlock_read_lock_irqsave_tsan_(lock, irq)
#define lw_qrwlock_read_trylock_irqsave(lock, irq) lw_qrwlock_read_trylock_irqsave_tsan_(lock, irq)
#define lw_qrwlock_read_unlock_irqrestore(lock, irq) lw_qrwlock_read_unlock_irqrestore_tsan_(lock, irq)
#define lw_qrwlock_write_lock_irqsave(lock, irq) lw_qrwlock_write_lock_irqsave_tsan_(lock, irq)
#define lw_qrwlock_write_trylock_irqsave(lock, irq) lw_qrwlock_write_trylock_irqsave_tsan_(lock, irq)
#define lw_qrwlock_write_unlock_irqrestore(lock, irq) lw_qrwlock_write_unlock_irqrestore_tsan_(lock, irq)

/* --- Sequence lock: a reader comes after the writer ---------------------------------------------------- */

LW_TSAN_LIFE_(lw_seqlock, lw_seqlock_t)
LW_TSAN_TAKE_(lw_seqlock_write_lock, lw_seqlock_t, 0u)
LW_TSAN_TAKE_(lw_seqlock_write_trylock, lw_seqlock_t, (unsigned)__tsan_mutex_try_lock)

static inline int lw_seqlock_write_unlock_tsan_(lw_seqlock_t *lock)
{
	__tsan_release(lock);
	__tsan_mutex_pre_unlock(lock, 0);
	int error = lw_seqlock_write_unlock(lock);
	__tsan_mutex_post_unlock(lock, 0);
	return error;
}

LW_TSAN_TAKE_IRQSAVE_(lw_seqlock_write_lock_irqsave, lw_seqlock_t, 0u)
LW_TSAN_TAKE_IRQSAVE_(lw_seqlock_write_trylock_irqsave, lw_seqlock_t, (unsigned)__tsan_mutex_try_lock)

static inline int lw_seqlock_write_unlock_irqrestore_tsan_(lw_seqlock_t *lock, uint64_t irq)
{
	__tsan_release(lock);
	__tsan_mutex_pre_unlock(lock, 0);
	int error = lw_seqlock_write_unlock_irqrestore(lock, irq);
	__tsan_mutex_post_unlock(lock, 0);
	return error;
}

static inline uint32_t lw_seqlock_read_begin_tsan_(lw_seqlock_t *lock)
{
	uint32_t begun = lw_seqlock_read_begin(lock);
	__tsan_acquire(lock);
	return begun;
}

#define lw_seqlock_init(lock) lw_seqlock_init_tsan_(lock)
#define lw_seqlock_destroy(lock) lw_seqlock_destroy_tsan_(lock)
#define lw_seqlock_read_begin(lock) lw_seqlock_read_begin_tsan_(lock)
#define lw_seqlock_write_lock(lock) lw_seqlock_write_lock_tsan_(lock)
#define lw_seqlock_write_trylock(lock) lw_seqlock_write_trylock_tsan_(lock)
#define lw_seqlock_write_unlock(lock) lw_seqlock_write_unlock_tsan_(lock)
#define lw_seqlock_write_lock_irqsave(lock, irq) lw_seqlock_write_lock_irqsave_tsan_(lock, irq)
#define lw_seqlock_write_trylock_irqsave(lock, irq) lw_seqlock_write_trylock_irqsave_tsan_(lock, irq)
#define lw_seqlock_write_unlock_irqrestore(lock, irq) lw_seqlock_write_unlock_irqrestore_tsan_(lock, irq)

/* --- Wound/wait mutex: by a context, in any order ------------------------------------------------------ */

LW_TSAN_LIFE_(lw_ww_mutex, lw_ww_mutex_t)
LW_TSAN_GIVE_(lw_ww_mutex_unlock, lw_ww_mutex_t, 0u)

/* A lock that a context takes is no dependency: it is reported as a trylock. */
static inline unsigned lw_ww_tsan_flags_(lw_ww_ctx_t *ctx)
{
	return ctx != NULL ? (unsigned)__tsan_mutex_try_lock : 0u;
}

static inline int lw_ww_tsan_taken_(lw_ww_mutex_t *lock, unsigned flags, int error)
{
	__tsan_mutex_post_lock(lock, flags | (error != 0 ? __tsan_mutex_try_lock_failed : 0u), 0);
	return error;
}

static inline int lw_ww_mutex_lock_tsan_(lw_ww_mutex_t *lock, lw_ww_ctx_t *ctx)
{
	unsigned flags = lw_ww_tsan_flags_(ctx);
	__tsan_mutex_pre_lock(lock, flags);
	return lw_ww_tsan_taken_(lock, flags, lw_ww_mutex_lock(lock, ctx));
}

static inline int lw_ww_mutex_lock_slow_tsan_(lw_ww_mutex_t *lock, lw_ww_ctx_t *ctx)
{
	unsigned flags = lw_ww_tsan_flags_(ctx);
	__tsan_mutex_pre_lock(lock, flags);
	return lw_ww_tsan_taken_(lock, flags, lw_ww_mutex_lock_slow(lock, ctx));
}

static inline int lw_ww_mutex_trylock_tsan_(lw_ww_mutex_t *lock, lw_ww_ctx_t *ctx)
{
	unsigned flags = (unsigned)__tsan_mutex_try_lock;
	__tsan_mutex_pre_lock(lock, flags);
	return lw_ww_tsan_taken_(lock, flags, lw_ww_mutex_trylock(lock, ctx));
}

static inline int lw_ww_mutex_timedlock_tsan_(lw_ww_mutex_t *lock, lw_ww_ctx_t *ctx, const struct timespec *until)
{
	unsigned flags = (unsigned)__tsan_mutex_try_lock;
	__tsan_mutex_pre_lock(lock, flags);
	return lw_ww_tsan_taken_(lock, flags, lw_ww_mutex_timedlock(lock, ctx, until));
}

#define lw_ww_mutex_init(lock) lw_ww_mutex_init_tsan_(lock)
#define lw_ww_mutex_destroy(lock) lw_ww_mutex_destroy_tsan_(lock)
#define lw_ww_mutex_unlock(lock) lw_ww_mutex_unlock_tsan_(lock)
#define lw_ww_mutex_lock(lock, ctx) lw_ww_mutex_lock_tsan_(lock, ctx)
#define lw_ww_mutex_lock_slow(lock, ctx) lw_ww_mutex_lock_slow_tsan_(lock, ctx)
#define lw_ww_mutex_trylock(lock, ctx) lw_ww_mutex_trylock_tsan_(lock, ctx)
#define lw_ww_mutex_timedlock(lock, ctx, until) lw_ww_mutex_timedlock_tsan_(lock, ctx, until)

/* --- Paravirtual queued spinlock ----------------------------------------------------------------------- */

LW_TSAN_LOCK_(lw_pvqspinlock)
LW_TSAN_IRQSAVE_(lw_pvqspinlock_, lw_pvqspinlock_t, 0u)
#define lw_pvqspinlock_init(lock) lw_pvqspinlock_init_tsan_(lock)
#define lw_pvqspinlock_destroy(lock) lw_pvqspinlock_destroy_tsan_(lock)
#define lw_pvqspinlock_lock(lock) lw_pvqspinlock_lock_tsan_(lock)
#define lw_pvqspinlock_trylock(lock) lw_pvqspinlock_trylock_tsan_(lock)
#define lw_pvqspinlock_unlock(lock) lw_pvqspinlock_unlock_tsan_(lock)
#define lw_pvqspinlock_lock_irqsave(lock, irq) lw_pvqspinlock_lock_irqsave_tsan_(lock, irq)
#define lw_pvqspinlock_trylock_irqsave(lock, irq) lw_pvqspinlock_trylock_irqsave_tsan_(lock, irq)
#define lw_pvqspinlock_unlock_irqrestore(lock, irq) lw_pvqspinlock_unlock_irqrestore_tsan_(lock, irq)

LW_TSAN_LOCK_(lw_pvqspinlock_single_steal)
LW_TSAN_IRQSAVE_(lw_pvqspinlock_single_steal_, lw_pvqspinlock_single_steal_t, 0u)
#define lw_pvqspinlock_single_steal_init(lock) lw_pvqspinlock_single_steal_init_tsan_(lock)
#define lw_pvqspinlock_single_steal_destroy(lock) lw_pvqspinlock_single_steal_destroy_tsan_(lock)
#define lw_pvqspinlock_single_steal_lock(lock) lw_pvqspinlock_single_steal_lock_tsan_(lock)
#define lw_pvqspinlock_single_steal_trylock(lock) lw_pvqspinlock_single_steal_trylock_tsan_(lock)
#define lw_pvqspinlock_single_steal_unlock(lock) lw_pvqspinlock_single_steal_unlock_tsan_(lock)
#define lw_pvqspinlock_single_steal_lock_irqsave(lock, irq) lw_pvqspinlock_single_steal_lock_irqsave_tsan_(lock, irq)
#define lw_pvqspinlock_single_steal_trylock_irqsave(lock, irq) lw_pvqspinlock_single_steal_trylock_irqsave_tsan_(lock, irq)
#define lw_pvqspinlock_single_steal_unlock_irqrestore(lock, irq) lw_pvqspinlock_single_steal_unlock_irqrestore_tsan_(lock, irq)

LW_TSAN_LOCK_(lw_pvqspinlock_unfair)
LW_TSAN_IRQSAVE_(lw_pvqspinlock_unfair_, lw_pvqspinlock_unfair_t, 0u)
#define lw_pvqspinlock_unfair_init(lock) lw_pvqspinlock_unfair_init_tsan_(lock)
#define lw_pvqspinlock_unfair_destroy(lock) lw_pvqspinlock_unfair_destroy_tsan_(lock)
#define lw_pvqspinlock_unfair_lock(lock) lw_pvqspinlock_unfair_lock_tsan_(lock)
#define lw_pvqspinlock_unfair_trylock(lock) lw_pvqspinlock_unfair_trylock_tsan_(lock)
#define lw_pvqspinlock_unfair_unlock(lock) lw_pvqspinlock_unfair_unlock_tsan_(lock)
#define lw_pvqspinlock_unfair_lock_irqsave(lock, irq) lw_pvqspinlock_unfair_lock_irqsave_tsan_(lock, irq)
#define lw_pvqspinlock_unfair_trylock_irqsave(lock, irq) lw_pvqspinlock_unfair_trylock_irqsave_tsan_(lock, irq)
#define lw_pvqspinlock_unfair_unlock_irqrestore(lock, irq) lw_pvqspinlock_unfair_unlock_irqrestore_tsan_(lock, irq)

/* --- Per-CPU reader-writer semaphore ------------------------------------------------------------------- */

LW_TSAN_LIFE_(lw_percpu_rwsem, lw_percpu_rwsem_t)
LW_TSAN_TAKE_(lw_percpu_rwsem_down_read, lw_percpu_rwsem_t, (unsigned)__tsan_mutex_read_lock)
LW_TSAN_TAKE_(lw_percpu_rwsem_trydown_read, lw_percpu_rwsem_t, (unsigned)__tsan_mutex_read_lock | __tsan_mutex_try_lock)
LW_TSAN_GIVE_(lw_percpu_rwsem_up_read, lw_percpu_rwsem_t, (unsigned)__tsan_mutex_read_lock)
LW_TSAN_TAKE_(lw_percpu_rwsem_down_write, lw_percpu_rwsem_t, 0u)
LW_TSAN_TAKE_(lw_percpu_rwsem_trydown_write, lw_percpu_rwsem_t, (unsigned)__tsan_mutex_try_lock)
LW_TSAN_GIVE_(lw_percpu_rwsem_up_write, lw_percpu_rwsem_t, 0u)
#define lw_percpu_rwsem_init(lock) lw_percpu_rwsem_init_tsan_(lock)
#define lw_percpu_rwsem_destroy(lock) lw_percpu_rwsem_destroy_tsan_(lock)
#define lw_percpu_rwsem_down_read(lock) lw_percpu_rwsem_down_read_tsan_(lock)
#define lw_percpu_rwsem_trydown_read(lock) lw_percpu_rwsem_trydown_read_tsan_(lock)
#define lw_percpu_rwsem_up_read(lock) lw_percpu_rwsem_up_read_tsan_(lock)
#define lw_percpu_rwsem_down_write(lock) lw_percpu_rwsem_down_write_tsan_(lock)
#define lw_percpu_rwsem_trydown_write(lock) lw_percpu_rwsem_trydown_write_tsan_(lock)
#define lw_percpu_rwsem_up_write(lock) lw_percpu_rwsem_up_write_tsan_(lock)

/* --- Semaphore: a thread that goes down comes after one that went up -----------------------------------------------
 * */

static inline int lw_semaphore_down_tsan_(lw_semaphore_t *semaphore)
{
	int error = lw_semaphore_down(semaphore);
	__tsan_acquire(semaphore);
	return error;
}

static inline int lw_semaphore_trydown_tsan_(lw_semaphore_t *semaphore)
{
	int error = lw_semaphore_trydown(semaphore);
	if (error == 0)
		__tsan_acquire(semaphore);
	return error;
}

static inline int lw_semaphore_timeddown_tsan_(lw_semaphore_t *semaphore, const struct timespec *until)
{
	int error = lw_semaphore_timeddown(semaphore, until);
	if (error == 0)
		__tsan_acquire(semaphore);
	return error;
}

static inline int lw_semaphore_up_tsan_(lw_semaphore_t *semaphore)
{
	__tsan_release(semaphore);
	return lw_semaphore_up(semaphore);
}

#define lw_semaphore_down(semaphore) lw_semaphore_down_tsan_(semaphore)
#define lw_semaphore_trydown(semaphore) lw_semaphore_trydown_tsan_(semaphore)
#define lw_semaphore_timeddown(semaphore, until) lw_semaphore_timeddown_tsan_(semaphore, until)
#define lw_semaphore_up(semaphore) lw_semaphore_up_tsan_(semaphore)

/* --- Completion: a waiter comes after the completer ------------------------------------------- */

static inline int lw_completion_wait_tsan_(lw_completion_t *completion)
{
	int error = lw_completion_wait(completion);
	__tsan_acquire(completion);
	return error;
}

static inline int lw_completion_trywait_tsan_(lw_completion_t *completion)
{
	int error = lw_completion_trywait(completion);
	if (error == 0)
		__tsan_acquire(completion);
	return error;
}

static inline int lw_completion_timedwait_tsan_(lw_completion_t *completion, const struct timespec *until)
{
	int error = lw_completion_timedwait(completion, until);
	if (error == 0)
		__tsan_acquire(completion);
	return error;
}

static inline int lw_completion_complete_tsan_(lw_completion_t *completion)
{
	__tsan_release(completion);
	return lw_completion_complete(completion);
}

static inline int lw_completion_complete_all_tsan_(lw_completion_t *completion)
{
	__tsan_release(completion);
	return lw_completion_complete_all(completion);
}

#define lw_completion_wait(completion) lw_completion_wait_tsan_(completion)
#define lw_completion_trywait(completion) lw_completion_trywait_tsan_(completion)
#define lw_completion_timedwait(completion, until) lw_completion_timedwait_tsan_(completion, until)
#define lw_completion_complete(completion) lw_completion_complete_tsan_(completion)
#define lw_completion_complete_all(completion) lw_completion_complete_all_tsan_(completion)

/* --- Condition variable: the mutex is released and taken again ------------------------------------------ */

static inline int lw_condvar_timedwait_tsan_(lw_condvar_t *condvar, lw_mutex_t *mutex, const struct timespec *until)
{
	__tsan_mutex_pre_unlock(mutex, 0);
	__tsan_mutex_post_unlock(mutex, 0);
	__tsan_mutex_pre_lock(mutex, 0);
	int error = lw_condvar_timedwait(condvar, mutex, until);
	__tsan_mutex_post_lock(mutex, 0, 0);
	return error;
}

static inline int lw_condvar_wait_tsan_(lw_condvar_t *condvar, lw_mutex_t *mutex)
{
	return lw_condvar_timedwait_tsan_(condvar, mutex, NULL);
}

#define lw_condvar_wait(condvar, mutex) lw_condvar_wait_tsan_(condvar, mutex)
#define lw_condvar_timedwait(condvar, mutex, until) lw_condvar_timedwait_tsan_(condvar, mutex, until)

static inline int lw_hybrid_condvar_timedwait_tsan_(lw_hybrid_condvar_t *condvar, lw_hybrid_mutex_t *mutex, const struct timespec *until)
{
	__tsan_mutex_pre_unlock(mutex, 0);
	__tsan_mutex_post_unlock(mutex, 0);
	__tsan_mutex_pre_lock(mutex, 0);
	int error = lw_hybrid_condvar_timedwait(condvar, mutex, until);
	__tsan_mutex_post_lock(mutex, 0, 0);
	return error;
}

static inline int lw_hybrid_condvar_wait_tsan_(lw_hybrid_condvar_t *condvar, lw_hybrid_mutex_t *mutex)
{
	return lw_hybrid_condvar_timedwait_tsan_(condvar, mutex, NULL);
}

#define lw_hybrid_condvar_wait(condvar, mutex) lw_hybrid_condvar_wait_tsan_(condvar, mutex)
#define lw_hybrid_condvar_timedwait(condvar, mutex, until) lw_hybrid_condvar_timedwait_tsan_(condvar, mutex, until)

/* --- Big kernel lock: recursive, and given away at sleeps ------------------------------------------------- */

static inline int lw_bkl_init_tsan_(lw_bkl_t *lock)
{
	__tsan_mutex_create(lock, __tsan_mutex_not_static | __tsan_mutex_write_reentrant);
	return lw_bkl_init(lock);
}

static inline int lw_bkl_destroy_tsan_(lw_bkl_t *lock)
{
	__tsan_mutex_destroy(lock, 0);
	return lw_bkl_destroy(lock);
}

LW_TSAN_TAKE_(lw_bkl_lock, lw_bkl_t, (unsigned)__tsan_mutex_write_reentrant)
LW_TSAN_TAKE_(lw_bkl_trylock, lw_bkl_t, (unsigned)__tsan_mutex_write_reentrant | __tsan_mutex_try_lock)
LW_TSAN_GIVE_(lw_bkl_unlock, lw_bkl_t, (unsigned)__tsan_mutex_write_reentrant)

static inline int lw_bkl_schedule_tsan_(lw_bkl_t *lock, void (*sleep)(void *argument), void *argument)
{
	if (lw_bkl_depth(lock) == 0)
		return lw_bkl_schedule(lock, sleep, argument);
	int depth = __tsan_mutex_pre_unlock(lock, __tsan_mutex_recursive_unlock);
	__tsan_mutex_post_unlock(lock, __tsan_mutex_recursive_unlock);
	/* The sleeping function is the program's, and the sanitizer sees its accesses. So the acquisition
	 * is reported after it. */
	int error = lw_bkl_schedule(lock, sleep, argument);
	__tsan_mutex_pre_lock(lock, __tsan_mutex_recursive_lock);
	__tsan_mutex_post_lock(lock, __tsan_mutex_recursive_lock, depth);
	return error;
}

#define lw_bkl_init(lock) lw_bkl_init_tsan_(lock)
#define lw_bkl_destroy(lock) lw_bkl_destroy_tsan_(lock)
#define lw_bkl_lock(lock) lw_bkl_lock_tsan_(lock)
#define lw_bkl_trylock(lock) lw_bkl_trylock_tsan_(lock)
#define lw_bkl_unlock(lock) lw_bkl_unlock_tsan_(lock)
#define lw_bkl_schedule(lock, sleep, argument) lw_bkl_schedule_tsan_(lock, sleep, argument)

#endif /* LOCKWRIGHT_TSAN_H */
