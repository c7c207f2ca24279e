// A lock of a mutex, a condition variable and a flag, by guards: two threads take two of them in both orders, one after the other
// by an atomic.
//
// monitor_cxx [predicate]: it waits by a predicate, and other threads have waited for it before.
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

namespace {

class Monitor {
    std::mutex mutex;
    std::condition_variable free;
    bool is_taken = false;
    std::atomic<int> waiters{0};

public:
    void lock()
    {
        std::unique_lock<std::mutex> guard(mutex);
        while (is_taken)
            free.wait(guard);
        is_taken = true;
    }

    void lock_by_predicate()
    {
        std::unique_lock<std::mutex> guard(mutex);
        free.wait(guard, [this] {
            if (is_taken)
                waiters++;
            return !is_taken;
        });
        is_taken = true;
    }

    void unlock()
    {
        std::lock_guard<std::mutex> guard(mutex);
        is_taken = false;
        free.notify_one();
    }

    bool is_waited_for() const { return waiters > 0; }
};

Monitor a, b;
std::atomic<int> turn{0};

template <void (Monitor::*take)()>
void in_turn(Monitor &first, Monitor &second, int number)
{
    while (turn != number)
        std::this_thread::yield();
    (first.*take)();
    (second.*take)();
    second.unlock();
    first.unlock();
    turn++;
}

template <void (Monitor::*take)()>
void both()
{
    std::thread t([] { in_turn<take>(a, b, 0); });
    std::thread u([] { in_turn<take>(b, a, 1); });
    t.join();
    u.join();
}

// A thread takes it twice in a row, and another waits for it.
void is_waited_for(Monitor &monitor)
{
    monitor.lock_by_predicate();
    monitor.unlock();
    monitor.lock_by_predicate();
    std::thread waiter([&] {
        monitor.lock_by_predicate();
        monitor.unlock();
    });
    while (!monitor.is_waited_for())
        std::this_thread::yield();
    monitor.unlock();
    waiter.join();
}

} // namespace

int main(int argc, char **)
{
    if (argc > 1) {
        for (int i = 0; i < 2; i++) {
            is_waited_for(a);
            is_waited_for(b);
        }
        both<&Monitor::lock_by_predicate>();
    } else {
        both<&Monitor::lock>();
    }
    std::puts("done");
}
