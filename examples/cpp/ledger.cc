// lockwright's locks with the standard library's guards: a Lockable is a few lines.
//
//     cmake -S . -B build && cmake --build build && build/ledger
//     make && ./ledger
#include <lockwright.h>

#include <chrono>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace lw {

// A TimedLockable.
class mutex {
public:
	mutex() = default;
	mutex(const mutex &) = delete;
	mutex &operator=(const mutex &) = delete;
	~mutex() { lw_mutex_destroy(&lock_); }

	void lock() { lw_mutex_lock(&lock_); }
	bool try_lock() { return lw_mutex_trylock(&lock_) == 0; }
	void unlock() { lw_mutex_unlock(&lock_); }

	// The steady clock is CLOCK_MONOTONIC.
	bool try_lock_until(std::chrono::steady_clock::time_point until)
	{
		using namespace std::chrono;
		auto since = until.time_since_epoch();
		auto whole = duration_cast<seconds>(since);
		timespec time{static_cast<time_t>(whole.count()), static_cast<long>(nanoseconds(since - whole).count())};
		return lw_mutex_timedlock(&lock_, &time) == 0;
	}
	template <class Rep, class Period> bool try_lock_for(std::chrono::duration<Rep, Period> time)
	{
		using std::chrono::steady_clock;
		return try_lock_until(steady_clock::now() + std::chrono::duration_cast<steady_clock::duration>(time));
	}

private:
	lw_mutex_t lock_ = LW_MUTEX_INIT;
};

} // namespace lw

int main()
{
	lw::mutex lock;
	std::vector<std::string> entries;
	std::vector<std::thread> writers;
	for (int writer = 0; writer < 4; writer++)
		writers.emplace_back([&, writer] {
			for (int i = 0; i < 1000; i++) {
				std::scoped_lock guard(lock);
				entries.push_back(std::to_string(writer) + ":" + std::to_string(i));
			}
		});
	for (auto &writer : writers)
		writer.join();

	std::unique_lock guard(lock);
	bool taken = false;
	std::thread([&] { taken = std::unique_lock(lock, std::chrono::milliseconds(10)).owns_lock(); }).join();
	std::printf("%zu entries, %s\n", entries.size(), taken ? "not locked" : "locked");
	return 0;
}
