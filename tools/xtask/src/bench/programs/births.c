/* Does one thing so often, and prints what one took: nanoseconds by the clock, and of processor time with all children,
 * and page faults.
 *
 *   births fresh N     an object with a mutex that nobody initialises is made, the mutex taken once, and the object freed
 *   births init N      a mutex is initialised and destroyed: ten at a time, in an array on the stack
 *   births thread N    a thread is created, takes one mutex and is joined
 *   births fork N      a child is forked, takes one mutex and ends, and is waited for
 *   births pair N      a mutex is locked and unlocked
 *   births readers N   each of two threads takes and leaves one rwlock for reading
 *
 * A tenth as many come first and are not timed: of what is new to the tool only once, nothing is in the figures.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct object {
	pthread_mutex_t mutex;
	int value;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

static void use_lock(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

static void fresh(long n)
{
	while (n--) {
		struct object *object = calloc(1, sizeof *object);
		if (!object)
			abort();
		pthread_mutex_lock(&object->mutex);
		object->value++;
		pthread_mutex_unlock(&object->mutex);
		free(object);
	}
}

static void init(long n)
{
	for (n = (n + 9) / 10; n--;) {
		pthread_mutex_t some[10];
		for (int i = 0; i < 10; i++)
			pthread_mutex_init(&some[i], NULL);
		for (int i = 0; i < 10; i++)
			pthread_mutex_destroy(&some[i]);
	}
}

static void *lives(void *unused)
{
	use_lock();
	return unused;
}

static void thread(long n)
{
	while (n--) {
		pthread_t created;
		if (pthread_create(&created, NULL, lives, NULL))
			abort();
		pthread_join(created, NULL);
	}
}

/* A function, whose calls profilers can tell from each other. */
__attribute__((noinline)) static void forked(void)
{
	int status = 1;
	pid_t child = fork();
	if (child == 0) {
		use_lock();
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0 || status)
		abort();
}

static void forks(long n)
{
	while (n--)
		forked();
}

static void pair(long n)
{
	while (n--)
		use_lock();
}

static void *reads(void *n)
{
	for (long i = *(long *)n; i--;) {
		pthread_rwlock_rdlock(&rwlock);
		pthread_rwlock_unlock(&rwlock);
	}
	return NULL;
}

static void readers(long n)
{
	pthread_t other;
	if (pthread_create(&other, NULL, reads, &n))
		abort();
	reads(&n);
	pthread_join(other, NULL);
}

static double ns(struct timespec t)
{
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static double by_clock(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return ns(t);
}

static double by_processor(void)
{
	struct timespec t;
	struct rusage used;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	getrusage(RUSAGE_CHILDREN, &used);
	return ns(t) + (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e9 +
	       (used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e3;
}

static long faults(void)
{
	struct rusage own, children;
	getrusage(RUSAGE_SELF, &own);
	getrusage(RUSAGE_CHILDREN, &children);
	return own.ru_minflt + own.ru_majflt + children.ru_minflt + children.ru_majflt;
}

static void *idle(void *unused)
{
	pause();
	return unused;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*act)(long);
	} acts[] = {{"fresh", fresh}, {"init", init}, {"thread", thread},
		    {"fork", forks},  {"pair", pair}, {"readers", readers}};
	long n = argc == 3 ? atol(argv[2]) : 0;

	for (size_t i = 0; n > 0 && i < sizeof acts / sizeof *acts; i++) {
		pthread_t other;
		if (strcmp(argv[1], acts[i].name))
			continue;
		/* With one thread alone the C library locks without atomic instructions. */
		if (pthread_create(&other, NULL, idle, NULL))
			return 1;
		use_lock();
		acts[i].act(n / 10 + 1);
		double faulted = faults(), clock = by_clock(), processor = by_processor();
		acts[i].act(n);
		printf("%.3f %.3f ", (by_clock() - clock) / n, (by_processor() - processor) / n);
		printf("%.3f\n", (faults() - faulted) / n);
		return 0;
	}
	fputs("births fresh|init|thread|fork|pair|readers N\n", stderr);
	return 2;
}
