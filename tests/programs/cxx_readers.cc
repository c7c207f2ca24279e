// Readers of std::shared_mutex that wait for readers through a writer that waits between them. Nothing hangs: the threads
// come one after the other, by turns that no tool sees.
//
//   twice   a thread reads one twice, and another writes it
//   both    two threads read two in opposite orders, and two others write them
//   writer  as both, but the second lock inside is taken to write
#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

static std::shared_mutex prices, stocks;
static std::atomic<int> turn;

static void reads(std::shared_mutex &outer, std::shared_mutex &inner)
{
	std::shared_lock first(outer);
	std::shared_lock second(inner);
}

static void writes_inside(std::shared_mutex &outer, std::shared_mutex &inner)
{
	std::shared_lock first(outer);
	std::unique_lock second(inner);
}

static void writes(std::shared_mutex &lock)
{
	std::unique_lock only(lock);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	std::vector<std::function<void()>> parts;
	if (!std::strcmp(argv[1], "twice")) {
		parts = {[] { reads(prices, prices); }, [] { writes(prices); }};
	} else if (!std::strcmp(argv[1], "both")) {
		parts = {[] { reads(prices, stocks); }, [] { reads(stocks, prices); }, [] { writes(prices); },
		         [] { writes(stocks); }};
	} else {
		parts = {[] { writes_inside(prices, stocks); }, [] { writes_inside(stocks, prices); }};
	}
	std::vector<std::thread> threads;
	for (int i = 0; i < static_cast<int>(parts.size()); i++)
		threads.emplace_back([&parts, i] {
			while (turn != i + 1)
				std::this_thread::yield();
			parts[i]();
			turn = -(i + 1);
		});
	// All are there before the first begins, so that no creation orders them.
	for (int i = 0; i < static_cast<int>(threads.size()); i++) {
		turn = i + 1;
		while (turn != -(i + 1))
			std::this_thread::yield();
	}
	for (auto &thread : threads)
		thread.join();
	std::puts("the end");
	return 0;
}
