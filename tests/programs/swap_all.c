/* Takes every sort of pthread lock from several threads, in every way that there is, and prints sums that are right only
 * if each of them excluded, counted and woke as it should. Then it forks with all locks held, as programs do that have
 * handlers for that, and the child releases and takes them all once more. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 6, ROUNDS = 400 };

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t robust;
static pthread_mutex_t *const mutexes[] = {&plain, &recursive, &checking, &adaptive, &robust};
enum { MUTEXES = sizeof mutexes / sizeof *mutexes };
static long counts[MUTEXES];

static pthread_rwlock_t readers_first = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t writers_first = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static long pairs[2][2];
static long torn;

static pthread_spinlock_t spin;
static long spun;
static mtx_t of_c11;
static long c11;

static pthread_mutex_t turn_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_cond = PTHREAD_COND_INITIALIZER;
static long turn;

#define MUST(call)                                                                                                     \
	do {                                                                                                           \
		int error_ = (call);                                                                                   \
		if (error_ != 0) {                                                                                     \
			printf("%s: %d\n", #call, error_);                                                             \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

static struct timespec in_an_hour(void)
{
	struct timespec time;
	clock_gettime(CLOCK_REALTIME, &time);
	time.tv_sec += 3600;
	return time;
}

static void take(pthread_mutex_t *mutex, int how)
{
	struct timespec time = in_an_hour();
	if (how == 0) {
		MUST(pthread_mutex_lock(mutex));
	} else if (how == 1) {
		MUST(pthread_mutex_timedlock(mutex, &time));
	} else {
		while (pthread_mutex_trylock(mutex) == EBUSY)
			sched_yield();
	}
}

static void rwlock(pthread_rwlock_t *lock, long *pair, int round)
{
	struct timespec time = in_an_hour();
	if (round % 4 == 0) {
		MUST(round % 8 ? pthread_rwlock_wrlock(lock) : pthread_rwlock_timedwrlock(lock, &time));
		pair[0]++;
		pair[1]++;
	} else {
		MUST(round % 8 ? pthread_rwlock_rdlock(lock) : pthread_rwlock_timedrdlock(lock, &time));
		if (pair[0] != pair[1])
			__atomic_fetch_add(&torn, 1, __ATOMIC_RELAXED);
	}
	MUST(pthread_rwlock_unlock(lock));
}

static void *work(void *argument)
{
	long me = (long)argument;
	for (int round = 0; round < ROUNDS; round++) {
		int which = (round + (int)me) % MUTEXES;
		take(mutexes[which], round % 3);
		if (which == 1)
			take(mutexes[which], round % 3);
		counts[which]++;
		if (which == 1)
			MUST(pthread_mutex_unlock(mutexes[which]));
		MUST(pthread_mutex_unlock(mutexes[which]));
		rwlock(&readers_first, pairs[0], round);
		rwlock(&writers_first, pairs[1], round);
		if (round % 2) {
			MUST(pthread_spin_lock(&spin));
		} else {
			while (pthread_spin_trylock(&spin) == EBUSY)
				;
		}
		spun++;
		MUST(pthread_spin_unlock(&spin));
		MUST(mtx_lock(&of_c11));
		c11++;
		MUST(mtx_unlock(&of_c11));
	}
	/* Each waits for its turn, so that a lost wake hangs. */
	for (int round = 0; round < 200; round++) {
		struct timespec time = in_an_hour();
		MUST(pthread_mutex_lock(&turn_mutex));
		while (turn % THREADS != me) {
			MUST(round % 2 ? pthread_cond_wait(&turn_cond, &turn_mutex)
				       : pthread_cond_timedwait(&turn_cond, &turn_mutex, &time));
		}
		turn++;
		MUST(pthread_cond_broadcast(&turn_cond));
		MUST(pthread_mutex_unlock(&turn_mutex));
	}
	return NULL;
}

static void run(void)
{
	pthread_t threads[THREADS];
	for (long i = 0; i < THREADS; i++)
		MUST(pthread_create(&threads[i], NULL, work, (void *)i));
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_join(threads[i], NULL));
	long sum = 0;
	for (int i = 0; i < MUTEXES; i++)
		sum += counts[i];
	printf("mutexes %ld, rwlocks %ld and %ld, torn %ld, spinlock %ld, C11 %ld, turns %ld\n", sum, pairs[0][0],
	       pairs[1][1], torn, spun, c11, turn);
	fflush(stdout);
}

static void lock_all(void)
{
	MUST(pthread_mutex_lock(&plain));
	MUST(pthread_mutex_lock(&adaptive));
	MUST(pthread_mutex_lock(&turn_mutex));
	MUST(pthread_spin_lock(&spin));
}

static void unlock_all(void)
{
	MUST(pthread_spin_unlock(&spin));
	MUST(pthread_mutex_unlock(&turn_mutex));
	MUST(pthread_mutex_unlock(&adaptive));
	MUST(pthread_mutex_unlock(&plain));
}

/* While others wait for what the forking thread holds: they do not exist in the child. */
static void *wait_for_plain(void *argument)
{
	(void)argument;
	for (int i = 0; i < 50; i++) {
		MUST(pthread_mutex_lock(&plain));
		MUST(pthread_mutex_unlock(&plain));
	}
	return NULL;
}

int main(void)
{
	pthread_mutexattr_t attr;
	MUST(pthread_mutexattr_init(&attr));
	MUST(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST));
	MUST(pthread_mutex_init(&robust, &attr));
	MUST(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE));
	MUST(mtx_init(&of_c11, mtx_timed));
	run();
	MUST(pthread_atfork(lock_all, unlock_all, unlock_all));
	pthread_t waiting[2];
	for (int i = 0; i < 2; i++)
		MUST(pthread_create(&waiting[i], NULL, wait_for_plain, NULL));
	for (int i = 0; i < 10; i++) {
		fflush(stdout);
		pid_t child = fork();
		if (child == 0) {
			turn = 0;
			run();
			_exit(0);
		}
		int status = 0;
		if (waitpid(child, &status, 0) != child || status != 0)
			printf("the child ended with %x\n", status);
	}
	for (int i = 0; i < 2; i++)
		MUST(pthread_join(waiting[i], NULL));
	return 0;
}
