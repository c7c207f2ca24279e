/* Six locks under a little load, by four threads: a queue with a condition, a pool, a cache, a log that sleeps, a table that is
 * mostly read, and a lock that is seldom contended. Runs differ by chance alone. */
#include "meter.h"

enum { THREADS = 4, ROUNDS = 150 };

static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER, pool = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t cache = PTHREAD_MUTEX_INITIALIZER, journal = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t seldom = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int queued;

static void spin(uint64_t ns)
{
	spin_from(now(), ns);
}

SITE static void put(void)
{
	pthread_mutex_lock(&queue);
	queued++;
	pthread_cond_signal(&filled);
	pthread_mutex_unlock(&queue);
}

SITE static void get(void)
{
	pthread_mutex_lock(&queue);
	while (!queued)
		pthread_cond_wait(&filled, &queue);
	queued--;
	pthread_mutex_unlock(&queue);
}

SITE static void allocate(void)
{
	pthread_mutex_lock(&pool);
	spin(3000);
	pthread_mutex_unlock(&pool);
}

SITE static void look_up(int key)
{
	pthread_mutex_lock(&cache);
	spin(key % 7 ? 500 : 20000);
	pthread_mutex_unlock(&cache);
}

SITE static void append(void)
{
	struct timespec nap = { 0, 50000 };
	pthread_mutex_lock(&journal);
	nanosleep(&nap, NULL);
	pthread_mutex_unlock(&journal);
}

SITE static void read_table(void)
{
	pthread_rwlock_rdlock(&table);
	spin(1000);
	pthread_rwlock_unlock(&table);
}

SITE static void write_table(void)
{
	pthread_rwlock_wrlock(&table);
	spin(5000);
	pthread_rwlock_unlock(&table);
}

SITE static void rarely(void)
{
	pthread_mutex_lock(&seldom);
	spin(200);
	pthread_mutex_unlock(&seldom);
}

static void *work(void *arg)
{
	int of = (int)(intptr_t)arg;
	for (int i = 0; i < ROUNDS; i++) {
		if (of % 2)
			put();
		else
			get();
		allocate();
		look_up(i + of);
		if (i % 16 == of)
			append();
		if (i % 32 == of)
			write_table();
		else
			read_table();
		rarely();
	}
	return NULL;
}

int main(void)
{
	pthread_t started[THREADS];
	for (int i = 0; i < THREADS; i++)
		pthread_create(&started[i], NULL, work, (void *)(intptr_t)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(started[i], NULL);
	return 0;
}
