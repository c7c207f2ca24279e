/* Lives of synchronisation objects that are wrong, one by one, and some that are as they should be.
 *
 *     objects CASE
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PAGE = 4096 };

static pthread_mutex_t mutex;
static pthread_rwlock_t rwlock;
static pthread_cond_t cond;
static pthread_barrier_t barrier;
static pthread_spinlock_t spin;
static sem_t sem;

static pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;

/* Initialised twice. */

static void twice_mutex(void)
{
	pthread_mutex_init(&mutex, NULL);
	pthread_mutex_init(&mutex, NULL);
	pthread_mutex_destroy(&mutex);
}

static void twice_cond(void)
{
	pthread_cond_init(&cond, NULL);
	pthread_cond_init(&cond, NULL);
	pthread_cond_destroy(&cond);
}

static void twice_sem(void)
{
	sem_init(&sem, 0, 0);
	sem_init(&sem, 0, 0);
	sem_destroy(&sem);
}

/* Used without having been initialised. */

static void never_mutex(void)
{
	pthread_mutex_t *garbage = malloc(sizeof *garbage);

	memset(garbage, 0xa4, sizeof *garbage);
	pthread_mutex_trylock(garbage);
	free(garbage);
}

static void never_sem(void)
{
	sem_post(&sem);
}

static void never_spin(void)
{
	pthread_spin_destroy(&spin);
}

static void tried_spin(void)
{
	pthread_spinlock_t *garbage = malloc(sizeof *garbage);

	memset((void *)garbage, 0x55, sizeof *garbage);
	pthread_spin_trylock(garbage);
	free((void *)garbage);
}

/* Used after they were destroyed. */

static void dead_cond(void)
{
	pthread_cond_init(&cond, NULL);
	pthread_cond_destroy(&cond);
	pthread_cond_signal(&cond);
}

static void dead_sem(void)
{
	sem_init(&sem, 0, 0);
	sem_destroy(&sem);
	sem_post(&sem);
}

static void dead_spin(void)
{
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	pthread_spin_destroy(&spin);
	pthread_spin_trylock(&spin);
}

/* Destroyed twice. */

static void again_rwlock(void)
{
	pthread_rwlock_init(&rwlock, NULL);
	pthread_rwlock_destroy(&rwlock);
	pthread_rwlock_destroy(&rwlock);
}

static void again_cond(void)
{
	pthread_cond_init(&cond, NULL);
	pthread_cond_destroy(&cond);
	pthread_cond_destroy(&cond);
}

/* Somebody waits. */

static volatile int leaves;

static void *waits(void *on)
{
	pthread_mutex_lock(&door);
	while (!leaves)
		pthread_cond_wait(on, &door);
	pthread_mutex_unlock(&door);
	return NULL;
}

static void *arrives(void *at)
{
	pthread_barrier_wait(at);
	return NULL;
}

static void *takes(void *what)
{
	sem_wait(what);
	return NULL;
}

/* A thread that waits by `routine` on `object`: it has said so there, and nobody will wake it. */
static pthread_t waiter_on(void *(*routine)(void *), void *object)
{
	pthread_t thread;
	volatile int *waiters = object;

	pthread_create(&thread, NULL, routine, object);
	/* What each of them changes when somebody comes to wait. */
	if (routine == waits)
		waiters = (volatile int *)&((pthread_cond_t *)object)->__data.__wrefs;
	else if (routine == takes)
		waiters += 1;
	while (!*waiters)
		usleep(1000);
	if (routine == waits) {
		pthread_mutex_lock(&door);
		pthread_mutex_unlock(&door);
	}
	return thread;
}

static void active_cond(void)
{
	pthread_cond_init(&cond, NULL);
	waiter_on(waits, &cond);
	/* Nobody can wake it any more. */
	pthread_cond_init(&cond, NULL);
}

static void active_sem(void)
{
	sem_init(&sem, 0, 0);
	waiter_on(takes, &sem);
	sem_destroy(&sem);
}

static void active_barrier(void)
{
	pthread_barrier_init(&barrier, NULL, 2);
	waiter_on(arrives, &barrier);
	pthread_barrier_init(&barrier, NULL, 2);
}

static void freed_cond(void)
{
	pthread_cond_t *heap = malloc(sizeof *heap);

	pthread_cond_init(heap, NULL);
	waiter_on(waits, heap);
	free(heap);
}

static void freed_static_cond(void)
{
	pthread_cond_t *heap = calloc(1, sizeof *heap);

	waiter_on(waits, heap);
	free(heap);
}

/* The same next to one that was initialised: in its page, but not in its cache line. */
static void freed_static_cond_beside(void)
{
	enum { BLOCKS = 64, SIZE = 96 };
	pthread_cond_t *blocks[BLOCKS];
	int i;

	for (i = 0; i < BLOCKS; i++)
		blocks[i] = calloc(1, SIZE);
	for (i = 1; (uintptr_t)blocks[i - 1] / PAGE != ((uintptr_t)blocks[i] + SIZE) / PAGE; i++)
		;
	pthread_cond_init(blocks[i - 1], NULL);
	waiter_on(waits, blocks[i]);
	free(blocks[i]);
}

static void unmapped_sem(void)
{
	sem_t *mapped = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	sem_init(mapped, 0, 0);
	waiter_on(takes, mapped);
	/* The waiter would not come to like it; it is not to wake up there. */
	munmap(mapped, PAGE);
}

/* Memory that goes with idle objects in it. */

static void untidy_freed(void)
{
	pthread_mutex_t *heap = malloc(sizeof *heap);

	pthread_mutex_init(heap, NULL);
	free(heap);
}

static void untidy_moved(void)
{
	pthread_mutex_t *heap = malloc(sizeof *heap);
	char *before = malloc(64), *moved;

	pthread_mutex_init(heap, NULL);
	moved = realloc(heap, 1 << 20);
	free(moved);
	free(before);
}

static void untidy_unmapped(void)
{
	void *mapped = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	pthread_rwlock_init(mapped, NULL);
	munmap(mapped, PAGE);
}

static __attribute__((noinline)) void frame(void)
{
	char room[256];
	pthread_mutex_t local;

	memset(room, 0, sizeof room);
	pthread_mutex_init(&local, NULL);
	__asm__ volatile("" : : "r"(room), "r"(&local) : "memory");
}

static void untidy_frame(void)
{
	frame();
	pthread_mutex_init(&mutex, NULL);
	pthread_mutex_destroy(&mutex);
}

/* In one frame: an object that is initialised twice, and two, one after the other. */
static void untidy_twice(void)
{
	pthread_mutex_t local;

	pthread_mutex_init(&local, NULL);
	pthread_mutex_init(&local, NULL);
	pthread_mutex_destroy(&local);
}

static void untidy_block(void)
{
	for (int turn = 0; turn < 2; turn++) {
		pthread_mutex_t local;

		pthread_mutex_init(&local, NULL);
		if (turn == 1)
			pthread_mutex_destroy(&local);
	}
}

/* Memory that the program gives out again, or the same object. */
static void untidy_pool(void)
{
	pthread_mutex_t *one = malloc(sizeof *one);

	pthread_mutex_init(one, NULL);
	memset(one, 0, sizeof *one);
	pthread_mutex_init(one, NULL);
	pthread_mutex_destroy(one);
	free(one);
}

static void *leaves_local(void *unused)
{
	static __thread pthread_mutex_t own;

	pthread_mutex_init(&own, NULL);
	return unused;
}

static void untidy_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, leaves_local, NULL);
	pthread_join(thread, NULL);
}

static void untidy_exit(void)
{
	pthread_mutex_init(malloc(sizeof mutex), NULL);
	/* A variable is there to the end. */
	pthread_cond_init(&cond, NULL);
}

/* No memory to track objects in: what else is watched is watched on. */

static void starved(void)
{
	static pthread_mutex_t many[20000];
	FILE *statm = fopen("/proc/self/statm", "r");
	struct rlimit limit;
	unsigned long pages = 0;

	if (fscanf(statm, "%lu", &pages) != 1)
		exit(1);
	fclose(statm);
	getrlimit(RLIMIT_AS, &limit);
	limit.rlim_cur = pages * PAGE;
	setrlimit(RLIMIT_AS, &limit);
	for (size_t i = 0; i < sizeof many / sizeof *many; i++)
		pthread_mutex_init(&many[i], NULL);
	sem_post(&sem);
	pthread_mutex_lock(&door);
	pthread_mutex_unlock(&door);
	pthread_mutex_unlock(&door);
}

/* As it should be. */

static void run_once(void)
{
	puts("once");
}

static void *passes(void *at)
{
	if (pthread_barrier_wait(at) == PTHREAD_BARRIER_SERIAL_THREAD)
		pthread_barrier_destroy(at);
	return NULL;
}

static void clean(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_t threads[4];

	for (int i = 0; i < 3; i++) {
		pthread_mutex_init(&mutex, NULL);
		pthread_mutex_destroy(&mutex);
		pthread_cond_init(&cond, NULL);
		pthread_cond_destroy(&cond);
		sem_init(&sem, 0, 0);
		sem_post(&sem);
		sem_wait(&sem);
		sem_destroy(&sem);
		pthread_once(&once, run_once);
	}
	/* Initialised by assignment: a new life. */
	cond = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	pthread_cond_signal(&cond);
	pthread_cond_destroy(&cond);
	/* The last thread at the barrier destroys it while others are on their way out. */
	pthread_barrier_init(&barrier, NULL, 4);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, passes, &barrier);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	/* Woken waiters, too, may be on their way out. */
	pthread_cond_init(&cond, NULL);
	for (int i = 0; i < 4; i++)
		threads[i] = waiter_on(waits, &cond);
	pthread_mutex_lock(&door);
	leaves = 1;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&door);
	pthread_cond_destroy(&cond);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

#define CASE(name) { #name, name }
static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	CASE(twice_mutex), CASE(twice_cond), CASE(twice_sem),
	CASE(never_mutex), CASE(never_sem), CASE(never_spin), CASE(tried_spin),
	CASE(dead_cond), CASE(dead_sem), CASE(dead_spin),
	CASE(again_rwlock), CASE(again_cond),
	CASE(active_cond), CASE(active_sem), CASE(active_barrier),
	CASE(freed_cond), CASE(freed_static_cond), CASE(freed_static_cond_beside), CASE(unmapped_sem),
	CASE(untidy_freed), CASE(untidy_moved), CASE(untidy_unmapped),
	CASE(untidy_frame), CASE(untidy_twice), CASE(untidy_block), CASE(untidy_pool), CASE(untidy_thread), CASE(untidy_exit),
	CASE(starved), CASE(clean),
};

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "clean";

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (!strcmp(cases[i].name, how))
			cases[i].run();
	puts("the end");
	fflush(stdout);
	/* Waiters that nobody can wake do not keep it. */
	exit(0);
}
