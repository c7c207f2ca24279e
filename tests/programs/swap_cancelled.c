/* Threads that can be cancelled at any instruction wait for locks of every sort, between others that cannot. They are
 * cancelled and joined while the lock is held; then the others get it, each once, and it is free in the end. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { MUTEX, RECURSIVE, TIMED, WRITER, READER, SPIN, CONDITION, SORTS };
enum { ROUNDS = 12, VICTIMS = 3 };

static const char *const names[] = { "mutex", "recursive", "timed", "writer", "reader", "spin", "condition" };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int sort;
static long taken;

static int lock(void)
{
	struct timespec time;

	switch (sort) {
	case RECURSIVE:
		return pthread_mutex_lock(&recursive);
	case TIMED:
		clock_gettime(CLOCK_REALTIME, &time);
		time.tv_sec += 3600;
		return pthread_mutex_timedlock(&mutex, &time);
	case WRITER:
		return pthread_rwlock_wrlock(&rwlock);
	case READER:
		return pthread_rwlock_rdlock(&rwlock);
	case SPIN:
		return pthread_spin_lock(&spin);
	default:
		return pthread_mutex_lock(&mutex);
	}
}

static int try_alone(void)
{
	switch (sort) {
	case RECURSIVE:
		return pthread_mutex_trylock(&recursive);
	case WRITER:
	case READER:
		return pthread_rwlock_trywrlock(&rwlock);
	case SPIN:
		return pthread_spin_trylock(&spin);
	default:
		return pthread_mutex_trylock(&mutex);
	}
}

static int unlock(void)
{
	switch (sort) {
	case RECURSIVE:
		return pthread_mutex_unlock(&recursive);
	case WRITER:
	case READER:
		return pthread_rwlock_unlock(&rwlock);
	case SPIN:
		return pthread_spin_unlock(&spin);
	default:
		return pthread_mutex_unlock(&mutex);
	}
}

static void unlock_mutex(void *unused)
{
	(void)unused;
	pthread_mutex_unlock(&mutex);
}

static void *victim(void *unused)
{
	int before;

	if (sort == CONDITION) {
		pthread_mutex_lock(&mutex);
		pthread_cleanup_push(unlock_mutex, NULL);
		pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
		for (;;)
			pthread_cond_wait(&cond, &mutex);
		pthread_cleanup_pop(0);
	}
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
	if (lock())
		abort();
	/* A thread that has returned from the function holds the lock, and is not to end with it. */
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &before);
	unlock();
	return unused;
}

/* Waits between the victims. */
static void *other(void *unused)
{
	lock();
	__sync_fetch_and_add(&taken, 1);
	unlock();
	return unused;
}

static void round_of(int number)
{
	pthread_t victims[VICTIMS], others[VICTIMS];
	void *end;

	/* A writer, where the others read. */
	if (sort == READER ? pthread_rwlock_wrlock(&rwlock) : lock())
		abort();
	for (int i = 0; i < VICTIMS; i++) {
		pthread_create(&others[i], NULL, other, NULL);
		pthread_create(&victims[i], NULL, victim, NULL);
	}
	usleep(number % 4 * 700);
	for (int i = 0; i < VICTIMS; i++)
		pthread_cancel(victims[i]);
	/* Those that wait for a condition take the mutex again before they end. */
	if (sort == CONDITION)
		unlock();
	for (int i = 0; i < VICTIMS; i++) {
		pthread_join(victims[i], &end);
		if (end != PTHREAD_CANCELED)
			printf("a %s thread was not cancelled\n", names[sort]);
	}
	if (sort != CONDITION)
		unlock();
	for (int i = 0; i < VICTIMS; i++)
		pthread_join(others[i], NULL);
}

int main(void)
{
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	for (sort = 0; sort < SORTS; sort++) {
		taken = 0;
		for (int i = 0; i < ROUNDS; i++)
			round_of(i);
		printf("%s: taken %ld times, %s\n", names[sort], taken, try_alone() ? "lost" : "free");
		unlock();
	}
	return 0;
}
