/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * lockwright.h: annotations for a program's locks; for its objects, if lockwright/objects.h is installed too; and
 * lockwright's own locks, if lockwright/locks.h is.
 *
 * This file needs no other file and no library, in C11 and C++11: each annotation looks for its
 * function in the library that `lockwright check` loads. Without the tool it costs a load and a branch, and does
 * nothing.
 *
 * docs/annotations.md says when to use which. A lock of type pthread_mutex_t *, pthread_rwlock_t * or
 * pthread_spinlock_t * is known by its type; any other pointer is the address of a lock of your own (lw_acquire and its
 * siblings). For a std::mutex pass native_handle().
 */
#ifndef LOCKWRIGHT_H
#define LOCKWRIGHT_H

#include <pthread.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* lw_acquire's flags. */
enum {
	LW_EXCLUSIVE = 0, /* as a mutex */
	LW_READ = 1,      /* shared with other readers */
	LW_TRY = 2,       /* a trylock that has succeeded: the lock is held already */
	LW_RECURSIVE = 4, /* the holder may take it again */
	LW_TIMED = 8,     /* it can back out */
	LW_FAILED = 16,   /* a trylock that has failed: with LW_TRY */
	LW_FAIR_READ = 33, /* LW_READ, and waits behind a writer that waits */
	LW_UPGRADABLE_READ = 65 /* LW_READ, and may become the writer: excludes others that may */
};

/* lw_set_wait_type's types: what a thread does that waits for the lock. */
enum { LW_WAIT_UNKNOWN = 0, LW_WAIT_SPIN = 1, LW_WAIT_SLEEP = 2 };

/* The sort of lock that a pointer is to. */
enum { LW_ANY = 0, LW_MUTEX = 1, LW_RWLOCK = 2, LW_SPINLOCK = 3 };

struct lw_name {
	const char *text;
	size_t len;
};

/* The tool's side. Weak: null without the tool. */
int lockwright_set_name(const void *, unsigned, const char *, size_t) __attribute__((weak));
int lockwright_set_subclass(const void *, unsigned, unsigned) __attribute__((weak));
int lockwright_set_nest_lock(const void *, unsigned, const void *, unsigned) __attribute__((weak));
int lockwright_set_wait_type(const void *, unsigned, unsigned) __attribute__((weak));
int lockwright_lock_order(const struct lw_name *, size_t) __attribute__((weak));
int lockwright_assert_held(const void *, unsigned, unsigned) __attribute__((weak));
int lockwright_pin(const void *, unsigned) __attribute__((weak));
int lockwright_unpin(const void *, unsigned, unsigned) __attribute__((weak));
int lockwright_lock_init(const void *, const char *, size_t) __attribute__((weak));
int lockwright_lock_destroy(const void *) __attribute__((weak));
int lockwright_acquire(const void *, unsigned) __attribute__((weak));
int lockwright_contended(const void *) __attribute__((weak));
int lockwright_acquired(const void *) __attribute__((weak));
int lockwright_abandoned(const void *) __attribute__((weak));
int lockwright_release(const void *) __attribute__((weak));
int lockwright_resource_acquire(const char *, size_t) __attribute__((weak));
int lockwright_resource_release(const char *, size_t) __attribute__((weak));
int lockwright_wait_begin(const void *) __attribute__((weak));
int lockwright_wait_end(const void *) __attribute__((weak));
int lockwright_complete(const void *) __attribute__((weak));

#ifdef __cplusplus
} /* extern "C" */
#endif

/* Where a function is, null without the tool. In code that is not position independent the compiler would
 * have the linker decide that for good: the global offset table is asked instead, which the loader fills. */
#if defined(__x86_64__)
#define LW_FIND_(function, into)                                                                                       \
	__asm__(".weak " #function "\n\tmovq " #function "@GOTPCREL(%%rip), %0" : "=r"(into))
#else
#define LW_FIND_(function, into) ((into) = &(function))
#endif

#define LW_TELL_(function, ...)                                                                                        \
	do {                                                                                                           \
		__typeof__(&function) lw_function_;                                                                    \
		LW_FIND_(function, lw_function_);                                                                      \
		if (__builtin_expect(lw_function_ != NULL, 0))                                                         \
			(void)lw_function_(__VA_ARGS__);                                                               \
	} while (0)

#ifdef __cplusplus
static inline unsigned lw_sort_(const volatile void *) { return LW_ANY; }
static inline unsigned lw_sort_(const pthread_mutex_t *) { return LW_MUTEX; }
static inline unsigned lw_sort_(const pthread_rwlock_t *) { return LW_RWLOCK; }
static inline unsigned lw_sort_(pthread_spinlock_t *) { return LW_SPINLOCK; }
#define LW_SORT_(lock) lw_sort_(lock)
#elif !defined(__USE_XOPEN2K)
/* Strict ISO C has pthread.h without the other two. */
#define LW_SORT_(lock) _Generic((lock), pthread_mutex_t *: LW_MUTEX, const pthread_mutex_t *: LW_MUTEX, default: LW_ANY)
#else
#define LW_SORT_(lock)                                                                                                 \
	_Generic((lock),                                                                                               \
		pthread_mutex_t *: LW_MUTEX,                                                                           \
		const pthread_mutex_t *: LW_MUTEX,                                                                     \
		pthread_rwlock_t *: LW_RWLOCK,                                                                         \
		const pthread_rwlock_t *: LW_RWLOCK,                                                                   \
		pthread_spinlock_t *: LW_SPINLOCK,                                                                     \
		default: LW_ANY)
#endif

#define LW_ADDRESS_(lock) ((const void *)(lock))

static inline __attribute__((unused)) size_t lw_length_(const char *name)
{
	return name != NULL ? __builtin_strlen(name) : 0;
}

/* --- Classes ------------------------------------------------------------------------------------------ */

/* Names the lock. All locks of one name are one class, and reports call them by it. To be called before the
 * lock is shared, after its init function. */
#define lw_set_name(lock, name)                                                                                        \
	LW_TELL_(lockwright_set_name, LW_ADDRESS_(lock), LW_SORT_(lock), name, lw_length_(name))

/* Puts the lock into a class of its own within its class, as the levels of a tree: 1, 2, ...; 0 is the class
 * itself. */
#define lw_set_subclass(lock, subclass)                                                                                \
	LW_TELL_(lockwright_set_subclass, LW_ADDRESS_(lock), LW_SORT_(lock), subclass)

/* While a lock of the class of `nest` is held, several locks of the class of `lock` may be taken, in any
 * order. */
#define lw_set_nest_lock(lock, nest)                                                                                   \
	LW_TELL_(lockwright_set_nest_lock, LW_ADDRESS_(lock), LW_SORT_(lock), LW_ADDRESS_(nest), LW_SORT_(nest))

/* LW_WAIT_SPIN or LW_WAIT_SLEEP, for the lock's class: taking a lock that sleeps inside one that spins is
 * reported. To be called before the lock is first taken. */
#define lw_set_wait_type(lock, type)                                                                                   \
	LW_TELL_(lockwright_set_wait_type, LW_ADDRESS_(lock), LW_SORT_(lock), type)

/* Declares that locks with these names (given by lw_set_name, or those of the variables that they are) are
 * taken in this order: lw_lock_order("catalogue", "table", "row"). Once, at the start. */
#define lw_lock_order(...)                                                                                             \
	do {                                                                                                           \
		const char *const lw_names_[] = {__VA_ARGS__};                                                         \
		enum { lw_count_ = sizeof lw_names_ / sizeof *lw_names_ };                                             \
		struct lw_name lw_list_[lw_count_];                                                                    \
		for (size_t lw_i_ = 0; lw_i_ < lw_count_; lw_i_++) {                                                   \
			lw_list_[lw_i_].text = lw_names_[lw_i_];                                                       \
			lw_list_[lw_i_].len = lw_length_(lw_names_[lw_i_]);                                   \
		}                                                                                                      \
		LW_TELL_(lockwright_lock_order, lw_list_, lw_count_);                                                  \
	} while (0)

/* --- Assertions --------------------------------------------------------------------------------------- */

/* The calling thread holds the lock here; if not, that is reported, and the program goes on. */
#define lw_assert_held(lock) LW_TELL_(lockwright_assert_held, LW_ADDRESS_(lock), LW_SORT_(lock), 1)

/* It does not. */
#define lw_assert_not_held(lock) LW_TELL_(lockwright_assert_held, LW_ADDRESS_(lock), LW_SORT_(lock), 0)

/* From here to lw_unpin the calling thread must not release the lock, not even for a moment. Gives a cookie
 * for lw_unpin. */
#define lw_pin(lock) lw_pin_(LW_ADDRESS_(lock), LW_SORT_(lock))
#define lw_unpin(lock, cookie) LW_TELL_(lockwright_unpin, LW_ADDRESS_(lock), LW_SORT_(lock), cookie)

static inline __attribute__((always_inline, unused)) unsigned lw_pin_(const void *lock, unsigned sort)
{
	__typeof__(&lockwright_pin) pin;
	LW_FIND_(lockwright_pin, pin);
	return __builtin_expect(pin != NULL, 0) ? (unsigned)pin(lock, sort) : 0;
}

/* --- Locks of your own -------------------------------------------------------------------------------- */

/* A lock begins its life at this address. `name` may be NULL: then its class is the place of this call. Not needed for
 * static locks. If memory is reused for another lock, lw_lock_destroy or this call marks the new life. */
#define lw_lock_init(lock, name)                                                                                       \
	LW_TELL_(lockwright_lock_init, LW_ADDRESS_(lock), name, lw_length_(name))
#define lw_lock_destroy(lock) LW_TELL_(lockwright_lock_destroy, LW_ADDRESS_(lock))

/* About to acquire: before the thread may have to wait. With LW_TRY: right after a trylock has succeeded, and
 * then lw_acquired is not needed. */
#define lw_acquire(lock, flags) LW_TELL_(lockwright_acquire, LW_ADDRESS_(lock), flags)

/* The thread has to wait; to be called once, before it does. Without it no deadlock is seen as it happens. */
#define lw_contended(lock) LW_TELL_(lockwright_contended, LW_ADDRESS_(lock))

/* The lock is held now. */
#define lw_acquired(lock) LW_TELL_(lockwright_acquired, LW_ADDRESS_(lock))

/* The acquisition came to nothing: a timeout. */
#define lw_abandoned(lock) LW_TELL_(lockwright_abandoned, LW_ADDRESS_(lock))

/* Right before the lock is released. */
#define lw_release(lock) LW_TELL_(lockwright_release, LW_ADDRESS_(lock))

/* --- What is no lock ---------------------------------------------------------------------------------- */

/* The thread enters or leaves a context that other code must not be in, or enter, with certain locks held:
 * memory reclaim, a callback, a transaction. Threads do not wait for each other here; that a lock is taken
 * inside the context, and the context entered with that lock held, is what is reported. */
#define lw_resource_acquire(name) LW_TELL_(lockwright_resource_acquire, name, lw_length_(name))
#define lw_resource_release(name) LW_TELL_(lockwright_resource_release, name, lw_length_(name))

/* The thread waits for something (any address stands for it) that another thread brings about; that one says
 * lw_complete, with the locks held that it needed for it. */
#define lw_wait_begin(object) LW_TELL_(lockwright_wait_begin, LW_ADDRESS_(object))
#define lw_wait_end(object) LW_TELL_(lockwright_wait_end, LW_ADDRESS_(object))
#define lw_complete(object) LW_TELL_(lockwright_complete, LW_ADDRESS_(object))

/* --- Objects of your own ------------------------------------------------------------------------------ */

#if defined(__has_include)
#if __has_include("lockwright/objects.h")
#include "lockwright/objects.h"
#endif
#endif

/* --- Locks, to be linked with -llockwright ------------------------------------------------------------ */

#if defined(__has_include)
#if __has_include("lockwright/locks.h")
#include "lockwright/locks.h"
#endif
#endif

#endif /* LOCKWRIGHT_H */
