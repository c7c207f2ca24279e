/* Real-time threads of four priorities wait for one object, the lowest first; then it is released. Prints the order in
 * which they get it. All run on one processor, below the main thread. One argument: what they wait for. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WAITERS = 4, STEP = 20000 };

static const int priorities[WAITERS] = { 20, 40, 10, 30 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static const char *what;
static int order[WAITERS], got;

static void *wait_for_it(void *priority)
{
	if (!strcmp(what, "rwlock"))
		pthread_rwlock_wrlock(&rwlock);
	else
		pthread_mutex_lock(&mutex);
	if (!strcmp(what, "condition"))
		pthread_cond_wait(&cond, &mutex);
	order[got++] = *(const int *)priority;
	if (!strcmp(what, "rwlock"))
		pthread_rwlock_unlock(&rwlock);
	else
		pthread_mutex_unlock(&mutex);
	return NULL;
}

static int prefer(int priority)
{
	struct sched_param parameter = { .sched_priority = priority };

	return pthread_setschedparam(pthread_self(), SCHED_FIFO, &parameter);
}

int main(int argc, char **argv)
{
	pthread_t threads[WAITERS];
	pthread_attr_t attr;
	cpu_set_t one;

	what = argc > 1 ? argv[1] : "mutex";
	sched_getaffinity(0, sizeof(one), &one);
	for (int cpu = 0, found = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &one) && found++)
			CPU_CLR(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) || prefer(50)) {
		puts("not permitted");
		return 0;
	}
	pthread_attr_init(&attr);
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_FIFO);
	if (!strcmp(what, "rwlock"))
		pthread_rwlock_wrlock(&rwlock);
	else if (strcmp(what, "condition"))
		pthread_mutex_lock(&mutex);
	for (int i = 0; i < WAITERS; i++) {
		struct sched_param parameter = { .sched_priority = priorities[i] };

		pthread_attr_setschedparam(&attr, &parameter);
		if (pthread_create(&threads[i], &attr, wait_for_it, (void *)&priorities[i])) {
			puts("not permitted");
			return 0;
		}
		usleep(STEP);
	}
	if (!strcmp(what, "condition")) {
		for (int i = 0; i < WAITERS; i++) {
			pthread_cond_signal(&cond);
			usleep(STEP);
		}
	} else if (!strcmp(what, "rwlock"))
		pthread_rwlock_unlock(&rwlock);
	else
		pthread_mutex_unlock(&mutex);
	for (int i = 0; i < WAITERS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < WAITERS; i++)
		printf("%d ", order[i]);
	puts("");
	return 0;
}
