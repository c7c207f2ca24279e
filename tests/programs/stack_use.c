/* How much of a thread's stack is used, by what a thread does with locks; the thread's stack is painted first. Says for each
 * scenario how many bytes were touched below the frame of the thread's function.
 *
 *   stack_use SCENARIO
 *
 * Scenarios: `lock`, `nested`, `misuse`, `wait`, `spawn`, `read`, `many`, `destroy`, `fork`: the first lock of a forked
 * child. With `cancelled`, a thread that has no more stack than one must have waits for its cancellation, and the
 * program says when it has ended.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STACK = 1 << 20, PAINT = 0xa5, LOCKS = 150 };

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t checked;
static pthread_mutex_t many[LOCKS];
static const char *scenario;
static unsigned char *stack;
static unsigned char *frame;

static int is(const char *name)
{
	return !strcmp(scenario, name);
}

static void *nothing(void *unused)
{
	return unused;
}

static void one(pthread_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
	pthread_mutex_unlock(mutex);
}

static void both(pthread_mutex_t *outer, pthread_mutex_t *inner)
{
	pthread_mutex_lock(outer);
	pthread_mutex_lock(inner);
	pthread_mutex_unlock(inner);
	pthread_mutex_unlock(outer);
}

static void work(void)
{
	pthread_mutex_t own;
	struct timespec now;
	pthread_t thread;
	sem_t semaphore;

	if (is("lock") || is("fork")) {
		one(&left);
	} else if (is("nested")) {
		both(&left, &right);
		both(&right, &left);
	} else if (is("misuse")) {
		pthread_mutex_unlock(&checked);
		pthread_mutex_lock(&checked);
		pthread_mutex_lock(&checked);
		pthread_mutex_unlock(&checked);
	} else if (is("wait")) {
		clock_gettime(CLOCK_REALTIME, &now);
		pthread_mutex_lock(&left);
		pthread_cond_timedwait(&never, &left, &now);
		pthread_mutex_unlock(&left);
		sem_init(&semaphore, 0, 1);
		sem_wait(&semaphore);
		sem_post(&semaphore);
		sem_destroy(&semaphore);
	} else if (is("spawn")) {
		one(&left);
		if (!pthread_create(&thread, NULL, nothing, NULL))
			pthread_join(thread, NULL);
	} else if (is("read")) {
		pthread_rwlock_rdlock(&table);
		pthread_rwlock_unlock(&table);
		pthread_rwlock_wrlock(&table);
		pthread_rwlock_unlock(&table);
	} else if (is("many")) {
		for (int i = 0; i < LOCKS; i++)
			pthread_mutex_lock(&many[i]);
		for (int i = 0; i < LOCKS; i++)
			pthread_mutex_unlock(&many[i]);
	} else if (is("destroy")) {
		pthread_mutex_init(&own, NULL);
		one(&own);
		pthread_mutex_destroy(&own);
	}
}

static void say(void)
{
	unsigned char *touched = stack;
	while (*touched == PAINT)
		touched++;
	printf("%td\n", frame - touched);
	fflush(stdout);
}

static void *run(void *unused)
{
	pid_t child = 0;

	/* What is used by the thread's start, and of the thread's function itself, is not asked for. */
	frame = __builtin_frame_address(0);
	memset(stack, PAINT, frame - 256 - stack);
	if (is("fork"))
		child = fork();
	if (child) {
		waitpid(child, NULL, 0);
		return unused;
	}
	work();
	say();
	if (is("fork"))
		_exit(0);
	return unused;
}

static void *wait_for_cancellation(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static int cancelled(void)
{
	pthread_attr_t attributes;
	pthread_t thread;
	void *result;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN);
	if (pthread_create(&thread, &attributes, wait_for_cancellation, NULL))
		return 1;
	pthread_cancel(thread);
	pthread_join(thread, &result);
	puts(result == PTHREAD_CANCELED ? "cancelled" : "ended");
	return 0;
}

int main(int argc, char **argv)
{
	pthread_mutexattr_t kind;
	pthread_attr_t attributes;
	pthread_t thread;

	if (argc < 2)
		return 2;
	scenario = argv[1];
	pthread_mutexattr_init(&kind);
	pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&checked, &kind);
	for (int i = 0; is("many") && i < LOCKS; i++)
		pthread_mutex_init(&many[i], NULL);
	stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack == MAP_FAILED)
		return 1;
	if (is("cancelled"))
		return cancelled();
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, stack, STACK);
	if (pthread_create(&thread, &attributes, run, NULL))
		return 1;
	pthread_join(thread, NULL);
	return 0;
}
