/* The handler of SIGUSR2 takes a lock in memory of the heap, which another thread takes with that signal open.
   "own": each thread has its lock, which its handler takes. "shared": all threads' handlers take one lock. "self": the thread whose
   handler takes it takes it outside, too. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static __thread pthread_mutex_t *mine;
static pthread_mutex_t *made[3];
static sem_t ready, end;

static void handler(int signal)
{
	(void)signal;
	pthread_mutex_lock(mine);
	pthread_mutex_unlock(mine);
	sem_post(&ready);
}

static void *serves(void *lock)
{
	mine = lock;
	sem_post(&ready);
	while (sem_wait(&end))
		;
	return NULL;
}

static void take(pthread_mutex_t *lock)
{
	pthread_mutex_lock(lock);
	pthread_mutex_unlock(lock);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "own";
	struct sigaction action = { .sa_handler = handler };
	pthread_t threads[2];
	int i, self = !strcmp(how, "self");

	sem_init(&ready, 0, 0);
	sem_init(&end, 0, 0);
	sigaction(SIGUSR2, &action, NULL);
	for (i = 0; i < 3; i++) {
		made[i] = i && strcmp(how, "own") ? made[0] : malloc(sizeof *made[i]);
		if (i == 0 || made[i] != made[0])
			pthread_mutex_init(made[i], NULL);
	}
	mine = made[2];
	if (self) {
		pthread_kill(pthread_self(), SIGUSR2);
		sem_wait(&ready);
	} else {
		for (i = 0; i < 2; i++) {
			pthread_create(&threads[i], NULL, serves, made[i]);
			sem_wait(&ready);
			pthread_kill(threads[i], SIGUSR2);
			sem_wait(&ready);
		}
	}
	take(made[0]);
	for (i = 0; i < 2 && !self; i++)
		sem_post(&end);
	for (i = 0; i < 2 && !self; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
