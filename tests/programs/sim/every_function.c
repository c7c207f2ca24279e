/* Every function of lockwright/sim.h, looked at; a queued reader-writer lock whose nodes are kept per CPU. */

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <lockwright/sim.h>

/* As in locks/lockwright/src/lock_library/abi.rs. */
_Static_assert(sizeof(struct lw_sim_platform) == 8 + 15 * 8, "the platform's table");
_Static_assert(sizeof(struct lw_sim_lock) == 13 * 8, "a lock's table");

#define LOOK(what)                \
        do {                      \
                if (!(what))      \
                        abort();  \
        } while (0)

struct node {
        struct node *next;
        uint8_t waits;
        uint64_t mark;
};

struct lock {
        struct node *tail;
        uint16_t readers;
        int32_t wakes;
        uint64_t counts[3];
};

static const uint64_t MARK = 0x1234567890abcdef;

static void make_node(void *at)
{
        struct node *node = at;

        LOOK(node->mark == 0 && node->next == NULL);
        node->mark = MARK;
}

static struct node *own(void)
{
        struct node *node = lw_sim_per_cpu(lw_sim_cpu(), sizeof *node, make_node);

        LOOK(node->mark == MARK && lw_sim_cpu() < lw_sim_cpus());
        return node;
}

/* Each width, each way. The words are on the thread's stack. */
static void look_at_operations(void)
{
        uint8_t byte = 0xf0;
        uint16_t half = 0xffff, old = 3;
        int32_t word = -5;
        uint64_t two = MARK;
        int target[2], *pointer = &target[0];

        LOOK(lw_sim_and(&byte, 0x3c, memory_order_seq_cst) == 0xf0 && byte == 0x30);
        LOOK(lw_sim_xor(&byte, 0x11, memory_order_relaxed) == 0x30 && byte == 0x21);
        LOOK(lw_sim_add(&half, 2, memory_order_acq_rel) == 0xffff && half == 1);
        LOOK(!lw_sim_compare_exchange(&half, &old, 7, memory_order_acquire) && old == 1);
        LOOK(lw_sim_compare_exchange(&half, &old, 7, memory_order_acquire) && half == 7);
        LOOK(lw_sim_sub(&word, 2, memory_order_release) == -5 && lw_sim_load(&word, memory_order_acquire) == -7);
        LOOK(lw_sim_or(&two, 0x10, memory_order_relaxed) == MARK && two == (MARK | 0x10));
        LOOK(lw_sim_exchange(&pointer, &target[1], memory_order_acq_rel) == &target[0] && pointer == &target[1]);
        lw_sim_store(&pointer, NULL, memory_order_seq_cst);
        LOOK(lw_sim_load(&pointer, memory_order_relaxed) == NULL);
        lw_sim_fence(memory_order_seq_cst);
}

static void init(void *at)
{
        struct lock *lock = at, zeros;

        memset(&zeros, 0, sizeof zeros);
        LOOK(memcmp(lock, &zeros, sizeof zeros) == 0 && lw_sim_cpu() == UINT32_MAX);
        lock->counts[0] = MARK;
}

static void lock(void *at)
{
        struct lock *lock = at;
        struct node *node = own(), *before;
        uint64_t begin = lw_sim_now();

        LOOK(lock->counts[0] == MARK);
        look_at_operations();
        lw_sim_store(&node->next, NULL, memory_order_relaxed);
        lw_sim_store(&node->waits, 1, memory_order_relaxed);
        before = lw_sim_exchange(&lock->tail, node, memory_order_acq_rel);
        if (before) {
                lw_sim_store(&before->next, node, memory_order_release);
                lw_sim_await(!lw_sim_load(&node->waits, memory_order_acquire));
        }
        /* Readers sleep on nothing, and are soon gone. */
        for (int rounds = 0; lw_sim_load(&lock->readers, memory_order_acquire); rounds++) {
                if (lw_sim_need_resched(rounds))
                        lw_sim_yield();
                else
                        lw_sim_relax();
        }
        LOOK(lw_sim_now() >= begin && lw_sim_is_running(lw_sim_cpu()));
}

static void unlock(void *at)
{
        struct lock *lock = at;
        struct node *node = own(), *self = node;

        if (!lw_sim_load(&node->next, memory_order_acquire)) {
                if (lw_sim_compare_exchange(&lock->tail, &self, NULL, memory_order_release))
                        return;
                lw_sim_await(lw_sim_load(&node->next, memory_order_acquire));
        }
        lw_sim_store(&node->next->waits, 0, memory_order_release);
}

/* The thread at the queue's head lets readers in. */
static void read_lock(void *at)
{
        struct lock *all = at;

        lock(all);
        lw_sim_add(&all->readers, 1, memory_order_relaxed);
        unlock(all);
}

static void read_unlock(void *at)
{
        struct lock *lock = at;

        LOOK(lw_sim_sub(&lock->readers, 1, memory_order_release) > 0);
}

/* A wait that nobody ends: its deadline does. */
static int lock_until(void *at, uint64_t deadline)
{
        struct lock *lock = at;
        uint32_t word = 1;

        (void)lock;
        LOOK(lw_sim_wait(&word, 2, LW_SIM_NEVER) == LW_SIM_CHANGED);
        while (lw_sim_wait_bits(&word, 1, 4, deadline) != LW_SIM_TOO_LATE)
                ;
        lw_sim_wake(&word, 1);
        LOOK(lw_sim_now() >= deadline);
        return 0;
}

static const struct lw_sim_lock locks[] = {
        {
                .name = "every_function",
                .size = sizeof(struct lock),
                .align = _Alignof(struct lock),
                .init = init,
                .lock = lock,
                .unlock = unlock,
                .lock_until = lock_until,
                .read_lock = read_lock,
                .read_unlock = read_unlock,
        },
};

LW_SIM_LIBRARY(locks);
