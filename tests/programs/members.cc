// Locks in C++ objects of static duration: of a base class, in an array of classes, in a function,
// in a class that is nothing but a lock to the reader.
#include <array>
#include <mutex>

#include "members.h"

namespace port {
// Grows round the lock of the system.
class Mutex {
public:
    pthread_mutex_t *native() { return &native_; }

private:
    pthread_mutex_t native_ = PTHREAD_MUTEX_INITIALIZER;
    bool is_debugged_ = false;
};
}

namespace store {
struct Named {
    virtual ~Named() = default;
    long id = 0;
    std::mutex named_;
};

struct Session : Named {
    static std::mutex all;
    std::mutex mu_;
};

std::mutex Session::all;

struct Server {
    static Server &get()
    {
        static Server server;
        return server;
    }
    std::array<Session, 3> sessions;
    port::Mutex table;
};

Session lone;
}

static void pair(int reversed, pthread_mutex_t *a, pthread_mutex_t *b)
{
    if (reversed)
        nest(b, a);
    else
        nest(a, b);
}

static void take_pairs(int reversed)
{
    store::Server &server = store::Server::get();
    pair(reversed, server.sessions[2].mu_.native_handle(), server.table.native());
    pair(reversed, store::lone.named_.native_handle(), store::lone.mu_.native_handle());
    pair(reversed, store::Session::all.native_handle(), server.sessions[1].named_.native_handle());
}
