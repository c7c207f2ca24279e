/* Two reader-writer locks in both orders.
 *
 *   rwlock write     write in write, one thread after the other: could deadlock
 *   rwlock mixed     read in write on both sides: could deadlock
 *   rwlock read      read in read: glibc's default rwlock lets readers in past waiting writers, so it cannot
 *   rwlock deadlock  write in write, both at once: hangs
 */
#include <pthread.h>
#include "baton.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_rwlock_t catalogue = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t index_ = PTHREAD_RWLOCK_INITIALIZER;

typedef int (*lock_fn)(pthread_rwlock_t *);
static lock_fn outer, inner;
static struct meeting both;
static baton here, forward_done;
static int deadlock;

static void *forward(void *arg)
{
	(void)arg;
	baton_pass(&here);
	outer(&catalogue);
	if (deadlock)
		meeting_wait(&both);
	inner(&index_);
	pthread_rwlock_unlock(&index_);
	pthread_rwlock_unlock(&catalogue);
	baton_pass(&forward_done);
	meeting_wait(&both);
	return NULL;
}

static void *backward(void *arg)
{
	(void)arg;
	baton_pass(&here);
	if (!deadlock)
		baton_take(&forward_done);
	outer(&index_);
	if (deadlock)
		meeting_wait(&both);
	inner(&catalogue);
	pthread_rwlock_unlock(&catalogue);
	pthread_rwlock_unlock(&index_);
	meeting_wait(&both);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "write";
	pthread_t threads[2];

	outer = !strcmp(how, "read") ? pthread_rwlock_rdlock : pthread_rwlock_wrlock;
	inner = !strcmp(how, "read") || !strcmp(how, "mixed") ? pthread_rwlock_rdlock : pthread_rwlock_wrlock;
	deadlock = !strcmp(how, "deadlock");
	both.size = 2;
	atomic_init(&here, 0);
	atomic_init(&forward_done, 0);
	pthread_create(&threads[0], NULL, forward, NULL);
	baton_take(&here);
	pthread_create(&threads[1], NULL, backward, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	puts("the end");
	return 0;
}
