/* A worker that waits until it has to stop.
 *
 *   lost_wakeup_flag bare   what tells it is changed without the worker's mutex
 *   lost_wakeup_flag fixed  with it
 *   lost_wakeup_flag jumps  with it, by a function that jumps to the broadcast as the last thing it does
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "baton.h"

static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static atomic_int stopping;
static baton here;
static int fixed;

static void *work(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "worker");
	pthread_mutex_lock(&queue);
	baton_pass(&here);
	while (!stopping)
		pthread_cond_wait(&changed, &queue);
	pthread_mutex_unlock(&queue);
	return NULL;
}

/* It waits once it has given its mutex up: so it does not miss what follows, and the program ends. */
__attribute__((noipa)) static void see_it_wait(void)
{
	baton_take(&here);
	while (pthread_mutex_trylock(&queue))
		sched_yield();
	pthread_mutex_unlock(&queue);
}

static void stop(void)
{
	if (fixed)
		pthread_mutex_lock(&queue);
	stopping = 1;
	if (fixed)
		pthread_mutex_unlock(&queue);
	pthread_cond_broadcast(&changed);
}

__attribute__((noipa, optimize("O2"))) static int stop_and_jump(void)
{
	pthread_mutex_lock(&queue);
	stopping = 1;
	pthread_mutex_unlock(&queue);
	return pthread_cond_broadcast(&changed);
}

int main(int argc, char **argv)
{
	pthread_t worker;

	fixed = argc > 1 && !strcmp(argv[1], "fixed");
	pthread_create(&worker, NULL, work, NULL);
	see_it_wait();
	if (argc > 1 && !strcmp(argv[1], "jumps"))
		stop_and_jump();
	else
		stop();
	pthread_join(worker, NULL);
	puts("the end");
	return 0;
}
