// Waits by std::atomic::wait and a counting_semaphore of C++20, whose numbers are known: who ends a wait does so when
// the other thread sleeps in it.
#include <atomic>
#include <cstdio>
#include <semaphore>
#include <thread>

#include <sys/syscall.h>
#include <unistd.h>

static const int ROUNDS = 20;

static std::atomic<int> ready, tid, done;
static std::counting_semaphore<4> turns(0);

__attribute__((noinline)) static void waits(int seen)
{
	ready.wait(seen);
}

__attribute__((noinline)) static void acquires()
{
	turns.acquire();
}

__attribute__((noinline)) static void notifies(int next)
{
	ready = next;
	ready.notify_one();
}

// Waits until the thread has done so much, and sleeps in a futex call.
static void await_asleep(int so_much)
{
	while (done < so_much)
		std::this_thread::yield();
	char path[64], text[64];
	std::snprintf(path, sizeof path, "/proc/self/task/%d/syscall", tid.load());
	for (;;) {
		FILE *f = std::fopen(path, "r");
		bool is_futex = f && std::fgets(text, sizeof text, f) && text[0] == '2' && text[1] == '0' && text[2] == '2';
		if (f)
			std::fclose(f);
		if (is_futex)
			return;
		std::this_thread::yield();
	}
}

int main()
{
	std::thread other([] {
		tid = (int)syscall(SYS_gettid);
		for (int i = 0; i < ROUNDS; i++, done++)
			waits(i);
		for (int i = 0; i < ROUNDS; i++, done++)
			acquires();
	});
	while (!tid)
		std::this_thread::yield();
	for (int i = 0; i < ROUNDS; i++) {
		await_asleep(i);
		notifies(i + 1);
	}
	for (int i = 0; i < ROUNDS; i++) {
		await_asleep(ROUNDS + i);
		turns.release();
	}
	other.join();
	std::puts("the end");
}
