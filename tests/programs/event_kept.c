/* Waits for an event with a lock kept, which the thread that causes the event may need.
 *
 *   event_kept signal         the signaller takes the kept lock on its way, and gives it back before
 *   event_kept signal-some    as signal, but another thread signals without it
 *   event_kept signal-after   the signaller takes it only afterwards: nothing to show
 *   event_kept signal-fixed   the wait keeps nothing
 *   event_kept post           as signal, of a semaphore
 *   event_kept post-after     as signal-after, of a semaphore
 *   event_kept post-fixed     as signal-fixed, of a semaphore
 *   event_kept signal-hang    as signal, and the two do meet
 *
 * All except the last come to their end: the wait begins when the signaller has gone through the
 * kept lock. What sees to that is out of the tool's sight.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include "asleep.h"
#include "baton.h"

static pthread_mutex_t kept = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static sem_t event;
static baton gone_through, waits, second;
static int up;
static atomic_int waiter;
static const char *how;

static int is(const char *what)
{
	return strstr(how, what) != NULL;
}

static void go_through_kept(void)
{
	pthread_mutex_lock(&kept);
	pthread_mutex_unlock(&kept);
}

static void bring_about(int n)
{
	if (is("post")) {
		/* A post that is there already is no event that anybody waits for. */
		await_blocked(&waiter);
		sem_post(&event);
		return;
	}
	pthread_mutex_lock(&inner); /* given up by the wait */
	up = n;
	pthread_cond_signal(&ready);
	pthread_mutex_unlock(&inner);
}

static void *signals(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "signaller");
	if (is("hang"))
		baton_take(&waits);
	if (!is("after"))
		go_through_kept();
	baton_pass(&gone_through);
	baton_take(&waits);
	bring_about(1);
	if (is("after"))
		go_through_kept();
	return NULL;
}

static void *signals_freely(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "other");
	baton_take(&second);
	bring_about(2);
	return NULL;
}

static void wait_for_event(void)
{
	int wanted = is("some") ? 2 : 1;

	if (is("post")) {
		/* The first is taken at once: the second is posted after a wait. */
		for (int round = 0; round < 2; round++) {
			if (round == 0)
				sem_post(&event);
			else
				baton_pass(&waits);
			waiter = round ? thread_id() : 0;
			sem_wait(&event);
		}
		return;
	}
	pthread_mutex_lock(&inner);
	baton_pass(&waits);
	while (up < wanted) {
		pthread_cond_wait(&ready, &inner);
		if (up < wanted)
			baton_pass(&second);
	}
	pthread_mutex_unlock(&inner);
}

static void *keeps(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "keeper");
	if (!is("hang"))
		baton_take(&gone_through);
	pthread_mutex_lock(&kept);
	if (is("fixed"))
		pthread_mutex_unlock(&kept);
	wait_for_event();
	if (!is("fixed"))
		pthread_mutex_unlock(&kept);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t keeper, signaller, other;

	how = argc > 1 ? argv[1] : "signal";
	sem_init(&event, 0, 0);
	pthread_create(&keeper, NULL, keeps, NULL);
	pthread_create(&signaller, NULL, signals, NULL);
	if (is("some")) {
		pthread_create(&other, NULL, signals_freely, NULL);
		pthread_join(other, NULL);
	}
	pthread_join(signaller, NULL);
	pthread_join(keeper, NULL);
	puts("the end");
	return 0;
}
