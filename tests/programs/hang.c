/* Prints its process id, and then hangs in no circle: main holds a mutex and a rwlock and waits for a thread that waits
   to be signalled, and nobody does. A handler of a signal might: so the tool waits on. With an argument it returns instead. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { TELLERS = 3, THREADS = TELLERS + 2 };

static pthread_mutex_t vault = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t desk = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t bell = PTHREAD_COND_INITIALIZER;

static void *teller(void *unused)
{
	pthread_mutex_lock(&vault);
	pthread_mutex_unlock(&vault);
	return unused;
}

static void *clerk(void *unused)
{
	pthread_mutex_lock(&desk);
	for (;;)
		pthread_cond_wait(&bell, &desk);
	return unused;
}

static void *reader(void *unused)
{
	pthread_rwlock_rdlock(&table);
	pthread_rwlock_unlock(&table);
	return unused;
}

static void handler(int number)
{
	(void)number;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];

	(void)argv;
	signal(SIGUSR2, handler);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	pthread_mutex_lock(&vault);
	pthread_rwlock_wrlock(&table);
	for (int i = 0; i < TELLERS; i++)
		pthread_create(&threads[i], NULL, teller, NULL);
	pthread_create(&threads[TELLERS], NULL, clerk, NULL);
	pthread_create(&threads[TELLERS + 1], NULL, reader, NULL);
	if (argc == 1)
		pthread_join(threads[TELLERS], NULL);
	return 0;
}
