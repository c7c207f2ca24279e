// Two locks in both orders, in lambdas that std::thread and std::function call.
#include <functional>
#include <mutex>
#include <thread>

#include <sched.h>

static std::mutex first, second;
static int turn;

static void await_turn(int mine)
{
    while (__atomic_load_n(&turn, __ATOMIC_RELAXED) != mine)
        sched_yield();
}

static void set_turn(int next) { __atomic_store_n(&turn, next, __ATOMIC_RELAXED); }

template <typename Lock>
static void nest(Lock &outer, Lock &inner)
{
    std::lock_guard<Lock> a(outer);
    std::lock_guard<Lock> b(inner);
}

int main()
{
    std::function<void()> job = [] { nest(first, second); };
    std::thread one([&job] {
        job();
        set_turn(1);
        await_turn(2);
    });
    std::thread two([] {
        await_turn(1);
        nest(second, first);
        set_turn(2);
    });
    one.join();
    two.join();
}
