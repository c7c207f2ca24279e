// The C++ library's locks: none of them calls pthread_mutex_init, all of them go through inlined wrappers.
//
//   cxx_locks guard    std::lock_guard in both orders
//   cxx_locks scoped   std::scoped_lock of both at once, in both orders: it backs off, so it cannot deadlock
//   cxx_locks shared   std::shared_mutex, unique in shared, both orders
//   cxx_locks members  both orders of two members of one object on the heap
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include "binary_semaphore.h"

namespace bank {

std::mutex accounts;
std::mutex journal;
std::shared_mutex rates;
std::shared_mutex limits;

struct Desk {
    std::mutex drawer;
    std::recursive_mutex terminal;
};

// Runs both, the second after the first, in threads that are both alive throughout.
template <typename First, typename Second>
void in_turns(First first, Second second)
{
    binary_semaphore here{0}, second_may{0}, first_may_leave{0};
    std::thread one([&] {
        here.release();
        first();
        second_may.release();
        first_may_leave.acquire();
    });
    here.acquire();
    std::thread two([&] {
        second_may.acquire();
        second();
        first_may_leave.release();
    });
    one.join();
    two.join();
}

void deposit()
{
    std::lock_guard<std::mutex> a(accounts);
    std::lock_guard<std::mutex> j(journal);
}

void audit()
{
    std::lock_guard<std::mutex> j(journal);
    std::lock_guard<std::mutex> a(accounts);
}

void deposit_scoped() { std::scoped_lock both(accounts, journal); }
void audit_scoped() { std::scoped_lock both(journal, accounts); }

void convert()
{
    std::shared_lock<std::shared_mutex> r(rates);
    std::unique_lock<std::shared_mutex> l(limits);
}

void revise()
{
    std::shared_lock<std::shared_mutex> l(limits);
    std::unique_lock<std::shared_mutex> r(rates);
}

} // namespace bank

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "guard";
    if (!std::strcmp(how, "scoped")) {
        bank::in_turns(bank::deposit_scoped, bank::audit_scoped);
    } else if (!std::strcmp(how, "shared")) {
        bank::in_turns(bank::convert, bank::revise);
    } else if (!std::strcmp(how, "members")) {
        auto desk = std::make_unique<bank::Desk>();
        bank::in_turns(
            [&] {
                std::lock_guard d(desk->drawer);
                std::lock_guard t(desk->terminal);
            },
            [&] {
                std::lock_guard t(desk->terminal);
                std::lock_guard again(desk->terminal);
                std::lock_guard d(desk->drawer);
            });
    } else {
        bank::in_turns(bank::deposit, bank::audit);
    }
    std::puts("the end");
}
