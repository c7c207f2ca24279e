/* Unlocks that do not belong to a lock.
 *
 *   bad_unlock other      one thread locks, another unlocks
 *   bad_unlock never      nobody has locked
 *   bad_unlock twice      the second unlock of two
 *   bad_unlock reader     a rwlock that nobody has locked
 *   bad_unlock writer     a rwlock that another thread has locked for writing
 *   bad_unlock recursive  a recursive mutex, unlocked as often as it was locked: clean
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t turnstile = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t garden = PTHREAD_RWLOCK_INITIALIZER;
static sem_t entered, left;
static int outside;

static void *guest(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "guest");
	if (outside)
		pthread_rwlock_wrlock(&garden);
	else
		pthread_mutex_lock(&door);
	sem_post(&entered);
	sem_wait(&left);
	return NULL;
}

static void *porter(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "porter");
	if (outside)
		pthread_rwlock_unlock(&garden);
	else
		pthread_mutex_unlock(&door);
	sem_post(&left);
	return NULL;
}

static void other(void)
{
	pthread_t threads[2];

	pthread_create(&threads[0], NULL, guest, NULL);
	sem_wait(&entered);
	pthread_create(&threads[1], NULL, porter, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void leave(void)
{
	pthread_mutex_unlock(&door);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "other";

	sem_init(&entered, 0, 0);
	sem_init(&left, 0, 0);
	outside = !strcmp(how, "writer");
	if (outside || !strcmp(how, "other")) {
		other();
	} else if (!strcmp(how, "reader")) {
		pthread_rwlock_unlock(&garden);
	} else if (!strcmp(how, "never")) {
		leave();
	} else if (!strcmp(how, "twice")) {
		pthread_mutex_lock(&door);
		leave();
		leave();
	} else {
		for (int i = 0; i < 3; i++)
			pthread_mutex_lock(&turnstile);
		for (int i = 0; i < 3; i++)
			pthread_mutex_unlock(&turnstile);
	}
	puts("the end");
	return 0;
}
