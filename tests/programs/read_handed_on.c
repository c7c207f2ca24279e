/* Read locks that one thread takes and another releases, as some databases do.
 *
 *   read_handed_on ended   the reader has ended by then
 *   read_handed_on living  it runs yet
 *   read_handed_on kept    nobody releases what a thread leaves behind
 *   read_handed_on clean   as it should be
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

static pthread_rwlock_t state_lock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t taken, released;
static int waits;

static void *reader(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "reader");
	pthread_rwlock_rdlock(&state_lock);
	sem_post(&taken);
	if (waits)
		sem_wait(&released);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "ended";
	pthread_t thread;

	sem_init(&taken, 0, 0);
	sem_init(&released, 0, 0);
	waits = !strcmp(how, "living");
	if (strcmp(how, "clean")) {
		pthread_create(&thread, NULL, reader, NULL);
		sem_wait(&taken);
		if (!waits)
			pthread_join(thread, NULL);
	}
	pthread_rwlock_rdlock(&state_lock);
	pthread_rwlock_unlock(&state_lock);
	if (!strcmp(how, "ended") || waits)
		pthread_rwlock_unlock(&state_lock); /* the reader's */
	if (waits) {
		sem_post(&released);
		pthread_join(thread, NULL);
	}
	if (strcmp(how, "kept")) {
		pthread_rwlock_wrlock(&state_lock);
		pthread_rwlock_unlock(&state_lock);
	}
	puts("the end");
	return 0;
}
