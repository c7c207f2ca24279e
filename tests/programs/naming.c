/* A thread is named by its creator, at once, and is still there when the program ends by _exit: nobody asks for its
 * name at the end. */
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>
#include "baton.h"

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t right = PTHREAD_MUTEX_INITIALIZER;

static baton done;

static void take(pthread_mutex_t *outer, pthread_mutex_t *inner)
{
	pthread_mutex_lock(outer);
	pthread_mutex_lock(inner);
	pthread_mutex_unlock(inner);
	pthread_mutex_unlock(outer);
}

static void *run(void *arg)
{
	take(&left, &right);
	take(&right, &left);
	baton_pass(&done);
	pause();
	return arg;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, run, NULL);
	pthread_setname_np(thread, "christened");
	baton_take(&done);
	_exit(0);
}
