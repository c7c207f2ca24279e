/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A lock that nobody at lockwright has seen: a futex mutex that spins for a while, in `lockwright-lab sim` and its explorer.
 *
 *     make
 *     lockwright-lab sim --lock-library ./spin_then_sleep.so --lock spin_then_sleep,qspinlock --sweep cpus=1..36
 *     lockwright-lab sim --explore --lock-library ./spin_then_sleep.so --threads 8
 *
 * With -DFORGETS_WAITERS it has a fault that hardly any run shows: --explore finds it.
 */

#include <stdatomic.h>

#include <lockwright/sim.h>

enum { FREE, HELD, AWAITED };

struct spin_then_sleep {
        /* FREE, HELD, or HELD and somebody may sleep. */
        uint32_t state;
};

static int try_lock(void *at)
{
        struct spin_then_sleep *lock = at;
        uint32_t seen = FREE;

        return lw_sim_compare_exchange(&lock->state, &seen, HELD, memory_order_acquire);
}

/* Waits until the deadline. A thread that has slept may not be the only one, so it takes the lock as AWAITED. */
static int wait_until(struct spin_then_sleep *lock, uint64_t deadline)
{
        for (uint32_t rounds = 1; !lw_sim_need_resched(rounds); rounds++) {
                if (lw_sim_load(&lock->state, memory_order_relaxed) == FREE && try_lock(lock))
                        return 1;
                lw_sim_relax();
        }
#ifdef FORGETS_WAITERS
        while (!try_lock(lock)) {
                uint32_t seen = HELD;

                lw_sim_compare_exchange(&lock->state, &seen, AWAITED, memory_order_relaxed);
#else
        while (lw_sim_exchange(&lock->state, AWAITED, memory_order_acquire) != FREE) {
#endif
                if (lw_sim_wait(&lock->state, AWAITED, deadline) == LW_SIM_TOO_LATE)
                        return 0;
        }
        return 1;
}

static void lock(void *at)
{
        if (!try_lock(at))
                wait_until(at, LW_SIM_NEVER);
}

static int lock_until(void *at, uint64_t deadline)
{
        return try_lock(at) || wait_until(at, deadline);
}

static void unlock(void *at)
{
        struct spin_then_sleep *lock = at;

        if (lw_sim_exchange(&lock->state, FREE, memory_order_release) == AWAITED)
                lw_sim_wake(&lock->state, 1);
}

static const struct lw_sim_lock locks[] = {
        {
                .name = "spin_then_sleep",
                .about = "a futex mutex that spins first",
                .size = sizeof(struct spin_then_sleep),
                .align = _Alignof(struct spin_then_sleep),
                .lock = lock,
                .unlock = unlock,
                .try_lock = try_lock,
                .lock_until = lock_until,
        },
};

LW_SIM_LIBRARY(locks);
