/* Mutexes of every type, protocol, robustness and sharing: what each function returns in each state. */
#include "case.h"

/* ---- One script for every sort of mutex ---- */

static void *from_outside(void *argument)
{
	pthread_mutex_t *mutex = argument;
	RET(pthread_mutex_trylock(mutex));
	RET(pthread_mutex_timedlock(mutex, PAST));
	RET(pthread_mutex_timedlock(mutex, SOON(CLOCK_REALTIME)));
	RET(pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, PAST));
	RET(pthread_mutex_clocklock(mutex, CLOCK_REALTIME, PAST));
	RET(pthread_mutex_timedlock(mutex, NSEC_TOO_LARGE));
	RET(pthread_mutex_timedlock(mutex, NSEC_NEGATIVE));
	RET(pthread_mutex_timedlock(mutex, BEFORE_ALL_TIMES));
	RET(pthread_mutex_destroy(mutex));
	return NULL;
}

static void *unlock_from_outside(void *argument)
{
	RET(pthread_mutex_unlock((pthread_mutex_t *)argument));
	return NULL;
}

static void *take_and_give(void *argument)
{
	pthread_mutex_t *mutex = argument;
	RET(pthread_mutex_lock(mutex));
	RET(pthread_mutex_unlock(mutex));
	return NULL;
}

static int init(pthread_mutex_t *mutex, int type, int protocol, int robust, int shared)
{
	pthread_mutexattr_t attr;
	MUST(pthread_mutexattr_init(&attr));
	MUST(pthread_mutexattr_settype(&attr, type));
	MUST(pthread_mutexattr_setprotocol(&attr, protocol));
	MUST(pthread_mutexattr_setrobust(&attr, robust));
	MUST(pthread_mutexattr_setpshared(&attr, shared));
	int result = RET(pthread_mutex_init(mutex, &attr));
	MUST(pthread_mutexattr_destroy(&attr));
	return result;
}

static void script(int type, int protocol, int robust, int shared)
{
	pthread_mutex_t *mutex = shared_memory(sizeof *mutex);
	if (init(mutex, type, protocol, robust, shared))
		return;
	int old = 0;
	RET(pthread_mutex_getprioceiling(mutex, &old));
	RET(pthread_mutex_consistent(mutex));
	int outcome = RET(pthread_mutex_lock(mutex));
	if (outcome)
		return;
	RET(pthread_mutex_trylock(mutex));
	RET(pthread_mutex_timedlock(mutex, PAST));
	RET(pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, PAST));
	int checks = type == PTHREAD_MUTEX_ERRORCHECK || type == PTHREAD_MUTEX_RECURSIVE;
	if (checks)
		RET(pthread_mutex_lock(mutex));
	in_thread(from_outside, mutex);
	if (checks || robust)
		in_thread(unlock_from_outside, mutex);
	RET(pthread_mutex_destroy(mutex));
	RET(pthread_mutex_consistent(mutex));
	for (int depth = type == PTHREAD_MUTEX_RECURSIVE ? 5 : 1; depth; depth--)
		RET(pthread_mutex_unlock(mutex));
	if (checks || robust)
		RET(pthread_mutex_unlock(mutex));
	in_thread(take_and_give, mutex);
	RET(pthread_mutex_trylock(mutex));
	RET(pthread_mutex_unlock(mutex));
	RET(pthread_mutex_timedlock(mutex, PAST));
	RET(pthread_mutex_unlock(mutex));
	RET(pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, NEVER(CLOCK_MONOTONIC)));
	RET(pthread_mutex_unlock(mutex));
	RET(pthread_mutex_destroy(mutex));
	RET(pthread_mutex_destroy(mutex));
	if (checks || robust || protocol)
		RET(pthread_mutex_lock(mutex));
	RET(pthread_mutex_trylock(mutex));
}

#define SHARING(name, type, protocol, robust)                                                                          \
	CASE(name)                                                                                                     \
	{                                                                                                              \
		script(type, protocol, robust, PTHREAD_PROCESS_PRIVATE);                                               \
	}                                                                                                              \
	CASE(name##_shared)                                                                                            \
	{                                                                                                              \
		script(type, protocol, robust, PTHREAD_PROCESS_SHARED);                                                \
	}
#define ROBUSTNESS(name, type, protocol)                                                                               \
	SHARING(name, type, protocol, PTHREAD_MUTEX_STALLED)                                                           \
	SHARING(name##_robust, type, protocol, PTHREAD_MUTEX_ROBUST)
#define PROTOCOLS(name, type)                                                                                          \
	ROBUSTNESS(name, type, PTHREAD_PRIO_NONE)                                                                      \
	ROBUSTNESS(name##_inherit, type, PTHREAD_PRIO_INHERIT)                                                         \
	ROBUSTNESS(name##_protect, type, PTHREAD_PRIO_PROTECT)

PROTOCOLS(normal, PTHREAD_MUTEX_NORMAL)
PROTOCOLS(recursive, PTHREAD_MUTEX_RECURSIVE)
PROTOCOLS(errorcheck, PTHREAD_MUTEX_ERRORCHECK)
PROTOCOLS(adaptive, PTHREAD_MUTEX_ADAPTIVE_NP)

/* ---- Static initialisers ---- */

static pthread_mutex_t static_normal = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t static_recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t static_errorcheck = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t static_adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;

#define STATIC(name, checks)                                                                                           \
	CASE(name)                                                                                                     \
	{                                                                                                              \
		RET(pthread_mutex_lock(&name));                                                                        \
		RET(pthread_mutex_trylock(&name));                                                                     \
		RET(pthread_mutex_timedlock(&name, PAST));                                                             \
		if (checks)                                                                                            \
			RET(pthread_mutex_lock(&name));                                                                \
		in_thread(from_outside, &name);                                                                        \
		for (int i = 0; i < (checks ? 5 : 1); i++)                                                             \
			RET(pthread_mutex_unlock(&name));                                                              \
		in_thread(take_and_give, &name);                                                                       \
		RET(pthread_mutex_destroy(&name));                                                                     \
	}

STATIC(static_normal, 0)
STATIC(static_recursive, 1)
STATIC(static_errorcheck, 1)
STATIC(static_adaptive, 0)

/* ---- Deadlines ---- */

/* Which of a deadline's faults are noticed, and when, on a mutex that is free and on one that is not. */
static void deadlines(int type, int protocol, int robust)
{
	static pthread_mutex_t mutex;
	if (init(&mutex, type, protocol, robust, PTHREAD_PROCESS_PRIVATE))
		return;
	const struct timespec *faulty[] = {PAST, BEFORE_ALL_TIMES, NSEC_TOO_LARGE, NSEC_NEGATIVE};
	const char *names[] = {"past", "before all times", "too many ns", "negative ns"};
	for (int i = 0; i < 4; i++) {
		say("a deadline: %s; the mutex is free", names[i]);
		if (RET(pthread_mutex_timedlock(&mutex, faulty[i])) == 0)
			MUST(pthread_mutex_unlock(&mutex));
		if (RET(pthread_mutex_clocklock(&mutex, CLOCK_REALTIME, faulty[i])) == 0)
			MUST(pthread_mutex_unlock(&mutex));
		if (RET(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, faulty[i])) == 0)
			MUST(pthread_mutex_unlock(&mutex));
		if (RET(pthread_mutex_clocklock(&mutex, NO_CLOCK, faulty[i])) == 0)
			MUST(pthread_mutex_unlock(&mutex));
		if (RET(pthread_mutex_clocklock(&mutex, CLOCK_BOOTTIME, faulty[i])) == 0)
			MUST(pthread_mutex_unlock(&mutex));
		if (RET(pthread_mutex_clocklock(&mutex, CLOCK_PROCESS_CPUTIME_ID, faulty[i])) == 0)
			MUST(pthread_mutex_unlock(&mutex));
	}
	MUST(pthread_mutex_lock(&mutex));
	for (int i = 0; i < 4; i++) {
		say("a deadline: %s; the mutex is ours", names[i]);
		RET(pthread_mutex_timedlock(&mutex, faulty[i]));
		RET(pthread_mutex_clocklock(&mutex, CLOCK_REALTIME, faulty[i]));
		RET(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, faulty[i]));
		RET(pthread_mutex_clocklock(&mutex, NO_CLOCK, faulty[i]));
		RET(pthread_mutex_clocklock(&mutex, CLOCK_BOOTTIME, faulty[i]));
	}
}

#define DEADLINES(name, type)                                                                                          \
	CASE(deadlines_##name)                                                                                         \
	{                                                                                                              \
		deadlines(type, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);                                             \
	}                                                                                                              \
	CASE(deadlines_##name##_robust)                                                                                \
	{                                                                                                              \
		deadlines(type, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST);                                              \
	}                                                                                                              \
	CASE(deadlines_##name##_inherit)                                                                               \
	{                                                                                                              \
		deadlines(type, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED);                                          \
	}                                                                                                              \
	CASE(deadlines_##name##_protect)                                                                               \
	{                                                                                                              \
		deadlines(type, PTHREAD_PRIO_PROTECT, PTHREAD_MUTEX_STALLED);                                          \
	}

DEADLINES(normal, PTHREAD_MUTEX_NORMAL)
DEADLINES(recursive, PTHREAD_MUTEX_RECURSIVE)
DEADLINES(errorcheck, PTHREAD_MUTEX_ERRORCHECK)
DEADLINES(adaptive, PTHREAD_MUTEX_ADAPTIVE_NP)

/* ---- Waiting ---- */

struct waiting {
	pthread_mutex_t mutex;
	struct worker worker;
};

static void *wait_for_it(void *argument)
{
	struct waiting *waiting = argument;
	RET(pthread_mutex_lock(&waiting->mutex));
	RET(pthread_mutex_unlock(&waiting->mutex));
	return NULL;
}

static void *wait_long_for_it(void *argument)
{
	struct waiting *waiting = argument;
	RET(pthread_mutex_timedlock(&waiting->mutex, NEVER(CLOCK_REALTIME)));
	RET(pthread_mutex_unlock(&waiting->mutex));
	return NULL;
}

static void *wait_long_by_clock(void *argument)
{
	struct waiting *waiting = argument;
	RET(pthread_mutex_clocklock(&waiting->mutex, CLOCK_MONOTONIC, NEVER(CLOCK_MONOTONIC)));
	RET(pthread_mutex_unlock(&waiting->mutex));
	return NULL;
}

/* A mutex that another waits for until it is given up. */
static void contended(int type, int protocol, int robust, int shared)
{
	static struct waiting waiting;
	void *(*ways[])(void *) = {wait_for_it, wait_long_for_it, wait_long_by_clock};
	int waits = 3;
#if !__GLIBC_PREREQ(2, 34)
	/* An older glibc compares every deadline of these with CLOCK_REALTIME: it is long past, and nobody waits. */
	if (protocol == PTHREAD_PRIO_INHERIT)
		waits = 2;
#endif
	if (init(&waiting.mutex, type, protocol, robust, shared))
		return;
	for (int i = 0; i < waits; i++) {
		if (pthread_mutex_lock(&waiting.mutex)) {
			say("cannot be locked");
			return;
		}
		start(&waiting.worker, ways[i], &waiting);
		await_blocked(&waiting.worker, &waiting.mutex);
		say("it waits");
		RET(pthread_mutex_unlock(&waiting.mutex));
		finish(&waiting.worker);
	}
	RET(pthread_mutex_destroy(&waiting.mutex));
}

#define CONTENDED(name, type)                                                                                          \
	CASE(contended_##name)                                                                                         \
	{                                                                                                              \
		contended(type, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED, PTHREAD_PROCESS_PRIVATE);                    \
	}                                                                                                              \
	CASE(contended_##name##_shared)                                                                                \
	{                                                                                                              \
		contended(type, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED, PTHREAD_PROCESS_SHARED);                     \
	}                                                                                                              \
	CASE(contended_##name##_robust)                                                                                \
	{                                                                                                              \
		contended(type, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST, PTHREAD_PROCESS_PRIVATE);                     \
	}                                                                                                              \
	CASE(contended_##name##_inherit)                                                                               \
	{                                                                                                              \
		contended(type, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED, PTHREAD_PROCESS_PRIVATE);                 \
	}                                                                                                              \
	CASE(contended_##name##_inherit_robust)                                                                        \
	{                                                                                                              \
		contended(type, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_ROBUST, PTHREAD_PROCESS_PRIVATE);                  \
	}

CONTENDED(normal, PTHREAD_MUTEX_NORMAL)
CONTENDED(recursive, PTHREAD_MUTEX_RECURSIVE)
CONTENDED(errorcheck, PTHREAD_MUTEX_ERRORCHECK)
CONTENDED(adaptive, PTHREAD_MUTEX_ADAPTIVE_NP)

/* ---- Priority ceilings ---- */

CASE(ceiling)
{
	pthread_mutex_t mutex;
	pthread_mutexattr_t attr;
	int value = -1;
	MUST(pthread_mutexattr_init(&attr));
	MUST(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_PROTECT));
	RET(pthread_mutexattr_setprioceiling(&attr, 7));
	RET(pthread_mutex_init(&mutex, &attr));
	RET(pthread_mutex_getprioceiling(&mutex, &value));
	say("ceiling %d", value);
	RET(pthread_mutex_setprioceiling(&mutex, 9, &value));
	say("before %d", value);
	RET(pthread_mutex_setprioceiling(&mutex, 0, &value));
	RET(pthread_mutex_setprioceiling(&mutex, 1000, &value));
	RET(pthread_mutex_getprioceiling(&mutex, &value));
	say("ceiling %d", value);
	int outcome = RET(pthread_mutex_lock(&mutex));
	if (outcome == 0) {
		int policy;
		struct sched_param param;
		RET(pthread_getschedparam(pthread_self(), &policy, &param));
		say("policy %d priority %d", policy, param.sched_priority);
		RET(pthread_mutex_setprioceiling(&mutex, 11, &value));
		RET(pthread_mutex_unlock(&mutex));
	}
	RET(pthread_mutex_destroy(&mutex));
}

CASE(ceiling_of_others)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	int value = -1;
	RET(pthread_mutex_getprioceiling(&mutex, &value));
	RET(pthread_mutex_setprioceiling(&mutex, 9, &value));
}

/* ---- How deep a recursive mutex goes ---- */

static void overflow(int protocol, int robust)
{
	pthread_mutex_t mutex;
	if (init(&mutex, PTHREAD_MUTEX_RECURSIVE, protocol, robust, PTHREAD_PROCESS_PRIVATE))
		return;
	if (RET(pthread_mutex_lock(&mutex)))
		return;
	/* As if it had been locked as often as it can be. */
	mutex.__data.__count = UINT_MAX;
	RET(pthread_mutex_lock(&mutex));
	RET(pthread_mutex_trylock(&mutex));
	RET(pthread_mutex_timedlock(&mutex, PAST));
	RET(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, PAST));
	mutex.__data.__count = 1;
	RET(pthread_mutex_unlock(&mutex));
	RET(pthread_mutex_unlock(&mutex));
	RET(pthread_mutex_destroy(&mutex));
}

CASE(overflow)
{
	overflow(PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
}

CASE(overflow_robust)
{
	overflow(PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST);
}

CASE(overflow_inherit)
{
	overflow(PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED);
}

CASE(overflow_protect)
{
	overflow(PTHREAD_PRIO_PROTECT, PTHREAD_MUTEX_STALLED);
}

CASE(deep_recursion)
{
	pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	int failures = 0;
	for (int i = 0; i < 100000; i++)
		failures += (i & 1 ? pthread_mutex_lock(&mutex) : pthread_mutex_trylock(&mutex)) != 0;
	say("%d failures, depth %u", failures, mutex.__data.__count);
	for (int i = 0; i < 99999; i++)
		failures += pthread_mutex_unlock(&mutex) != 0;
	in_thread(from_outside, &mutex);
	RET(pthread_mutex_unlock(&mutex));
	RET(pthread_mutex_unlock(&mutex));
	say("%d failures", failures);
}

/* ---- Lives ---- */

CASE(initialised_again)
{
	pthread_mutex_t mutex;
	RET(pthread_mutex_init(&mutex, NULL));
	RET(pthread_mutex_lock(&mutex));
	RET(pthread_mutex_init(&mutex, NULL));
	RET(pthread_mutex_trylock(&mutex));
	RET(pthread_mutex_unlock(&mutex));
	RET(pthread_mutex_destroy(&mutex));
	RET(pthread_mutex_init(&mutex, NULL));
	RET(pthread_mutex_lock(&mutex));
	RET(pthread_mutex_unlock(&mutex));
}

CASE(assigned_initialiser)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	RET(pthread_mutex_lock(&mutex));
	mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	RET(pthread_mutex_trylock(&mutex));
	RET(pthread_mutex_unlock(&mutex));
	mutex = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	RET(pthread_mutex_lock(&mutex));
	RET(pthread_mutex_lock(&mutex));
	RET(pthread_mutex_unlock(&mutex));
	RET(pthread_mutex_unlock(&mutex));
	RET(pthread_mutex_unlock(&mutex));
}

CASE(copied)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	RET(pthread_mutex_lock(&mutex));
	pthread_mutex_t copy = mutex;
	RET(pthread_mutex_trylock(&copy));
	RET(pthread_mutex_unlock(&copy));
	RET(pthread_mutex_lock(&copy));
	RET(pthread_mutex_trylock(&mutex));
	RET(pthread_mutex_unlock(&mutex));
	RET(pthread_mutex_unlock(&copy));
	RET(pthread_mutex_destroy(&copy));
	RET(pthread_mutex_destroy(&mutex));
}

CASE(moved)
{
	pthread_mutex_t *a = malloc(sizeof *a), *b = malloc(sizeof *b);
	MUST(pthread_mutex_init(a, NULL));
	RET(pthread_mutex_lock(a));
	memcpy(b, a, sizeof *a);
	free(a);
	RET(pthread_mutex_trylock(b));
	RET(pthread_mutex_unlock(b));
	in_thread(take_and_give, b);
	free(b);
}

CASE(zeroed_memory)
{
	pthread_mutex_t *mutex = calloc(1, sizeof *mutex);
	for (int i = 0; i < 3; i++) {
		RET(pthread_mutex_lock(mutex));
		RET(pthread_mutex_unlock(mutex));
		RET(pthread_mutex_lock(mutex));
		memset(mutex, 0, sizeof *mutex);
	}
	free(mutex);
}

CASE(unmapped_while_locked)
{
	for (int i = 0; i < 3; i++) {
		pthread_mutex_t *mutex = shared_memory(4096);
		RET(pthread_mutex_lock(mutex));
		SYS(munmap(mutex, 4096));
	}
}

CASE(freed_while_locked)
{
	for (int i = 0; i < 3; i++) {
		pthread_mutex_t *mutex = malloc(sizeof *mutex);
		RET(pthread_mutex_init(mutex, NULL));
		RET(pthread_mutex_lock(mutex));
		free(mutex);
	}
}

/* Memory that is only read, and then gone: what is not written natively must not be written. */
CASE(the_padding_is_kept_by_destroy_and_init)
{
	pthread_mutex_t mutex;
	MUST(pthread_mutex_init(&mutex, NULL));
	MUST(pthread_mutex_destroy(&mutex));
	MUST(pthread_mutex_init(&mutex, NULL));
	say("lock %d count %u owner %d kind %d", mutex.__data.__lock, mutex.__data.__count, mutex.__data.__owner,
	    mutex.__data.__kind);
}

/* ---- Misuse that glibc answers ---- */

CASE(destroyed_while_locked)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	RET(pthread_mutex_lock(&mutex));
	RET(pthread_mutex_destroy(&mutex));
	RET(pthread_mutex_unlock(&mutex));
	RET(pthread_mutex_destroy(&mutex));
	RET(pthread_mutex_destroy(&mutex));
	RET(pthread_mutex_trylock(&mutex));
	RET(pthread_mutex_unlock(&mutex));
}

CASE(unlocked_by_another)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	RET(pthread_mutex_lock(&mutex));
	in_thread(unlock_from_outside, &mutex);
	RET(pthread_mutex_trylock(&mutex));
	RET(pthread_mutex_unlock(&mutex));
}

CASE(no_such_type)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	mutex.__data.__kind = 0x7f;
	RET(pthread_mutex_lock(&mutex));
	RET(pthread_mutex_trylock(&mutex));
	RET(pthread_mutex_timedlock(&mutex, PAST));
	RET(pthread_mutex_unlock(&mutex));
	RET(pthread_mutex_destroy(&mutex));
}

/* ---- Orders that are legal, and common ---- */

CASE(out_of_order)
{
	pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER, c = PTHREAD_MUTEX_INITIALIZER;
	RET(pthread_mutex_lock(&a));
	RET(pthread_mutex_lock(&b));
	RET(pthread_mutex_unlock(&a));
	RET(pthread_mutex_lock(&c));
	RET(pthread_mutex_unlock(&b));
	RET(pthread_mutex_lock(&a));
	RET(pthread_mutex_unlock(&c));
	RET(pthread_mutex_unlock(&a));
}

CASE(many_held)
{
	static pthread_mutex_t all[3000];
	int failures = 0;
	for (int i = 0; i < 3000; i++)
		failures += pthread_mutex_lock(&all[i]) != 0;
	for (int i = 0; i < 3000; i++)
		failures += pthread_mutex_trylock(&all[i]) != EBUSY;
	for (int i = 0; i < 3000; i++)
		failures += pthread_mutex_unlock(&all[i * 7 % 3000]) != 0;
	say("%d failures", failures);
}

CASE(trylock_loop)
{
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	MUST(pthread_mutex_lock(&mutex));
	int busy = 0;
	for (int i = 0; i < 1000; i++)
		busy += pthread_mutex_trylock(&mutex) == EBUSY;
	say("%d busy", busy);
	in_thread(from_outside, &mutex);
}

/* ---- The library's other names for these functions ---- */

#define ALIAS(name, ...)                                                                                               \
	extern int alias_##name(__VA_ARGS__);                                                                          \
	__asm__(".symver alias_" #name ", __" #name "@GLIBC_2.2.5")

ALIAS(pthread_mutex_init, pthread_mutex_t *, const pthread_mutexattr_t *);
ALIAS(pthread_mutex_destroy, pthread_mutex_t *);
ALIAS(pthread_mutex_lock, pthread_mutex_t *);
ALIAS(pthread_mutex_trylock, pthread_mutex_t *);
ALIAS(pthread_mutex_unlock, pthread_mutex_t *);

CASE(aliases)
{
	pthread_mutex_t mutex;
	RET(alias_pthread_mutex_init(&mutex, NULL));
	RET(alias_pthread_mutex_lock(&mutex));
	RET(alias_pthread_mutex_trylock(&mutex));
	RET(pthread_mutex_trylock(&mutex));
	RET(alias_pthread_mutex_unlock(&mutex));
	RET(pthread_mutex_lock(&mutex));
	RET(alias_pthread_mutex_unlock(&mutex));
	RET(alias_pthread_mutex_trylock(&mutex));
	RET(pthread_mutex_unlock(&mutex));
	RET(alias_pthread_mutex_destroy(&mutex));
	RET(alias_pthread_mutex_trylock(&mutex));
}
