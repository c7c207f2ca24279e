/* Robust mutexes whose owners die: which thread learns it, by which call, and what the mutex is good for afterwards. */
#include "case.h"

static void init(pthread_mutex_t *mutex, int type, int protocol, int shared)
{
	pthread_mutexattr_t attr;
	MUST(pthread_mutexattr_init(&attr));
	MUST(pthread_mutexattr_settype(&attr, type));
	MUST(pthread_mutexattr_setprotocol(&attr, protocol));
	MUST(pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST));
	MUST(pthread_mutexattr_setpshared(&attr, shared));
	MUST(pthread_mutex_init(mutex, &attr));
}

static void *die_with_it(void *argument)
{
	RET(pthread_mutex_lock((pthread_mutex_t *)argument));
	return NULL;
}

static void *try_it(void *argument)
{
	pthread_mutex_t *mutex = argument;
	RET(pthread_mutex_trylock(mutex));
	RET(pthread_mutex_timedlock(mutex, PAST));
	RET(pthread_mutex_consistent(mutex));
	RET(pthread_mutex_unlock(mutex));
	return NULL;
}

static int by_lock(pthread_mutex_t *mutex)
{
	return RET(pthread_mutex_lock(mutex));
}

static int by_trylock(pthread_mutex_t *mutex)
{
	return RET(pthread_mutex_trylock(mutex));
}

static int by_timedlock(pthread_mutex_t *mutex)
{
	return RET(pthread_mutex_timedlock(mutex, NEVER(CLOCK_REALTIME)));
}

static int by_clocklock(pthread_mutex_t *mutex)
{
	return RET(pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, NEVER(CLOCK_MONOTONIC)));
}

static int by_past_deadline(pthread_mutex_t *mutex)
{
	return RET(pthread_mutex_timedlock(mutex, PAST));
}

static int (*const ways[])(pthread_mutex_t *) = {by_lock, by_trylock, by_timedlock, by_clocklock, by_past_deadline};
enum { WAYS = sizeof ways / sizeof *ways };

/* Recovered again and again, by each way of learning of it. */
static void recovery(int type, int protocol, int shared)
{
	pthread_mutex_t *mutex = shared_memory(sizeof *mutex);
	init(mutex, type, protocol, shared);
	for (int i = 0; i < WAYS; i++) {
		/* What has been recovered is recovered again with a depth of 0, by glibc's mistake. */
		if (i && type == PTHREAD_MUTEX_RECURSIVE && protocol)
			continue;
		in_thread(die_with_it, mutex);
		if (ways[i](mutex) != EOWNERDEAD)
			return;
		in_thread(try_it, mutex);
		RET(pthread_mutex_consistent(mutex));
		RET(pthread_mutex_consistent(mutex));
		if (type == PTHREAD_MUTEX_ERRORCHECK || type == PTHREAD_MUTEX_RECURSIVE) {
			if (RET(pthread_mutex_lock(mutex)) == 0)
				RET(pthread_mutex_unlock(mutex));
		}
		RET(pthread_mutex_unlock(mutex));
		RET(pthread_mutex_lock(mutex));
		RET(pthread_mutex_unlock(mutex));
	}
	RET(pthread_mutex_destroy(mutex));
}

/* Not made consistent: it is good for nothing from then on. */
static void no_recovery(int type, int protocol, int shared)
{
	for (int i = 0; i < WAYS; i++) {
		pthread_mutex_t *mutex = shared_memory(sizeof *mutex);
		init(mutex, type, protocol, shared);
		in_thread(die_with_it, mutex);
		RET(pthread_mutex_lock(mutex));
		RET(pthread_mutex_unlock(mutex));
		ways[i](mutex);
		RET(pthread_mutex_consistent(mutex));
	}
}

#define SHARING(name, type, protocol, shared)                                                                          \
	CASE(recovered_##name)                                                                                         \
	{                                                                                                              \
		recovery(type, protocol, shared);                                                                      \
	}                                                                                                              \
	CASE(not_recoverable_##name)                                                                                   \
	{                                                                                                              \
		no_recovery(type, protocol, shared);                                                                   \
	}
#define SORTS(name, type)                                                                                              \
	SHARING(name, type, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_PRIVATE)                                                \
	SHARING(name##_shared, type, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_SHARED)                                        \
	SHARING(name##_inherit, type, PTHREAD_PRIO_INHERIT, PTHREAD_PROCESS_PRIVATE)                                   \
	SHARING(name##_inherit_shared, type, PTHREAD_PRIO_INHERIT, PTHREAD_PROCESS_SHARED)

SORTS(normal, PTHREAD_MUTEX_NORMAL)
SORTS(recursive, PTHREAD_MUTEX_RECURSIVE)
SORTS(errorcheck, PTHREAD_MUTEX_ERRORCHECK)
SORTS(adaptive, PTHREAD_MUTEX_ADAPTIVE_NP)

/* ---- The owner dies while others wait ---- */

struct story {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	struct gate locked, die;
	int way;
};

static void *lock_and_die_when_told(void *argument)
{
	struct story *story = argument;
	RET(pthread_mutex_lock(&story->mutex));
	open_gate(&story->locked);
	pass(&story->die);
	return NULL;
}

static void *wait_for_it(void *argument)
{
	struct story *story = argument;
	int (*const waits[])(pthread_mutex_t *) = {by_lock, by_timedlock, by_clocklock};
	if (waits[story->way](&story->mutex) == EOWNERDEAD)
		RET(pthread_mutex_consistent(&story->mutex));
	RET(pthread_mutex_unlock(&story->mutex));
	return NULL;
}

/* Before glibc 2.35 a wait for a mutex of this protocol has a deadline of CLOCK_REALTIME whatever the clock is: it is over
   at once. */
static int can_wait_by_clock(int protocol)
{
#if __GLIBC_PREREQ(2, 35)
	(void)protocol;
	return 1;
#else
	return protocol != PTHREAD_PRIO_INHERIT;
#endif
}

static void owner_dies(int type, int protocol)
{
	int ways = can_wait_by_clock(protocol) ? 3 : 2;
	for (int way = 0; way < ways; way++) {
		struct story *story = shared_memory(sizeof *story);
		story->way = way;
		init(&story->mutex, type, protocol, PTHREAD_PROCESS_PRIVATE);
		struct worker owner, waiter;
		start(&owner, lock_and_die_when_told, story);
		pass(&story->locked);
		start(&waiter, wait_for_it, story);
		await_blocked(&waiter, &story->mutex);
		open_gate(&story->die);
		finish(&owner);
		finish(&waiter);
		RET(pthread_mutex_destroy(&story->mutex));
	}
}

CASE(owner_dies_while_waited_for)
{
	owner_dies(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE);
}

CASE(owner_dies_while_waited_for_inherit)
{
	owner_dies(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_INHERIT);
}

CASE(owner_dies_while_waited_for_recursive)
{
	owner_dies(PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE);
}

/* ---- Across processes ---- */

static void processes(int protocol, void (*end)(void), const char *how)
{
	struct story *story = shared_memory(sizeof *story);
	init(&story->mutex, PTHREAD_MUTEX_NORMAL, protocol, PTHREAD_PROCESS_SHARED);
	for (int i = 0; i < WAYS; i++) {
		pid_t child = fork();
		if (child == 0) {
			MUST(pthread_mutex_lock(&story->mutex));
			end();
		}
		int status;
		waitpid(child, &status, 0);
		say("%s: %s", how, ending(status));
		if (ways[i](&story->mutex) == EOWNERDEAD)
			RET(pthread_mutex_consistent(&story->mutex));
		RET(pthread_mutex_unlock(&story->mutex));
	}
	RET(pthread_mutex_destroy(&story->mutex));
}

static void exits(void)
{
	exit(3);
}

static void exits_at_once(void)
{
	_exit(4);
}

static void is_killed(void)
{
	kill(getpid(), SIGKILL);
}

static void executes(void)
{
	execl("/bin/true", "true", (char *)NULL);
}

CASE(process_exits)
{
	processes(PTHREAD_PRIO_NONE, exits, "exit");
}

CASE(process_exits_at_once)
{
	processes(PTHREAD_PRIO_NONE, exits_at_once, "_exit");
}

CASE(process_is_killed)
{
	processes(PTHREAD_PRIO_NONE, is_killed, "kill");
}

CASE(process_executes_another)
{
	processes(PTHREAD_PRIO_NONE, executes, "exec");
}

CASE(process_is_killed_inherit)
{
	processes(PTHREAD_PRIO_INHERIT, is_killed, "kill");
}

/* Another process waits, and learns of it there. */
CASE(process_dies_while_another_waits)
{
	struct story *story = shared_memory(sizeof *story);
	init(&story->mutex, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_SHARED);
	pid_t owner = fork();
	if (owner == 0) {
		MUST(pthread_mutex_lock(&story->mutex));
		open_gate(&story->locked);
		pass(&story->die);
		_exit(0);
	}
	pass(&story->locked);
	pid_t waiter = fork();
	if (waiter == 0) {
		wait_for_it(story);
		_exit(0);
	}
	await_futex(waiter, waiter, &story->mutex, sizeof story->mutex);
	open_gate(&story->die);
	int status;
	waitpid(owner, &status, 0);
	waitpid(waiter, &status, 0);
	say("the waiter %s", ending(status));
	RET(pthread_mutex_lock(&story->mutex));
	RET(pthread_mutex_unlock(&story->mutex));
}

/* ---- With condition variables ---- */

static void *wait_in_condition(void *argument)
{
	struct story *story = argument;
	MUST(pthread_mutex_lock(&story->mutex));
	open_gate(&story->locked);
	if (RET(pthread_cond_wait(&story->cond, &story->mutex)) == EOWNERDEAD)
		RET(pthread_mutex_consistent(&story->mutex));
	RET(pthread_mutex_unlock(&story->mutex));
	return NULL;
}

static void *wait_in_condition_timed(void *argument)
{
	struct story *story = argument;
	MUST(pthread_mutex_lock(&story->mutex));
	open_gate(&story->locked);
	if (RET(pthread_cond_timedwait(&story->cond, &story->mutex, NEVER(CLOCK_REALTIME))) == EOWNERDEAD)
		RET(pthread_mutex_consistent(&story->mutex));
	RET(pthread_mutex_unlock(&story->mutex));
	return NULL;
}

static void *signal_and_die(void *argument)
{
	struct story *story = argument;
	RET(pthread_mutex_lock(&story->mutex));
	RET(pthread_cond_signal(&story->cond));
	return NULL;
}

/* A waiter whose waker dies with the mutex held learns that when it takes the mutex back. */
static void condition(int type, int protocol, void *(*wait)(void *))
{
	struct story *story = shared_memory(sizeof *story);
	init(&story->mutex, type, protocol, PTHREAD_PROCESS_PRIVATE);
	MUST(pthread_cond_init(&story->cond, NULL));
	struct worker waiter;
	start(&waiter, wait, story);
	pass(&story->locked);
	await_blocked(&waiter, &story->cond);
	in_thread(signal_and_die, story);
	finish(&waiter);
	RET(pthread_mutex_lock(&story->mutex));
	RET(pthread_mutex_unlock(&story->mutex));
	RET(pthread_cond_destroy(&story->cond));
}

CASE(condition_normal)
{
	condition(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, wait_in_condition);
}

CASE(condition_errorcheck)
{
	condition(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, wait_in_condition);
}

CASE(condition_inherit)
{
	condition(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, wait_in_condition);
}

CASE(condition_timed)
{
	condition(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, wait_in_condition_timed);
}

/* A wait with a mutex that nobody may recover any more. */
CASE(condition_not_recoverable)
{
	struct story *story = shared_memory(sizeof *story);
	init(&story->mutex, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_PRIVATE);
	MUST(pthread_cond_init(&story->cond, NULL));
	in_thread(die_with_it, &story->mutex);
	RET(pthread_mutex_lock(&story->mutex));
	/* Gives it up inconsistent. */
	RET(pthread_cond_timedwait(&story->cond, &story->mutex, SOON(CLOCK_REALTIME)));
	RET(pthread_mutex_trylock(&story->mutex));
}

/* ---- Several at once ---- */

static pthread_mutex_t several[5];

static void *take_all(void *unused)
{
	(void)unused;
	for (int i = 0; i < 5; i++)
		RET(pthread_mutex_lock(&several[i]));
	RET(pthread_mutex_unlock(&several[2]));
	return NULL;
}

CASE(several_at_once)
{
	for (int i = 0; i < 5; i++)
		init(&several[i], i % 4, i & 1 ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE, PTHREAD_PROCESS_PRIVATE);
	in_thread(take_all, NULL);
	for (int i = 4; i >= 0; i--) {
		if (RET(pthread_mutex_trylock(&several[i])) == EOWNERDEAD)
			RET(pthread_mutex_consistent(&several[i]));
		RET(pthread_mutex_unlock(&several[i]));
	}
}

/* One that is unmapped by a thread that then dies with it: the list of a thread's robust mutexes must not break. */
static void *unmap_and_die(void *argument)
{
	pthread_mutex_t *first = ((void **)argument)[0], *second = ((void **)argument)[1];
	RET(pthread_mutex_lock(first));
	RET(pthread_mutex_lock(second));
	RET(pthread_mutex_unlock(second));
	munmap(second, 4096);
	return NULL;
}

CASE(unlocked_and_unmapped)
{
	pthread_mutex_t *first = shared_memory(4096), *second = shared_memory(4096);
	init(first, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_PRIVATE);
	init(second, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_PRIVATE);
	in_thread(unmap_and_die, (void *[]){first, second});
	RET(pthread_mutex_lock(first));
}

CASE(consistent_by_its_old_name)
{
	extern int pthread_mutex_consistent_np_(pthread_mutex_t *);
	__asm__(".symver pthread_mutex_consistent_np_, pthread_mutex_consistent_np@GLIBC_2.4");
	pthread_mutex_t mutex;
	init(&mutex, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_PROCESS_PRIVATE);
	in_thread(die_with_it, &mutex);
	RET(pthread_mutex_consistent_np_(&mutex));
	RET(pthread_mutex_lock(&mutex));
	RET(pthread_mutex_consistent_np_(&mutex));
	RET(pthread_mutex_unlock(&mutex));
	RET(pthread_mutex_lock(&mutex));
}
