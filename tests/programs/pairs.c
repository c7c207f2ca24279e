/* Lock-heavy: takes ever new pairs of locks nested, in four threads, until it is killed. After each pair it
 * writes one byte to stdout: a promise to the reader that a checker must know that pair by now. The first
 * line is the process id. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

enum { THREADS = 4, LOCKS = 512 };

/* Static, and so a class of its own each: none of the pairs may be folded into another. */
static struct lane {
	pthread_mutex_t locks[LOCKS];
} lanes[THREADS];

static void *take_pairs(void *arg)
{
	struct lane *lane = arg;
	for (int i = 0; i < LOCKS; i++) {
		for (int j = i + 1; j < LOCKS; j++) {
			pthread_mutex_lock(&lane->locks[i]);
			pthread_mutex_lock(&lane->locks[j]);
			pthread_mutex_unlock(&lane->locks[j]);
			pthread_mutex_unlock(&lane->locks[i]);
			if (write(STDOUT_FILENO, ".", 1) != 1)
				_exit(1);
		}
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	char line[32];
	int n = snprintf(line, sizeof line, "%d\n", (int)getpid());
	if (write(STDOUT_FILENO, line, n) != n)
		return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, take_pairs, &lanes[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
