/* Two threads meet at a barrier, and both take a mutex before.
 *
 *   barrier_lock hangs    the first comes with the mutex held, which the second waits for
 *   barrier_lock released the same, released before
 *   barrier_lock kept     the first comes with the mutex held, which the second has had before, by turns that no tool sees
 *   barrier_lock after    the same, but the second takes the mutex after it
 *   barrier_lock rounds   each takes the mutex by turns, and they meet many times
 *   barrier_lock swapped  there are two barriers, and each waits at another
 *   barrier_lock chain    as kept, but what the second has had is another mutex, with which a third takes the first's
 *   barrier_lock order    the same, but the third takes the two the other way round
 *   barrier_lock chained  as chain, all at once: it hangs
 *   barrier_lock another  as hangs, but the second takes the mutex after it, and a child process comes in its place
 */
#define _GNU_SOURCE
#include "baton.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t ready, done;
static baton taken, queued;
static const char *how;

enum { ROUNDS = 100 };

static struct shared {
	pthread_barrier_t barrier;
	atomic_int threads[3];
} *shared;

static int is(const char *what)
{
	return !strcmp(how, what);
}

static void use(void)
{
	pthread_mutex_lock(&registry);
	pthread_mutex_unlock(&registry);
}

/* There are three threads. */
static int is_chain(void)
{
	return is("chain") || is("order") || is("chained");
}

static void here(int i)
{
	if (shared)
		atomic_store(&shared->threads[i], (int)syscall(SYS_gettid));
}

static void *first(void *arg)
{
	(void)arg;
	here(0);
	if (is("rounds")) {
		for (int i = 0; i < ROUNDS; i++) {
			use();
			pthread_barrier_wait(&ready);
		}
	} else if (is("swapped")) {
		pthread_barrier_wait(&ready);
	} else if (is("kept") || is("after") || is("chain") || is("order")) {
		if (!is("after"))
			baton_take(&taken);
		pthread_mutex_lock(&registry);
		pthread_barrier_wait(&ready);
		pthread_mutex_unlock(&registry);
	} else {
		pthread_mutex_lock(&registry);
		baton_pass(&taken);
		if (is("released"))
			pthread_mutex_unlock(&registry);
		pthread_barrier_wait(shared ? &shared->barrier : &ready);
		if (!is("released"))
			pthread_mutex_unlock(&registry);
	}
	return NULL;
}

static void *second(void *arg)
{
	(void)arg;
	here(1);
	if (is("rounds")) {
		for (int i = 0; i < ROUNDS; i++) {
			use();
			pthread_barrier_wait(&ready);
		}
	} else if (is("swapped")) {
		pthread_barrier_wait(&done);
	} else if (is("kept")) {
		use();
		baton_pass(&taken);
		pthread_barrier_wait(&ready);
	} else if (is_chain()) {
		baton_take(&queued);
		pthread_mutex_lock(&queue);
		pthread_mutex_unlock(&queue);
		if (!is("chained"))
			baton_pass(&taken);
		pthread_barrier_wait(&ready);
	} else if (is("after")) {
		pthread_barrier_wait(&ready);
		use();
	} else {
		baton_take(&taken);
		use();
		if (!shared)
			pthread_barrier_wait(&ready);
	}
	return NULL;
}

static void *third(void *arg)
{
	(void)arg;
	if (is("order"))
		pthread_mutex_lock(&registry);
	pthread_mutex_lock(&queue);
	if (is("chained")) {
		baton_take(&taken);
		baton_pass(&queued);
	}
	if (!is("order"))
		pthread_mutex_lock(&registry);
	pthread_mutex_unlock(&registry);
	pthread_mutex_unlock(&queue);
	if (!is("chained"))
		baton_pass(&queued);
	return NULL;
}

/* Whether a thread of the parent process sleeps in the kernel. */
static int sleeps(int tid)
{
	char path[64], line[512] = "", *state = NULL;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/task/%d/stat", getppid(), tid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (!fgets(line, sizeof line, f))
		line[0] = 0;
	fclose(f);
	for (char *c = line; *c; c++)
		if (*c == ')')
			state = c + 2;
	return state && *state == 'S';
}

/* Comes once all of the parent's threads sleep, and go on sleeping. */
static void come(void)
{
	for (int seen = 0; seen < 5;) {
		int all = 1;
		for (int i = 0; i < 3; i++) {
			int tid = atomic_load(&shared->threads[i]);
			all &= tid && sleeps(tid);
		}
		seen = all ? seen + 1 : 0;
		usleep(500);
	}
	pthread_barrier_wait(&shared->barrier);
	_exit(0);
}

int main(int argc, char **argv)
{
	pthread_t one, two, three;

	how = argc > 1 ? argv[1] : "";
	pthread_barrier_init(&ready, NULL, 2);
	pthread_barrier_init(&done, NULL, 2);
	if (is("another")) {
		pthread_barrierattr_t attr;
		shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		pthread_barrierattr_init(&attr);
		pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
		pthread_barrier_init(&shared->barrier, &attr, 2);
		if (!fork())
			come();
	}
	here(2);
	pthread_create(&one, NULL, first, NULL);
	pthread_create(&two, NULL, second, NULL);
	if (is_chain())
		pthread_create(&three, NULL, third, NULL);
	pthread_join(one, NULL);
	pthread_join(two, NULL);
	if (is_chain())
		pthread_join(three, NULL);
	if (shared)
		wait(NULL);
	pthread_barrier_destroy(&ready);
	pthread_barrier_destroy(&done);
	puts("the end");
	return 0;
}
