/* The big kernel lock, and what is taken out of it. */
#include "bkl_fs.h"

struct patches patches;
lw_bkl_t kernel_flag = LW_BKL_INIT;

CALL_SITE void schedule(void (*sleep)(void *), void *argument)
{
	lw_bkl_schedule(&kernel_flag, sleep, argument);
	/* The call above is no tail call: so the lock is taken again in this function. */
	atomic_signal_fence(memory_order_seq_cst);
}
