/* A condition wait gives its mutex up and takes it again, with whatever else is held still held.
 *
 *   condvar clean     the consumer waits with the queue's mutex alone
 *   condvar inverted  it keeps `registry`, taken after `queue`, while it takes `queue` again; others take
 *                     `registry` with `queue` held
 */
#include <pthread.h>
#include "baton.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t nonempty = PTHREAD_COND_INITIALIZER;
static int items;
static int inverted;
static baton here, counted, leave;

static void *accountant(void *arg)
{
	(void)arg;
	baton_pass(&here);
	pthread_mutex_lock(&queue);
	pthread_mutex_lock(&registry);
	pthread_mutex_unlock(&registry);
	pthread_mutex_unlock(&queue);
	baton_pass(&counted);
	baton_take(&leave);
	return NULL;
}

static void *consumer(void *arg)
{
	(void)arg;
	baton_pass(&here);
	baton_take(&counted);
	pthread_mutex_lock(&queue);
	if (inverted)
		pthread_mutex_lock(&registry);
	while (!items)
		pthread_cond_wait(&nonempty, &queue);
	if (inverted)
		pthread_mutex_unlock(&registry);
	pthread_mutex_unlock(&queue);
	baton_pass(&leave);
	return NULL;
}

static void *producer(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&queue);
	items = 1;
	pthread_cond_signal(&nonempty);
	pthread_mutex_unlock(&queue);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[3];
	void *(*const roles[])(void *) = { accountant, consumer, producer };

	inverted = argc > 1 && !strcmp(argv[1], "inverted");
	atomic_init(&here, 0);
	atomic_init(&counted, 0);
	atomic_init(&leave, 0);
	for (int i = 0; i < 2; i++) {
		pthread_create(&threads[i], NULL, roles[i], NULL);
		baton_take(&here);
	}
	/* The producer must find the consumer waiting, or there is no reacquisition to speak of. */
	while (!(*(volatile unsigned *)&nonempty.__data.__wrefs >> 3))
		usleep(1000);
	pthread_create(&threads[2], NULL, roles[2], NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	puts("the end");
	return 0;
}
