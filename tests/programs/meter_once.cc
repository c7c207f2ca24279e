// Threads that wait for a routine which another runs: by pthread_once and by std::call_once. Prints how long they waited in all.
#include <atomic>
#include <cstdio>
#include <mutex>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

static long long now() {
	timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000ll + time.tv_nsec;
}

static pthread_once_t control = PTHREAD_ONCE_INIT;
static std::once_flag flag;
static pthread_barrier_t together;
static std::atomic<long long> by_pthread, by_std;
static thread_local bool runs;

static void routine() {
	runs = true;
	usleep(40000);
}

__attribute__((noinline)) static void once() {
	long long begun = now();
	pthread_once(&control, routine);
	long long ended = now();
	if (!runs)
		by_pthread += ended - begun;
}

__attribute__((noinline)) static void call() {
	long long begun = now();
	std::call_once(flag, routine);
	long long ended = now();
	if (!runs)
		by_std += ended - begun;
}

static void *thread(void *unused) {
	pthread_barrier_wait(&together);
	once();
	runs = false;
	pthread_barrier_wait(&together);
	call();
	return unused;
}

int main() {
	enum { THREADS = 4 };
	pthread_barrier_init(&together, nullptr, THREADS);
	pthread_t threads[THREADS];
	for (auto &one : threads)
		pthread_create(&one, nullptr, thread, nullptr);
	for (auto &one : threads)
		pthread_join(one, nullptr);
	printf("pthread_once=%lld\ncall_once=%lld\n", by_pthread.load(), by_std.load());
	return 0;
}
