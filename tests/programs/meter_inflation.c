/* How long a mutex is held as the others see it: a watcher looks at its word all the time. Prints the median.
 * Argument: nanoseconds by which the program itself makes each hold longer. */
#include "meter.h"
#include <x86intrin.h>

/* Enough for a median; seen whenever both threads have a processor, for at most so long. */
#define ROUNDS 5000
#define PATIENCE 20000000000

/* In a cache line of its own: what else the watcher writes must not take it away. */
static _Alignas(128) struct {
	pthread_mutex_t mutex;
	char rest[128];
} alone = { .mutex = PTHREAD_MUTEX_INITIALIZER };
static atomic_int is_over;
static uint64_t seen[ROUNDS];
static atomic_int count;

static void *watcher(void *arg)
{
	volatile int *word = (volatile int *)&alone.mutex;

	for (int i = 0; i < ROUNDS; i++) {
		uint64_t begun;
		while (*word == 0)
			if (atomic_load(&is_over))
				return arg;
		begun = __rdtsc();
		while (*word != 0)
			;
		seen[i] = __rdtsc() - begun;
		atomic_store(&count, i + 1);
	}
	return arg;
}

static void work(uint64_t ticks)
{
	uint64_t begun = __rdtsc();
	while (__rdtsc() - begun < ticks)
		;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	uint64_t extra = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	uint64_t ticks = __rdtsc(), begun = now(), ns;
	double rate;
	pthread_t thread;

	while (now() - begun < 20000000)
		;
	ns = now() - begun;
	rate = (double)(__rdtsc() - ticks) / (double)ns;

	pthread_create(&thread, NULL, watcher, NULL);
	begun = now();
	while (atomic_load(&count) < ROUNDS && now() - begun < PATIENCE) {
		pthread_mutex_lock(&alone.mutex);
		work((uint64_t)((double)(1000 + extra) * rate));
		pthread_mutex_unlock(&alone.mutex);
		work((uint64_t)(1000 * rate));
	}
	atomic_store(&is_over, 1);
	pthread_join(thread, NULL);
	if (atomic_load(&count) < ROUNDS) {
		puts("the watcher has not seen enough: it had no processor of its own");
		return 1;
	}
	qsort(seen, ROUNDS, sizeof *seen, by_size);
	/* In hundredths, as the median of many is finer than a nanosecond. */
	truth("hold", (uint64_t)((double)seen[ROUNDS / 2] / rate * 100));
	return 0;
}
