/* A robust mutex is unlocked by its next owner, who did not make it consistent: nobody will lock it again. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "../conformance/older_glibc.h"

static pthread_mutex_t stock;

static void *dies(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&stock);
	return NULL;
}

int main(void)
{
	pthread_mutexattr_t attr;
	pthread_t thread;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&stock, &attr);
	pthread_create(&thread, NULL, dies, NULL);
	pthread_join(thread, NULL);
	printf("%s\n", strerrorname_np(pthread_mutex_lock(&stock)));
	pthread_mutex_unlock(&stock);
	printf("%s\n", strerrorname_np(pthread_mutex_lock(&stock)));
	return 0;
}
