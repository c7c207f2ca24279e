/* Threads that take turns by what says nothing to a tool, for locks that are a C++ library's own. */
#ifndef LOCK_TURNS_H
#define LOCK_TURNS_H
#include <atomic>
#include <thread>

static std::atomic<int> turn;
static std::atomic<bool> is_here;

static inline void await_turn(int of)
{
	while (turn != of)
		std::this_thread::yield();
}

static inline void run(void (*one)(), void (*other)())
{
	turn = 0;
	auto step = [](int me, void (*what)()) {
		await_turn(me);
		what();
		turn++;
	};
	std::thread a(step, 0, one), b(step, 1, other);
	a.join();
	b.join();
}

/* One waits, and says before that that it is here, for what another changes. When it has done, by nothing that says so, a
 * third goes on: at the same time they could hang. */
static inline void run_waiter(void (*waits)(), void (*changes)(), void (*last)())
{
	turn = 0;
	std::thread waiter([waits] {
		waits();
		turn = 1;
	});
	std::thread changer([changes] {
		while (!is_here)
			std::this_thread::yield();
		changes();
	});
	std::thread third([last] {
		await_turn(1);
		last();
	});
	waiter.join();
	changer.join();
	third.join();
}

#endif
