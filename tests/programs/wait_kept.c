/* Condition waits that keep a second lock.
 *
 *   wait_kept timed        a timed wait; an earlier signaller took the kept lock on its way
 *   wait_kept needed       the signaller has taken the kept lock before, alone
 *   wait_kept independent  the signaller never takes it: nothing to show
 *   wait_kept through      the signaller takes another lock first, with which a third takes the kept one
 *   wait_kept otherwise    the same, but the third takes the two the other way round
 *   wait_kept stuck        as through, for a second signal, and all at once: it hangs
 *   wait_kept unsignalled  nobody signals: the wait is cancelled
 */
#define _GNU_SOURCE
#include "baton.h"
#include <pthread.h>
#include <signal.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static sem_t looked, waits;
static int up, looks;
static baton chained, begun, kept, taken;
static const char *how;

static int is(const char *what)
{
	return !strcmp(how, what);
}

static void unlock(void *mutex)
{
	pthread_mutex_unlock(mutex);
}

static void *signals(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "signaller");
	if (looks) {
		pthread_mutex_lock(&outer);
		pthread_mutex_unlock(&outer);
	}
	sem_post(&looked);
	sem_wait(&waits);
	pthread_mutex_lock(&inner); /* given up by the wait */
	up = 1;
	pthread_cond_signal(&ready);
	pthread_mutex_unlock(&inner);
	return NULL;
}

static void *keeps(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "keeper");
	pthread_mutex_lock(&outer);
	pthread_cleanup_push(unlock, &outer);
	pthread_mutex_lock(&inner);
	pthread_cleanup_push(unlock, &inner);
	sem_post(&waits);
	while (!up)
		pthread_cond_wait(&ready, &inner);
	pthread_cleanup_pop(1);
	pthread_cleanup_pop(1);
	return NULL;
}

/* By turns that no tool sees: the third comes first, or when the other two are about to wait. */
static void *chains(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "third");
	pthread_mutex_lock(is("otherwise") ? &outer : &other);
	if (is("stuck")) {
		baton_take(&begun);
		baton_pass(&taken);
	}
	pthread_mutex_lock(is("otherwise") ? &other : &outer);
	pthread_mutex_unlock(&other);
	pthread_mutex_unlock(&outer);
	baton_pass(&chained);
	return NULL;
}

static void *keeps_while_chained(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "keeper");
	if (!is("stuck"))
		baton_take(&chained);
	pthread_mutex_lock(&outer);
	baton_pass(&begun);
	pthread_mutex_lock(&inner);
	baton_pass(&kept);
	while (!up)
		pthread_cond_wait(&ready, &inner);
	if (is("stuck")) {
		baton_pass(&kept);
		while (up < 2)
			pthread_cond_wait(&ready, &inner);
	}
	pthread_mutex_unlock(&inner);
	pthread_mutex_unlock(&outer);
	return NULL;
}

static void signal_ready(void)
{
	pthread_mutex_lock(&inner);
	up++;
	pthread_cond_signal(&ready);
	pthread_mutex_unlock(&inner);
}

static void *signals_after_other(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "signaller");
	baton_take(&kept);
	if (is("stuck")) {
		/* Now it is known as a signaller. */
		signal_ready();
		baton_take(&kept);
		baton_take(&taken);
	}
	pthread_mutex_lock(&other);
	pthread_mutex_unlock(&other);
	signal_ready();
	return NULL;
}

static void three(void)
{
	pthread_t threads[3];

	pthread_create(&threads[0], NULL, keeps_while_chained, NULL);
	pthread_create(&threads[1], NULL, signals_after_other, NULL);
	pthread_create(&threads[2], NULL, chains, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

static void *nested(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&outer);
	pthread_mutex_lock(&inner);
	up = 1;
	pthread_cond_signal(&ready);
	pthread_mutex_unlock(&inner);
	pthread_mutex_unlock(&outer);
	return NULL;
}

static void timed(void)
{
	struct timespec now;
	pthread_t thread;

	pthread_create(&thread, NULL, nested, NULL);
	pthread_join(thread, NULL);
	pthread_mutex_lock(&outer);
	pthread_mutex_lock(&inner);
	clock_gettime(CLOCK_REALTIME, &now);
	pthread_cond_timedwait(&ready, &inner, &now);
	pthread_mutex_unlock(&inner);
	pthread_mutex_unlock(&outer);
}

static void handler(int number)
{
	(void)number;
}

int main(int argc, char **argv)
{
	pthread_t keeper, signaller;

	how = argc > 1 ? argv[1] : "timed";
	sem_init(&looked, 0, 0);
	sem_init(&waits, 0, 0);
	looks = !strcmp(how, "needed");
	if (!strcmp(how, "timed")) {
		timed();
	} else if (is("through") || is("otherwise") || is("stuck")) {
		if (is("stuck")) {
			/* A handler might end it: so the tool waits on. */
			signal(SIGUSR2, handler);
			printf("%d\n", getpid());
			fflush(stdout);
		}
		three();
	} else if (!strcmp(how, "unsignalled")) {
		pthread_create(&keeper, NULL, keeps, NULL);
		sem_wait(&waits);
		pthread_cancel(keeper);
		pthread_join(keeper, NULL);
	} else {
		pthread_create(&signaller, NULL, signals, NULL);
		sem_wait(&looked);
		pthread_create(&keeper, NULL, keeps, NULL);
		pthread_join(signaller, NULL);
		pthread_join(keeper, NULL);
	}
	puts("the end");
	return 0;
}
