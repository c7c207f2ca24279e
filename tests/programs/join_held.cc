// A service that stops its worker with its own mutex held, which the worker takes for each item. Nothing hangs, by a
// turn that no tool sees: the worker has taken it for the last time before. With "fixed", the mutex is released before
// the join.
#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>

class Service {
public:
	explicit Service(bool fixed) : fixed_(fixed), worker_([this] { work(); }) {}

	void stop()
	{
		while (!idle_)
			std::this_thread::yield();
		std::unique_lock<std::mutex> guard(mutex_);
		stopped_ = true;
		if (fixed_)
			guard.unlock();
		worker_.join();
	}

private:
	void work()
	{
		{
			std::lock_guard<std::mutex> guard(mutex_);
			items_++;
		}
		idle_ = true;
	}

	bool fixed_, stopped_ = false;
	std::atomic<bool> idle_{false};
	int items_ = 0;
	std::mutex mutex_;
	std::thread worker_;
};

int main(int argc, char **argv)
{
	Service service(argc > 1 && !strcmp(argv[1], "fixed"));
	service.stop();
}
