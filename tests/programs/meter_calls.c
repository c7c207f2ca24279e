/* What else there is to count. Argument:
 *
 *   nested     two locks of one class at one site, one inside the other
 *   trylock    tries that find the lock held, and others that do not
 *   timeout    acquisitions that are given up
 *   recursive  a recursive mutex, taken three deep
 *   spinlock   a spinlock that another thread wants
 *   wrapper    two callers of a function that locks
 *   waits      a condition variable, a semaphore, a barrier, the end of a thread
 */
#include <errno.h>
#include <semaphore.h>
#include <string.h>
#include "meter.h"

enum { ROUNDS = 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct timespec in_ms(long ms)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += ms * 1000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

/* --- nested ---------------------------------------------------------------------------------- */

static pthread_mutex_t pair[2];
static uint64_t outer_held, inner_held;

SITE static void make(pthread_mutex_t *m)
{
	pthread_mutex_init(m, NULL);
	NO_TAIL_CALL;
}

SITE static void take(int depth)
{
	pthread_mutex_lock(&pair[depth]);
	uint64_t begun = now();
	if (depth == 0)
		take(1);
	uint64_t t = spin_from(now(), 500000);
	*(depth == 0 ? &outer_held : &inner_held) += t - begun;
	pthread_mutex_unlock(&pair[depth]);
	NO_TAIL_CALL;
}

static void nested(void)
{
	for (int i = 0; i < 2; i++)
		make(&pair[i]);
	for (int i = 0; i < ROUNDS; i++)
		take(0);
	truth("held", outer_held + inner_held);
	truth("longest", outer_held / ROUNDS);
}

/* --- trylock and timeout --------------------------------------------------------------------- */

static atomic_int held, may_leave;

SITE static void hold_it(void)
{
	pthread_mutex_lock(&lock);
	atomic_store(&held, 1);
	while (!atomic_load(&may_leave))
		usleep(500);
	pthread_mutex_unlock(&lock);
	NO_TAIL_CALL;
}

static void *holder(void *arg)
{
	hold_it();
	return arg;
}

SITE static int try_it(void)
{
	int result = pthread_mutex_trylock(&lock);
	if (result == 0)
		pthread_mutex_unlock(&lock);
	NO_TAIL_CALL;
	return result;
}

SITE static int give_up(long ms)
{
	struct timespec t = in_ms(ms);
	int result = pthread_mutex_timedlock(&lock, &t);
	if (result == 0)
		pthread_mutex_unlock(&lock);
	NO_TAIL_CALL;
	return result;
}

static void tried(int (*attempt)(void))
{
	pthread_t thread;
	int rejected = 0, had = 0;
	uint64_t waited = 0;

	pthread_create(&thread, NULL, holder, NULL);
	while (!atomic_load(&held))
		usleep(100);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t begun = now();
		rejected += attempt() != 0;
		waited += now() - begun;
	}
	atomic_store(&may_leave, 1);
	pthread_join(thread, NULL);
	for (int i = 0; i < 3; i++)
		had += attempt() == 0;
	truth("rejected", (uint64_t)rejected);
	truth("had", (uint64_t)had);
	truth("waited", waited);
}

static int give_up_soon(void)
{
	return give_up(4);
}

/* --- recursive ------------------------------------------------------------------------------- */

static pthread_mutex_t again;
static uint64_t again_held;

SITE static void deeper(int depth)
{
	pthread_mutex_lock(&again);
	if (depth < 3)
		deeper(depth + 1);
	else
		spin_from(now(), 200000);
	pthread_mutex_unlock(&again);
	NO_TAIL_CALL;
}

SITE static void outermost(void)
{
	pthread_mutex_lock(&again);
	uint64_t begun = now();
	deeper(1);
	deeper(1);
	again_held += now() - begun;
	pthread_mutex_unlock(&again);
	NO_TAIL_CALL;
}

static void recursive(void)
{
	pthread_mutexattr_t attr;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&again, &attr);
	for (int i = 0; i < ROUNDS; i++)
		outermost();
	truth("held", again_held);
}

/* --- spinlock -------------------------------------------------------------------------------- */

static pthread_spinlock_t spin;
static uint64_t spin_asked, spin_had, spin_worked, spin_around;
static atomic_int spin_held;

SITE static void spins(void)
{
	uint64_t worked = cpu_time();
	spin_asked = now();
	atomic_store(&spin_held, 2);
	pthread_spin_lock(&spin);
	spin_had = now();
	spin_worked = cpu_time() - worked;
	pthread_spin_unlock(&spin);
	NO_TAIL_CALL;
}

static void *spinner(void *arg)
{
	while (atomic_load(&spin_held) != 1)
		sched_yield();
	spins();
	return arg;
}

SITE static uint64_t holds_spinlock(void)
{
	uint64_t before = now();
	pthread_spin_lock(&spin);
	uint64_t begun = now();
	atomic_store(&spin_held, 1);
	while (atomic_load(&spin_held) != 2)
		;
	uint64_t ended = spin_from(now(), 30000000);
	pthread_spin_unlock(&spin);
	spin_around = now() - before;
	return ended - begun;
}

static void spinlock(void)
{
	pthread_t thread;
	pthread_spin_init(&spin, 0);
	pthread_create(&thread, NULL, spinner, NULL);
	truth("held", holds_spinlock());
	truth("held_around", spin_around);
	pthread_join(thread, NULL);
	/* Whatever else happens, it spins for as long as it works, and waits no longer than the call takes. */
	truth("wait", spin_worked);
	truth("wait_around", spin_had - spin_asked);
}

/* --- wrapper --------------------------------------------------------------------------------- */

SITE static void acquire(pthread_mutex_t *m)
{
	pthread_mutex_lock(m);
	NO_TAIL_CALL;
}

SITE static void let_go(pthread_mutex_t *m)
{
	pthread_mutex_unlock(m);
	NO_TAIL_CALL;
}

SITE static void often(void)
{
	acquire(&lock);
	let_go(&lock);
	NO_TAIL_CALL;
}

SITE static uint64_t seldom(void)
{
	acquire(&lock);
	uint64_t begun = now();
	uint64_t ended = spin_from(begun, 200000);
	let_go(&lock);
	NO_TAIL_CALL;
	return ended - begun;
}

static void wrapper(void)
{
	uint64_t sum = 0;
	for (int i = 0; i < ROUNDS; i++) {
		for (int j = 0; j < 10; j++)
			often();
		sum += seldom();
	}
	truth("seldom", sum);
}

/* --- waits ----------------------------------------------------------------------------------- */

static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static pthread_barrier_t barrier;
static atomic_int sleeper, joiner, signalled;
static uint64_t cond_waited, sem_waited, barrier_waited, join_waited;

SITE static void wait_cond(void)
{
	pthread_mutex_lock(&lock);
	while (!atomic_load(&signalled)) {
		uint64_t begun = now();
		pthread_cond_wait(&cond, &lock);
		cond_waited += now() - begun;
	}
	atomic_store(&signalled, 0);
	pthread_mutex_unlock(&lock);
	NO_TAIL_CALL;
}

SITE static void wait_sem(void)
{
	uint64_t begun = now();
	sem_wait(&semaphore);
	sem_waited += now() - begun;
	NO_TAIL_CALL;
}

SITE static void wait_barrier(void)
{
	uint64_t begun = now();
	pthread_barrier_wait(&barrier);
	barrier_waited += now() - begun;
	NO_TAIL_CALL;
}

SITE static void wait_end(pthread_t thread)
{
	uint64_t begun = now();
	pthread_join(thread, NULL);
	join_waited += now() - begun;
	NO_TAIL_CALL;
}

static void *waits_for_all(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		wait_cond();
		wait_sem();
		wait_barrier();
	}
	/* The join waits for this thread, however late it comes. */
	await_blocked(&joiner);
	spin_from(now(), 20000000);
	return arg;
}

static void *sleeps_and_says(void *arg)
{
	atomic_store(&sleeper, thread_id());
	return waits_for_all(arg);
}

/* Until the other sleeps, and 2 ms more. */
static void leave_it_asleep(void)
{
	await_blocked(&sleeper);
	spin_from(now(), 2000000);
}

static void waits(void)
{
	pthread_t thread;
	sem_init(&semaphore, 0, 0);
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, sleeps_and_says, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		leave_it_asleep();
		pthread_mutex_lock(&lock);
		atomic_store(&signalled, 1);
		pthread_cond_signal(&cond);
		pthread_mutex_unlock(&lock);
		while (atomic_load(&signalled))
			sched_yield();
		leave_it_asleep();
		sem_post(&semaphore);
		spin_from(now(), 200000);
		leave_it_asleep();
		pthread_barrier_wait(&barrier);
		spin_from(now(), 200000);
	}
	atomic_store(&joiner, thread_id());
	wait_end(thread);
	truth("cond", cond_waited);
	truth("sem", sem_waited);
	truth("barrier", barrier_waited);
	truth("join", join_waited);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	if (!strcmp(what, "nested"))
		nested();
	else if (!strcmp(what, "trylock"))
		tried(try_it);
	else if (!strcmp(what, "timeout"))
		tried(give_up_soon);
	else if (!strcmp(what, "recursive"))
		recursive();
	else if (!strcmp(what, "spinlock"))
		spinlock();
	else if (!strcmp(what, "wrapper"))
		wrapper();
	else if (!strcmp(what, "waits"))
		waits();
	else
		return 2;
	return 0;
}
