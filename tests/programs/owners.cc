// Locks in C++ objects on the heap: implicit members, of a base class, in containers, behind pointers and
// references, in a class that is a lock itself, and in a lambda.
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "owners.h"

namespace port {
class Mutex {
public:
    __attribute__((noinline)) void Lock() { pthread_mutex_lock(&mu_); }
    __attribute__((noinline)) void Unlock() { pthread_mutex_unlock(&mu_); }

private:
    bool is_debugged_ = false;
    pthread_mutex_t mu_ = PTHREAD_MUTEX_INITIALIZER;
};
}

namespace store {
struct Named {
    virtual ~Named() = default;
    long id = 0;
    std::mutex named_;
};

struct Session : Named {
    std::mutex mu_;
    void both(bool reversed);
};

template <typename T>
struct Cache {
    std::shared_mutex entries;
    T what{};
};

class Server {
public:
    std::vector<Session> sessions{2};
    std::unique_ptr<Cache<int>> cache = std::make_unique<Cache<int>>();
    port::Mutex table;
    std::mutex mutex;
    void take_table(bool reversed);
    void by_lambda(bool reversed);
};
}

static store::Server *server;

void store::Session::both(bool reversed)
{
    if (reversed) {
        std::lock_guard<std::mutex> outer(mu_);
        std::lock_guard<std::mutex> inner(named_);
    } else {
        std::lock_guard<std::mutex> outer(named_);
        std::lock_guard<std::mutex> inner(mu_);
    }
}

static void elements(bool reversed)
{
    store::Server &of = *server;
    if (reversed) {
        std::unique_lock<std::shared_mutex> outer(of.cache->entries);
        std::lock_guard<std::mutex> inner(of.sessions[0].mu_);
    } else {
        std::lock_guard<std::mutex> outer(of.sessions[0].mu_);
        std::unique_lock<std::shared_mutex> inner(of.cache->entries);
    }
}

void store::Server::take_table(bool reversed)
{
    if (reversed) {
        mutex.lock();
        table.Lock();
        table.Unlock();
        mutex.unlock();
    } else {
        table.Lock();
        mutex.lock();
        mutex.unlock();
        table.Unlock();
    }
}

void store::Server::by_lambda(bool reversed)
{
    Session &session = sessions[1];
    auto go = [this, &session, reversed] {
        if (reversed) {
            std::lock_guard<std::mutex> outer(session.named_);
            std::lock_guard<std::mutex> inner(mutex);
        } else {
            std::lock_guard<std::mutex> outer(mutex);
            std::lock_guard<std::mutex> inner(session.named_);
        }
    };
    go();
}

static void in_order(void)
{
    server->sessions[0].both(false);
    elements(false);
    server->take_table(false);
    server->by_lambda(false);
}

static void reversed(void)
{
    server->sessions[0].both(true);
    elements(true);
    server->take_table(true);
    server->by_lambda(true);
}

int main()
{
    auto owned = std::make_unique<store::Server>();
    server = owned.get();
    run_both();
}
