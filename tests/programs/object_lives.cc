// How objects in C++ live and end. Argument:
//
//   waited     a std::condition_variable is deleted while a thread waits on it
//   forgetful  a class initialises a mutex of pthreads in its constructor, and its destructor does not destroy it
//   clean      the standard library's locks, alone, in classes, in arrays and in containers, over and over
//   throws     what is to be called once throws, and is called again
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <shared_mutex>
#include <stdexcept>
#include <thread>
#include <vector>

// asleep.h is C.
using std::atomic_int, std::atomic_load, std::atomic_store;
#include "asleep.h"

static std::mutex door;
static atomic_int waiter_id;
static bool is_open;

static void waited()
{
	auto *changed = new std::condition_variable;
	pthread_cond_t *cond = changed->native_handle();
	std::thread waiter([changed] {
		std::unique_lock held(door);
		atomic_store(&waiter_id, thread_id());
		while (!is_open)
			changed->wait(held);
	});
	await_blocked(&waiter_id);
	std::thread deleter([changed] { delete changed; });
	// The destructor returns only when nobody waits any more, and first puts a mark into it.
	volatile unsigned *wrefs = &cond->__data.__wrefs;
	while (!(*wrefs & 4))
		usleep(500);
	{
		std::lock_guard held(door);
		is_open = true;
		pthread_cond_broadcast(cond);
	}
	deleter.join();
	waiter.join();
}

class Forgetful {
public:
	__attribute__((noinline)) Forgetful()
	{
		pthread_mutex_init(&lock, nullptr);
		__asm__ volatile("" ::: "memory");
	}
	// Something to do, so that there is a destructor.
	__attribute__((noinline)) ~Forgetful()
	{
		value = 0;
		__asm__ volatile("" ::: "memory");
	}

private:
	pthread_mutex_t lock;
	int value = 1;
};

static void forgetful()
{
	for (int i = 0; i < 3; i++)
		delete new Forgetful;
}

class Careful {
public:
	Careful() { pthread_mutex_init(&lock, nullptr), pthread_cond_init(&changed, nullptr); }
	~Careful() { pthread_cond_destroy(&changed), pthread_mutex_destroy(&lock); }
	Careful(const Careful &) = delete;
	void use() { pthread_mutex_lock(&lock), pthread_cond_signal(&changed), pthread_mutex_unlock(&lock); }

private:
	pthread_mutex_t lock;
	pthread_cond_t changed;
};

struct Account {
	std::mutex lock;
	std::condition_variable changed;
	int balance = 0;

	void use()
	{
		std::lock_guard held(lock);
		balance++;
		changed.notify_one();
	}
};

static void clean()
{
	for (int i = 0; i < 50; i++) {
		auto mutex = std::make_unique<std::mutex>();
		auto shared = std::make_unique<std::shared_mutex>();
		auto timed = std::make_unique<std::recursive_timed_mutex>();
		{
			std::lock_guard first(*mutex);
			std::lock_guard second(*timed);
			std::shared_lock third(*shared);
		}
		{
			std::unique_lock writer(*shared);
		}

		auto *array = new std::mutex[8];
		std::lock(array[0], array[7]);
		array[0].unlock(), array[7].unlock();
		delete[] array;

		std::vector<Account> accounts(8);
		for (auto &account : accounts)
			account.use();
		std::deque<Careful> careful;
		for (int j = 0; j < 8; j++)
			careful.emplace_back().use();
		Careful local;
		local.use();

		bool is_done = false;
		auto account = std::make_unique<Account>();
		std::thread worker([&] {
			std::lock_guard held(account->lock);
			is_done = true;
			account->changed.notify_all();
		});
		std::unique_lock held(account->lock);
		account->changed.wait(held, [&] { return is_done; });
		held.unlock();
		worker.join();
	}
}

static void throws()
{
	std::once_flag flag;
	for (int i = 0; i < 4; i++) {
		try {
			std::call_once(flag, [i] {
				std::printf("call %d\n", i);
				if (i < 2)
					throw std::runtime_error("not yet");
			});
			std::printf("done %d\n", i);
		} catch (const std::runtime_error &error) {
			std::printf("%s %d\n", error.what(), i);
		}
	}
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "clean";

	if (!std::strcmp(how, "waited"))
		waited();
	else if (!std::strcmp(how, "forgetful"))
		forgetful();
	else if (!std::strcmp(how, "throws"))
		throws();
	else
		clean();
	std::puts("the end");
}
