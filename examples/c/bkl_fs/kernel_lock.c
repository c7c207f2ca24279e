/* The big kernel lock, and what is taken out of it. */
#include "bkl_fs.h"

#include <time.h>

struct patches patches;
lw_bkl_t kernel_flag = LW_BKL_INIT;

static void sleep_for(void *argument)
{
	nanosleep(argument, NULL);
}

CALL_SITE void schedule(long nanoseconds)
{
	struct timespec time = {.tv_nsec = nanoseconds};

	lw_bkl_schedule(&kernel_flag, sleep_for, &time);
	/* The call above is no tail call: so the lock is taken again in this function. */
	atomic_signal_fence(memory_order_seq_cst);
}
