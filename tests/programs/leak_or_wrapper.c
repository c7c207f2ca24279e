/* Functions that return with a lock: because they forgot to unlock it, or because they are called for it. Other locks are taken
 * before the thread idles, and the process ends without a release of the lock.
 *
 * leak_or_wrapper CASE
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef OWN
#define OWN __attribute__((noinline))
#endif

/* Neither inlined nor made for the arguments of one call. */
#ifdef __clang__
#define WHOLE __attribute__((noinline))
#else
#define WHOLE __attribute__((noipa))
#endif

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
static sem_t served;
static volatile int rows, failures;

OWN static void touch(void)
{
	pthread_mutex_lock(&other);
	rows++;
	pthread_mutex_unlock(&other);
}

/* Forgets the unlock if it refuses. */
WHOLE static int add(int row)
{
	pthread_mutex_lock(&table);
	if (row < 0) {
		failures++;
		return -1;
	}
	rows++;
	pthread_mutex_unlock(&table);
	return 0;
}

WHOLE static void handle(int row)
{
	failures += add(row);
	rows++;
}

/* Called for the lock. */
OWN static void grab(void)
{
	pthread_mutex_lock(&table);
	rows++;
}

/* The same, which jumps where the optimiser is on. */
OWN static void table_lock(void)
{
	pthread_mutex_lock(&table);
}

OWN static void give_back(void)
{
	rows--;
	pthread_mutex_unlock(&table);
}

/* Forgets to give the lock back if it refuses. */
WHOLE static int put(int row)
{
	grab();
	if (row < 0)
		return -1;
	touch();
	give_back();
	return 0;
}

WHOLE static void guards(int deep)
{
	if (deep > 0) {
		guards(deep - 1);
		rows++;
		return;
	}
	grab();
}

/* As put(), through three functions that are called for the lock. */
WHOLE static int put_deeply(int row)
{
	guards(2);
	if (row < 0)
		return -1;
	give_back();
	return 0;
}

static const char *what;

static int is(const char *name)
{
	return !strcmp(what, name);
}

static void *server(void *nothing)
{
	if (is("forgets"))
		add(-1);
	if (is("forgets-deeper"))
		handle(-1);
	if (is("forgets-past-wrapper"))
		put(-1);
	if (is("forgets-later")) {
		put(1);
		put(-1);
	}
	if (is("forgets-deeply")) {
		put_deeply(1);
		put_deeply(-1);
	}
	if (is("never-forgets")) {
		put(1);
		put_deeply(1);
		add(1);
	}
	if (is("keeps") || is("gives-back"))
		grab();
	if (is("keeps-by-jump"))
		table_lock();
	if (is("keeps-alone"))
		grab();
	else
		touch();
	usleep(1000);
	if (is("gives-back"))
		give_back();
	sem_post(&served);
	for (;;)
		pause();
	return nothing;
}

/* Another thread wants the lock, too. */
static void *reader(void *nothing)
{
	pthread_mutex_lock(&table);
	rows++;
	pthread_mutex_unlock(&table);
	return nothing;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	what = argc > 1 ? argv[1] : "";
	pthread_create(&thread, NULL, reader, NULL);
	pthread_join(thread, NULL);
	sem_init(&served, 0, 0);
	pthread_create(&thread, NULL, server, NULL);
	while (sem_wait(&served))
		;
	puts("done");
	return 0;
}
