/* One thread locks a mutex twice: what happens depends on the mutex's type. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t mutex;

static void init(int type)
{
	pthread_mutexattr_t attr;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, type);
	pthread_mutex_init(&mutex, &attr);
	pthread_mutexattr_destroy(&attr);
}

static void outer(void)
{
	pthread_mutex_lock(&mutex);
}

static int inner(void)
{
	return pthread_mutex_lock(&mutex);
}

int main(int argc, char **argv)
{
	const char *type = argc > 1 ? argv[1] : "normal";
	if (!strcmp(type, "recursive"))
		init(PTHREAD_MUTEX_RECURSIVE);
	else if (!strcmp(type, "errorcheck"))
		init(PTHREAD_MUTEX_ERRORCHECK);
	else
		init(PTHREAD_MUTEX_NORMAL);

	outer();
	int error = inner();
	printf("%s: %s\n", type, error == EDEADLK ? "EDEADLK" : error ? "error" : "locked twice");
	if (!error)
		pthread_mutex_unlock(&mutex);
	pthread_mutex_unlock(&mutex);
	return 0;
}
