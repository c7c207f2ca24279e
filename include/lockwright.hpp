/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * lockwright.hpp: lockwright's locks as the C++ standard library has its own, for std::lock_guard, std::unique_lock,
 * std::shared_lock, std::scoped_lock and std::condition_variable_any; link with -llockwright. C++11 and later.
 *
 * A program changes over by its types: lockwright::mutex for std::mutex and std::timed_mutex, lockwright::shared_mutex
 * for std::shared_mutex and std::shared_timed_mutex, lockwright::condition_variable for std::condition_variable. The
 * others are the kernel's: docs/locks.md says which is for what. Only recursive_mutex can be taken again by its holder.
 */
#ifndef LOCKWRIGHT_HPP
#define LOCKWRIGHT_HPP

#include "lockwright.h"

#include <chrono>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <system_error>
#include <utility>

namespace lockwright {

namespace detail {

/* An error of a lock is one of its use: of an rtmutex, that a cycle of threads would wait for each other. */
inline void check(int error)
{
	if (error != 0)
		throw std::system_error(error, std::generic_category());
}

/* When a time of the steady clock, which is CLOCK_MONOTONIC, has come: as the locks have it. Times before the clock's
 * start are over. */
inline timespec deadline(std::chrono::steady_clock::time_point until)
{
	using namespace std::chrono;
	nanoseconds since = until.time_since_epoch();
	if (since < nanoseconds::zero())
		since = nanoseconds::zero();
	const seconds whole = duration_cast<seconds>(since);
	timespec time = {};
	time.tv_sec = static_cast<std::time_t>(whole.count());
	time.tv_nsec = static_cast<long>((since - whole).count());
	return time;
}

/* Seconds as floating point, which no comparison overflows. */
typedef std::chrono::duration<double> approximate;

/* A hundred years: for ever. */
inline approximate for_ever() { return approximate(3.2e9); }

/* Waits by `wait`, which is given a deadline or null, for as long as a duration says, and no shorter. */
template <class Rep, class Period, class Wait>
bool wait_for(const std::chrono::duration<Rep, Period> &time, Wait wait)
{
	using std::chrono::steady_clock;
	if (approximate(time) >= for_ever())
		return wait(static_cast<const timespec *>(nullptr));
	steady_clock::duration rest = steady_clock::duration::zero();
	if (approximate(time) > approximate::zero()) {
		rest = std::chrono::duration_cast<steady_clock::duration>(time);
		if (rest < time)
			rest += steady_clock::duration(1);
	}
	const timespec until = deadline(steady_clock::now() + rest);
	return wait(&until);
}

/* Waits once for as long as a clock says now that it is until then. */
template <class Clock, class Duration, class Wait>
bool wait_once(const std::chrono::time_point<Clock, Duration> &until, Wait wait)
{
	const typename Clock::time_point now = Clock::now();
	const approximate rest = approximate(until.time_since_epoch()) - approximate(now.time_since_epoch());
	if (rest <= -for_ever() || rest >= for_ever())
		return wait_for(rest, wait);
	return wait_for(until - now, wait);
}

template <class Duration, class Wait>
bool wait_until(const std::chrono::time_point<std::chrono::steady_clock, Duration> &until, Wait wait)
{
	return wait_once(until, wait);
}

/* By another clock, which may go otherwise meanwhile: until it has come to the time itself. */
template <class Clock, class Duration, class Wait>
bool wait_until(const std::chrono::time_point<Clock, Duration> &until, Wait wait)
{
	do {
		if (wait_once(until, wait))
			return true;
	} while (Clock::now() < until);
	return false;
}

} // namespace detail

/* A class of which `lock_` is a lock of the C library: it neither moves nor is copied. */
#define LOCKWRIGHT_LIFE_(name, c)                                                                                      \
public:                                                                                                                \
	typedef c##_t *native_handle_type;                                                                             \
	constexpr name() noexcept : lock_() {}                                                                         \
	~name() { c##_destroy(&lock_); }                                                                               \
	name(const name &) = delete;                                                                                   \
	name &operator=(const name &) = delete;                                                                        \
	native_handle_type native_handle() { return &lock_; }                                                          \
                                                                                                                       \
private:                                                                                                               \
	c##_t lock_;

/* Lockable. */
#define LOCKWRIGHT_LOCKABLE_(take, try_to_take, give)                                                                  \
public:                                                                                                                \
	void lock() { detail::check(take(&lock_)); }                                                                   \
	bool try_lock() { return try_to_take(&lock_) == 0; }                                                           \
	void unlock() { give(&lock_); }

/* SharedLockable. */
#define LOCKWRIGHT_SHARED_LOCKABLE_(take, try_to_take, give)                                                           \
public:                                                                                                                \
	void lock_shared() { detail::check(take(&lock_)); }                                                            \
	bool try_lock_shared() { return try_to_take(&lock_) == 0; }                                                    \
	void unlock_shared() { give(&lock_); }

/* TimedLockable, and with _shared SharedTimedLockable. */
#define LOCKWRIGHT_TIMED_(take_until, shared)                                                                          \
public:                                                                                                                \
	template <class Rep, class Period>                                                                             \
	bool try_lock##shared##_for(const std::chrono::duration<Rep, Period> &time)                                    \
	{                                                                                                              \
		return detail::wait_for(time, [this](const timespec *at) { return take_until(&lock_, at) == 0; });     \
	}                                                                                                              \
	template <class Clock, class Duration>                                                                         \
	bool try_lock##shared##_until(const std::chrono::time_point<Clock, Duration> &until)                           \
	{                                                                                                              \
		return detail::wait_until(until, [this](const timespec *at) { return take_until(&lock_, at) == 0; });  \
	}

/* A mutex of four bytes: lw_hybrid_mutex_t. */
class mutex {
	LOCKWRIGHT_LIFE_(mutex, lw_hybrid_mutex)
	LOCKWRIGHT_LOCKABLE_(lw_hybrid_mutex_lock, lw_hybrid_mutex_trylock, lw_hybrid_mutex_unlock)
	LOCKWRIGHT_TIMED_(lw_hybrid_mutex_timedlock, )

	/* Releases it to its waiters: no newcomer takes it before them. */
	void unlock_fair() { lw_hybrid_mutex_unlock_fair(&lock_); }
};

/* A reader-writer lock of eight bytes: lw_hybrid_rwlock_t. */
class shared_mutex {
	LOCKWRIGHT_LIFE_(shared_mutex, lw_hybrid_rwlock)
	LOCKWRIGHT_LOCKABLE_(lw_hybrid_rwlock_write_lock, lw_hybrid_rwlock_write_trylock, lw_hybrid_rwlock_write_unlock)
	LOCKWRIGHT_TIMED_(lw_hybrid_rwlock_write_timedlock, )
	LOCKWRIGHT_SHARED_LOCKABLE_(lw_hybrid_rwlock_read_lock, lw_hybrid_rwlock_read_trylock,
				    lw_hybrid_rwlock_read_unlock)
	LOCKWRIGHT_TIMED_(lw_hybrid_rwlock_read_timedlock, _shared)

	/* The writer goes on as a reader, with no other writer in between. */
	void downgrade() { lw_hybrid_rwlock_downgrade(&lock_); }

	/* A reader that may become the writer: it shares the lock with readers, but not with another of
	 * its kind. */
	void lock_upgradable() { detail::check(lw_hybrid_rwlock_upgradable_lock(&lock_)); }
	bool try_lock_upgradable() { return lw_hybrid_rwlock_upgradable_trylock(&lock_) == 0; }
	void unlock_upgradable() { lw_hybrid_rwlock_upgradable_unlock(&lock_); }

	/* It goes on as the writer, with no other writer in between, when the other readers have left. */
	void upgrade() { detail::check(lw_hybrid_rwlock_upgrade(&lock_)); }
	bool try_upgrade() { return lw_hybrid_rwlock_tryupgrade(&lock_) == 0; }
	void downgrade_to_upgradable() { lw_hybrid_rwlock_downgrade_to_upgradable(&lock_); }
};

/* The kernel's mutex: lw_mutex_t. */
class kernel_mutex {
	LOCKWRIGHT_LIFE_(kernel_mutex, lw_mutex)
	LOCKWRIGHT_LOCKABLE_(lw_mutex_lock, lw_mutex_trylock, lw_mutex_unlock)
	LOCKWRIGHT_TIMED_(lw_mutex_timedlock, )
};

/* A mutex with priority inheritance, lw_rtmutex_t. lock() throws std::system_error where threads would wait for each
 * other for ever. */
class rt_mutex {
	LOCKWRIGHT_LIFE_(rt_mutex, lw_rtmutex)
	LOCKWRIGHT_LOCKABLE_(lw_rtmutex_lock, lw_rtmutex_trylock, lw_rtmutex_unlock)
	LOCKWRIGHT_TIMED_(lw_rtmutex_timedlock, )
};

/* The kernel's reader-writer semaphore: lw_rwsem_t. */
class rw_semaphore {
	LOCKWRIGHT_LIFE_(rw_semaphore, lw_rwsem)
	LOCKWRIGHT_LOCKABLE_(lw_rwsem_down_write, lw_rwsem_trydown_write, lw_rwsem_up_write)
	LOCKWRIGHT_TIMED_(lw_rwsem_timeddown_write, )
	LOCKWRIGHT_SHARED_LOCKABLE_(lw_rwsem_down_read, lw_rwsem_trydown_read, lw_rwsem_up_read)
	LOCKWRIGHT_TIMED_(lw_rwsem_timeddown_read, _shared)

	/* The writer goes on as a reader, with no other writer in between. */
	void downgrade() { lw_rwsem_downgrade(&lock_); }
};

/* A queued spinlock: lw_qspinlock_t. */
class spinlock {
	LOCKWRIGHT_LIFE_(spinlock, lw_qspinlock)
	LOCKWRIGHT_LOCKABLE_(lw_qspinlock_lock, lw_qspinlock_trylock, lw_qspinlock_unlock)
};

/* A queued spinlock whose waiters sleep in the end: lw_pvqspinlock_t. */
class pv_spinlock {
	LOCKWRIGHT_LIFE_(pv_spinlock, lw_pvqspinlock)
	LOCKWRIGHT_LOCKABLE_(lw_pvqspinlock_lock, lw_pvqspinlock_trylock, lw_pvqspinlock_unlock)
};

/* A queued reader-writer spinlock: lw_qrwlock_t. */
class shared_spinlock {
	LOCKWRIGHT_LIFE_(shared_spinlock, lw_qrwlock)
	LOCKWRIGHT_LOCKABLE_(lw_qrwlock_write_lock, lw_qrwlock_write_trylock, lw_qrwlock_write_unlock)
	LOCKWRIGHT_SHARED_LOCKABLE_(lw_qrwlock_read_lock, lw_qrwlock_read_trylock, lw_qrwlock_read_unlock)
};

/* A lock that its holder may take again: lw_bkl_t. */
class recursive_mutex {
	LOCKWRIGHT_LIFE_(recursive_mutex, lw_bkl)
	LOCKWRIGHT_LOCKABLE_(lw_bkl_lock, lw_bkl_trylock, lw_bkl_unlock)
};

/* A condition variable of a mutex: lw_hybrid_condvar_t. There are no spurious wake-ups, and the threads that notify_all
 * wakes come one after another. */
class condition_variable {
public:
	typedef lw_hybrid_condvar_t *native_handle_type;
	constexpr condition_variable() noexcept : condvar_() {}
	condition_variable(const condition_variable &) = delete;
	condition_variable &operator=(const condition_variable &) = delete;
	native_handle_type native_handle() { return &condvar_; }

	void notify_one() noexcept { lw_hybrid_condvar_signal(&condvar_); }
	void notify_all() noexcept { lw_hybrid_condvar_broadcast(&condvar_); }

	void wait(std::unique_lock<mutex> &lock) { lw_hybrid_condvar_wait(&condvar_, lock.mutex()->native_handle()); }

	template <class Predicate> void wait(std::unique_lock<mutex> &lock, Predicate is_over)
	{
		while (!is_over())
			wait(lock);
	}

	template <class Clock, class Duration>
	std::cv_status wait_until(std::unique_lock<mutex> &lock, const std::chrono::time_point<Clock, Duration> &until)
	{
		const bool notified = detail::wait_until(until, [&](const timespec *at) { return waits(lock, at); });
		return notified ? std::cv_status::no_timeout : std::cv_status::timeout;
	}

	template <class Clock, class Duration, class Predicate>
	bool wait_until(std::unique_lock<mutex> &lock, const std::chrono::time_point<Clock, Duration> &until,
			Predicate is_over)
	{
		while (!is_over())
			if (wait_until(lock, until) == std::cv_status::timeout)
				return is_over();
		return true;
	}

	template <class Rep, class Period>
	std::cv_status wait_for(std::unique_lock<mutex> &lock, const std::chrono::duration<Rep, Period> &time)
	{
		const bool notified = detail::wait_for(time, [&](const timespec *at) { return waits(lock, at); });
		return notified ? std::cv_status::no_timeout : std::cv_status::timeout;
	}

	template <class Rep, class Period, class Predicate>
	bool wait_for(std::unique_lock<mutex> &lock, const std::chrono::duration<Rep, Period> &time, Predicate is_over)
	{
		if (is_over())
			return true;
		/* One deadline for all waits. */
		return detail::wait_for(time, [&](const timespec *at) {
			while (waits(lock, at))
				if (is_over())
					return true;
			return static_cast<bool>(is_over());
		});
	}

private:
	bool waits(std::unique_lock<mutex> &lock, const timespec *until)
	{
		return lw_hybrid_condvar_timedwait(&condvar_, lock.mutex()->native_handle(), until) == 0;
	}

	lw_hybrid_condvar_t condvar_;
};

#undef LOCKWRIGHT_LIFE_
#undef LOCKWRIGHT_LOCKABLE_
#undef LOCKWRIGHT_SHARED_LOCKABLE_
#undef LOCKWRIGHT_TIMED_

} // namespace lockwright

#endif /* LOCKWRIGHT_HPP */
