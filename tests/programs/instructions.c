/*
 * A loop, N times, of what the tool is to execute few instructions for. They are counted from outside, by function.
 * Each loop is a process of its own: places in the tool's tables depend on what else is in there.
 *
 *   instructions LOOP N...  by the loop's number, from 0: once for each N, called at one place, so that the tool sees one
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

/* Lock and unlock. */
__attribute__((noinline)) static void mutexes(long n)
{
	while (n--) {
		pthread_mutex_lock(&outer);
		pthread_mutex_unlock(&outer);
	}
}

/* The same of two mutexes, one within the other. */
__attribute__((noinline)) static void nested(long n)
{
	while (n--) {
		pthread_mutex_lock(&outer);
		pthread_mutex_lock(&inner);
		pthread_mutex_unlock(&inner);
		pthread_mutex_unlock(&outer);
	}
}

/* Read lock and unlock. */
__attribute__((noinline)) static void readers(long n)
{
	while (n--) {
		pthread_rwlock_rdlock(&rwlock);
		pthread_rwlock_unlock(&rwlock);
	}
}

/* A mutex that nobody initialises is made, taken once and freed. */
__attribute__((noinline)) static void new_locks(long n)
{
	while (n--) {
		pthread_mutex_t *mutex = calloc(1, sizeof *mutex);
		if (!mutex)
			abort();
		pthread_mutex_lock(mutex);
		pthread_mutex_unlock(mutex);
		free(mutex);
	}
}

/* An init and a destroy. */
__attribute__((noinline)) static void initialised(long n)
{
	pthread_mutex_t *mutex = malloc(sizeof *mutex);
	if (!mutex)
		abort();
	while (n--) {
		pthread_mutex_init(mutex, NULL);
		pthread_mutex_destroy(mutex);
	}
	free(mutex);
}

static void allocate(void)
{
	void *volatile block = malloc(64);
	if (!block)
		abort();
	free(block);
}

/* malloc and free. */
__attribute__((noinline)) static void blocks(long n)
{
	while (n--)
		allocate();
}

/* The same where a block on another page has a lock, since the first call. */
__attribute__((noinline)) static void blocks_and_a_lock(long n)
{
	static pthread_mutex_t *mutex;
	size_t pages = 1 << 16;
	if (!mutex) {
		mutex = calloc(1, pages);
		if (!mutex)
			abort();
		pthread_mutex_lock(mutex);
		pthread_mutex_unlock(mutex);
	}
	while (n--)
		allocate();
}

static void handle(int signal)
{
	(void)signal;
}

/* The same where a signal has a handler. */
__attribute__((noinline)) static void blocks_and_a_handler(long n)
{
	signal(SIGUSR1, handle);
	while (n--)
		allocate();
}

int main(int argc, char **argv)
{
	static void (*const loops[])(long) = {mutexes,     nested, readers,	    new_locks,
					      initialised, blocks, blocks_and_a_lock, blocks_and_a_handler};
	size_t which = argc > 2 ? (size_t)atoi(argv[1]) : sizeof loops;
	if (which >= sizeof loops / sizeof *loops)
		return 2;
	for (int i = 2; i < argc; i++)
		loops[which](atol(argv[i]));
	return 0;
}
