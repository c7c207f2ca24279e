/* Locks of the program's own, made of atomics, that tell of themselves. C++, as the header must do there, too.
 *
 *   orders     two of them in both orders
 *   mixed      one of them and a std::mutex in both orders
 *   readers    the same order both ways, shared
 *   try        a trylock the other way round
 *   recursive  taken again by its holder, as it may be
 *   deadlock   it happens
 *   unlock     released twice
 *   freed      its memory freed, without its end having been told of, and used for another
 *   held       its memory freed while it is held
 */
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <lockwright.h>
#include <mutex>
#include <thread>

namespace {

class OwnLock {
	std::atomic<int> taken{0};

public:
	explicit OwnLock(const char *name) { lw_lock_init(this, name); }
	~OwnLock() { lw_lock_destroy(this); }

	void lock(unsigned flags = LW_EXCLUSIVE)
	{
		lw_acquire(this, flags);
		if (!take(flags)) {
			lw_contended(this);
			while (!take(flags))
				std::this_thread::yield();
		}
		lw_acquired(this);
	}

	bool try_lock()
	{
		if (!take(LW_EXCLUSIVE))
			return false;
		lw_acquire(this, LW_TRY);
		return true;
	}

	void unlock(unsigned flags = LW_EXCLUSIVE)
	{
		lw_release(this);
		if (flags & LW_READ)
			taken -= 2;
		else
			taken = 0;
	}

private:
	bool take(unsigned flags)
	{
		if (flags & LW_READ) {
			int now = taken.load();
			return !(now & 1) && taken.compare_exchange_strong(now, now + 2);
		}
		int free = 0;
		return taken.compare_exchange_strong(free, 1);
	}
};

OwnLock rates("rates"), limits("limits");
std::mutex book;
std::atomic<int> turn{0}, inside{0};

template <typename First, typename Second> void together(First first, Second second)
{
	auto wait_for = [](int value) {
		while (turn.load() < value)
			std::this_thread::yield();
	};
	std::thread one([&] { first(), turn = 1, wait_for(2); });
	std::thread two([&] { wait_for(1), second(), turn = 2; });
	one.join();
	two.join();
}

void both(unsigned flags)
{
	rates.lock(flags), limits.lock(flags), limits.unlock(flags), rates.unlock(flags);
}

void both_reversed(unsigned flags)
{
	limits.lock(flags), rates.lock(flags), rates.unlock(flags), limits.unlock(flags);
}

void meet_inside()
{
	inside++;
	while (inside.load() < 2)
		std::this_thread::yield();
}

/* Two lives at one address, as malloc has it. */
void live_twice(bool held)
{
	for (int life = 0; life < 2; life++) {
		void *lock = std::malloc(sizeof(OwnLock));
		lw_acquire(lock, LW_EXCLUSIVE);
		lw_acquired(lock);
		if (!held)
			lw_release(lock);
		std::free(lock);
		if (held)
			break;
	}
}

} // namespace

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	if (!std::strcmp(what, "orders")) {
		together([] { both(LW_EXCLUSIVE); }, [] { both_reversed(LW_EXCLUSIVE); });
	} else if (!std::strcmp(what, "mixed")) {
		lw_set_name(book.native_handle(), "book");
		together(
			[] {
				std::lock_guard<std::mutex> guard(book);
				rates.lock();
				rates.unlock();
			},
			[] {
				rates.lock();
				book.lock();
				book.unlock();
				rates.unlock();
			});
	} else if (!std::strcmp(what, "readers")) {
		together([] { both(LW_READ); }, [] { both_reversed(LW_READ); });
	} else if (!std::strcmp(what, "try")) {
		together([] { both(LW_EXCLUSIVE); },
			 [] {
				 limits.lock();
				 if (rates.try_lock())
					 rates.unlock();
				 limits.unlock();
			 });
	} else if (!std::strcmp(what, "recursive")) {
		lw_acquire(&rates, LW_RECURSIVE);
		lw_acquired(&rates);
		lw_acquire(&rates, LW_RECURSIVE);
		lw_acquired(&rates);
		lw_release(&rates);
		lw_assert_held(&rates);
		lw_release(&rates);
		lw_assert_not_held(&rates);
	} else if (!std::strcmp(what, "deadlock")) {
		std::thread other([] {
			limits.lock();
			meet_inside();
			rates.lock();
		});
		rates.lock();
		meet_inside();
		limits.lock();
		other.join();
	} else if (!std::strcmp(what, "unlock")) {
		rates.lock();
		rates.unlock();
		rates.unlock();
	} else if (!std::strcmp(what, "freed") || !std::strcmp(what, "held")) {
		live_twice(*what == 'h');
	} else {
		return 2;
	}
	std::printf("%s: done\n", what);
	return 0;
}
