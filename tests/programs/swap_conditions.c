/* Condition variables under stress: threads that wait for tokens time out and are cancelled, and no signal may be lost
 * by that; and objects are destroyed, and their memory written over, as soon as a broadcast has returned. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WAITERS = 6, TOKENS = 6000, LIVES = 500, AFTERWARDS = 0xee };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_cond_t all_eaten = PTHREAD_COND_INITIALIZER;
static long tokens, eaten;
static int stop;

static void fail(const char *what)
{
	puts(what);
	exit(1);
}

static void unlock(void *argument)
{
	pthread_mutex_unlock(argument);
}

static void wait_a_little(unsigned *random)
{
	struct timespec time;
	clock_gettime(CLOCK_REALTIME, &time);
	time.tv_nsec += rand_r(random) % 200000;
	if (time.tv_nsec >= 1000000000) {
		time.tv_sec++;
		time.tv_nsec -= 1000000000;
	}
	int error = pthread_cond_timedwait(&cond, &mutex, &time);
	if (error != 0 && error != ETIMEDOUT)
		fail("a wait failed");
}

static void *eat(void *argument)
{
	unsigned random = (unsigned)(size_t)argument;
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(unlock, &mutex);
	while (!stop) {
		while (tokens == 0 && !stop) {
			if (rand_r(&random) % 3)
				wait_a_little(&random);
			else
				pthread_cond_wait(&cond, &mutex);
		}
		if (tokens > 0) {
			tokens--;
			if (++eaten == TOKENS)
				pthread_cond_signal(&all_eaten);
		}
	}
	pthread_cleanup_pop(1);
	return NULL;
}

static void signals_are_not_lost(void)
{
	pthread_t waiters[WAITERS];
	unsigned random = 7;
	for (size_t i = 0; i < WAITERS; i++)
		pthread_create(&waiters[i], NULL, eat, (void *)(i + 1));
	for (size_t token = 0; token < TOKENS; token++) {
		if (rand_r(&random) % 8 == 0) {
			pthread_t *waiter = &waiters[rand_r(&random) % WAITERS];
			void *value;
			pthread_cancel(*waiter);
			pthread_join(*waiter, &value);
			if (value != PTHREAD_CANCELED)
				fail("not cancelled");
			pthread_create(waiter, NULL, eat, (void *)(token + 10));
		}
		pthread_mutex_lock(&mutex);
		tokens++;
		pthread_mutex_unlock(&mutex);
		pthread_cond_signal(&cond);
	}
	pthread_mutex_lock(&mutex);
	while (eaten < TOKENS)
		pthread_cond_wait(&all_eaten, &mutex);
	stop = 1;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < WAITERS; i++)
		pthread_join(waiters[i], NULL);
	printf("eaten %ld\n", eaten);
}

struct meeting {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	int here, go;
};

static void *meet(void *argument)
{
	struct meeting *meeting = argument;
	pthread_mutex_lock(&meeting->mutex);
	meeting->here++;
	while (!meeting->go)
		pthread_cond_wait(&meeting->cond, &meeting->mutex);
	pthread_mutex_unlock(&meeting->mutex);
	return NULL;
}

static void objects_end_with_their_broadcast(void)
{
	for (int life = 0; life < LIVES; life++) {
		struct meeting meeting = {.mutex = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};
		pthread_t threads[3];
		for (int i = 0; i < 3; i++)
			pthread_create(&threads[i], NULL, meet, &meeting);
		for (;;) {
			pthread_mutex_lock(&meeting.mutex);
			if (meeting.here == 3)
				break;
			pthread_mutex_unlock(&meeting.mutex);
			sched_yield();
		}
		meeting.go = 1;
		pthread_cond_broadcast(&meeting.cond);
		pthread_cond_destroy(&meeting.cond);
		memset(&meeting.cond, AFTERWARDS, sizeof meeting.cond);
		pthread_mutex_unlock(&meeting.mutex);
		for (int i = 0; i < 3; i++)
			pthread_join(threads[i], NULL);
		for (size_t i = 0; i < sizeof meeting.cond; i++) {
			if (((unsigned char *)&meeting.cond)[i] != AFTERWARDS)
				fail("touched after its end");
		}
	}
	puts("nothing touched");
}

int main(void)
{
	signals_are_not_lost();
	objects_end_with_their_broadcast();
	return 0;
}
