/* Two threads take turns at locks; what a thread touches in its turns is seen by a tracer of memory accesses.
 *
 *   turns WHAT ROUNDS
 *
 * WHAT: own      a mutex of the thread's own, locked and unlocked
 *       shared   one mutex that both use
 *       new      a mutex of the thread's own that is initialised, locked, unlocked and destroyed
 *       counted  as `own`, and both count at one place: what the tracer must find
 *
 * Prints the address of the two bytes that a thread writes 1 and 2 to, one for each thread, when its turn begins and
 * ends, and the address of the shared mutex.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 2, TURNS = 3 };

static _Alignas(128) volatile char marks[THREADS];
static _Alignas(128) pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(128) volatile unsigned long count;
static struct {
	_Alignas(128) pthread_mutex_t mutex;
} own[THREADS];
static pthread_barrier_t turn;
static const char *what;
static long rounds;

static void round_of(pthread_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
	pthread_mutex_unlock(mutex);
}

static void rounds_of(int me)
{
	for (long i = 0; i < rounds; i++) {
		switch (what[0]) {
		case 's':
			round_of(&shared);
			break;
		case 'n':
			pthread_mutex_init(&own[me].mutex, NULL);
			round_of(&own[me].mutex);
			pthread_mutex_destroy(&own[me].mutex);
			break;
		case 'c':
			count++;
			/* fall through */
		default:
			round_of(&own[me].mutex);
		}
	}
}

static void *take_turns(void *number)
{
	int me = (int)(intptr_t)number;
	for (int i = 0; i < TURNS * THREADS; i++) {
		pthread_barrier_wait(&turn);
		if (i % THREADS == me) {
			marks[me] = 1;
			rounds_of(me);
			marks[me] = 2;
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	if (argc != 3)
		return 2;
	what = argv[1];
	rounds = atol(argv[2]);
	for (int i = 0; i < THREADS; i++)
		pthread_mutex_init(&own[i].mutex, NULL);
	pthread_barrier_init(&turn, NULL, THREADS);
	printf("%p %p\n", (void *)marks, (void *)&shared);
	fflush(stdout);
	for (intptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, take_turns, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
