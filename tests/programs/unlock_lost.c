/* Unlocks of mutexes that no thread can have locked, or that none can unlock any more.
 *
 *   unlock_lost ended          the thread that locked it has ended
 *   unlock_lost uninitialised  its bytes are such as no mutex has: the call fails with EINVAL
 *   unlock_lost rwlock         a rwlock: the thread that write-locked it has ended
 *   unlock_lost clean          as it should be
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t ledger = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static union {
	unsigned char bytes[sizeof(pthread_mutex_t)];
	pthread_mutex_t mutex;
} memory;

static void *locks(void *arg)
{
	pthread_setname_np(pthread_self(), "clerk");
	if (arg)
		pthread_mutex_lock(&ledger);
	else
		pthread_rwlock_wrlock(&table);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "ended";
	pthread_t thread;
	int result = 0;

	if (!strcmp(how, "ended") || !strcmp(how, "rwlock")) {
		int mutex = !strcmp(how, "ended");
		pthread_create(&thread, NULL, locks, mutex ? &ledger : NULL);
		pthread_join(thread, NULL);
		result = mutex ? pthread_mutex_unlock(&ledger) : pthread_rwlock_unlock(&table);
	} else if (!strcmp(how, "uninitialised")) {
		memset(memory.bytes, 0xff, sizeof(memory.bytes));
		result = pthread_mutex_unlock(&memory.mutex);
	} else {
		pthread_mutex_lock(&ledger);
		pthread_mutex_unlock(&ledger);
	}
	printf("%d\n", result);
	return 0;
}
