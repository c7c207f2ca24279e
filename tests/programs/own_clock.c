/* Has a clock_gettime of its own, which takes a lock as a faked clock's may, and does what makes the tool ask for the
 * time: it makes and destroys locks, and waits. Prints how often its clock was asked, which is once. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t clock_lock = PTHREAD_MUTEX_INITIALIZER;
static int asked;

int clock_gettime(clockid_t clock, struct timespec *time)
{
	pthread_mutex_lock(&clock_lock);
	asked++;
	pthread_mutex_unlock(&clock_lock);
	return syscall(SYS_clock_gettime, clock, time);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t woken = PTHREAD_COND_INITIALIZER;
static int is_awake;

static void *waker(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&lock);
	is_awake = 1;
	pthread_cond_signal(&woken);
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	struct timespec time;
	pthread_t thread;

	clock_gettime(CLOCK_MONOTONIC, &time);
	for (int i = 0; i < 10; i++) {
		pthread_mutex_t mutex;
		pthread_mutex_init(&mutex, NULL);
		pthread_mutex_destroy(&mutex);
	}
	pthread_mutex_lock(&lock);
	pthread_create(&thread, NULL, waker, NULL);
	while (!is_awake)
		pthread_cond_wait(&woken, &lock);
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
	printf("asked %d times\n", asked);
	return 0;
}
