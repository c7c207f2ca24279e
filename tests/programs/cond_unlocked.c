/* Condition waits with a mutex that the thread does not hold.
 *
 *   cond_unlocked nobody   that nobody holds
 *   cond_unlocked other    that another thread holds
 *   cond_unlocked checked  an error-checking one: the call fails
 *   cond_unlocked order    the wait leaves the mutex held, and another is taken inside: an order like any
 *   cond_unlocked refused  the deadline is none, so that the call fails and gives nothing up: clean
 *   cond_unlocked clean    as it should be
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../conformance/older_glibc.h"

static pthread_mutex_t desk = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t drawer = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t gate = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_cond_t called = PTHREAD_COND_INITIALIZER;
static sem_t taken, waited;

static void *holder(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "holder");
	pthread_mutex_lock(&desk);
	sem_post(&taken);
	sem_wait(&waited);
	return NULL; /* the wait has unlocked it */
}

static int wait_for_a_moment(pthread_mutex_t *mutex)
{
	struct timespec soon;

	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_nsec += 10000000;
	if (soon.tv_nsec >= 1000000000) {
		soon.tv_sec++;
		soon.tv_nsec -= 1000000000;
	}
	return pthread_cond_timedwait(&called, mutex, &soon);
}

static void *opposite(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "opposite");
	pthread_mutex_lock(&drawer);
	pthread_mutex_lock(&desk);
	pthread_mutex_unlock(&desk);
	pthread_mutex_unlock(&drawer);
	return NULL;
}

static void with_order(void)
{
	pthread_t thread;

	sem_post(&taken);
	wait_for_a_moment(&desk);
	pthread_mutex_lock(&drawer);
	pthread_mutex_unlock(&drawer);
	pthread_mutex_unlock(&desk);
	pthread_create(&thread, NULL, opposite, NULL);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "nobody";
	const struct timespec never = {.tv_sec = 1, .tv_nsec = -1};
	pthread_t thread;
	int result = 0;

	sem_init(&taken, 0, 0);
	sem_init(&waited, 0, 0);
	if (!strcmp(how, "nobody")) {
		result = wait_for_a_moment(&desk);
		pthread_mutex_unlock(&desk);
	} else if (!strcmp(how, "other")) {
		pthread_create(&thread, NULL, holder, NULL);
		sem_wait(&taken);
		result = wait_for_a_moment(&desk);
		sem_post(&waited);
		pthread_join(thread, NULL);
		pthread_mutex_unlock(&desk);
	} else if (!strcmp(how, "checked")) {
		result = wait_for_a_moment(&gate);
	} else if (!strcmp(how, "order")) {
		with_order();
		result = ETIMEDOUT;
	} else if (!strcmp(how, "refused")) {
		result = pthread_cond_timedwait(&called, &desk, &never);
	} else {
		pthread_mutex_lock(&desk);
		result = wait_for_a_moment(&desk);
		pthread_mutex_unlock(&desk);
	}
	puts(strerrorname_np(result));
	return 0;
}
