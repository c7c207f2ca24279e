/* Libraries that are none, or not quite: -DWRONG=... says in which way. */

#include <lockwright/sim.h>

enum { NO_ENTRY = 1, VERSION, NEWER, NO_LOCKS, NO_NAME, TAKEN, TWICE, LARGE, UNALIGNED, HALF, HALF_READER, WORD, WAIT, KEEPS };

static void lock(void *at)
{
        if (WRONG == WORD)
                lw_sim_host->load(at, 3, 0, NULL);
        if (WRONG == WAIT)
                lw_sim_host->load((char *)at + 1, 4, 0, NULL);
        if (WRONG == KEEPS)
                lw_sim_per_cpu(0, 4097, NULL);
}

static void unlock(void *at)
{
        (void)at;
}

static const struct lw_sim_lock locks[] = {
        {
                .name = WRONG == NO_NAME ? "a,b" : WRONG == TAKEN ? "qspinlock" : "mine",
                .size = WRONG == LARGE ? 1 << 21 : 4,
                .align = WRONG == UNALIGNED ? 48 : 4,
                .lock = lock,
                .unlock = WRONG == HALF ? NULL : unlock,
                .read_lock = WRONG == HALF_READER ? lock : NULL,
        },
        { .name = WRONG == TWICE ? "mine" : "other", .size = 4, .align = 4, .lock = lock, .unlock = unlock },
};

const struct lw_sim_platform *lw_sim_host;

#if WRONG == 1
const void *nothing_of_this_name = locks;
#else
const struct lw_sim_library *lockwright_sim_library(const struct lw_sim_platform *host);

const struct lw_sim_library *lockwright_sim_library(const struct lw_sim_platform *host)
{
        static const struct lw_sim_library library = {
                WRONG == VERSION ? 7 : LW_SIM_VERSION,
                sizeof(struct lw_sim_platform) + (WRONG == NEWER ? 8 : 0),
                sizeof(struct lw_sim_lock),
                WRONG == NO_LOCKS ? 0 : 2,
                locks,
        };

        lw_sim_host = host;
        return &library;
}
#endif
