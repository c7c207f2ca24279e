/* fork while another thread holds a lock.
 *
 *   fork_held used    the child tries it: nobody will ever unlock it there
 *   fork_held unused  the child leaves it alone: clean
 *   fork_held again   the child initialises it again, and two of its threads contend for it: clean; also
 *                     static, where an initialiser is assigned
 *   fork_held atfork  the forking thread takes it around the fork, by pthread_atfork: clean
 *   fork_held kept    the forking thread holds it, and the child takes another inside, in both orders
 *   fork_held early   as kept, but the child unlocks it first: clean
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "baton.h"

static pthread_mutex_t cache = PTHREAD_MUTEX_INITIALIZER;
static sem_t holds, leave;
static int around;
static pthread_mutex_t index_lock = PTHREAD_MUTEX_INITIALIZER;
static baton done;

static void *filler(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "filler");
	pthread_mutex_lock(&cache);
	sem_post(&holds);
	if (!around)
		sem_wait(&leave);
	pthread_mutex_unlock(&cache);
	return NULL;
}

static void take(void)
{
	pthread_mutex_lock(&cache);
}

static void give(void)
{
	pthread_mutex_unlock(&cache);
}

/* With a time limit, or the child would be there for ever. */
static void look_up(void)
{
	struct timespec soon;

	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_nsec += 50 * 1000 * 1000;
	soon.tv_sec += soon.tv_nsec / (1000 * 1000 * 1000);
	soon.tv_nsec %= 1000 * 1000 * 1000;
	if (pthread_mutex_timedlock(&cache, &soon) == 0)
		pthread_mutex_unlock(&cache);
}

static int has_tried;

static void *try_it(void *arg)
{
	(void)arg;
	look_up();
	__atomic_store_n(&has_tried, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Its thread waits for the lock until the time limit. */
static void make_again(const char *how)
{
	static const pthread_mutex_t initial = PTHREAD_MUTEX_INITIALIZER;
	pthread_t thread;

	if (!strcmp(how, "again"))
		pthread_mutex_init(&cache, NULL);
	else
		cache = initial;
	pthread_mutex_lock(&cache);
	pthread_create(&thread, NULL, try_it, NULL);
	while (!__atomic_load_n(&has_tried, __ATOMIC_ACQUIRE))
		usleep(1000);
	pthread_mutex_unlock(&cache);
	pthread_join(thread, NULL);
}

static void *reversed(void *arg)
{
	(void)arg;
	baton_take(&done);
	pthread_mutex_lock(&index_lock);
	pthread_mutex_lock(&cache);
	pthread_mutex_unlock(&cache);
	pthread_mutex_unlock(&index_lock);
	return NULL;
}

/* The child's main thread took `cache` in the parent. */
static void go_on(int is_kept)
{
	pthread_t thread;

	if (!is_kept)
		pthread_mutex_unlock(&cache);
	pthread_create(&thread, NULL, reversed, NULL);
	pthread_mutex_lock(&index_lock);
	pthread_mutex_unlock(&index_lock);
	if (is_kept)
		pthread_mutex_unlock(&cache);
	baton_pass(&done);
	pthread_join(thread, NULL);
}

static int fork_holding(int is_kept)
{
	int status = 1;
	pid_t child;

	pthread_mutex_lock(&cache);
	child = fork();
	if (child == 0) {
		go_on(is_kept);
		_exit(0);
	}
	pthread_mutex_unlock(&cache);
	waitpid(child, &status, 0);
	puts("the end");
	return status;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "used";
	pthread_t thread;
	pid_t child;

	if (!strcmp(how, "kept") || !strcmp(how, "early"))
		return fork_holding(!strcmp(how, "kept"));
	around = !strcmp(how, "atfork");
	if (around)
		pthread_atfork(take, give, give);
	sem_init(&holds, 0, 0);
	sem_init(&leave, 0, 0);
	pthread_create(&thread, NULL, filler, NULL);
	sem_wait(&holds);
	child = fork();
	if (child == 0) {
		if (!strcmp(how, "again") || !strcmp(how, "static"))
			make_again(how);
		else if (strcmp(how, "unused"))
			look_up();
		_exit(0);
	}
	waitpid(child, NULL, 0);
	sem_post(&leave);
	pthread_join(thread, NULL);
	puts("the end");
	return 0;
}
