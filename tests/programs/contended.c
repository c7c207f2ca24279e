/* Locks of each sort that threads wait for, with nothing wrong. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>

enum { THREADS = 8, ROUNDS = 2000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t begin;
static sem_t sem;
static long count, turn;

static void *run(void *number)
{
	pthread_barrier_wait(&begin);
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&mutex);
		count++;
		pthread_mutex_lock(&inner);
		pthread_mutex_unlock(&inner);
		if (i % 16 == 0)
			sched_yield();
		pthread_mutex_unlock(&mutex);
		if (i % 8 == 0)
			pthread_rwlock_wrlock(&rwlock);
		else
			pthread_rwlock_rdlock(&rwlock);
		pthread_rwlock_unlock(&rwlock);
		pthread_spin_lock(&spin);
		pthread_spin_unlock(&spin);
		if (i % 64 == 0) {
			sem_wait(&sem);
			sem_post(&sem);
		}
	}
	pthread_mutex_lock(&mutex);
	while (turn != (long)number)
		pthread_cond_wait(&turned, &mutex);
	turn++;
	pthread_cond_broadcast(&turned);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	pthread_barrier_init(&begin, NULL, THREADS);
	sem_init(&sem, 0, 2);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_spin_destroy(&spin);
	pthread_barrier_destroy(&begin);
	sem_destroy(&sem);
	printf("%ld\n", count);
	return 0;
}
