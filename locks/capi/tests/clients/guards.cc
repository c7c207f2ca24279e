// The standard library's guards and condition variables over each class of lockwright.hpp. With -DFORGETS a thread
// leaves its guard out.
#include <lockwright.hpp>

#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <type_traits>
#include <vector>

using namespace std::chrono_literals;

static_assert(sizeof(lockwright::mutex) == 4 && sizeof(lockwright::shared_mutex) == 8, "in a word, and in two");
static_assert(!std::is_copy_constructible<lockwright::mutex>::value, "");
static_assert(!std::is_move_constructible<lockwright::shared_mutex>::value, "");

enum { THREADS = 4, ROUNDS = 1000 };

static int wrong;

static void expect(bool right, const char *what)
{
	if (!right) {
		std::printf("wrong: %s\n", what);
		wrong++;
	}
}

template <class Work> static void together(Work work)
{
	std::vector<std::thread> threads;
	for (int i = 0; i < THREADS; i++)
		threads.emplace_back(work, i);
	for (auto &thread : threads)
		thread.join();
}

template <class Attempt> static bool elsewhere(Attempt attempt)
{
	bool result = false;
	std::thread([&] { result = attempt(); }).join();
	return result;
}

// Lockable.
template <class Lock> static void excludes(const char *what)
{
	Lock lock;
	long count = 0;
	int begun = 0, ended = 0;
	together([&](int i) {
		// All at once, and who forgets goes on until the others have ended; which orders nothing.
		__atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED);
		while (__atomic_load_n(&begun, __ATOMIC_RELAXED) < THREADS)
			std::this_thread::yield();
#ifdef FORGETS
		// Once at least: it may get no processor until then.
		if (i == 0)
			do {
				count++;
				std::this_thread::yield();
			} while (__atomic_load_n(&ended, __ATOMIC_RELAXED) < THREADS - 1);
#endif
		for (int round = 0; round < ROUNDS; round++) {
			if ((i + round) % 3 == 0) {
				std::unique_lock<Lock> guard(lock, std::try_to_lock);
				if (!guard)
					guard.lock();
				count++;
			} else {
				std::lock_guard<Lock> guard(lock);
				count++;
			}
		}
		__atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
	});
	std::lock_guard<Lock> guard(lock);
	expect(count == THREADS * ROUNDS, what);
	expect(!elsewhere([&] { return std::unique_lock<Lock>(lock, std::try_to_lock).owns_lock(); }), what);
}

// TimedLockable.
template <class Lock> static void gives_up(const char *what)
{
	Lock lock;
	auto takes = [&](auto &&when) {
		return elsewhere([&] { return std::unique_lock<Lock>(lock, when).owns_lock(); });
	};
	{
		std::lock_guard<Lock> guard(lock);
		expect(!takes(1ms) && !takes(-1h) && !takes(std::chrono::duration<float>(0.001f)), what);
		expect(!takes(std::chrono::steady_clock::now() + 1ms), what);
		expect(!takes(std::chrono::system_clock::now() + 1ms), what);
		expect(!takes(std::chrono::steady_clock::time_point::min()), what);
	}
	expect(takes(1h) && takes(std::chrono::hours::max()) && takes(std::chrono::duration<double>(1e300)), what);
	expect(takes(std::chrono::steady_clock::time_point::max()), what);
	expect(takes(std::chrono::system_clock::now() + 1h) && takes(-1h), what);
}

// SharedLockable.
template <class Lock> static void shares(const char *what)
{
	Lock lock;
	long left = 0, right = 0, differ = 0;
	together([&](int i) {
		for (int round = 0; round < ROUNDS; round++) {
			if (i % 2 == 0) {
				std::lock_guard<Lock> guard(lock);
				left++;
				right++;
			} else {
				std::shared_lock<Lock> guard(lock);
				// Read only, but for the sum that nobody looks at before the end.
				if (left != right)
					__atomic_fetch_add(&differ, 1, __ATOMIC_RELAXED);
			}
		}
	});
	expect(differ == 0 && left == THREADS / 2 * ROUNDS, what);
	std::shared_lock<Lock> guard(lock);
	expect(elsewhere([&] { return std::shared_lock<Lock>(lock, std::try_to_lock).owns_lock(); }), what);
	expect(!elsewhere([&] { return std::unique_lock<Lock>(lock, std::try_to_lock).owns_lock(); }), what);
}

template <class Lock> static void shares_in_time(const char *what)
{
	Lock lock;
	std::lock_guard<Lock> guard(lock);
	expect(!elsewhere([&] { return std::shared_lock<Lock>(lock, 1ms).owns_lock(); }), what);
	auto at = std::chrono::system_clock::now() + 1ms;
	expect(!elsewhere([&] { return std::shared_lock<Lock>(lock, at).owns_lock(); }), what);
}

// A queue of one, of which the condition variable knows a lock by std::unique_lock.
template <class Lock, class Condition> static void hands_over(const char *what)
{
	Lock lock;
	Condition changed;
	int item = 0;
	long sum = 0;
	std::thread producer([&] {
		for (int i = 1; i <= ROUNDS; i++) {
			std::unique_lock<Lock> guard(lock);
			changed.wait(guard, [&] { return item == 0; });
			item = i;
			changed.notify_one();
		}
	});
	for (int i = 1; i <= ROUNDS; i++) {
		std::unique_lock<Lock> guard(lock);
		while (!changed.wait_for(guard, 1s, [&] { return item != 0; }))
			;
		sum += item;
		item = 0;
		changed.notify_all();
	}
	producer.join();
	expect(sum == ROUNDS * (ROUNDS + 1L) / 2, what);
	std::unique_lock<Lock> guard(lock);
	expect(!changed.wait_for(guard, 1ms, [] { return false; }), what);
	expect(!changed.wait_until(guard, std::chrono::system_clock::now() + 1ms, [] { return false; }), what);
	expect(changed.wait_until(guard, std::chrono::steady_clock::now(), [] { return true; }), what);
	expect(!elsewhere([&] { return lock.try_lock(); }), what);
}

static void upgrades()
{
	lockwright::shared_mutex lock;
	lock.lock_upgradable();
	expect(!elsewhere([&] { return lock.try_lock_upgradable() || lock.try_lock(); }), "upgradable");
	expect(elsewhere([&] { return std::shared_lock<lockwright::shared_mutex>(lock).owns_lock(); }), "upgradable");
	lock.upgrade();
	expect(!elsewhere([&] { return lock.try_lock_shared(); }), "upgraded");
	lock.downgrade_to_upgradable();
	expect(lock.try_upgrade(), "alone");
	lock.downgrade();
	expect(!elsewhere([&] { return lock.try_lock(); }), "downgraded");
	lock.unlock_shared();
}

int main()
{
	excludes<lockwright::mutex>("mutex");
	excludes<lockwright::shared_mutex>("shared_mutex");
	excludes<lockwright::kernel_mutex>("kernel_mutex");
	excludes<lockwright::rt_mutex>("rt_mutex");
	excludes<lockwright::rw_semaphore>("rw_semaphore");
	excludes<lockwright::spinlock>("spinlock");
	excludes<lockwright::pv_spinlock>("pv_spinlock");
	excludes<lockwright::shared_spinlock>("shared_spinlock");
	excludes<lockwright::recursive_mutex>("recursive_mutex");
	gives_up<lockwright::mutex>("timed mutex");
	gives_up<lockwright::shared_mutex>("timed shared_mutex");
	gives_up<lockwright::kernel_mutex>("timed kernel_mutex");
	gives_up<lockwright::rt_mutex>("timed rt_mutex");
	gives_up<lockwright::rw_semaphore>("timed rw_semaphore");
	shares<lockwright::shared_mutex>("shared_mutex, shared");
	shares<lockwright::rw_semaphore>("rw_semaphore, shared");
	shares<lockwright::shared_spinlock>("shared_spinlock, shared");
	shares_in_time<lockwright::shared_mutex>("shared_mutex, shared and timed");
	shares_in_time<lockwright::rw_semaphore>("rw_semaphore, shared and timed");
	hands_over<lockwright::mutex, lockwright::condition_variable>("condition_variable");
	hands_over<lockwright::mutex, std::condition_variable_any>("condition_variable_any");
	hands_over<lockwright::shared_mutex, std::condition_variable_any>("condition_variable_any of a shared_mutex");
	upgrades();

	lockwright::recursive_mutex again;
	std::lock_guard<lockwright::recursive_mutex> outer(again), inner(again);
	lockwright::mutex first, second;
	std::scoped_lock both(first, second);
	lockwright::rt_mutex own;
	own.lock();
	bool refused = false;
	try {
		own.lock();
	} catch (const std::system_error &error) {
		refused = error.code() == std::errc::resource_deadlock_would_occur;
	}
	expect(refused, "rt_mutex");
	own.unlock();
	std::puts(wrong == 0 ? "all right" : "wrong");
	return wrong;
}
