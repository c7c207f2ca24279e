// A latch is waited for with a mutex held that the thread needs which is to open it.
#include <latch>
#include <mutex>
#include <thread>

static std::mutex table;
static std::latch opened(1);

static void opens()
{
	std::lock_guard guard(table);
	opened.count_down();
}

int main()
{
	std::unique_lock guard(table);
	std::jthread other(opens);
	opened.wait();
}
