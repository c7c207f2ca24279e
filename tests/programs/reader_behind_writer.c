/* A thread reads a writer-preferring rwlock twice, and a writer comes between: hangs for certain. */
#define _GNU_SOURCE
#include <pthread.h>
#include "asleep.h"
#include <unistd.h>

static pthread_rwlock_t table;
static atomic_int writer_id;

static void *writer(void *arg)
{
	(void)arg;
	atomic_store(&writer_id, thread_id());
	pthread_rwlock_wrlock(&table);
	pthread_rwlock_unlock(&table);
	return NULL;
}

int main(void)
{
	pthread_rwlockattr_t attr;
	pthread_t thread;
	pthread_rwlockattr_init(&attr);
	pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&table, &attr);
	pthread_rwlock_rdlock(&table);
	pthread_create(&thread, NULL, writer, NULL);
	await_blocked(&writer_id);
	pthread_rwlock_rdlock(&table);
	pthread_rwlock_unlock(&table);
	pthread_rwlock_unlock(&table);
	pthread_join(thread, NULL);
	return 0;
}
