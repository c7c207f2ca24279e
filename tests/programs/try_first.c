/* Two threads take two locks in opposite orders, one after the other: so no try fails. The first argument says what would
 * follow if one did: `waits` for it, `spins`, waits `sometimes`, or `timed`, `gives-up`, `backs-off`. With `semaphores` that wait.
 * `elsewhere` waits in a function of its own, and `unsure` does so sometimes. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Its own lock, as a class has it. */
struct monitor {
	long owner;
	pthread_mutex_t mutex;
};

static struct monitor one_monitor = { .mutex = PTHREAD_MUTEX_INITIALIZER };
static struct monitor other_monitor = { .mutex = PTHREAD_MUTEX_INITIALIZER };
static sem_t first, second;
static atomic_int turn;
static int patient = 1;

__attribute__((noinline)) static int waits(pthread_mutex_t *mutex)
{
	if (pthread_mutex_trylock(mutex) != 0)
		pthread_mutex_lock(mutex);
	return 0;
}

__attribute__((noinline)) static int spins(pthread_mutex_t *mutex)
{
	while (pthread_mutex_trylock(mutex))
		sched_yield();
	return 0;
}

static int nothing(void)
{
	return 0;
}

static int (*volatile other)(void) = nothing;

static struct monitor *monitor_of(pthread_mutex_t *mutex)
{
	return (struct monitor *)((char *)mutex - offsetof(struct monitor, mutex));
}

__attribute__((noinline)) static int slow_path(struct monitor *monitor)
{
	if (other())
		sched_yield();
	return pthread_mutex_lock(&monitor->mutex);
}

__attribute__((noinline)) static int elsewhere(pthread_mutex_t *mutex)
{
	struct monitor *monitor = monitor_of(mutex);

	if (pthread_mutex_trylock(&monitor->mutex))
		slow_path(monitor);
	monitor->owner = 1;
	return 0;
}

__attribute__((noinline)) static int unsure_path(struct monitor *monitor)
{
	if (other())
		return -1;
	return pthread_mutex_lock(&monitor->mutex);
}

__attribute__((noinline)) static int unsure(pthread_mutex_t *mutex)
{
	struct monitor *monitor = monitor_of(mutex);

	if (pthread_mutex_trylock(&monitor->mutex))
		return unsure_path(monitor);
	monitor->owner = 1;
	return 0;
}

__attribute__((noinline)) static int sometimes(pthread_mutex_t *mutex)
{
	if (pthread_mutex_trylock(mutex) == 0)
		return 0;
	if (!patient)
		return -1;
	return pthread_mutex_lock(mutex);
}

__attribute__((noinline)) static int timed(pthread_mutex_t *mutex)
{
	static const struct timespec later = { 1, 0 };
	if (pthread_mutex_trylock(mutex) == 0)
		return 0;
	return pthread_mutex_timedlock(mutex, &later);
}

__attribute__((noinline)) static int gives_up(pthread_mutex_t *mutex)
{
	return pthread_mutex_trylock(mutex) ? -1 : 0;
}

static int (*take)(pthread_mutex_t *) = waits;

static const struct {
	const char *name;
	int (*take)(pthread_mutex_t *);
} ways[] = { { "spins", spins }, { "elsewhere", elsewhere }, { "unsure", unsure }, { "sometimes", sometimes }, { "timed", timed },
	     { "gives-up", gives_up } };

__attribute__((noinline)) static int wait_semaphore(sem_t *semaphore)
{
	if (sem_trywait(semaphore) == 0)
		return 0;
	return sem_wait(semaphore);
}

__attribute__((noinline)) static void takes_both(pthread_mutex_t *a, pthread_mutex_t *b)
{
	if (take(a))
		return;
	if (!take(b))
		pthread_mutex_unlock(b);
	pthread_mutex_unlock(a);
}

__attribute__((noinline)) static void backs_off(pthread_mutex_t *a, pthread_mutex_t *b)
{
	pthread_mutex_lock(a);
	while (pthread_mutex_trylock(b)) {
		pthread_mutex_unlock(a);
		sched_yield();
		pthread_mutex_lock(a);
	}
	pthread_mutex_unlock(b);
	pthread_mutex_unlock(a);
}

__attribute__((noinline)) static void takes_semaphores(sem_t *a, sem_t *b)
{
	wait_semaphore(a);
	wait_semaphore(b);
	sem_post(b);
	sem_post(a);
}

static const char *how;

static void in_order(int is_first)
{
	pthread_mutex_t *left = &one_monitor.mutex, *right = &other_monitor.mutex;
	pthread_mutex_t *a = is_first ? left : right, *b = is_first ? right : left;
	if (!strcmp(how, "semaphores"))
		takes_semaphores(is_first ? &first : &second, is_first ? &second : &first);
	else if (!strcmp(how, "backs-off"))
		backs_off(a, b);
	else
		takes_both(a, b);
}

static void *forwards(void *unused)
{
	in_order(1);
	turn = 1;
	return unused;
}

static void *backwards(void *unused)
{
	while (!turn)
		sched_yield();
	in_order(0);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t one, other;

	how = argc > 1 ? argv[1] : "waits";
	patient = argc > 0;
	for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++)
		if (!strcmp(how, ways[i].name))
			take = ways[i].take;
	sem_init(&first, 0, 1);
	sem_init(&second, 0, 1);
	pthread_create(&one, NULL, forwards, NULL);
	pthread_create(&other, NULL, backwards, NULL);
	pthread_join(one, NULL);
	pthread_join(other, NULL);
	sem_destroy(&first);
	sem_destroy(&second);
	puts("the end");
	return 0;
}
