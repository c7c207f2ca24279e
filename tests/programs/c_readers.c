/* A thread reads a fair reader-writer lock of liblockwright twice, and another writes it at another time. Nothing hangs
 * (except in stuck): the threads come one after the other, by turns that no tool sees.
 *
 *   twice      as any reader, which waits behind a writer that waits between the two
 *   recursive  the second time by the call that is made for it, which goes ahead of writers
 *   once       not within the first
 *   ahead      as recursive, while the writer waits
 *   stuck      as twice, while the writer waits: a deadlock
 */
#include "asleep.h"
#include "baton.h"
#include <lockwright.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static lw_hybrid_rwlock_t prices;
static baton turn, done;
static atomic_int writer;

static void *writes(void *unused)
{
	baton_take(&turn);
	atomic_store(&writer, thread_id());
	lw_hybrid_rwlock_write_lock(&prices);
	lw_hybrid_rwlock_write_unlock(&prices);
	baton_pass(&done);
	return unused;
}

static void reads(const char *how)
{
	lw_hybrid_rwlock_read_lock(&prices);
	if (!strcmp(how, "once"))
		lw_hybrid_rwlock_read_unlock(&prices);
	if (!strcmp(how, "ahead") || !strcmp(how, "stuck")) {
		baton_pass(&turn);
		await_blocked(&writer);
	}
	if (!strcmp(how, "recursive") || !strcmp(how, "ahead"))
		lw_hybrid_rwlock_read_lock_recursive(&prices);
	else
		lw_hybrid_rwlock_read_lock(&prices);
	lw_hybrid_rwlock_read_unlock(&prices);
	if (strcmp(how, "once"))
		lw_hybrid_rwlock_read_unlock(&prices);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc < 2)
		return 2;
	lw_hybrid_rwlock_init(&prices);
	pthread_create(&thread, NULL, writes, NULL);
	reads(argv[1]);
	if (!atomic_load(&writer))
		baton_pass(&turn);
	baton_take(&done);
	pthread_join(thread, NULL);
	lw_hybrid_rwlock_destroy(&prices);
	puts("the end");
	return 0;
}
