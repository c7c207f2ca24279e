/* A ring of threads, each holding its lock and waiting for the next one's: hangs for certain, the first time.
 *
 *   deadlock [THREADS]   prints its process id first
 */
#define _GNU_SOURCE
#include <pthread.h>
#include "asleep.h"
#include "baton.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t fork_1 = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t fork_2 = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t fork_3 = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t *forks[] = { &fork_1, &fork_2, &fork_3 };

static struct meeting all_hold_one;
static int threads = 2;
static atomic_int ids[3];

static void *dine(void *arg)
{
	static const char *const names[] = { "plato", "kant", "hegel" };
	long seat = (long)arg;
	pthread_setname_np(pthread_self(), names[seat]);
	atomic_store(&ids[seat], thread_id());
	pthread_mutex_lock(forks[seat]);
	meeting_wait(&all_hold_one);
	/* closes the ring last, so that the report is the same every time */
	for (int i = 1; seat == 0 && i < threads; i++)
		await_blocked(&ids[i]);
	pthread_mutex_lock(forks[(seat + 1) % threads]);
	puts("not reached");
	return NULL;
}

static void on_abort(int signal)
{
	(void)signal;
	if (write(STDOUT_FILENO, "aborted\n", 8) != 8)
		_exit(1);
}

int main(int argc, char **argv)
{
	pthread_t seats[3];

	if (argc > 1)
		threads = atoi(argv[1]);
	signal(SIGABRT, on_abort);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	all_hold_one.size = threads;
	for (long i = 0; i < threads; i++)
		pthread_create(&seats[i], NULL, dine, (void *)i);
	for (int i = 0; i < threads; i++)
		pthread_join(seats[i], NULL);
	return 0;
}
