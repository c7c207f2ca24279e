/* Two threads, one mutex taken a known number of times, an rwlock, and a wait that must happen. Ends with 3,
 * or with an argument waits to be killed while it holds the mutex. */
#include <pthread.h>
#include "asleep.h"
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t counter_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static int counter;
static atomic_int worker_id;

static void increment(void)
{
	pthread_mutex_lock(&counter_lock);
	counter++;
	pthread_mutex_unlock(&counter_lock);
}

static void *worker(void *unused)
{
	for (int i = 0; i < 100; i++)
		increment();
	pthread_rwlock_rdlock(&table_lock);
	pthread_rwlock_unlock(&table_lock);
	atomic_store(&worker_id, thread_id());
	/* main holds it for as long as it sleeps */
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	(void)argv;
	pthread_mutex_lock(&gate);
	pthread_create(&thread, NULL, worker, NULL);
	for (int i = 0; i < 50; i++)
		increment();
	if (pthread_mutex_trylock(&gate) == 0)
		return 1;
	await_blocked(&worker_id);
	usleep(200000);
	pthread_mutex_unlock(&gate);
	pthread_join(thread, NULL);
	pthread_rwlock_wrlock(&table_lock);
	pthread_rwlock_unlock(&table_lock);
	if (argc > 1) {
		pthread_mutex_lock(&counter_lock);
		printf("%d\n", (int)getpid());
		fflush(stdout);
		pause();
	}
	return 3;
}
