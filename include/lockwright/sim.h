/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * lockwright/sim.h: a lock of yours in `lockwright-lab sim`, and in its explorer. For C; nothing is linked.
 *
 * A library of locks is a shared object that has one LW_SIM_LIBRARY and is built against this header alone:
 *
 *     cc -shared -fPIC -O2 -I include mylock.c -o mylock.so
 *     lockwright-lab sim --lock-library ./mylock.so --lock mylock,qspinlock --sweep cpus=1..72
 *     lockwright-lab sim --explore --lock-library ./mylock.so
 *
 * Read and write shared data by the macros below: each is an event of the simulated machine. The data lies
 * in the lock, in what lw_sim_per_cpu() gives, or on a thread's stack: variables of the library are the same in all runs,
 * and those of the C library's threads (thread_local, pthread_self) are the same for all simulated threads. No function of
 * the operating system may wait. docs/lab/simulator.md tells more.
 */

#ifndef LOCKWRIGHT_SIM_H
#define LOCKWRIGHT_SIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#error "lockwright/sim.h is for C"
#endif

/* Version of the tables below. Within a version they can grow at their ends. */
#define LW_SIM_VERSION 1

/* Where in the source an operation is: failures are reported with it. */
struct lw_sim_place {
        const char *file;
        size_t length;
        uint32_t line;
};

/* The operation on a word. */
enum { LW_SIM_EXCHANGE, LW_SIM_ADD, LW_SIM_SUB, LW_SIM_AND, LW_SIM_OR, LW_SIM_XOR };

/* How a wait has ended: woken or returned early; the word was another; the deadline has come. */
enum { LW_SIM_WOKEN, LW_SIM_CHANGED, LW_SIM_TOO_LATE };

/* No deadline. */
#define LW_SIM_NEVER UINT64_MAX

/* How often the lock says that waiters are overtaken by those who came later: nothing, or at most so often, which the
 * explorer then looks for. */
#define LW_SIM_NO_PROMISE 0
#define LW_SIM_AT_MOST(times) ((uint64_t)(times) + 1)

/* The simulator's services for a library. The macros below call it. */
struct lw_sim_platform {
        uint32_t version;
        uint32_t size;
        uint64_t (*load)(const void *word, uint32_t size, int order, const struct lw_sim_place *);
        void (*store)(void *word, uint32_t size, uint64_t value, int order, const struct lw_sim_place *);
        uint64_t (*modify)(void *word, uint32_t size, uint32_t how, uint64_t value, int order, const struct lw_sim_place *);
        int (*compare_exchange)(void *word, uint32_t size, void *expected, uint64_t desired, int order,
                                const struct lw_sim_place *);
        void (*fence)(int order);
        uint32_t (*relax)(uint32_t most);
        int (*wait)(const uint32_t *word, uint32_t expected, uint32_t bits, uint64_t deadline, const struct lw_sim_place *);
        void (*wake)(const uint32_t *word, uint32_t count, uint32_t bits, const struct lw_sim_place *);
        uint32_t (*cpu)(void);
        uint32_t (*cpus)(void);
        void *(*per_cpu)(uint32_t cpu, size_t bytes, void (*init)(void *));
        int (*is_running)(uint32_t cpu);
        int (*need_resched)(uint32_t rounds);
        void (*yield_now)(void);
        uint64_t (*now)(void);
};

/* A lock of a library. Unneeded functions are NULL. */
struct lw_sim_lock {
        /* Its name for --lock: letters, digits, - and _. */
        const char *name;
        /* A description in a few words. */
        const char *about;
        /* Size of a lock, in bytes. At least 1, at most 1 MiB. */
        size_t size;
        /* A power of two, at most 4096. */
        size_t align;
        /* LW_SIM_NO_PROMISE or LW_SIM_AT_MOST. */
        uint64_t overtakes;
        /* Makes a free lock of zeros. NULL: zeros are one. No thread runs. */
        void (*init)(void *lock);
        /* These two there must be. */
        void (*lock)(void *lock);
        void (*unlock)(void *lock);
        /* Not 0: taken. */
        int (*try_lock)(void *lock);
        /* Not 0: taken. 0: lw_sim_now() has come to the deadline. */
        int (*lock_until)(void *lock, uint64_t deadline);
        /* All three, or none: a lock that readers share. */
        void (*read_lock)(void *lock);
        int (*try_read_lock)(void *lock);
        void (*read_unlock)(void *lock);
};

/* The locks of a library. */
struct lw_sim_library {
        uint32_t version;
        uint32_t platform_size;
        uint32_t lock_size;
        uint32_t lock_count;
        const struct lw_sim_lock *locks;
};

/* The simulator, once it has loaded the library. */
extern const struct lw_sim_platform *lw_sim_host __attribute__((visibility("hidden")));

/* Once in a library: its locks, an array of struct lw_sim_lock. */
#define LW_SIM_LIBRARY(array)                                                                                          \
        const struct lw_sim_platform *lw_sim_host;                                                                     \
        __attribute__((visibility("default"))) const struct lw_sim_library *lockwright_sim_library(                    \
                const struct lw_sim_platform *);                                                                       \
        const struct lw_sim_library *lockwright_sim_library(const struct lw_sim_platform *host)                        \
        {                                                                                                              \
                static const struct lw_sim_library library = {                                                         \
                        LW_SIM_VERSION, sizeof(struct lw_sim_platform), sizeof(struct lw_sim_lock),                    \
                        sizeof(array) / sizeof(array)[0], (array)                                                      \
                };                                                                                                     \
                lw_sim_host = host;                                                                                    \
                return &library;                                                                                       \
        }                                                                                                              \
        _Static_assert(sizeof(array) > 0, "at least one lock")

#define LW_SIM_HERE_ (&(const struct lw_sim_place){ __FILE__, sizeof(__FILE__) - 1, __LINE__ })
#define LW_SIM_BITS_(value) ((uint64_t)(uintptr_t)(value))
#define LW_SIM_MODIFY_(word, how, value, order)                                                                        \
        __extension__({                                                                                                \
                __typeof__(*(word)) lw_sim_was_ = (__typeof__(*(word)))(uintptr_t)lw_sim_host->modify(                 \
                        (word), sizeof *(word), (how), LW_SIM_BITS_(value), (order), LW_SIM_HERE_);                    \
                lw_sim_was_;                                                                                           \
        })

/* Atomic operations on words of 1, 2, 4 or 8 bytes: integers and pointers. Orders are memory_order's. A macro that
 * changes a word returns its old value. */
#define lw_sim_load(word, order)                                                                                       \
        ((__typeof__(*(word)))(uintptr_t)lw_sim_host->load((word), sizeof *(word), (order), LW_SIM_HERE_))
#define lw_sim_store(word, value, order)                                                                               \
        lw_sim_host->store((word), sizeof *(word), LW_SIM_BITS_(value), (order), LW_SIM_HERE_)
#define lw_sim_exchange(word, value, order) LW_SIM_MODIFY_(word, LW_SIM_EXCHANGE, value, order)
#define lw_sim_add(word, value, order) LW_SIM_MODIFY_(word, LW_SIM_ADD, value, order)
#define lw_sim_sub(word, value, order) LW_SIM_MODIFY_(word, LW_SIM_SUB, value, order)
#define lw_sim_and(word, value, order) LW_SIM_MODIFY_(word, LW_SIM_AND, value, order)
#define lw_sim_or(word, value, order) LW_SIM_MODIFY_(word, LW_SIM_OR, value, order)
#define lw_sim_xor(word, value, order) LW_SIM_MODIFY_(word, LW_SIM_XOR, value, order)
/* Not 0: the word was what `expected`, of its type, points to, and is `desired`. 0: what was found is in `*expected`. */
#define lw_sim_compare_exchange(word, expected, desired, order)                                                        \
        lw_sim_host->compare_exchange((word), sizeof *(word), (1 ? (expected) : (word)), LW_SIM_BITS_(desired),        \
                                      (order), LW_SIM_HERE_)
#define lw_sim_fence(order) lw_sim_host->fence(order)

/* Sleeps if the word, of 4 bytes, is `expected`; until a deadline of lw_sim_now(), or LW_SIM_NEVER. May return early: look
 * again. */
#define lw_sim_wait(word, expected, deadline) lw_sim_wait_bits(word, expected, UINT32_MAX, deadline)
#define lw_sim_wait_bits(word, expected, bits, deadline)                                                               \
        lw_sim_host->wait((word), (expected), (bits), (deadline), LW_SIM_HERE_)
/* Wakes at most `count` of those who wait on the word. It is not read, and may be gone. */
#define lw_sim_wake(word, count) lw_sim_wake_bits(word, count, UINT32_MAX)
#define lw_sim_wake_bits(word, count, bits) lw_sim_host->wake((word), (count), (bits), LW_SIM_HERE_)

/* A PAUSE. */
#define lw_sim_relax() ((void)lw_sim_host->relax(1))
/* Spins until the condition holds, which looks at the same words each time and does nothing else. */
#define lw_sim_await(condition)                                                                                        \
        do {                                                                                                           \
                uint32_t lw_sim_rounds_ = 0;                                                                           \
                while (!(condition)) {                                                                                 \
                        if (lw_sim_need_resched(++lw_sim_rounds_)) {                                                   \
                                lw_sim_yield();                                                                        \
                                lw_sim_rounds_ = 0;                                                                    \
                        } else {                                                                                       \
                                lw_sim_rounds_ += lw_sim_host->relax(UINT32_MAX) - 1;                                  \
                        }                                                                                              \
                }                                                                                                      \
        } while (0)
/* Whether a thread that has spun for so many rounds should sleep, or yield: after few rounds in the
 * explorer. */
#define lw_sim_need_resched(rounds) lw_sim_host->need_resched(rounds)
#define lw_sim_yield() lw_sim_host->yield_now()

/* The thread's number, from 0, and how many there are. */
#define lw_sim_cpu() lw_sim_host->cpu()
#define lw_sim_cpus() lw_sim_host->cpus()
/* The library's data for a thread: at most 4096 bytes, the same in a whole run, zeros at its beginning and then
 * given to `init`, which may be NULL. */
#define lw_sim_per_cpu(cpu, bytes, init) lw_sim_host->per_cpu((cpu), (bytes), (init))
/* Not 0: that thread does not sleep. */
#define lw_sim_is_running(cpu) lw_sim_host->is_running(cpu)
/* Nanoseconds. */
#define lw_sim_now() lw_sim_host->now()

#endif
