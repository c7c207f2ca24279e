/* Two rwlocks that two threads nest in opposite orders, but nobody ever writes the first: readers of glibc's default
 * kind do not wait for each other, so that this cannot deadlock as it is. */
#include <pthread.h>
#include <stdio.h>

static pthread_rwlock_t shelves[2];

static void *writes_within(void *arg)
{
	(void)arg;
	pthread_rwlock_rdlock(&shelves[0]);
	pthread_rwlock_wrlock(&shelves[1]);
	pthread_rwlock_unlock(&shelves[1]);
	pthread_rwlock_unlock(&shelves[0]);
	return NULL;
}

static void *reads_within(void *arg)
{
	(void)arg;
	pthread_rwlock_wrlock(&shelves[1]);
	pthread_rwlock_rdlock(&shelves[0]);
	pthread_rwlock_unlock(&shelves[0]);
	pthread_rwlock_unlock(&shelves[1]);
	return NULL;
}

int main(void)
{
	pthread_t threads[2];

	for (int i = 0; i < 2; i++)
		pthread_rwlock_init(&shelves[i], NULL);
	/* One place that takes each: they are shelves alike. */
	for (int i = 0; i < 2; i++) {
		pthread_rwlock_rdlock(&shelves[i]);
		pthread_rwlock_unlock(&shelves[i]);
	}
	pthread_create(&threads[0], NULL, writes_within, NULL);
	pthread_create(&threads[1], NULL, reads_within, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	puts("the end");
	return 0;
}
