// Locks of the heap that nobody initialises, and that are all first taken in one function: what tells them apart
// is where the object that they are in was allocated.
//
//   heap_classes types        two types of object
//   heap_classes members      two members of one object
//   heap_classes array        elements of one array
//   heap_classes orders       a lock of each of two types, in both orders, by two threads
//   heap_classes constructor  an object registers itself with its lock held, as soon as it is allocated
//   heap_classes handed       as constructor, but it was handed to another thread before
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <semaphore>
#include <thread>
#include <vector>

namespace heap {

struct Account {
    long balance = 0;
    std::mutex lock;
};

struct Journal {
    char title[64] = "";
    std::mutex lock;
    std::mutex index;
};

Account *account;
Journal *journal;

std::mutex registry_lock, inbox_lock;
Account *registry, *inbox;

__attribute__((noinline)) void touch(std::mutex &mutex)
{
    mutex.lock();
    mutex.unlock();
}

__attribute__((noinline)) void nest(std::mutex &outer, std::mutex &inner)
{
    outer.lock();
    inner.lock();
    inner.unlock();
    outer.unlock();
}

__attribute__((noinline)) std::unique_ptr<Account> make_account()
{
    return std::make_unique<Account>();
}

__attribute__((noinline)) Journal *make_journal()
{
    return new (std::calloc(1, sizeof(Journal))) Journal;
}

// Runs both, the second after the first, in threads that are both alive throughout.
template <typename First, typename Second>
void in_turns(First first, Second second)
{
    std::binary_semaphore here{0}, made{0}, used{0};
    std::thread one([&] {
        here.release();
        first();
        made.release();
        used.acquire();
    });
    here.acquire();
    std::thread two([&] {
        made.acquire();
        second();
        used.release();
    });
    one.join();
    two.join();
}

void forward() { nest(account->lock, journal->lock); }
void backward() { nest(journal->lock, account->lock); }

void enter_registry(Account *made)
{
    made->lock.lock();
    registry_lock.lock();
    registry = made;
    registry_lock.unlock();
    made->lock.unlock();
}

void construct() { enter_registry(new Account); }

void hand_over()
{
    Account *made = new Account;
    inbox_lock.lock();
    inbox = made;
    inbox_lock.unlock();
    enter_registry(made);
}

void use() { nest(registry_lock, registry->lock); }

} // namespace heap

int main(int argc, char **argv)
{
    using namespace heap;
    const char *how = argc > 1 ? argv[1] : "types";
    auto owned = make_account();
    account = owned.get();
    journal = make_journal();

    if (!std::strcmp(how, "types")) {
        touch(account->lock);
        touch(journal->lock);
    } else if (!std::strcmp(how, "members")) {
        touch(journal->lock);
        touch(journal->index);
    } else if (!std::strcmp(how, "array")) {
        std::vector<Account> accounts(100);
        for (auto &each : accounts)
            touch(each.lock);
    } else if (!std::strcmp(how, "orders")) {
        touch(account->lock);
        touch(journal->lock);
        in_turns(forward, backward);
    } else {
        in_turns(!std::strcmp(how, "handed") ? hand_over : construct, use);
        delete registry;
    }
    std::free(journal);
    std::puts("the end");
}
