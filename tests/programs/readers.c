/* Readers that wait for readers through a writer that waits between them, which only some kinds of rwlocks let happen.
 * Nothing hangs: the threads come one after the other, by turns that no tool sees.
 *
 *   readers twice KIND   one thread reads a lock twice, and another writes it at another time
 *   readers both KIND    two threads read two locks in opposite orders, and two others write them
 *   readers alone KIND   as both, but nobody writes
 *
 * KIND is the rwlock's: default, writer (PTHREAD_RWLOCK_PREFER_WRITER_NP, which glibc takes for the default), or
 * nonrecursive (PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP).
 */
#define _GNU_SOURCE
#include "baton.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_rwlock_t table, cache;
static baton turns[4], done;

static void read_both(pthread_rwlock_t *first, pthread_rwlock_t *second)
{
	pthread_rwlock_rdlock(first);
	pthread_rwlock_rdlock(second);
	pthread_rwlock_unlock(second);
	pthread_rwlock_unlock(first);
}

static void *twice(void *turn)
{
	baton_take(turn);
	read_both(&table, &table);
	baton_pass(&done);
	return NULL;
}

static void *forwards(void *turn)
{
	baton_take(turn);
	read_both(&table, &cache);
	baton_pass(&done);
	return NULL;
}

static void *backwards(void *turn)
{
	baton_take(turn);
	read_both(&cache, &table);
	baton_pass(&done);
	return NULL;
}

static void *writes_table(void *turn)
{
	baton_take(turn);
	pthread_rwlock_wrlock(&table);
	pthread_rwlock_unlock(&table);
	baton_pass(&done);
	return NULL;
}

static void *writes_cache(void *turn)
{
	baton_take(turn);
	pthread_rwlock_wrlock(&cache);
	pthread_rwlock_unlock(&cache);
	baton_pass(&done);
	return NULL;
}

int main(int argc, char **argv)
{
	static void *(*const all[3][4])(void *) = {
		{ twice, writes_table },
		{ forwards, backwards, writes_table, writes_cache },
		{ forwards, backwards },
	};
	pthread_rwlockattr_t attr;
	pthread_t threads[4];
	int how, count;

	if (argc < 3)
		return 2;
	how = !strcmp(argv[1], "twice") ? 0 : !strcmp(argv[1], "both") ? 1 : 2;
	count = how == 1 ? 4 : 2;
	pthread_rwlockattr_init(&attr);
	if (!strcmp(argv[2], "writer"))
		pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NP);
	if (!strcmp(argv[2], "nonrecursive"))
		pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&table, &attr);
	pthread_rwlock_init(&cache, &attr);
	pthread_rwlockattr_destroy(&attr);
	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, all[how][i], &turns[i]);
	/* All are there before the first begins, so that no creation orders them. */
	for (int i = 0; i < count; i++) {
		baton_pass(&turns[i]);
		baton_take(&done);
	}
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	pthread_rwlock_destroy(&table);
	pthread_rwlock_destroy(&cache);
	puts("the end");
	return 0;
}
