// Without optimisation nothing of std::lock_guard is inlined: every lock is taken four calls down.
#include <cstdio>
#include <mutex>
#include <thread>
#include "binary_semaphore.h"

static std::mutex vault;
static std::mutex ledger;
static binary_semaphore second_may{0}, first_may_leave{0};

static void look_into_vault()
{
    std::lock_guard<std::mutex> guard(vault);
}

static void look_into_ledger()
{
    std::lock_guard<std::mutex> guard(ledger);
}

static void deposit()
{
    std::lock_guard<std::mutex> outer(vault);
    std::lock_guard<std::mutex> inner(ledger);
}

static void balance()
{
    std::lock_guard<std::mutex> outer(ledger);
    std::lock_guard<std::mutex> inner(vault);
}

static void warm_up()
{
    for (int i = 0; i < 4; i++) {
        look_into_vault();
        look_into_ledger();
    }
}

int main()
{
    std::thread teller([] {
        warm_up();
        deposit();
        second_may.release();
        first_may_leave.acquire();
    });
    std::thread auditor([] {
        second_may.acquire();
        warm_up();
        balance();
        first_may_leave.release();
    });
    teller.join();
    auditor.join();
    std::puts("the end");
}
