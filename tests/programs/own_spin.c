/* A spin lock of atomics, which nobody sees, in a cycle with a mutex: one thread holds the mutex
 * and spins for the other lock, whose holder waits for the mutex. Prints its process id, and hangs.
 *
 * own_spin [fixed]: both take the mutex first, and the program ends.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static atomic_flag own = ATOMIC_FLAG_INIT;
static sem_t ready;

static void own_lock(void)
{
	while (atomic_flag_test_and_set(&own))
		;
}

static void own_unlock(void)
{
	atomic_flag_clear(&own);
}

static void *spins(void *unused)
{
	pthread_mutex_lock(&table);
	sem_post(&ready);
	own_lock();
	own_unlock();
	pthread_mutex_unlock(&table);
	return unused;
}

int main(int argc, char **argv)
{
	int fixed = argc > 1;
	pthread_t thread;

	(void)argv;
	printf("%d\n", (int)getpid());
	fflush(stdout);
	sem_init(&ready, 0, 0);
	if (!fixed)
		own_lock();
	pthread_create(&thread, NULL, spins, NULL);
	while (sem_wait(&ready))
		;
	pthread_mutex_lock(&table);
	if (fixed)
		own_lock();
	own_unlock();
	pthread_mutex_unlock(&table);
	pthread_join(thread, NULL);
	return 0;
}
