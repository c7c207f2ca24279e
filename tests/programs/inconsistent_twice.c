/* A recursive robust mutex is locked twice by its next owner, and unlocked twice.
 *   inconsistent_twice left   nobody makes it consistent: nobody will lock it again
 *   inconsistent_twice made   it is made consistent after the first unlock, which is clean
 */
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

int main(int argc, char **argv)
{
	pthread_mutexattr_t attr;
	pthread_t thread;

	if (argc < 2)
		return 2;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&stock, &attr);
	pthread_create(&thread, NULL, dies, NULL);
	pthread_join(thread, NULL);
	printf("%s\n", strerrorname_np(pthread_mutex_lock(&stock)));
	pthread_mutex_lock(&stock);
	pthread_mutex_unlock(&stock);
	if (!strcmp(argv[1], "made"))
		pthread_mutex_consistent(&stock);
	pthread_mutex_unlock(&stock);
	printf("%s\n", pthread_mutex_lock(&stock) ? "lost" : "kept");
	puts("the end");
	return 0;
}
