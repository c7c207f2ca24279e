// Waits for what has a name in the source: members of an object on the heap, a variable, and what a parameter points to, of which
// nothing is known. Nobody wakes a thread that does not wait yet: that is only seen with the mutex.
#include <condition_variable>
#include <mutex>
#include <thread>

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

struct Queue {
    std::mutex lock;
    std::condition_variable ready;
    sem_t items;
    bool is_waiting = false;
    int length = 0;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_waiting, is_changed;

static void take(Queue *queue)
{
    {
        std::unique_lock<std::mutex> guard(queue->lock);
        queue->is_waiting = true;
        queue->ready.wait(guard, [queue] { return queue->length > 0; });
    }
    sem_wait(&queue->items);
    sched_yield();
}

static void put(Queue *queue)
{
    for (bool is_done = false; !is_done; sched_yield()) {
        std::lock_guard<std::mutex> guard(queue->lock);
        is_done = queue->is_waiting;
        queue->length = is_done;
    }
    queue->ready.notify_one();
    sem_post(&queue->items);
}

__attribute__((noinline)) static void await(pthread_cond_t *condition)
{
    pthread_mutex_lock(&mutex);
    is_waiting = true;
    while (!is_changed)
        pthread_cond_wait(condition, &mutex);
    is_waiting = is_changed = false;
    pthread_mutex_unlock(&mutex);
}

static void change()
{
    for (bool is_done = false; !is_done; sched_yield()) {
        pthread_mutex_lock(&mutex);
        is_done = is_changed = is_waiting;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&mutex);
    }
}

int main()
{
    auto queue = new Queue;
    sem_init(&queue->items, 0, 0);
    std::thread taker(take, queue);
    put(queue);
    taker.join();

    std::thread first(change);
    pthread_mutex_lock(&mutex);
    is_waiting = true;
    while (!is_changed)
        pthread_cond_wait(&changed, &mutex);
    is_waiting = is_changed = false;
    pthread_mutex_unlock(&mutex);
    first.join();

    std::thread second(change);
    await(&changed);
    second.join();
}
