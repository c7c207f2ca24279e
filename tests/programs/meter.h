/* For programs that measure themselves, so that a test can hold lockmeter to it: what they measured goes to stdout
 * as lines NAME=NUMBER, times in nanoseconds. */
#ifndef METER_H
#define METER_H
#include "asleep.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>

/* A call site that the report names by the function. */
#define SITE __attribute__((noinline, noclone, unused))

/* Keeps a call from being the last thing that a function does: a jump has no call site of its own. */
#define NO_TAIL_CALL __asm__ volatile("" ::: "memory")

static inline uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* What the calling thread has had of a processor. */
static inline uint64_t cpu_time(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Works for so long; returns when it stopped. */
static inline uint64_t spin_from(uint64_t begun, uint64_t ns)
{
	uint64_t t;
	do
		t = now();
	while (t - begun < ns);
	return t;
}

static inline void truth(const char *name, uint64_t number)
{
	printf("%s=%llu\n", name, (unsigned long long)number);
	fflush(stdout);
}

/* The part of one stretch of time that lies in another. */
static inline uint64_t overlap(uint64_t a0, uint64_t a1, uint64_t b0, uint64_t b1)
{
	uint64_t from = a0 > b0 ? a0 : b0, to = a1 < b1 ? a1 : b1;
	return to > from ? to - from : 0;
}
#endif
