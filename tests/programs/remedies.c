// Pairs of programs: with a lock that is waited for, and with the remedy that lockwright's advice names. The advice on the
// first estimates what the second brings.
// Usage: remedies CASE before|after [MILLISECONDS]
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 16, PARTS = 4 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t parts[PARTS] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
				       PTHREAD_MUTEX_INITIALIZER};
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static int is_after;
static volatile unsigned long sink;

// Work of about so many microseconds of a processor's time: a count, so that waiting does not shorten it.
static double per_us;

static void work(double us)
{
	unsigned long n = (unsigned long)(us * per_us);
	unsigned long x = sink;
	for (unsigned long i = 0; i < n; i++)
		__asm__ volatile("" : "+r"(x));
	sink = x;
}

static double cpu_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static void calibrate(void)
{
	double best = 0;
	for (int i = 0; i < 20; i++) {
		per_us = 1;
		double begin = cpu_us();
		work(300000);
		double rate = 300000 / (cpu_us() - begin);
		if (rate > best)
			best = rate;
	}
	per_us = best;
}

static void pause_us(long us)
{
	struct timespec t = {0, us * 1000};
	nanosleep(&t, NULL);
}

// Like work, but of a length that varies by chance: from nothing to twice as long.
static double vary(unsigned *seed)
{
	return 2.0 * rand_r(seed) / RAND_MAX;
}

static struct timespec until;

static int is_over(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec > until.tv_sec || (t.tv_sec == until.tv_sec && t.tv_nsec >= until.tv_nsec);
}

static int file;

static void append(int i)
{
	char line[256];
	memset(line, 'a' + i, sizeof line);
	pthread_mutex_lock(&lock);
	work(40);
	if (write(file, line, sizeof line) < 0)
		abort();
	if (!is_after)
		fsync(file);
	pthread_mutex_unlock(&lock);
	if (is_after)
		fsync(file);
}

static void journal(int i)
{
	unsigned seed = i;
	while (!is_over()) {
		append(i);
		pause_us(500 * vary(&seed));
	}
}

static void ask(int i)
{
	unsigned seed = i;
	while (!is_over()) {
		pthread_mutex_lock(&lock);
		work(30);
		if (!is_after)
			pause_us(400);
		pthread_mutex_unlock(&lock);
		if (is_after)
			pause_us(400);
		work(100 * vary(&seed));
		pause_us(1000 * vary(&seed));
	}
}

static void scan(unsigned *seed)
{
	double us = 600 * vary(seed);
	pthread_mutex_lock(&lock);
	work(is_after ? us / 2 : us);
	pthread_mutex_unlock(&lock);
	if (is_after)
		work(us / 2);
}

static void push(void)
{
	pthread_mutex_lock(&lock);
	work(20);
	pthread_mutex_unlock(&lock);
}

static void dominated(int i)
{
	unsigned seed = i;
	while (!is_over()) {
		if (i == 0) {
			scan(&seed);
			pause_us(300);
		} else {
			push();
			pause_us(600 * vary(&seed));
		}
	}
}

static void divided(int i)
{
	unsigned seed = i;
	while (!is_over()) {
		pthread_mutex_t *m = is_after ? &parts[rand_r(&seed) % PARTS] : &lock;
		pthread_mutex_lock(m);
		work(300);
		pthread_mutex_unlock(m);
		pause_us(200 * vary(&seed));
	}
}

static void written(int i)
{
	unsigned seed = i;
	while (!is_over()) {
		if (i == 0) {
			pthread_rwlock_wrlock(&table);
			work(20);
			pthread_rwlock_unlock(&table);
			pause_us(300 * vary(&seed));
		} else {
			double us = 600 * vary(&seed);
			pthread_rwlock_rdlock(&table);
			work(is_after ? us / 2 : us);
			pthread_rwlock_unlock(&table);
			if (is_after)
				work(us / 2);
			pause_us(2000 * vary(&seed));
		}
	}
}

static pthread_barrier_t barrier;

// All threads come at once, and seldom. The holds alone do not explain the waits.
static void together(int i)
{
	(void)i;
	for (int n = 0; n < 30; n++) {
		pthread_barrier_wait(&barrier);
		pthread_mutex_lock(&lock);
		pause_us(300);
		pthread_mutex_unlock(&lock);
		pause_us(20000);
	}
}

// Threads that compute all the time, more than there are processors.
static void busy(int i)
{
	unsigned seed = i;
	while (!is_over()) {
		pthread_mutex_t *m = is_after ? &parts[rand_r(&seed) % PARTS] : &lock;
		pthread_mutex_lock(m);
		work(200);
		pthread_mutex_unlock(m);
		work(30 * vary(&seed));
	}
}

static const struct {
	const char *name;
	int threads;
	void (*run)(int);
} cases[] = {
	{"journal", 4, journal}, {"ask", 6, ask},   {"dominated", 5, dominated}, {"divided", 4, divided},
	{"written", 4, written}, {"busy", 4, busy}, {"together", 4, together},
};

static void (*run)(int);

static void *thread(void *i)
{
	run((int)(long)i);
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	is_after = !strcmp(argv[2], "after");
	calibrate();
	char name[] = "remedies-XXXXXX";
	file = mkstemp(name);
	unlink(name);
	for (unsigned c = 0; c < sizeof cases / sizeof *cases; c++) {
		if (strcmp(cases[c].name, argv[1]))
			continue;
		run = cases[c].run;
		clock_gettime(CLOCK_MONOTONIC, &until);
		long ms = argc > 3 ? atol(argv[3]) : 1000;
		until.tv_sec += ms / 1000;
		until.tv_nsec += ms % 1000 * 1000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_sec++;
			until.tv_nsec -= 1000000000;
		}
		pthread_barrier_init(&barrier, NULL, cases[c].threads);
		pthread_t threads[MOST];
		for (long i = 0; i < cases[c].threads; i++)
			pthread_create(&threads[i], NULL, thread, (void *)i);
		for (int i = 0; i < cases[c].threads; i++)
			pthread_join(threads[i], NULL);
		return 0;
	}
	return 2;
}
