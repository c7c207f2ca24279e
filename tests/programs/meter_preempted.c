// A thread that holds a mutex, and hardly ever gets its processor, which another thread keeps busy. Prints how long it had none.
#define _GNU_SOURCE
#include "meter.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int holds, is_over;
static uint64_t stood;

static void pin(void)
{
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof one, &one);
}

static void *keeps_busy(void *unused)
{
	while (!is_over)
		;
	return unused;
}

SITE static void keeps(void)
{
	pthread_mutex_lock(&mutex);
	uint64_t begun = now(), cpu = cpu_time();
	holds = 1;
	spin_from(begun, 100000000);
	stood += (now() - begun) - (cpu_time() - cpu);
	pthread_mutex_unlock(&mutex);
	NO_TAIL_CALL;
}

static void *holder(void *unused)
{
	// The other one inherits the processor, and not what this one may have of it.
	pin();
	pthread_t other;
	pthread_create(&other, NULL, keeps_busy, NULL);
	struct sched_param none = {0};
	sched_setscheduler(0, SCHED_IDLE, &none);
	keeps();
	is_over = 1;
	pthread_join(other, NULL);
	return unused;
}

SITE static void waits(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	NO_TAIL_CALL;
}

int main(void)
{
	for (int i = 0; i < 4; i++) {
		pthread_t thread;
		holds = is_over = 0;
		pthread_create(&thread, NULL, holder, NULL);
		while (!holds)
			usleep(100);
		waits();
		pthread_join(thread, NULL);
	}
	truth("stood", stood);
	return 0;
}
