// A pool of threads whose end is told to the workers by an atomic flag and a notification.
//
//   lost_wakeup bare          the flag is changed without the mutex (as thread-pool 3.3.0, its #93)
//   lost_wakeup fixed         with it
//   lost_wakeup after-unlock  with it, and notified after the unlock
//   lost_wakeup by-caller     the caller has the mutex, and a function of its own notifies
//   lost_wakeup beside        one function changes it with the mutex, the next notifies
//   lost_wakeup timed         as bare, but the workers look again by themselves
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <iostream>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

static const char *how;

static bool is(const char *what)
{
	return !std::strcmp(how, what);
}

struct pool {
	std::mutex mutex;
	std::condition_variable available, done;
	std::queue<std::function<void()>> tasks;
	std::atomic<bool> running{true};
	std::atomic<int> left{0};
	std::atomic<bool> awaited{false};
	int idle = 0;
	std::vector<std::thread> threads;

	void work()
	{
		for (;;) {
			std::unique_lock lock(mutex);
			auto ready = [this] { return !tasks.empty() || !running; };
			++idle;
			done.notify_one();
			if (is("timed")) {
				while (!available.wait_for(lock, std::chrono::milliseconds(1), ready))
					;
			} else {
				available.wait(lock, ready);
			}
			--idle;
			if (tasks.empty())
				return;
			auto task = std::move(tasks.front());
			tasks.pop();
			lock.unlock();
			task();
			lock.lock();
			--left;
		}
	}

	void push(std::function<void()> task)
	{
		{
			std::lock_guard lock(mutex);
			tasks.push(std::move(task));
			++left;
		}
		available.notify_one();
	}

	// Until all workers wait: so none misses what comes next, and the program ends.
	void wait()
	{
		std::unique_lock lock(mutex);
		done.wait(lock, [this] {
			if (left == 0 && idle == 2)
				return true;
			awaited = true;
			return false;
		});
	}

	void tell()
	{
		available.notify_all();
	}

	void end_running()
	{
		std::lock_guard lock(mutex);
		running = false;
	}

	void stop()
	{
		if (is("bare") || is("timed")) {
			running = false;
		} else {
			std::unique_lock lock(mutex);
			running = false;
			if (is("after-unlock"))
				lock.unlock();
			if (is("fixed")) {
				available.notify_all();
				return;
			}
		}
		available.notify_all();
	}

	void stop_by_caller()
	{
		{
			std::lock_guard lock(mutex);
			running = false;
		}
		tell();
	}

	void stop_beside()
	{
		end_running();
		tell();
	}

	pool()
	{
		std::lock_guard lock(mutex);
		for (int i = 0; i < 2; i++)
			threads.emplace_back([this] { work(); });
	}

	~pool()
	{
		wait();
		if (is("by-caller"))
			stop_by_caller();
		else if (is("beside"))
			stop_beside();
		else
			stop();
		for (auto &thread : threads)
			thread.join();
	}
};

int main(int argc, char **argv)
{
	how = argc > 1 ? argv[1] : "bare";
	{
		pool all;
		for (int i = 0; i < 20; i++)
			all.push([] {});
		// So that the wait for all is one, in each run.
		all.push([&all] {
			while (!all.awaited)
				std::this_thread::yield();
		});
	}
	std::cout << "the end\n";
}
