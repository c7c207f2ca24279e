/* A waits for a lock that B holds, B waits for one that C holds, and C works (or sleeps, with the argument "sleep"). */
#include <string.h>
#include "meter.h"

static pthread_mutex_t near = PTHREAD_MUTEX_INITIALIZER, far = PTHREAD_MUTEX_INITIALIZER;
static atomic_int a_id, b_id, b_goes, a_goes;
static uint64_t a_asked, a_had, b_asked, b_had, b_held, c_left, slept;
static int sleeping;

SITE static void c_holds_far(void)
{
	pthread_mutex_lock(&far);
	atomic_store(&b_goes, 1);
	await_blocked(&b_id);
	atomic_store(&a_goes, 1);
	await_blocked(&a_id);
	uint64_t begun = now();
	if (sleeping) {
		usleep(40000);
		slept = now() - begun;
	} else {
		spin_from(begun, 40000000);
	}
	c_left = now();
	pthread_mutex_unlock(&far);
	NO_TAIL_CALL;
}

SITE static void b_wants_far(void)
{
	b_asked = now();
	atomic_store(&b_id, thread_id());
	pthread_mutex_lock(&far);
	b_had = now();
	pthread_mutex_unlock(&far);
	NO_TAIL_CALL;
}

SITE static void b_holds_near(void)
{
	pthread_mutex_lock(&near);
	uint64_t begun = now();
	b_wants_far();
	b_held = now() - begun;
	pthread_mutex_unlock(&near);
	NO_TAIL_CALL;
}

SITE static void a_wants_near(void)
{
	a_asked = now();
	atomic_store(&a_id, thread_id());
	pthread_mutex_lock(&near);
	a_had = now();
	pthread_mutex_unlock(&near);
	NO_TAIL_CALL;
}

static void *a(void *arg)
{
	while (!atomic_load(&a_goes))
		sched_yield();
	a_wants_near();
	return arg;
}

static void *b(void *arg)
{
	while (!atomic_load(&b_goes))
		sched_yield();
	b_holds_near();
	return arg;
}

static void *c(void *arg)
{
	c_holds_far();
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[3];
	sleeping = argc > 1 && !strcmp(argv[1], "sleep");
	pthread_create(&threads[0], NULL, a, NULL);
	pthread_create(&threads[1], NULL, b, NULL);
	pthread_create(&threads[2], NULL, c, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	truth("a_wait", a_had - a_asked);
	truth("b_wait", b_had - b_asked);
	truth("b_held", b_held);
	truth("c_part_of_b", c_left - b_asked);
	truth("slept", slept);
	return 0;
}
