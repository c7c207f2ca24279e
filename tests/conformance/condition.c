/* Condition variables: which thread is woken, with what result, and that it holds the mutex. */
#include "case.h"

struct story {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	struct gate entered;
	int is_set;
};

static void init_mutex(pthread_mutex_t *mutex, int type)
{
	pthread_mutexattr_t attr;
	MUST(pthread_mutexattr_init(&attr));
	MUST(pthread_mutexattr_settype(&attr, type));
	MUST(pthread_mutex_init(mutex, &attr));
}

static struct story *new_story(void)
{
	struct story *story = shared_memory(sizeof *story);
	init_mutex(&story->mutex, PTHREAD_MUTEX_ERRORCHECK);
	RET(pthread_cond_init(&story->cond, NULL));
	return story;
}

/* ---- Waits that end by a signal ---- */

#define WAIT(name, call)                                                                                               \
	static void *name(void *argument)                                                                              \
	{                                                                                                              \
		struct story *story = argument;                                                                        \
		MUST(pthread_mutex_lock(&story->mutex));                                                               \
		open_gate(&story->entered);                                                                            \
		while (!story->is_set)                                                                                 \
			RET(call);                                                                                     \
		RET(pthread_mutex_lock(&story->mutex));                                                                \
		RET(pthread_mutex_unlock(&story->mutex));                                                              \
		RET(pthread_mutex_unlock(&story->mutex));                                                              \
		return NULL;                                                                                           \
	}

WAIT(wait_plain, pthread_cond_wait(&story->cond, &story->mutex))
WAIT(wait_timed, pthread_cond_timedwait(&story->cond, &story->mutex, NEVER(CLOCK_REALTIME)))
WAIT(wait_monotonic, pthread_cond_clockwait(&story->cond, &story->mutex, CLOCK_MONOTONIC, NEVER(CLOCK_MONOTONIC)))
WAIT(wait_realtime, pthread_cond_clockwait(&story->cond, &story->mutex, CLOCK_REALTIME, NEVER(CLOCK_REALTIME)))

static void woken(void *(*wait)(void *), int (*wake)(pthread_cond_t *), int with_mutex)
{
	struct story *story = new_story();
	struct worker worker;
	start(&worker, wait, story);
	pass(&story->entered);
	await_blocked(&worker, &story->cond);
	RET(pthread_mutex_lock(&story->mutex));
	story->is_set = 1;
	if (!with_mutex)
		RET(pthread_mutex_unlock(&story->mutex));
	RET(wake(&story->cond));
	if (with_mutex)
		RET(pthread_mutex_unlock(&story->mutex));
	finish(&worker);
	RET(pthread_cond_destroy(&story->cond));
	RET(pthread_mutex_destroy(&story->mutex));
}

#define WOKEN(name, wait)                                                                                              \
	CASE(name##_signalled)                                                                                         \
	{                                                                                                              \
		woken(wait, pthread_cond_signal, 0);                                                                   \
	}                                                                                                              \
	CASE(name##_signalled_with_mutex)                                                                              \
	{                                                                                                              \
		woken(wait, pthread_cond_signal, 1);                                                                   \
	}                                                                                                              \
	CASE(name##_broadcast)                                                                                         \
	{                                                                                                              \
		woken(wait, pthread_cond_broadcast, 0);                                                                \
	}                                                                                                              \
	CASE(name##_broadcast_with_mutex)                                                                              \
	{                                                                                                              \
		woken(wait, pthread_cond_broadcast, 1);                                                                \
	}

WOKEN(wait, wait_plain)
WOKEN(timedwait, wait_timed)
WOKEN(clockwait, wait_monotonic)
WOKEN(clockwait_realtime, wait_realtime)

CASE(several_waiters)
{
	struct story *story = new_story();
	struct worker workers[4];
	void *(*waits[])(void *) = {wait_plain, wait_timed, wait_monotonic, wait_realtime};
	for (int i = 0; i < 4; i++) {
		start(&workers[i], waits[i], story);
		await_blocked(&workers[i], &story->cond);
	}
	/* Not yet: all of them wait on. */
	RET(pthread_mutex_lock(&story->mutex));
	story->is_set = 1;
	RET(pthread_cond_broadcast(&story->cond));
	RET(pthread_mutex_unlock(&story->mutex));
	for (int i = 0; i < 4; i++)
		finish(&workers[i]);
	RET(pthread_cond_destroy(&story->cond));
}

CASE(nobody_waits)
{
	struct story *story = new_story();
	RET(pthread_cond_signal(&story->cond));
	RET(pthread_cond_broadcast(&story->cond));
	MUST(pthread_mutex_lock(&story->mutex));
	/* Neither is remembered. */
	RET(pthread_cond_timedwait(&story->cond, &story->mutex, SOON(CLOCK_REALTIME)));
	RET(pthread_mutex_unlock(&story->mutex));
	RET(pthread_cond_destroy(&story->cond));
}

/* ---- Static ones ---- */

static struct story static_story = {.mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP, .cond = PTHREAD_COND_INITIALIZER};

CASE(static_initialiser)
{
	struct worker worker;
	start(&worker, wait_plain, &static_story);
	await_blocked(&worker, &static_story.cond);
	RET(pthread_mutex_lock(&static_story.mutex));
	static_story.is_set = 1;
	RET(pthread_cond_signal(&static_story.cond));
	RET(pthread_mutex_unlock(&static_story.mutex));
	finish(&worker);
	RET(pthread_mutex_lock(&static_story.mutex));
	RET(pthread_cond_timedwait(&static_story.cond, &static_story.mutex, PAST));
	RET(pthread_mutex_unlock(&static_story.mutex));
}

/* ---- Deadlines ---- */

static void deadlines(int type, int clock_of_attr)
{
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	pthread_condattr_t attr;
	init_mutex(&mutex, type);
	MUST(pthread_condattr_init(&attr));
	if (clock_of_attr >= 0)
		RET(pthread_condattr_setclock(&attr, clock_of_attr));
	RET(pthread_cond_init(&cond, &attr));
	clockid_t clock = clock_of_attr >= 0 ? clock_of_attr : CLOCK_REALTIME;
	MUST(pthread_mutex_lock(&mutex));
	const struct timespec *faulty[] = {PAST, BEFORE_ALL_TIMES, NSEC_TOO_LARGE, NSEC_NEGATIVE, SOON(clock)};
	const char *names[] = {"past", "before all times", "too many ns", "negative ns", "soon"};
	clockid_t clocks[] = {clock, CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_PROCESS_CPUTIME_ID, NO_CLOCK};
	for (int i = 0; i < 5; i++) {
		say("a deadline: %s", names[i]);
		RET(pthread_cond_timedwait(&cond, &mutex, faulty[i]));
		for (int k = 0; k < (i == 4 ? 1 : 5); k++) {
			say("clock %d", clocks[k]);
			RET(pthread_cond_clockwait(&cond, &mutex, clocks[k], faulty[i]));
		}
	}
	/* It is held all the time. */
	if (type != PTHREAD_MUTEX_RECURSIVE)
		RET(pthread_mutex_trylock(&mutex));
	RET(pthread_mutex_unlock(&mutex));
	RET(pthread_cond_destroy(&cond));
	RET(pthread_mutex_destroy(&mutex));
}

CASE(deadlines_normal)
{
	deadlines(PTHREAD_MUTEX_NORMAL, -1);
}

CASE(deadlines_errorcheck)
{
	deadlines(PTHREAD_MUTEX_ERRORCHECK, -1);
}

CASE(deadlines_recursive)
{
	deadlines(PTHREAD_MUTEX_RECURSIVE, -1);
}

CASE(deadlines_adaptive)
{
	deadlines(PTHREAD_MUTEX_ADAPTIVE_NP, -1);
}

CASE(deadlines_monotonic)
{
	deadlines(PTHREAD_MUTEX_NORMAL, CLOCK_MONOTONIC);
}

CASE(deadlines_realtime)
{
	deadlines(PTHREAD_MUTEX_NORMAL, CLOCK_REALTIME);
}

/* ---- The mutex ---- */

CASE(mutex_not_held)
{
	struct story *story = new_story();
	RET(pthread_cond_wait(&story->cond, &story->mutex));
	RET(pthread_cond_timedwait(&story->cond, &story->mutex, PAST));
	RET(pthread_cond_timedwait(&story->cond, &story->mutex, NEVER(CLOCK_REALTIME)));
	RET(pthread_cond_clockwait(&story->cond, &story->mutex, CLOCK_MONOTONIC, PAST));
	RET(pthread_mutex_unlock(&story->mutex));
	RET(pthread_cond_destroy(&story->cond));
}

static void *wait_without(void *argument)
{
	struct story *story = argument;
	RET(pthread_cond_wait(&story->cond, &story->mutex));
	return NULL;
}

CASE(mutex_held_by_another)
{
	struct story *story = new_story();
	RET(pthread_mutex_lock(&story->mutex));
	in_thread(wait_without, story);
	RET(pthread_mutex_unlock(&story->mutex));
}

static void *take_and_set(void *argument)
{
	struct story *story = argument;
	int result = pthread_mutex_trylock(&story->mutex);
	say("trylock: %s", error_name(result));
	if (result == 0) {
		story->is_set = 1;
		RET(pthread_cond_signal(&story->cond));
		RET(pthread_mutex_unlock(&story->mutex));
	}
	return NULL;
}

/* A recursive mutex that is locked twice is given up by half only: a thread that needs it cannot end the wait. */
CASE(recursive_mutex_held_twice)
{
	struct story *story = new_story();
	init_mutex(&story->mutex, PTHREAD_MUTEX_RECURSIVE);
	MUST(pthread_mutex_lock(&story->mutex));
	MUST(pthread_mutex_lock(&story->mutex));
	struct worker worker;
	RET(pthread_cond_timedwait(&story->cond, &story->mutex, SOON(CLOCK_REALTIME)));
	start(&worker, take_and_set, story);
	finish(&worker);
	RET(pthread_mutex_unlock(&story->mutex));
	RET(pthread_mutex_unlock(&story->mutex));
	RET(pthread_mutex_unlock(&story->mutex));
}

static void *wait_recursive(void *argument)
{
	struct story *story = argument;
	RET(pthread_mutex_lock(&story->mutex));
	while (!story->is_set)
		RET(pthread_cond_wait(&story->cond, &story->mutex));
	RET(pthread_mutex_unlock(&story->mutex));
	RET(pthread_mutex_unlock(&story->mutex));
	return NULL;
}

CASE(recursive_mutex_held_once)
{
	struct story *story = new_story();
	init_mutex(&story->mutex, PTHREAD_MUTEX_RECURSIVE);
	struct worker worker;
	start(&worker, wait_recursive, story);
	await_blocked(&worker, &story->cond);
	in_thread(take_and_set, story);
	finish(&worker);
}

CASE(mutex_destroyed_while_it_is_waited_with)
{
	const int types[] = {PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK};
	for (int i = 0; i < 2; i++) {
		struct story *story = new_story();
		init_mutex(&story->mutex, types[i]);
		struct worker worker;
		start(&worker, wait_recursive, story);
		await_blocked(&worker, &story->cond);
		RET(pthread_mutex_destroy(&story->mutex));
		RET(pthread_mutex_lock(&story->mutex));
		story->is_set = 1;
		RET(pthread_cond_signal(&story->cond));
		RET(pthread_mutex_unlock(&story->mutex));
		finish(&worker);
		RET(pthread_mutex_destroy(&story->mutex));
	}
}

static pthread_mutex_t outer = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

static void *wait_with_second_lock(void *argument)
{
	struct story *story = argument;
	RET(pthread_mutex_lock(&outer));
	RET(pthread_mutex_lock(&story->mutex));
	while (!story->is_set)
		RET(pthread_cond_wait(&story->cond, &story->mutex));
	RET(pthread_mutex_unlock(&outer));
	RET(pthread_mutex_unlock(&story->mutex));
	return NULL;
}

CASE(second_lock_held)
{
	struct story *story = new_story();
	struct worker worker;
	start(&worker, wait_with_second_lock, story);
	await_blocked(&worker, &story->cond);
	RET(pthread_mutex_trylock(&outer));
	in_thread(take_and_set, story);
	finish(&worker);
	RET(pthread_mutex_trylock(&outer));
}

static void *wait_inside(void *argument)
{
	struct story *story = argument;
	RET(pthread_mutex_lock(&story->mutex));
	RET(pthread_mutex_lock(&outer));
	while (!story->is_set)
		RET(pthread_cond_wait(&story->cond, &story->mutex));
	RET(pthread_mutex_unlock(&story->mutex));
	RET(pthread_mutex_unlock(&outer));
	return NULL;
}

CASE(mutex_not_the_innermost)
{
	struct story *story = new_story();
	struct worker worker;
	start(&worker, wait_inside, story);
	await_blocked(&worker, &story->cond);
	in_thread(take_and_set, story);
	finish(&worker);
}

CASE(two_mutexes_one_after_the_other)
{
	struct story *story = new_story();
	MUST(pthread_mutex_lock(&story->mutex));
	RET(pthread_cond_timedwait(&story->cond, &story->mutex, PAST));
	MUST(pthread_mutex_lock(&outer));
	RET(pthread_cond_timedwait(&story->cond, &outer, PAST));
	RET(pthread_mutex_unlock(&story->mutex));
	RET(pthread_mutex_unlock(&outer));
}

static void protocol(int protocol)
{
	struct story *story = new_story();
	pthread_mutexattr_t attr;
	MUST(pthread_mutexattr_init(&attr));
	MUST(pthread_mutexattr_setprotocol(&attr, protocol));
	RET(pthread_mutex_init(&story->mutex, &attr));
	struct worker worker;
	start(&worker, wait_recursive, story);
	await_blocked(&worker, &story->cond);
	in_thread(take_and_set, story);
	/* Unlocks once more than it has locked, which is nothing to an ordinary mutex. */
	finish(&worker);
}

CASE(priority_inheritance)
{
	protocol(PTHREAD_PRIO_INHERIT);
}

/* ---- Across processes ---- */

CASE(shared)
{
	struct story *story = shared_memory(sizeof *story);
	pthread_mutexattr_t mutex_attr;
	pthread_condattr_t attr;
	MUST(pthread_mutexattr_init(&mutex_attr));
	MUST(pthread_mutexattr_setpshared(&mutex_attr, PTHREAD_PROCESS_SHARED));
	MUST(pthread_mutex_init(&story->mutex, &mutex_attr));
	MUST(pthread_condattr_init(&attr));
	RET(pthread_condattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
	RET(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC));
	RET(pthread_cond_init(&story->cond, &attr));
	pid_t child = fork();
	if (child == 0) {
		RET(pthread_mutex_lock(&story->mutex));
		while (!story->is_set)
			RET(pthread_cond_timedwait(&story->cond, &story->mutex, NEVER(CLOCK_MONOTONIC)));
		RET(pthread_mutex_unlock(&story->mutex));
		_exit(5);
	}
	await_futex(child, child, &story->cond, sizeof story->cond);
	MUST(pthread_mutex_lock(&story->mutex));
	story->is_set = 1;
	MUST(pthread_mutex_unlock(&story->mutex));
	MUST(pthread_cond_broadcast(&story->cond));
	int status;
	waitpid(child, &status, 0);
	say("the child %s", ending(status));
	RET(pthread_cond_destroy(&story->cond));
}

/* ---- Signals in waits ---- */

static void handler(int number)
{
	say("a handler runs: %s", sigabbrev_np(number));
}

static void signalled(int flags)
{
	struct story *story = new_story();
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
	MUST(sigaction(SIGUSR1, &action, NULL));
	struct worker worker;
	start(&worker, wait_plain, story);
	await_blocked(&worker, &story->cond);
	MUST(pthread_kill(worker.thread, SIGUSR1));
	/* The handler has run before the thread waits again, or goes on. */
	while (!strstr(worker.said->text, "USR1"))
		syscall(SYS_sched_yield);
	in_thread(take_and_set, story);
	finish(&worker);
}

CASE(interrupted)
{
	signalled(0);
}

CASE(interrupted_and_restarted)
{
	signalled(SA_RESTART);
}

/* ---- Lives ---- */

CASE(initialised_again)
{
	struct story *story = new_story();
	RET(pthread_cond_destroy(&story->cond));
	RET(pthread_cond_init(&story->cond, NULL));
	RET(pthread_cond_init(&story->cond, NULL));
	MUST(pthread_mutex_lock(&story->mutex));
	RET(pthread_cond_timedwait(&story->cond, &story->mutex, PAST));
	RET(pthread_cond_destroy(&story->cond));
	RET(pthread_cond_destroy(&story->cond));
}

CASE(assigned_initialiser)
{
	struct story *story = new_story();
	MUST(pthread_mutex_lock(&story->mutex));
	RET(pthread_cond_timedwait(&story->cond, &story->mutex, PAST));
	story->cond = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	RET(pthread_cond_timedwait(&story->cond, &story->mutex, PAST));
	RET(pthread_mutex_unlock(&story->mutex));
}

/* Destroying waits for waiters that were woken and are on their way out. */
CASE(destroyed_after_broadcast)
{
	for (int i = 0; i < 20; i++) {
		struct story *story = shared_memory(sizeof *story);
		init_mutex(&story->mutex, PTHREAD_MUTEX_ERRORCHECK);
		MUST(pthread_cond_init(&story->cond, NULL));
		struct worker workers[2];
		for (int k = 0; k < 2; k++) {
			start(&workers[k], wait_plain, story);
			await_blocked(&workers[k], &story->cond);
		}
		MUST(pthread_mutex_lock(&story->mutex));
		story->is_set = 1;
		MUST(pthread_cond_broadcast(&story->cond));
		MUST(pthread_mutex_unlock(&story->mutex));
		MUST(pthread_cond_destroy(&story->cond));
		memset(&story->cond, 0xee, sizeof story->cond);
		for (int k = 0; k < 2; k++)
			finish(&workers[k]);
	}
}

/* Handed to and fro under the mutex: no wake-up may get lost. */
static struct story turns = {.mutex = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};
static int turn;

static void *take_turns(void *argument)
{
	int self = argument != NULL;
	for (int i = 0; i < 500; i++) {
		pthread_mutex_lock(&turns.mutex);
		while (turn != self)
			pthread_cond_wait(&turns.cond, &turns.mutex);
		turn = !self;
		pthread_cond_signal(&turns.cond);
		pthread_mutex_unlock(&turns.mutex);
	}
	return NULL;
}

CASE(turns)
{
	struct worker one, other;
	start(&one, take_turns, NULL);
	start(&other, take_turns, &turns);
	finish(&one);
	finish(&other);
	say("turn %d", turn);
}

/* ---- A mutex that the thread does not hold ---- */

/* It is given up all the same, and held when the wait is over; one that knows its owner refuses. */
CASE(mutex_that_nobody_holds)
{
	static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_RECURSIVE};
	static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	for (int i = 0; i < 3; i++) {
		pthread_mutex_t mutex;
		init_mutex(&mutex, types[i]);
		RET(pthread_cond_timedwait(&cond, &mutex, PAST));
		RET(pthread_mutex_trylock(&mutex));
		RET(pthread_mutex_unlock(&mutex));
	}
}

static pthread_mutex_t of_another = PTHREAD_MUTEX_INITIALIZER;

static void *lock_of_another(void *argument)
{
	RET(pthread_mutex_lock(&of_another));
	return argument;
}

CASE(mutex_of_another)
{
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	in_thread(lock_of_another, NULL);
	RET(pthread_cond_timedwait(&cond, &of_another, PAST));
	RET(pthread_mutex_trylock(&of_another));
	RET(pthread_mutex_unlock(&of_another));
	RET(pthread_mutex_trylock(&of_another));
}
