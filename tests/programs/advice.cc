// Locks that a rule of lockwright's advice is for, and locks like them that it is not for; the test names the rule.
// Usage: advice CASE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

static void burn(int n)
{
	volatile int x = 0;
	for (int i = 0; i < n; i++)
		x = x + 1;
}

static void in_threads(int n, void (*work)(int))
{
	std::vector<std::thread> threads;
	for (int i = 0; i < n; i++)
		threads.emplace_back(work, i);
	for (auto &thread : threads)
		thread.join();
}

static std::mutex lock;
static std::mutex locks[4];

static const int MANY = 12;
static std::atomic<int> arrived;

static void burn_for(std::chrono::milliseconds time)
{
	auto end = std::chrono::steady_clock::now() + time;
	while (std::chrono::steady_clock::now() < end)
		;
}

// Threads that do all that they do at one place with one lock held. The first to have it waits for the others: so each of
// these waits at least once, though who unlocks it may take it again before any of them runs. Three do most: who is woken
// may have to wait for a processor, and meanwhile nobody holds it: so they hold it for long.
static void saturated(int i)
{
	arrived++;
	for (int n = 0; n < (i < 3 ? 25 : 1); n++) {
		lock.lock();
		while (arrived < MANY)
			std::this_thread::yield();
		burn_for(i < 3 ? 40ms : 1ms);
		lock.unlock();
	}
}

// Four threads, each with a lock of its own.
static void divided(int i)
{
	for (int n = 0; n < 300; n++) {
		locks[i].lock();
		burn(200000);
		locks[i].unlock();
	}
}

static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static std::atomic<int> turn;
static std::atomic<bool> writes;

// Two readers, each of which lets go only when the other has come in: there always is one.
static void reader(int i)
{
	const int rounds = 400;
	for (int n = i; n < rounds; n += 2) {
		while (turn < n)
			usleep(50);
		pthread_rwlock_rdlock(&table);
		if (n == 0)
			while (!writes)
				usleep(50);
		turn++;
		while (turn < n + 2 && n + 1 < rounds)
			usleep(50);
		pthread_rwlock_unlock(&table);
	}
}

static void writer()
{
	pthread_rwlock_wrlock(&table);
	pthread_rwlock_unlock(&table);
}

static void starved(int i)
{
	if (i < 2)
		return reader(i);
	// Until there is a reader.
	while (pthread_rwlock_trywrlock(&table) == 0) {
		pthread_rwlock_unlock(&table);
		usleep(50);
	}
	writes = true;
	writer();
}

// Writers that wait for a writer. There are readers, too, while nobody waits.
static void writers(int i)
{
	if (i == 0) {
		pthread_rwlock_wrlock(&table);
		turn = 1;
		usleep(200000);
		pthread_rwlock_unlock(&table);
		return;
	}
	while (turn < 1)
		usleep(50);
	writer();
	pthread_rwlock_rdlock(&table);
	pthread_rwlock_unlock(&table);
}

static pthread_mutex_t big = PTHREAD_MUTEX_INITIALIZER;
static std::atomic<bool> is_held;

static void *sleeper(void *)
{
	sleep(60);
	return NULL;
}

static void *waiter(void *)
{
	while (!is_held)
		usleep(50);
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += 1;
	pthread_mutex_timedlock(&big, &t);
	_exit(0);
}

// A thread that waits with a lock held when the process ends.
static void in_join()
{
	pthread_t s, w;
	pthread_create(&s, NULL, sleeper, NULL);
	pthread_create(&w, NULL, waiter, NULL);
	pthread_mutex_lock(&big);
	is_held = true;
	pthread_join(s, NULL);
}

// Threads that wait for one which sleeps with the lock held: in one of the calls of C or C++ that sleep.
static void sleeps_in_fsync(int)
{
	static char name[] = "advice-XXXXXX";
	static int file = mkstemp(name);
	for (int i = 0; i < 5; i++) {
		lock.lock();
		if (write(file, "x", 1) != 1)
			abort();
		fsync(file);
		lock.unlock();
	}
	unlink(name);
}

static void sleeps_in_sleep_for(int)
{
	for (int i = 0; i < 5; i++) {
		std::lock_guard<std::mutex> held(lock);
		std::this_thread::sleep_for(10ms);
	}
}

static void sleeps_in_thread_join(int)
{
	for (int i = 0; i < 5; i++) {
		std::lock_guard<std::mutex> held(lock);
		std::thread([] { usleep(10000); }).join();
	}
}

// Two calls that return to one place, as they are its last.
__attribute__((noinline)) static int last_call(bool nap)
{
	struct timespec t = { 0, 10000000 };
	return nap ? nanosleep(&t, NULL) : usleep(10000);
}

static void sleeps_in_two_calls(int)
{
	for (int i = 0; i < 6; i++) {
		lock.lock();
		burn(last_call(i % 2));
		lock.unlock();
	}
}

int main(int argc, char **argv)
{
	const struct {
		const char *name;
		int threads;
		void (*work)(int);
	} cases[] = {
		{ "saturated", MANY, saturated },
		{ "divided", 4, divided },
		{ "starved", 3, starved },
		{ "writers", 3, writers },
		{ "fsync", 3, sleeps_in_fsync },
		{ "sleep_for", 3, sleeps_in_sleep_for },
		{ "thread_join", 3, sleeps_in_thread_join },
		{ "two_calls", 3, sleeps_in_two_calls },
	};
	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "in_join"))
		in_join();
	for (auto &one : cases)
		if (!strcmp(argv[1], one.name)) {
			in_threads(one.threads, one.work);
			return 0;
		}
	return 2;
}
