/* Forks for a while and prints the microseconds of wall time that one fork took: a child that takes a lock, releases it
 * and exits, and its parent's wait for that. A quarter of all forks took less.
 *
 *   fork MILLISECONDS
 *
 * The parent has used the lock before: what a child finds is what the parent of a server's or a shell's children has.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 100000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static double took[MOST];

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;
	return (left > right) - (left < right);
}

static void use_lock(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

int main(int argc, char **argv)
{
	double end = now() + (argc > 1 ? atol(argv[1]) : 0) * 1e3;
	int forks = 0;

	use_lock();
	do {
		double start = now();
		int status;
		pid_t child = fork();
		if (child == 0) {
			use_lock();
			_exit(0);
		}
		if (child < 0 || waitpid(child, &status, 0) < 0 || status)
			return 1;
		took[forks++] = now() - start;
	} while (forks < MOST && now() < end);
	qsort(took, forks, sizeof *took, by_value);
	printf("%.4f\n", took[forks / 4]);
	return 0;
}
