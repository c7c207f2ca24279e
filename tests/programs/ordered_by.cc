// Pairs of mutexes that one function takes in an order of the program's own.
//
//   ordered_by id        by a number that has nothing to do with the address
//   ordered_by address   by address
//   ordered_by neither   two of them are also taken the other way round, by another thread: a true inversion
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

struct Account {
	std::mutex mutex;
	int id = 0;
	long balance = 0;
};

static const int ACCOUNTS = 24;
static std::vector<std::unique_ptr<Account>> accounts;

static void transfer(Account &from, Account &to)
{
	std::lock_guard<std::mutex> first(from.mutex);
	std::lock_guard<std::mutex> second(to.mutex);
	from.balance--;
	to.balance++;
}

static void transfer_in_order(Account &a, Account &b, bool by_address)
{
	bool swaps = by_address ? &a > &b : a.id > b.id;
	swaps ? transfer(b, a) : transfer(a, b);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "id";
	bool by_address = !strcmp(how, "address");

	for (int i = 0; i < ACCOUNTS; i++) {
		accounts.push_back(std::make_unique<Account>());
		accounts.back()->id = (i * 17) % ACCOUNTS;
	}
	std::vector<std::thread> threads;
	for (unsigned t = 0; t < 3; t++)
		threads.emplace_back([t, by_address] {
			unsigned seed = t;
			auto next = [&seed] {
				seed = seed * 1103515245 + 12345;
				return (seed >> 16) % ACCOUNTS;
			};
			for (int i = 0; i < 400; i++) {
				unsigned a = next(), b = next();
				if (a != b)
					transfer_in_order(*accounts[a], *accounts[b], by_address);
			}
		});
	for (auto &thread : threads)
		thread.join();
	if (!strcmp(how, "neither")) {
		// One thread is done before the other begins its transfer; nothing that is recorded says so.
		static volatile bool done;
		std::thread forth([] {
			transfer(*accounts[0], *accounts[1]);
			__atomic_store_n(&done, true, __ATOMIC_RELEASE);
		});
		std::thread back([] {
			while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE))
				std::this_thread::yield();
			transfer(*accounts[1], *accounts[0]);
		});
		forth.join();
		back.join();
	}
	puts("the end");
}
