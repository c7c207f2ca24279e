// Locks of Boost.Thread that are a mutex, a condition variable and a flag: two threads take two of them in both orders, one after
// the other by an atomic. LOCK is their type.
//
// monitor_boost [same|again]: in one order; or the outer one twice, and all that again.
#include <boost/thread/mutex.hpp>
#include <boost/thread/recursive_mutex.hpp>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <thread>

static LOCK a, b;
static std::atomic<int> turn{0};

static void in_turn(LOCK &first, LOCK &second, int number, bool again)
{
    while (turn != number)
        std::this_thread::yield();
    for (int i = 0; i <= int(again); i++) {
        first.lock();
        if (again)
            first.lock();
        second.lock();
        second.unlock();
        if (again)
            first.unlock();
        first.unlock();
    }
    turn++;
}

int main(int argc, char **argv)
{
    bool is_same = argc > 1 && !std::strcmp(argv[1], "same");
    bool again = argc > 1 && !std::strcmp(argv[1], "again");
    std::thread t([=] { in_turn(a, b, 0, again); });
    std::thread u([=] { in_turn(is_same ? a : b, is_same ? b : a, 1, again); });
    t.join();
    u.join();
    std::puts("done");
}
