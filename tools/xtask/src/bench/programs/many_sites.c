/* THREADS threads, each of which takes locks at 1,000 call sites, ROUNDS times: its own at 900 of them, one that
 * all share at 100. How long it holds them is spread over several octaves, as in programs that do something. How
 * large does a ledger get? Prints its process id.
 *
 *   many_sites THREADS ROUNDS
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static long rounds;
static pthread_barrier_t all_are_here;
static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;
static __thread uint64_t state;

/* Up to some thousand instructions, half as many as often as twice as many. */
static __attribute__((noinline)) void work_a_while(void)
{
	/* xorshift64 (Marsaglia). */
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	for (uint64_t left = (state >> 16 & 1023) >> (state & 7); left; left--)
		__asm__ volatile("" ::: "memory");
}

#define TAKE(m)                     \
	pthread_mutex_lock(m); \
	work_a_while(); \
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
	state = (uint64_t)(uintptr_t)&mutex;
	/* A thread that ends hands its cells on. */
	pthread_barrier_wait(&all_are_here);
	for (long i = 0; i < rounds; i++) {
		take_0(&mutex); take_1(&mutex); take_2(&mutex); take_3(&mutex); take_4(&mutex);
		take_5(&mutex); take_6(&mutex); take_7(&mutex); take_8(&mutex); take_9(&shared);
	}
	pthread_mutex_destroy(&mutex);
	return arg;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 64;
	pthread_t *started = calloc((size_t)threads, sizeof *started);

	rounds = argc > 2 ? atol(argv[2]) : 10;
	printf("%d\n", (int)getpid());
	fflush(stdout);
	pthread_barrier_init(&all_are_here, NULL, (unsigned)threads);
	for (int i = 0; i < threads; i++)
		pthread_create(&started[i], NULL, work, NULL);
	for (int i = 0; i < threads; i++)
		pthread_join(started[i], NULL);
	return 0;
}
