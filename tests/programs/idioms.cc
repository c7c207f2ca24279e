// What careful C++ programs do: none of it can deadlock.
//
//   idioms scoped  std::scoped_lock of two in both orders
//   idioms lock    std::lock of three, in all orders, then adopted
//   idioms swap    two objects of one class, locked together by std::scoped_lock, as in swap(a, b)
//   idioms static  a function's static object, built at first use with its own lock taken inside
//   idioms try     std::try_lock, and everything released if it fails
//   idioms shared  readers of two std::shared_mutex in both orders
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

namespace {

constexpr int rounds = 200;

std::mutex red, green, blue;
std::shared_mutex map, legend;

template <typename Run>
void in_threads(Run run)
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back([=] {
            for (int round = 0; round < rounds; round++)
                run(i);
        });
    for (auto &thread : threads)
        thread.join();
}

void scoped(int i)
{
    if (i % 2) {
        std::scoped_lock both(red, green);
    } else {
        std::scoped_lock both(green, red);
    }
}

void lock(int i)
{
    switch (i % 3) {
    case 0: std::lock(red, green, blue); break;
    case 1: std::lock(green, blue, red); break;
    default: std::lock(blue, red, green);
    }
    std::lock_guard r(red, std::adopt_lock), g(green, std::adopt_lock), b(blue, std::adopt_lock);
}

struct Account {
    std::mutex lock;
    long balance = 0;
};

std::array<Account, 8> accounts;

void swap(int i)
{
    static std::atomic<unsigned> turn;
    const unsigned n = turn++;
    Account &a = accounts[n % accounts.size()];
    Account &b = accounts[(n * 5 + i + 1) % accounts.size()];
    if (&a == &b)
        return;
    std::scoped_lock both(a.lock, b.lock);
    std::swap(a.balance, b.balance);
}

struct Catalogue {
    std::mutex lock;
    int entries = 0;
    Catalogue()
    {
        std::lock_guard hold(lock);
        entries = 1;
    }
};

void use_static(int)
{
    static Catalogue catalogue;
    std::lock_guard hold(catalogue.lock);
    catalogue.entries++;
}

void try_lock(int i)
{
    std::mutex &first = i % 2 ? red : green, &second = i % 2 ? green : red;
    for (;;) {
        if (std::try_lock(first, second) == -1)
            break;
        std::this_thread::yield();
    }
    first.unlock();
    second.unlock();
}

void shared(int i)
{
    std::shared_lock outer(i % 2 ? map : legend);
    std::shared_lock inner(i % 2 ? legend : map);
}

} // namespace

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(int);
    } idioms[] = {
        {"scoped", scoped}, {"lock", lock},    {"swap", swap},
        {"static", use_static}, {"try", try_lock}, {"shared", shared},
    };
    for (const auto &idiom : idioms) {
        if (argc > 1 && !std::strcmp(argv[1], idiom.name)) {
            in_threads(idiom.run);
            std::puts("the end");
            return 0;
        }
    }
    return 2;
}
