// Locks behind the program's own lock types: a method by a name that says nothing, guards of the standard
// library and of the program's own; and what could be taken for such.
#include <memory>
#include <mutex>
#include <vector>

#include "owners.h"

// What Clang's analysis of threads reads, as many projects have it.
#ifdef __clang__
#define EXCLUSIVE_LOCK_FUNCTION(...) __attribute__((exclusive_lock_function(__VA_ARGS__)))
#else
#define EXCLUSIVE_LOCK_FUNCTION(...)
#endif

class Monitor {
public:
    __attribute__((noinline)) void enter() { pthread_mutex_lock(&state_); }
    __attribute__((noinline)) void leave() { pthread_mutex_unlock(&state_); }

private:
    long depth_ = 0;
    pthread_mutex_t state_ = PTHREAD_MUTEX_INITIALIZER;
};

// Which of its locks it is has to be said.
class Gate {
public:
    __attribute__((noinline)) void enter_left() { pthread_mutex_lock(&left_); }
    __attribute__((noinline)) void leave_left() { pthread_mutex_unlock(&left_); }
    __attribute__((noinline)) void enter_right() { pthread_mutex_lock(&right_); }
    __attribute__((noinline)) void leave_right() { pthread_mutex_unlock(&right_); }

private:
    pthread_mutex_t left_ = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_t right_ = PTHREAD_MUTEX_INITIALIZER;
};

class OwnMutex {
public:
    __attribute__((noinline)) void lock() { inner_.lock(); }
    __attribute__((noinline)) void unlock() { inner_.unlock(); }
    __attribute__((noinline)) void Lock() EXCLUSIVE_LOCK_FUNCTION() { inner_.lock(); }
    __attribute__((noinline)) void Unlock() { inner_.unlock(); }

private:
    std::mutex inner_;
};

class PointerLock {
public:
    explicit PointerLock(OwnMutex *lock) EXCLUSIVE_LOCK_FUNCTION(lock) : lock_(lock) { lock_->Lock(); }
    ~PointerLock() { lock_->Unlock(); }

private:
    OwnMutex *const lock_;
};

class ReferenceLock {
public:
    explicit ReferenceLock(OwnMutex &lock) : lock_(lock) { lock.Lock(); }
    ~ReferenceLock() { lock_.Unlock(); }

private:
    OwnMutex &lock_;
};

struct Table {
    struct Row {
        OwnMutex row_;
    };
    Monitor monitor;
    Gate gate;
    OwnMutex entries;
    OwnMutex log_;
    Row first;
    std::shared_ptr<std::mutex> pointed = std::make_shared<std::mutex>();
};

static OwnMutex *hidden;

// Takes another than it is given.
class MisleadingLock {
public:
    MisleadingLock(OwnMutex *, OwnMutex *other) : lock_(other) { lock_->Lock(); }
    ~MisleadingLock() { lock_->Unlock(); }

private:
    OwnMutex *const lock_;
};

class DefaultedLock {
public:
    explicit DefaultedLock(OwnMutex &, OwnMutex *lock_ = hidden) : kept_(lock_) { kept_->Lock(); }
    ~DefaultedLock() { kept_->Unlock(); }

private:
    OwnMutex *const kept_;
};

// The same lock is one's left and the other's right.
struct Seat {
    std::shared_ptr<std::mutex> left, right;
};

static Table *table;
static std::vector<Seat> seats;

static void methods(bool reversed)
{
    if (reversed) {
        table->gate.enter_right();
        table->gate.enter_left();
        table->monitor.enter();
        table->monitor.leave();
        table->gate.leave_left();
        table->gate.leave_right();
    } else {
        table->monitor.enter();
        table->gate.enter_left();
        table->gate.enter_right();
        table->gate.leave_right();
        table->gate.leave_left();
        table->monitor.leave();
    }
}

__attribute__((noinline)) static void guards(bool reversed)
{
    if (reversed) {
        ReferenceLock row(table->first.row_);
        PointerLock log(&table->log_);
        std::lock_guard<OwnMutex> entries(table->entries);
    } else {
        std::lock_guard<OwnMutex> entries(table->entries);
        PointerLock log(&table->log_);
        ReferenceLock row(table->first.row_);
    }
}

void pointers(Table &of, bool reversed)
{
    if (reversed) {
        of.pointed->lock();
        of.entries.lock();
        of.entries.unlock();
        of.pointed->unlock();
    } else {
        of.entries.lock();
        of.pointed->lock();
        of.pointed->unlock();
        of.entries.unlock();
    }
}

static void eat(Seat &seat)
{
    seat.left->lock();
    seat.right->lock();
    seat.right->unlock();
    seat.left->unlock();
}

__attribute__((noinline)) static void misleading(bool reversed)
{
    if (reversed) {
        MisleadingLock second(&table->log_, hidden);
        std::lock_guard<OwnMutex> entries(table->entries);
    } else {
        std::lock_guard<OwnMutex> entries(table->entries);
        MisleadingLock second(&table->log_, hidden);
    }
}

__attribute__((noinline)) static void defaulted(bool reversed)
{
    if (reversed) {
        DefaultedLock second(table->log_);
        std::lock_guard<OwnMutex> entries(table->entries);
    } else {
        std::lock_guard<OwnMutex> entries(table->entries);
        DefaultedLock second(table->log_);
    }
}

// The compiler may make one call of these two.
__attribute__((noinline)) static void one_of(bool is_log)
{
    if (is_log)
        table->log_.Lock();
    else
        table->entries.Lock();
}

static void merged(bool reversed)
{
    one_of(reversed);
    one_of(!reversed);
    table->entries.Unlock();
    table->log_.Unlock();
}

static const char *what = "";

static void both(bool reversed)
{
    if (*what == 'm') {
        misleading(reversed);
    } else if (*what == 'd') {
        defaulted(reversed);
    } else if (*what == 'o') {
        merged(reversed);
    } else if (*what == 's') {
        eat(seats[reversed]);
    } else {
        methods(reversed);
        guards(reversed);
        pointers(*table, reversed);
    }
}

static void in_order(void)
{
    both(false);
}

static void reversed(void)
{
    both(true);
}

int main(int argc, char **argv)
{
    what = argc > 1 ? argv[1] : "";
    auto owned = std::make_unique<Table>();
    auto other = std::make_unique<OwnMutex>();
    table = owned.get();
    hidden = other.get();
    auto one = std::make_shared<std::mutex>(), two = std::make_shared<std::mutex>();
    seats = {{one, two}, {two, one}};
    run_both();
}
