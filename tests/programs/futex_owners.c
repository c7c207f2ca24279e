// Waits whose number, begin, end and holders are known, for `meter --pid`: each step follows once the threads before it
// are seen to sleep. What is to happen before the measurement comes before the first line of input, the rest after it.
#define _GNU_SOURCE
#include "asleep.h"
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static sem_t posted, other;
static atomic_int ids[4], has_it, may_release, handled;

static void handler(int signal)
{
	(void)signal;
	atomic_fetch_add(&handled, 1);
}

static unsigned long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void await_start(void)
{
	char c;

	printf("ready\n");
	fflush(stdout);
	if (read(0, &c, 1) != 1)
		exit(2);
}

static void await(atomic_int *value, int least)
{
	while (atomic_load(value) < least)
		usleep(200);
}

__attribute__((noinline)) static void takes(void)
{
	pthread_mutex_lock(&held);
	pthread_mutex_unlock(&held);
	__asm__ volatile("" ::: "memory");
}

static void *take(void *id)
{
	atomic_store((atomic_int *)id, thread_id());
	takes();
	return 0;
}

/* Gives the mutex up; the first owner in `owners`. */
__attribute__((noinline)) static void slow_owner(void)
{
	pthread_mutex_unlock(&held);
	__asm__ volatile("" ::: "memory");
}

/* Gets it after a wait, and has it until it may release it. */
__attribute__((noinline)) static void fast_owner(void)
{
	pthread_mutex_lock(&held);
	atomic_store(&has_it, 1);
	await(&may_release, 1);
	pthread_mutex_unlock(&held);
	__asm__ volatile("" ::: "memory");
}

static void *own(void *id)
{
	atomic_store((atomic_int *)id, thread_id());
	fast_owner();
	return 0;
}

/* One wait by its owner at the begin: two that began behind slow_owner, one behind fast_owner, though that gave the
 * mutex to two of the three. */
static void owners(void)
{
	pthread_t threads[3];

	await_start();
	pthread_mutex_lock(&held);
	pthread_create(&threads[0], 0, own, &ids[0]);
	await_blocked(&ids[0]);
	pthread_create(&threads[1], 0, take, &ids[1]);
	await_blocked(&ids[1]);
	slow_owner();
	await(&has_it, 1);
	pthread_create(&threads[2], 0, take, &ids[2]);
	await_blocked(&ids[2]);
	atomic_store(&may_release, 1);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], 0);
}

/* One wait that is cut by 20 signals and a stop. Prints for how long it slept at least and at most. */
static void cut(void)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	unsigned long long begun, asleep, released;
	pthread_t thread;
	pid_t own_id = getpid(), child;

	sigaction(SIGUSR1, &action, 0);
	await_start();
	pthread_mutex_lock(&held);
	begun = now_ns();
	pthread_create(&thread, 0, take, &ids[0]);
	await_blocked(&ids[0]);
	asleep = now_ns();
	for (int i = 0; i < 20; i++) {
		pthread_kill(thread, SIGUSR1);
		await(&handled, i + 1);
		await_blocked(&ids[0]);
	}
	child = fork();
	if (!child) {
		kill(own_id, SIGSTOP);
		usleep(20000);
		kill(own_id, SIGCONT);
		_exit(0);
	}
	waitpid(child, 0, 0);
	await_blocked(&ids[0]);
	released = now_ns();
	slow_owner();
	pthread_join(thread, 0);
	printf("%llu %llu\n", released - asleep, now_ns() - begun);
}

__attribute__((noinline)) static void interrupted(void)
{
	sem_wait(&posted);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void goes_on(void)
{
	while (sem_wait(&other))
		;
	__asm__ volatile("" ::: "memory");
}

static void *two_waits(void *id)
{
	atomic_store((atomic_int *)id, thread_id());
	interrupted();
	goes_on();
	return 0;
}

/* Two waits, though no post ends the first: a signal does, and the thread goes on to another semaphore. */
static void gone_on(void)
{
	struct sigaction action = { .sa_handler = handler };
	pthread_t thread;

	sigaction(SIGUSR1, &action, 0);
	sem_init(&posted, 0, 0);
	sem_init(&other, 0, 0);
	await_start();
	pthread_create(&thread, 0, two_waits, &ids[0]);
	await_blocked(&ids[0]);
	pthread_kill(thread, SIGUSR1);
	await(&handled, 1);
	await_blocked(&ids[0]);
	sem_post(&other);
	pthread_join(thread, 0);
}

/* A wait that began before. */
static void before(void)
{
	pthread_t thread;

	pthread_mutex_lock(&held);
	pthread_create(&thread, 0, take, &ids[0]);
	await_blocked(&ids[0]);
	await_start();
	slow_owner();
	pthread_join(thread, 0);
}

/* Two waits that the process's end ends; one began before. */
static void ended(void)
{
	pthread_t threads[2];

	pthread_mutex_lock(&held);
	pthread_create(&threads[0], 0, take, &ids[0]);
	await_blocked(&ids[0]);
	await_start();
	pthread_create(&threads[1], 0, take, &ids[1]);
	await_blocked(&ids[1]);
}

enum { CROWD = 500, ROUNDS = 30 };

static atomic_uint word;
static atomic_ulong slept, refused;
static atomic_int gone;

/* Each thread wakes others and waits itself, with its stack pointer and what lies on its stack: one place all the
 * same. */
__attribute__((noinline)) static void meets_others(void)
{
	unsigned seen = atomic_fetch_add(&word, 1) + 1;

	syscall(SYS_futex, &word, 1 | 128, 20, 0, 0, 0);
	if (syscall(SYS_futex, &word, 0 | 128, seen, 0, 0, 0) == 0)
		atomic_fetch_add(&slept, 1);
	else
		atomic_fetch_add(&refused, 1);
}

static void *meet(void *unused)
{
	for (int i = 0; i < ROUNDS; i++)
		meets_others();
	atomic_fetch_add(&gone, 1);
	return unused;
}

static void crowd(void)
{
	static pthread_t threads[CROWD];
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 65536);
	await_start();
	for (int i = 0; i < CROWD; i++)
		pthread_create(&threads[i], &attributes, meet, 0);
	while (atomic_load(&gone) < CROWD) {
		atomic_fetch_add(&word, 1);
		syscall(SYS_futex, &word, 1 | 128, CROWD, 0, 0, 0);
		usleep(500);
	}
	for (int i = 0; i < CROWD; i++)
		pthread_join(threads[i], 0);
	printf("%lu %lu\n", slept, refused);
}

int main(int count, char **arguments)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} kinds[] = { { "owners", owners }, { "cut", cut },	{ "gone_on", gone_on },
		      { "before", before }, { "ended", ended }, { "crowd", crowd } };

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (count > 1 && !strcmp(arguments[1], kinds[i].name)) {
			kinds[i].run();
			return 0;
		}
	return 2;
}
