/* An error path leaves a lock locked, and then a thread is joined that took it. The fault is the missing unlock. `ok`: there is
 * none missing. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#ifndef INLINED
#define INLINED __attribute__((noinline))
#endif

static pthread_mutex_t cache = PTHREAD_MUTEX_INITIALIZER;
static int entries, is_clean;
static atomic_int has_added, may_end;

INLINED static int add(int length)
{
	pthread_mutex_lock(&cache);
	if (length > 100) {
		if (is_clean)
			pthread_mutex_unlock(&cache);
		return -1;
	}
	entries++;
	pthread_mutex_unlock(&cache);
	return 0;
}

static void *other(void *unused)
{
	add(1);
	has_added = 1;
	while (!may_end)
		usleep(1000);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	(void)argv;
	is_clean = argc > 1;
	pthread_create(&thread, NULL, other, NULL);
	while (!has_added)
		sched_yield();
	add(2);
	add(300);
	usleep(1000);
	may_end = 1;
	pthread_join(thread, NULL);
	puts("the end");
	return 0;
}
