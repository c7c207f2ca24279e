/* How many locks a thread has taken: `pairs` counts acquisitions, each of which is released again. */
#ifndef COUNT_H
#define COUNT_H

#include <pthread.h>
#include <stdint.h>

/* The calling thread's own; the pool adds them up. */
extern _Thread_local uint64_t pairs;

static inline void mutex_lock(pthread_mutex_t *mutex)
{
	pairs++;
	pthread_mutex_lock(mutex);
}

static inline void mutex_unlock(pthread_mutex_t *mutex)
{
	pthread_mutex_unlock(mutex);
}

#endif
