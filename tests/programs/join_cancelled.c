/* A thread joins another with a lock held that the other waits for, until it is cancelled: pthread_join is a
   cancellation point, and its cleanup handler unlocks.

   join_cancelled MILLISECONDS   when */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t state = PTHREAD_MUTEX_INITIALIZER;
static pthread_t worker;

static void unlock(void *mutex)
{
	pthread_mutex_unlock(mutex);
}

static void *work(void *unused)
{
	usleep(50000);
	pthread_mutex_lock(&state);
	pthread_mutex_unlock(&state);
	return unused;
}

static void *lead(void *unused)
{
	pthread_mutex_lock(&state);
	pthread_cleanup_push(unlock, &state);
	pthread_join(worker, NULL);
	pthread_cleanup_pop(1);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t leader;

	if (argc < 2)
		return 2;
	pthread_create(&worker, NULL, work, NULL);
	pthread_create(&leader, NULL, lead, NULL);
	usleep(atoi(argv[1]) * 1000);
	pthread_cancel(leader);
	pthread_join(leader, NULL);
	pthread_join(worker, NULL);
	puts("ended");
	return 0;
}
