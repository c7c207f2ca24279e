/* Condition waits that keep a second lock.
 *
 *   wait_kept timed        a timed wait; who signalled before took the kept lock on its way
 *   wait_kept needed       who signals has taken the kept lock before, alone
 *   wait_kept independent  who signals never takes it: nothing to show
 *   wait_kept unsignalled  nobody signals: the wait is cancelled
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static sem_t looked, waits;
static int up, looks;

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

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "timed";
	pthread_t keeper, signaller;

	sem_init(&looked, 0, 0);
	sem_init(&waits, 0, 0);
	looks = !strcmp(how, "needed");
	if (!strcmp(how, "timed")) {
		timed();
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
