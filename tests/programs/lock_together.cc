// Two mutexes are taken together with a third held, which another thread takes with one of the two held: a deadlock. std::lock
// waits for any of the two. Without an argument; `fixed`: in the same order; `apart`: the two are taken together by both
// threads, in opposite orders, which is what std::lock is for.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>

static std::mutex a, b, outer;
static std::atomic<bool> turn;

static void together()
{
	std::lock_guard guard(outer);
	std::scoped_lock both(a, b);
}

static void forwards()
{
	std::scoped_lock both(a, b);
}

static void backwards()
{
	std::scoped_lock both(b, a);
}

static void one_of_them()
{
	std::lock_guard guard(b);
	std::lock_guard inner(outer);
}

static void after_outer()
{
	std::lock_guard guard(outer);
	std::lock_guard inner(b);
}

static void run(void (*first)(), void (*second)())
{
	std::thread one([=] {
		first();
		turn = true;
	});
	std::thread other([=] {
		while (!turn)
			std::this_thread::yield();
		second();
	});
	one.join();
	other.join();
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	if (!std::strcmp(how, "apart"))
		run(forwards, backwards);
	else
		run(together, std::strcmp(how, "fixed") ? one_of_them : after_outer);
	std::puts("the end");
}
