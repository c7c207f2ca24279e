/* A lock that a way out of a function forgets to unlock: the thread then idles, or the process
 * exits, with the lock held. And what looks like that and is none.
 *
 * leaked CASE [fixed]
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t base = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
static sem_t served;
static int fixed;

/* Nothing comes: it ends at once, but may wait. */
static void idle(void)
{
	struct pollfd none = { .fd = -1 };

	poll(&none, 1, 1);
}

NOINLINE static void touch(void)
{
	pthread_mutex_lock(&other);
	pthread_mutex_unlock(&other);
}

/* A request that is too large is refused, and the table stays locked. */
NOINLINE static int handle(int request)
{
	pthread_mutex_lock(&table);
	if (request > 2) {
		if (fixed)
			pthread_mutex_unlock(&table);
		return -1;
	}
	pthread_mutex_unlock(&table);
	return 0;
}

/* As handle(), with a recursive mutex. */
NOINLINE static int dispatch(int request)
{
	pthread_mutex_lock(&base);
	if (request > 2) {
		if (fixed)
			pthread_mutex_unlock(&base);
		return -1;
	}
	pthread_mutex_lock(&base);
	pthread_mutex_unlock(&base);
	pthread_mutex_unlock(&base);
	return 0;
}

/* A pair of functions for the lock. */
NOINLINE static void table_lock(void)
{
	pthread_mutex_lock(&table);
}

NOINLINE static void table_unlock(void)
{
	pthread_mutex_unlock(&table);
}

/* As handle(), past that pair. */
NOINLINE static int answer(int request)
{
	table_lock();
	if (request > 8) {
		if (fixed)
			table_unlock();
		return -1;
	}
	touch();
	table_unlock();
	return 0;
}

static int (*serve)(int);

static void *serves(void *last)
{
	for (int request = 0; request <= *(int *)last; request++) {
		serve(request);
		touch();
		idle();
	}
	sem_post(&served);
	/* Threads of a server do not end. */
	for (;;)
		pause();
	return NULL;
}

/* The process ends while the thread idles. */
static void in_thread(int (*how)(int), int last)
{
	static int to;
	pthread_t thread;

	serve = how;
	to = last;
	sem_init(&served, 0, 0);
	pthread_create(&thread, NULL, serves, &to);
	while (sem_wait(&served))
		;
}

static void error_path(void)
{
	in_thread(handle, 3);
}

static void recursive(void)
{
	in_thread(dispatch, 3);
}

static void wrapped(void)
{
	in_thread(answer, 9);
}

static void handler(int number)
{
	(void)number;
}

/* Another thread waits for ever for what was leaked. A handler of a signal might end that: so the tool waits on. */
static void hang(void)
{
	signal(SIGUSR2, handler);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	in_thread(handle, 3);
	pthread_mutex_lock(&table);
}

/* The thread comes for it again, and waits for itself. */
static void again(void)
{
	for (int request = 0; request < 4; request++)
		handle(request);
	table_lock();
	table_unlock();
}

/* The main thread itself, at the process' exit. */
static void at_exit(void)
{
	for (int request = 0; request < 4; request++)
		handle(request);
}

/* The process is ended on purpose in the section. */
NOINLINE static void gives_up(void)
{
	for (int i = 0; i < 20; i++) {
		pthread_mutex_lock(&table);
		if (i == 19) {
			puts("done");
			exit(0);
		}
		pthread_mutex_unlock(&table);
	}
}

/* The caller unlocks, and at last ends the process instead. */
static void pair(void)
{
	for (int i = 0; i < 20; i++) {
		table_lock();
		touch();
		idle();
		table_unlock();
	}
	table_lock();
	idle();
	puts("done");
	exit(0);
}

/* A function that returns with the lock only where that is wanted. */
NOINLINE static int begin(int wanted)
{
	pthread_mutex_lock(&table);
	if (!wanted) {
		pthread_mutex_unlock(&table);
		return 0;
	}
	return 1;
}

static void sometimes(void)
{
	for (int i = 0; i < 20; i++)
		if (begin(i % 3 == 0)) {
			idle();
			pthread_mutex_unlock(&table);
		}
	begin(1);
	idle();
	puts("done");
	exit(0);
}

/* Taken once, for as long as the process lives. */
NOINLINE static void for_good(void)
{
	pthread_mutex_lock(&table);
}

static void whole_life(void)
{
	for_good();
	touch();
	idle();
}

static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ready;

static void *makes_ready(void *nothing)
{
	pthread_mutex_lock(&table);
	ready = 1;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&table);
	return nothing;
}

/* Returns with the lock, which a condition wait in it gives up and takes again. */
NOINLINE static void table_when_ready(void)
{
	struct timespec soon = { .tv_nsec = 1 };

	pthread_mutex_lock(&table);
	pthread_cond_timedwait(&changed, &table, &soon);
	while (!ready)
		pthread_cond_wait(&changed, &table);
}

/* That lock is kept, so no pass shows what the function is to do with it. */
static void when_ready(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, makes_ready, NULL);
	table_when_ready();
	pthread_join(thread, NULL);
	idle();
}

/* The wait has another lock held. */
static void when_ready_nested(void)
{
	pthread_mutex_lock(&other);
	when_ready();
	pthread_mutex_unlock(&other);
}

/* A wait in the section. */
NOINLINE static void sleeps_inside(void)
{
	pthread_mutex_lock(&table);
	idle();
	pthread_mutex_unlock(&table);
}

static void inside(void)
{
	for (int i = 0; i < 200; i++)
		sleeps_inside();
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "error-path", error_path }, { "recursive", recursive }, { "wrapped", wrapped },
	{ "hang", hang }, { "again", again }, { "at-exit", at_exit },
	{ "gives-up", gives_up }, { "pair", pair }, { "sometimes", sometimes },
	{ "whole-life", whole_life }, { "inside", inside },
	{ "when-ready", when_ready }, { "when-ready-nested", when_ready_nested },
};

int main(int argc, char **argv)
{
	fixed = argc > 2;
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(*cases); i++)
		if (!strcmp(cases[i].name, argv[1])) {
			cases[i].run();
			puts("done");
			return 0;
		}
	return 2;
}
