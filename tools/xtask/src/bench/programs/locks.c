/* Takes and releases locks for a while and prints the nanoseconds of wall time that one round took.
 *
 *   locks WHAT THREADS MILLISECONDS [ROUNDS]
 *
 * WHAT: mutex    one mutex, locked and unlocked
 *       nested   two mutexes, one inside the other
 *       depth3   three
 *       rdlock   a reader-writer lock, shared
 *       wrlock   a reader-writer lock, exclusive
 *       spin     a spinlock (pthread_spin_lock)
 *       shared   one mutex that all threads want
 *       init     a mutex that is initialised, locked, unlocked and destroyed
 * All but `shared` give every thread locks of its own, each in cache lines of its own. With ROUNDS, each thread
 * does exactly that many rounds instead (for counting instructions).
 *
 * A further thread is alive throughout: in a process of one thread, glibc uses no atomic instructions.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 256 };

struct lane {
	_Alignas(128) pthread_mutex_t mutexes[3];
	_Alignas(128) pthread_mutex_t brief;
	_Alignas(128) pthread_rwlock_t rwlock;
	_Alignas(128) pthread_spinlock_t spinlock;
	_Alignas(128) unsigned long rounds;
	volatile unsigned long counter;
	pthread_t thread;
};

static struct lane *lanes;
static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned long shared_counter;
static unsigned long rounds_wanted;
static atomic_int stop;
static pthread_barrier_t begin;

typedef void (*round_fn)(struct lane *);

static void mutex_round(struct lane *lane)
{
	pthread_mutex_lock(&lane->mutexes[0]);
	lane->counter++;
	pthread_mutex_unlock(&lane->mutexes[0]);
}

static void nested_round(struct lane *lane)
{
	pthread_mutex_lock(&lane->mutexes[0]);
	pthread_mutex_lock(&lane->mutexes[1]);
	lane->counter++;
	pthread_mutex_unlock(&lane->mutexes[1]);
	pthread_mutex_unlock(&lane->mutexes[0]);
}

static void depth3_round(struct lane *lane)
{
	pthread_mutex_lock(&lane->mutexes[0]);
	pthread_mutex_lock(&lane->mutexes[1]);
	pthread_mutex_lock(&lane->mutexes[2]);
	lane->counter++;
	pthread_mutex_unlock(&lane->mutexes[2]);
	pthread_mutex_unlock(&lane->mutexes[1]);
	pthread_mutex_unlock(&lane->mutexes[0]);
}

static void rdlock_round(struct lane *lane)
{
	pthread_rwlock_rdlock(&lane->rwlock);
	lane->counter++;
	pthread_rwlock_unlock(&lane->rwlock);
}

static void wrlock_round(struct lane *lane)
{
	pthread_rwlock_wrlock(&lane->rwlock);
	lane->counter++;
	pthread_rwlock_unlock(&lane->rwlock);
}

static void spin_round(struct lane *lane)
{
	pthread_spin_lock(&lane->spinlock);
	lane->counter++;
	pthread_spin_unlock(&lane->spinlock);
}

static void shared_round(struct lane *lane)
{
	(void)lane;
	pthread_mutex_lock(&shared);
	shared_counter++;
	pthread_mutex_unlock(&shared);
}

static void init_round(struct lane *lane)
{
	pthread_mutex_init(&lane->brief, NULL);
	pthread_mutex_lock(&lane->brief);
	lane->counter++;
	pthread_mutex_unlock(&lane->brief);
	pthread_mutex_destroy(&lane->brief);
}

static const struct {
	const char *name;
	round_fn round;
} kinds[] = {
	{ "mutex", mutex_round },   { "nested", nested_round }, { "depth3", depth3_round },
	{ "rdlock", rdlock_round }, { "wrlock", wrlock_round }, { "spin", spin_round },
	{ "shared", shared_round }, { "init", init_round },
};
static round_fn chosen;

static void *work(void *arg)
{
	struct lane *lane = arg;
	pthread_barrier_wait(&begin);
	if (rounds_wanted) {
		for (unsigned long i = 0; i < rounds_wanted; i++)
			chosen(lane);
		lane->rounds = rounds_wanted;
		return NULL;
	}
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		for (int i = 0; i < BATCH; i++)
			chosen(lane);
		lane->rounds += BATCH;
	}
	return NULL;
}

static void *idle(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

int main(int argc, char **argv)
{
	pthread_t other;
	int threads;
	long milliseconds;
	double start;
	unsigned long rounds = 0;

	if (argc < 4)
		return 2;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (!strcmp(argv[1], kinds[i].name))
			chosen = kinds[i].round;
	threads = atoi(argv[2]);
	milliseconds = atol(argv[3]);
	rounds_wanted = argc > 4 ? strtoul(argv[4], NULL, 10) : 0;
	if (!chosen || threads < 1)
		return 2;

	lanes = aligned_alloc(128, threads * sizeof *lanes);
	memset(lanes, 0, threads * sizeof *lanes);
	pthread_barrier_init(&begin, NULL, threads + 1);
	pthread_create(&other, NULL, idle, NULL);
	for (int i = 0; i < threads; i++) {
		for (int k = 0; k < 3; k++)
			pthread_mutex_init(&lanes[i].mutexes[k], NULL);
		pthread_rwlock_init(&lanes[i].rwlock, NULL);
		pthread_spin_init(&lanes[i].spinlock, PTHREAD_PROCESS_PRIVATE);
		pthread_create(&lanes[i].thread, NULL, work, &lanes[i]);
	}
	pthread_barrier_wait(&begin);
	start = now();
	if (!rounds_wanted) {
		usleep(milliseconds * 1000);
		atomic_store(&stop, 1);
	}
	for (int i = 0; i < threads; i++)
		pthread_join(lanes[i].thread, NULL);
	double elapsed = now() - start;
	for (int i = 0; i < threads; i++)
		rounds += lanes[i].rounds;
	printf("%.4f\n", elapsed / rounds);
	return 0;
}
