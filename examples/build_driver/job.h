/* What is done for a node of the graph, in steps of some microseconds, between which other threads may go on with it. */
#ifndef JOB_H
#define JOB_H

#include "graph.h"

struct job_options {
	uint64_t seed;
	/* Different headers that units include. */
	unsigned headers;
	/* Steps that read a unit's text, and bytes that each of them reads. */
	unsigned steps, bytes;
	/* Scopes that begin in each of these steps; each has a lock of its own. */
	unsigned scopes;
	/* Jobs that may sort or link at once. */
	unsigned tokens;
};

void jobs_init(const struct job_options *options);
void jobs_destroy(void);

/* Does the next step. Returns whether it was the last: then `output` is there. */
int job_step(struct node *node);

#endif
