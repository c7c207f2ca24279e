/* fork while another thread holds a lock.
 *
 *   fork_held used    the child tries it: nobody will ever unlock it there
 *   fork_held unused  the child leaves it alone: clean
 *   fork_held atfork  the forking thread takes it around the fork, by pthread_atfork: clean
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t cache = PTHREAD_MUTEX_INITIALIZER;
static sem_t holds, leave;
static int around;

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

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "used";
	pthread_t thread;
	pid_t child;

	around = !strcmp(how, "atfork");
	if (around)
		pthread_atfork(take, give, give);
	sem_init(&holds, 0, 0);
	sem_init(&leave, 0, 0);
	pthread_create(&thread, NULL, filler, NULL);
	sem_wait(&holds);
	child = fork();
	if (child == 0) {
		if (strcmp(how, "unused"))
			look_up();
		_exit(0);
	}
	waitpid(child, NULL, 0);
	sem_post(&leave);
	pthread_join(thread, NULL);
	puts("the end");
	return 0;
}
