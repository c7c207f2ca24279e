// Waits by std::atomic::wait, as C++20's semaphores do; calls no locks.
#include <atomic>
#include <semaphore>
#include <thread>

static std::atomic<int> ready;
static std::counting_semaphore<4> turns(0);

int main()
{
	std::thread other([] {
		ready = 1;
		ready.notify_one();
		turns.acquire();
	});
	ready.wait(0);
	turns.release();
	other.join();
}
