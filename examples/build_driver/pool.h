/* Threads that take jobs from a queue. */
#ifndef POOL_H
#define POOL_H

#include "graph.h"
#include "pool_lock.h"

struct pool_options {
	unsigned threads;
	/* Steps of a job before it goes back to the queue, where one that matters more may be. */
	unsigned slice;
	const struct pool_lock *lock;
};

/* Does all of the graph's jobs. Returns how many locks the threads have taken. */
uint64_t pool_run(struct graph *graph, const struct pool_options *options);

#endif
