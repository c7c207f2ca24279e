// Two locks that nobody initialises, taken in both orders by two functions. The argument says which of these comes first.
#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>

struct Store {
	std::mutex names, values;
	int count = 0;
};

static Store *store;

static void put()
{
	std::lock_guard names(store->names);
	std::lock_guard values(store->values);
	store->count++;
}

static void get()
{
	std::lock_guard values(store->values);
	std::lock_guard names(store->names);
	store->count++;
}

int main(int argc, char **argv)
{
	const bool putsFirst = argc > 1 && !std::strcmp(argv[1], "put");
	store = new Store;
	/* Both threads are there all the while: what a lock-free variable says orders nothing that is known. */
	std::atomic<bool> isDone = false;
	auto work = [&](bool puts) {
		while (puts != putsFirst && !isDone)
			std::this_thread::yield();
		if (puts)
			put();
		else
			get();
		isDone = true;
	};
	std::thread one(work, true), other(work, false);
	one.join();
	other.join();
	delete store;
}
