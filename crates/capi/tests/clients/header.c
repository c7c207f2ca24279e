/* The header as a user includes it, in C and in C++. */
#include <lockwright.h>

lw_mutex_t in_zeroed_memory;
lw_mutex_t initialised = LW_MUTEX_INIT;

int taken_twice(void)
{
	lw_set_name(&initialised, "initialised");
	return lw_mutex_lock(&initialised) + lw_mutex_trylock(&initialised);
}
