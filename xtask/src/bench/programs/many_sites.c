/* THREADS threads, each of which takes a lock of its own at 1,000 call sites, ROUNDS times: how large does a
 * ledger get? Prints nothing.
 *
 *   many_sites THREADS ROUNDS
 */
#include <pthread.h>
#include <stdlib.h>

static long rounds;
static pthread_barrier_t all_are_here;

#define TAKE(m)                     \
	pthread_mutex_lock(m); \
	pthread_mutex_unlock(m);
#define TAKE_10(m) TAKE(m) TAKE(m) TAKE(m) TAKE(m) TAKE(m) TAKE(m) TAKE(m) TAKE(m) TAKE(m) TAKE(m)
#define TAKE_100(m) TAKE_10(m) TAKE_10(m) TAKE_10(m) TAKE_10(m) TAKE_10(m) \
		    TAKE_10(m) TAKE_10(m) TAKE_10(m) TAKE_10(m) TAKE_10(m)

/* A function a hundred, so that the compiler has no giant to chew on; each with its number in it, so that it
 * does not take them for one. */
#define FUNCTION(n)                                                              \
	static __attribute__((noinline)) void take_##n(pthread_mutex_t *m) \
	{ \
		TAKE_100(m) \
		__asm__ volatile("# " #n ::: "memory"); \
	}
FUNCTION(0) FUNCTION(1) FUNCTION(2) FUNCTION(3) FUNCTION(4)
FUNCTION(5) FUNCTION(6) FUNCTION(7) FUNCTION(8) FUNCTION(9)

static void *work(void *arg)
{
	pthread_mutex_t mutex;
	pthread_mutex_init(&mutex, NULL);
	/* A thread that ends hands its cells on. */
	pthread_barrier_wait(&all_are_here);
	for (long i = 0; i < rounds; i++) {
		take_0(&mutex); take_1(&mutex); take_2(&mutex); take_3(&mutex); take_4(&mutex);
		take_5(&mutex); take_6(&mutex); take_7(&mutex); take_8(&mutex); take_9(&mutex);
	}
	pthread_mutex_destroy(&mutex);
	return arg;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 64;
	pthread_t *started = calloc((size_t)threads, sizeof *started);

	rounds = argc > 2 ? atol(argv[2]) : 10;
	pthread_barrier_init(&all_are_here, NULL, (unsigned)threads);
	for (int i = 0; i < threads; i++)
		pthread_create(&started[i], NULL, work, NULL);
	for (int i = 0; i < threads; i++)
		pthread_join(started[i], NULL);
	return 0;
}
