// Local std::condition_variables, which are initialised by no call: two lives at one address.
#include <condition_variable>
#include <mutex>

__attribute__((noinline)) static void life()
{
	std::condition_variable ready;

	ready.notify_one();
}

__attribute__((noinline)) static void wait_in_vain()
{
	std::mutex mutex;
	std::condition_variable ready;
	std::unique_lock lock(mutex);

	ready.wait_for(lock, std::chrono::microseconds(1));
}

int main()
{
	for (int i = 0; i < 3; i++) {
		life();
		wait_in_vain();
	}
}
