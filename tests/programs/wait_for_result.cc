/* A thread waits for a result with the lock `kept` held, and another brings it about once the first sleeps. The first argument says
 * what is waited for:
 *
 *   future, latch, barrier, semaphore, flag
 *
 * The second says what the other thread has done since it began:
 *
 *   needs    taken and released `kept`
 *   more     taken and released `kept`, and then `outer`
 *   other    taken and released `outer`, and nothing more
 *   told     as in needs, and then it posted a semaphore, which the waiter waits for before it takes `kept`
 *   set      as in needs, and then it set another future, which the waiter has seen before it takes `kept`, without a wait
 */
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <future>
#include <latch>
#include <mutex>
#include <semaphore>
#include <semaphore.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

static std::mutex kept, outer;
static std::promise<int> promise, first;
static std::latch latch(1);
static std::barrier<> barrier(2);
static std::counting_semaphore<8> semaphore(0);
static std::atomic<int> flag;
static std::atomic<int> waiter;
static std::atomic<int> step;
static sem_t told;
static const char *what, *how;

static bool is(const char *name)
{
	return !std::strcmp(what, name);
}

static bool does(const char *name)
{
	return !std::strcmp(how, name);
}

/* Whether the waiter sleeps in futex(2). */
static bool sleeps()
{
	char path[64], line[256];
	std::snprintf(path, sizeof path, "/proc/self/task/%d/syscall", waiter.load());
	FILE *file = std::fopen(path, "r");
	if (!file)
		return false;
	bool is_there = std::fgets(line, sizeof line, file) != nullptr;
	std::fclose(file);
	return is_there && std::strncmp(line, "202 ", 4) == 0;
}

/* Nothing that is watched: only the machine knows of this order. */
static void comes_to(int n)
{
	while (step < n)
		usleep(1000);
}

static void waits()
{
	comes_to(1);
	if (does("told"))
		sem_wait(&told);
	if (does("set"))
		first.get_future().get();
	std::lock_guard<std::mutex> guard(kept);
	waiter = syscall(SYS_gettid);
	if (is("latch"))
		latch.wait();
	else if (is("barrier"))
		barrier.arrive_and_wait();
	else if (is("semaphore"))
		semaphore.acquire();
	else if (is("flag"))
		flag.wait(0);
	else
		promise.get_future().get();
}

static void takes(std::mutex &lock)
{
	std::lock_guard<std::mutex> guard(lock);
}

static void brings_about()
{
	if (is("latch")) {
		latch.count_down();
	} else if (is("barrier")) {
		barrier.arrive_and_wait();
	} else if (is("semaphore")) {
		semaphore.release();
	} else if (is("flag")) {
		flag = 1;
		flag.notify_all();
	} else {
		promise.set_value(1);
	}
}

static void ends()
{
	takes(does("other") ? outer : kept);
	if (does("more"))
		takes(outer);
	if (does("told"))
		sem_post(&told);
	if (does("set"))
		first.set_value(1);
	step = 1;
	while (!waiter || !sleeps())
		usleep(1000);
	brings_about();
}

int main(int, char **argv)
{
	what = argv[1];
	how = argv[2];
	sem_init(&told, 0, 0);
	std::thread ender(ends), thread(waits);
	ender.join();
	thread.join();
	std::puts("done");
}
