/* Unlocks that do not belong to a lock.
 *
 *   bad_unlock other      one thread locks, another unlocks
 *   bad_unlock never      nobody has locked
 *   bad_unlock twice      the second unlock of two
 *   bad_unlock reader     a rwlock that nobody has locked
 *   bad_unlock writer     a rwlock that another thread has locked for writing
 *   bad_unlock checked    an error-checking mutex that nobody has locked: the call fails
 *   bad_unlock owner      an error-checking mutex that another thread has locked: the call fails
 *   bad_unlock deeper     a recursive mutex, unlocked once more than it was locked: the call fails
 *   bad_unlock child      an error-checking mutex, locked before a fork and unlocked in the child: it fails
 *   bad_unlock destroyed  a mutex that was destroyed
 *   bad_unlock spin       a spinlock that nobody has locked
 *   bad_unlock clean      a spinlock and an error-checking mutex, as it should be: clean
 *   bad_unlock recursive  a recursive mutex, unlocked as often as it was locked: clean
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t turnstile = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t gate = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_spinlock_t bell;
static pthread_rwlock_t garden = PTHREAD_RWLOCK_INITIALIZER;
static sem_t entered, left;
static pthread_mutex_t *inside = &door;
static int outside;

static void *guest(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "guest");
	if (outside)
		pthread_rwlock_wrlock(&garden);
	else
		pthread_mutex_lock(inside);
	sem_post(&entered);
	sem_wait(&left);
	if (inside == &gate)
		pthread_mutex_unlock(inside); /* still ours */
	return NULL;
}

static void *porter(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "porter");
	if (outside)
		pthread_rwlock_unlock(&garden);
	else
		pthread_mutex_unlock(inside);
	sem_post(&left);
	return NULL;
}

static void other(void)
{
	pthread_t threads[2];

	pthread_create(&threads[0], NULL, guest, NULL);
	sem_wait(&entered);
	pthread_create(&threads[1], NULL, porter, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void leave(void)
{
	pthread_mutex_unlock(&door);
}

static void child(void)
{
	pthread_mutex_lock(&gate);
	pid_t pid = fork();
	if (pid == 0) {
		pthread_mutex_unlock(&gate);
		_exit(0);
	}
	pthread_mutex_unlock(&gate);
	waitpid(pid, NULL, 0);
}

static void clean(void)
{
	pthread_mutex_lock(&gate);
	pthread_spin_lock(&bell);
	pthread_mutex_unlock(&gate);
	pthread_spin_unlock(&bell);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "other";

	sem_init(&entered, 0, 0);
	sem_init(&left, 0, 0);
	pthread_spin_init(&bell, PTHREAD_PROCESS_PRIVATE);
	outside = !strcmp(how, "writer");
	if (!strcmp(how, "owner"))
		inside = &gate;
	if (outside || inside == &gate || !strcmp(how, "other")) {
		other();
	} else if (!strcmp(how, "reader")) {
		pthread_rwlock_unlock(&garden);
	} else if (!strcmp(how, "never")) {
		leave();
	} else if (!strcmp(how, "twice")) {
		pthread_mutex_lock(&door);
		leave();
		leave();
	} else if (!strcmp(how, "checked")) {
		pthread_mutex_unlock(&gate);
	} else if (!strcmp(how, "child")) {
		child();
	} else if (!strcmp(how, "spin")) {
		pthread_spin_unlock(&bell);
	} else if (!strcmp(how, "destroyed")) {
		pthread_mutex_lock(&door);
		leave();
		pthread_mutex_destroy(&door);
		leave();
	} else if (!strcmp(how, "clean")) {
		clean();
	} else {
		for (int i = 0; i < 3; i++)
			pthread_mutex_lock(&turnstile);
		for (int i = 0; i < 3 + !strcmp(how, "deeper"); i++)
			pthread_mutex_unlock(&turnstile);
	}
	puts("the end");
	return 0;
}
