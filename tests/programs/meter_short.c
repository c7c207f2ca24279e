// A thread that takes a mutex for an instant, again and again, on a processor that it shares with a busy thread. Prints how long it
// had the processor.
#define _GNU_SOURCE
#include "meter.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int is_over;

static void *keeps_busy(void *unused)
{
	while (!is_over)
		;
	return unused;
}

SITE static void takes(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	NO_TAIL_CALL;
}

int main(void)
{
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof one, &one);
	pthread_t other;
	pthread_create(&other, NULL, keeps_busy, NULL);
	uint64_t cpu = cpu_time();
	for (int i = 0; i < 5000000; i++)
		takes();
	truth("ran", cpu_time() - cpu);
	is_over = 1;
	pthread_join(other, NULL);
	return 0;
}
