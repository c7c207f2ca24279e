/* Two threads wait for each other's mutex, until one of them, which can be cancelled at any time, is.

   cycle_cancelled MILLISECONDS   when */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;

static void unlock(void *mutex)
{
	pthread_mutex_unlock(mutex);
}

static void *stubborn(void *unused)
{
	pthread_mutex_lock(&left);
	usleep(100000);
	pthread_mutex_lock(&right);
	pthread_mutex_unlock(&right);
	pthread_mutex_unlock(&left);
	return unused;
}

static void *cancellable(void *unused)
{
	int old;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
	pthread_mutex_lock(&right);
	pthread_cleanup_push(unlock, &right);
	usleep(100000);
	pthread_mutex_lock(&left);
	pthread_mutex_unlock(&left);
	pthread_cleanup_pop(1);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t first, second;

	if (argc < 2)
		return 2;
	pthread_create(&first, NULL, stubborn, NULL);
	pthread_create(&second, NULL, cancellable, NULL);
	usleep(atoi(argv[1]) * 1000);
	pthread_cancel(second);
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	puts("ended");
	return 0;
}
