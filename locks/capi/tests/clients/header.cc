// lockwright.hpp as a user includes it, in C++11 and later.
#include <lockwright.hpp>

static lockwright::mutex lock;
static lockwright::shared_mutex index;
static lockwright::condition_variable changed;

bool is_taken()
{
	std::unique_lock<lockwright::mutex> guard(lock, std::chrono::milliseconds(1));
	changed.notify_all();
	return guard.owns_lock() && index.try_lock_shared_until(std::chrono::system_clock::now());
}
