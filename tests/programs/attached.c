// Hangs, or waits, in a way that its argument names, until it is killed. Nobody starts it under the
// tool: `check --pid` looks at it.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t both_hold, all_held;
static const char *mode;

static void take(pthread_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
	// It does more, so that the call is not its last instruction.
	__asm__ volatile("" ::: "memory");
}

static void *left(void *unused)
{
	take(&first);
	pthread_barrier_wait(&both_hold);
	take(&second);
	return unused;
}

static void *right(void *unused)
{
	take(&second);
	pthread_barrier_wait(&both_hold);
	take(&first);
	return unused;
}

static void *waits_for_first(void *unused)
{
	take(&first);
	return unused;
}

// It begins to wait only once the other thread holds it.
static void *waits_for_held(void *unused)
{
	pthread_barrier_wait(&all_held);
	return waits_for_first(unused);
}

// Holds what others wait for, and waits for input that never comes.
static void *reads(void *unused)
{
	char byte;

	take(&first);
	pthread_rwlock_wrlock(&table);
	pthread_barrier_wait(&all_held);
	while (read(0, &byte, 1) != 0)
		;
	return unused;
}

static void *waits_for_table(void *unused)
{
	pthread_barrier_wait(&all_held);
	pthread_rwlock_rdlock(&table);
	return unused;
}

// Holds what others wait for, in a call that no signal interrupts: until a child has ended that never does.
static void *is_uninterruptible(void *unused)
{
	take(&first);
	pthread_barrier_wait(&both_hold);
	if (!vfork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return unused;
}

static void *waits_for_uninterruptible(void *unused)
{
	pthread_barrier_wait(&both_hold);
	return waits_for_first(unused);
}

static void *ends_with_first(void *unused)
{
	take(&first);
	return unused;
}

static void *waits_for_news(void *unused)
{
	pthread_mutex_lock(&second);
	for (;;)
		pthread_cond_wait(&news, &second);
	return unused;
}

static void handler(int number)
{
	(void)number;
	pthread_cond_signal(&news);
}

static pthread_t start(void *(*function)(void *))
{
	pthread_t thread;

	pthread_create(&thread, 0, function, 0);
	return thread;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	mode = argc > 1 ? argv[1] : "";
	pthread_barrier_init(&both_hold, 0, 2);
	pthread_barrier_init(&all_held, 0, 3);
	if (!strcmp(mode, "abba")) {
		thread = start(left);
		start(right);
	} else if (!strcmp(mode, "own")) {
		take(&first);
		take(&first);
		return 0;
	} else if (!strcmp(mode, "held")) {
		thread = start(reads);
		start(waits_for_table);
		start(waits_for_held);
	} else if (!strcmp(mode, "vfork")) {
		thread = start(is_uninterruptible);
		start(waits_for_uninterruptible);
	} else if (!strcmp(mode, "left-locked")) {
		pthread_join(start(ends_with_first), 0);
		thread = start(waits_for_first);
		// Not all threads wait for each other.
		pause();
	} else if (!strcmp(mode, "signal")) {
		signal(SIGUSR1, handler);
		thread = start(waits_for_news);
	} else if (!strcmp(mode, "news")) {
		thread = start(waits_for_news);
	} else {
		fprintf(stderr, "no such mode\n");
		return 1;
	}
	pthread_join(thread, 0);
	return 0;
}
