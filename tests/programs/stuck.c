/* Two threads that wait for each other for good, and what looks like a way out and is none.
 *
 *   stuck handler   SIGTERM has a handler
 *   stuck timer     an alarm goes off, whose handler does nothing
 *   stuck join      one of the waits could be cancelled, and nobody does it
 *   stuck runner    another thread sleeps and runs for a while before it waits, too
 *   stuck pool      another thread waits for work that nobody gives it
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t both;

static void nothing(int number)
{
	(void)number;
}

static void *second(void *unused)
{
	pthread_mutex_lock(&right);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&left);
	return unused;
}

static void *runner(void *unused)
{
	for (int i = 0; i < 8; i++)
		usleep(500000);
	pthread_mutex_lock(&left);
	return unused;
}

static void *worker(void *unused)
{
	pthread_mutex_lock(&queue);
	for (;;)
		pthread_cond_wait(&work, &queue);
	return unused;
}

static void *waits_for_left(void *unused)
{
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&left);
	return unused;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	pthread_t other, more;

	pthread_barrier_init(&both, NULL, 2);
	if (!strcmp(how, "handler"))
		signal(SIGTERM, nothing);
	if (!strcmp(how, "timer")) {
		signal(SIGALRM, nothing);
		alarm(1);
	}
	if (!strcmp(how, "runner"))
		pthread_create(&more, NULL, runner, NULL);
	if (!strcmp(how, "pool"))
		pthread_create(&more, NULL, worker, NULL);
	pthread_mutex_lock(&left);
	if (!strcmp(how, "join")) {
		pthread_create(&other, NULL, waits_for_left, NULL);
		pthread_barrier_wait(&both);
		pthread_join(other, NULL);
	} else {
		pthread_create(&other, NULL, second, NULL);
		pthread_barrier_wait(&both);
		pthread_mutex_lock(&right);
	}
	puts("not reached");
	return 0;
}
