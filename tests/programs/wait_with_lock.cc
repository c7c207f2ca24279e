/* A thread waits by a futex, for another that ends the wait once it sleeps:
 *
 *   future, latch, semaphore, flag   with the lock `kept` held
 *   timed                            likewise, for a future and not for ever
 *   without                          for a future, with no lock
 */
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <future>
#include <latch>
#include <mutex>
#include <semaphore>
#include <thread>
#include <unistd.h>
#include <sys/syscall.h>

static std::mutex kept;
static std::promise<int> promise;
static std::latch latch(1);
static std::counting_semaphore<8> semaphore(0);
static std::atomic<int> flag;
static std::atomic<int> waiter;

/* Whether the waiter sleeps. */
static bool sleeps()
{
	char path[64], line[256];
	std::snprintf(path, sizeof path, "/proc/self/task/%d/syscall", waiter.load());
	FILE *file = std::fopen(path, "r");
	if (!file)
		return false;
	bool is_there = std::fgets(line, sizeof line, file) != nullptr;
	std::fclose(file);
	/* The number of futex(2). */
	return is_there && std::strncmp(line, "202 ", 4) == 0;
}

static void waits(const char *how)
{
	waiter = syscall(SYS_gettid);
	if (!std::strcmp(how, "latch"))
		latch.wait();
	else if (!std::strcmp(how, "semaphore"))
		semaphore.acquire();
	else if (!std::strcmp(how, "flag"))
		flag.wait(0);
	else if (!std::strcmp(how, "timed"))
		promise.get_future().wait_for(std::chrono::hours(1));
	else
		promise.get_future().wait();
}

static void ends(const char *how)
{
	while (!waiter || !sleeps())
		usleep(1000);
	if (!std::strcmp(how, "latch")) {
		latch.count_down();
	} else if (!std::strcmp(how, "semaphore")) {
		semaphore.release();
	} else if (!std::strcmp(how, "flag")) {
		flag = 1;
		flag.notify_all();
	} else {
		promise.set_value(1);
	}
}

int main(int, char **argv)
{
	const char *how = argv[1];
	std::thread ender(ends, how);
	std::thread thread([how] {
		if (!std::strcmp(how, "without"))
			return waits(how);
		std::lock_guard<std::mutex> guard(kept);
		waits(how);
	});
	thread.join();
	ender.join();
	std::puts("done");
}
