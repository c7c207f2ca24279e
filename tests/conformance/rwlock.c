/* Reader-writer locks of every kind: what each function returns in each state. */
#include "case.h"

static int init(pthread_rwlock_t *lock, int kind, int shared)
{
	pthread_rwlockattr_t attr;
	MUST(pthread_rwlockattr_init(&attr));
	MUST(pthread_rwlockattr_setkind_np(&attr, kind));
	MUST(pthread_rwlockattr_setpshared(&attr, shared));
	int result = RET(pthread_rwlock_init(lock, &attr));
	MUST(pthread_rwlockattr_destroy(&attr));
	return result;
}

static void *from_outside(void *argument)
{
	pthread_rwlock_t *lock = argument;
	if (RET(pthread_rwlock_tryrdlock(lock)) == 0)
		RET(pthread_rwlock_unlock(lock));
	RET(pthread_rwlock_trywrlock(lock));
	if (RET(pthread_rwlock_timedrdlock(lock, PAST)) == 0)
		RET(pthread_rwlock_unlock(lock));
	RET(pthread_rwlock_timedwrlock(lock, PAST));
	RET(pthread_rwlock_timedwrlock(lock, SOON(CLOCK_REALTIME)));
	if (RET(pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, PAST)) == 0)
		RET(pthread_rwlock_unlock(lock));
	RET(pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, PAST));
	RET(pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, SOON(CLOCK_MONOTONIC)));
	return NULL;
}

static void script(int kind, int shared)
{
	pthread_rwlock_t *lock = shared_memory(sizeof *lock);
	if (init(lock, kind, shared))
		return;
	say("a writer");
	RET(pthread_rwlock_wrlock(lock));
	RET(pthread_rwlock_wrlock(lock));
	RET(pthread_rwlock_rdlock(lock));
	RET(pthread_rwlock_tryrdlock(lock));
	RET(pthread_rwlock_trywrlock(lock));
	RET(pthread_rwlock_timedrdlock(lock, PAST));
	RET(pthread_rwlock_timedwrlock(lock, PAST));
	RET(pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, PAST));
	RET(pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, PAST));
	in_thread(from_outside, lock);
	RET(pthread_rwlock_unlock(lock));
	say("a reader");
	RET(pthread_rwlock_rdlock(lock));
	RET(pthread_rwlock_rdlock(lock));
	RET(pthread_rwlock_tryrdlock(lock));
	RET(pthread_rwlock_timedrdlock(lock, PAST));
	RET(pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, PAST));
	RET(pthread_rwlock_trywrlock(lock));
	RET(pthread_rwlock_timedwrlock(lock, PAST));
	RET(pthread_rwlock_timedwrlock(lock, SOON(CLOCK_REALTIME)));
	RET(pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, PAST));
	in_thread(from_outside, lock);
	for (int i = 0; i < 5; i++)
		RET(pthread_rwlock_unlock(lock));
	say("nobody");
	RET(pthread_rwlock_trywrlock(lock));
	RET(pthread_rwlock_unlock(lock));
	RET(pthread_rwlock_timedwrlock(lock, PAST));
	RET(pthread_rwlock_unlock(lock));
	RET(pthread_rwlock_clockwrlock(lock, CLOCK_REALTIME, NEVER(CLOCK_REALTIME)));
	RET(pthread_rwlock_unlock(lock));
	RET(pthread_rwlock_destroy(lock));
}

#define KIND(name, kind)                                                                                               \
	CASE(name)                                                                                                     \
	{                                                                                                              \
		script(kind, PTHREAD_PROCESS_PRIVATE);                                                                 \
	}                                                                                                              \
	CASE(name##_shared)                                                                                            \
	{                                                                                                              \
		script(kind, PTHREAD_PROCESS_SHARED);                                                                  \
	}

KIND(prefer_reader, PTHREAD_RWLOCK_PREFER_READER_NP)
KIND(prefer_writer, PTHREAD_RWLOCK_PREFER_WRITER_NP)
KIND(prefer_writer_nonrecursive, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP)

/* ---- Static initialisers ---- */

static pthread_rwlock_t static_default = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t static_writer = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

static void use(pthread_rwlock_t *lock)
{
	RET(pthread_rwlock_rdlock(lock));
	in_thread(from_outside, lock);
	RET(pthread_rwlock_unlock(lock));
	RET(pthread_rwlock_wrlock(lock));
	in_thread(from_outside, lock);
	RET(pthread_rwlock_unlock(lock));
	RET(pthread_rwlock_destroy(lock));
}

CASE(static_default)
{
	use(&static_default);
}

CASE(static_writer)
{
	use(&static_writer);
}

/* ---- Deadlines ---- */

enum state { FREE, READ, WRITTEN };

static void deadlines(int kind, enum state state)
{
	static pthread_rwlock_t lock;
	if (init(&lock, kind, PTHREAD_PROCESS_PRIVATE))
		return;
	if (state == READ)
		MUST(pthread_rwlock_rdlock(&lock));
	if (state == WRITTEN)
		MUST(pthread_rwlock_wrlock(&lock));
	const struct timespec *faulty[] = {PAST, BEFORE_ALL_TIMES, NSEC_TOO_LARGE, NSEC_NEGATIVE};
	const char *names[] = {"past", "before all times", "too many ns", "negative ns"};
	clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_PROCESS_CPUTIME_ID, NO_CLOCK};
	for (int i = 0; i < 4; i++) {
		say("a deadline: %s", names[i]);
		if (RET(pthread_rwlock_timedrdlock(&lock, faulty[i])) == 0)
			RET(pthread_rwlock_unlock(&lock));
		if (RET(pthread_rwlock_timedwrlock(&lock, faulty[i])) == 0)
			RET(pthread_rwlock_unlock(&lock));
		for (int k = 0; k < 5; k++) {
			say("clock %d", clocks[k]);
			if (RET(pthread_rwlock_clockrdlock(&lock, clocks[k], faulty[i])) == 0)
				RET(pthread_rwlock_unlock(&lock));
			if (RET(pthread_rwlock_clockwrlock(&lock, clocks[k], faulty[i])) == 0)
				RET(pthread_rwlock_unlock(&lock));
		}
	}
}

#define DEADLINES(name, kind)                                                                                          \
	CASE(deadlines_##name##_free)                                                                                  \
	{                                                                                                              \
		deadlines(kind, FREE);                                                                                 \
	}                                                                                                              \
	CASE(deadlines_##name##_read)                                                                                  \
	{                                                                                                              \
		deadlines(kind, READ);                                                                                 \
	}                                                                                                              \
	CASE(deadlines_##name##_written)                                                                               \
	{                                                                                                              \
		deadlines(kind, WRITTEN);                                                                              \
	}

DEADLINES(reader, PTHREAD_RWLOCK_PREFER_READER_NP)
DEADLINES(writer, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP)

/* glibc takes no deadline for one that never comes. */
CASE(no_deadline)
{
	pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
	const struct timespec *volatile none = NULL;
	RET(pthread_rwlock_timedrdlock(&lock, none));
	RET(pthread_rwlock_unlock(&lock));
	RET(pthread_rwlock_timedwrlock(&lock, none));
	RET(pthread_rwlock_unlock(&lock));
}

/* ---- Waiting ---- */

static pthread_rwlock_t shared_lock;
static struct worker workers[3];

#define WAIT(name, call)                                                                                               \
	static void *name(void *argument)                                                                              \
	{                                                                                                              \
		pthread_rwlock_t *lock = argument;                                                                     \
		RET(call);                                                                                             \
		RET(pthread_rwlock_unlock(lock));                                                                      \
		return NULL;                                                                                           \
	}

WAIT(read_it, pthread_rwlock_rdlock(lock))
WAIT(write_it, pthread_rwlock_wrlock(lock))
WAIT(read_it_timed, pthread_rwlock_timedrdlock(lock, NEVER(CLOCK_REALTIME)))
WAIT(write_it_timed, pthread_rwlock_timedwrlock(lock, NEVER(CLOCK_REALTIME)))
WAIT(read_it_by_clock, pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, NEVER(CLOCK_MONOTONIC)))
WAIT(write_it_by_clock, pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, NEVER(CLOCK_MONOTONIC)))

static void contended(int kind, int (*lock)(pthread_rwlock_t *), void *(*one)(void *), void *(*two)(void *))
{
	if (init(&shared_lock, kind, PTHREAD_PROCESS_PRIVATE))
		return;
	void *(*ways[])(void *) = {one, two};
	for (int i = 0; i < 2; i++) {
		RET(lock(&shared_lock));
		start(&workers[0], ways[i], &shared_lock);
		await_blocked(&workers[0], &shared_lock);
		RET(pthread_rwlock_unlock(&shared_lock));
		finish(&workers[0]);
	}
	RET(pthread_rwlock_destroy(&shared_lock));
}

#define CONTENDED(name, kind)                                                                                          \
	CASE(contended_##name##_writer_then_readers)                                                                   \
	{                                                                                                              \
		contended(kind, pthread_rwlock_wrlock, read_it, read_it_timed);                                        \
	}                                                                                                              \
	CASE(contended_##name##_writer_then_writers)                                                                   \
	{                                                                                                              \
		contended(kind, pthread_rwlock_wrlock, write_it, write_it_timed);                                      \
	}                                                                                                              \
	CASE(contended_##name##_readers_then_writers)                                                                  \
	{                                                                                                              \
		contended(kind, pthread_rwlock_rdlock, write_it, write_it_timed);                                      \
	}                                                                                                              \
	CASE(contended_##name##_by_clock)                                                                              \
	{                                                                                                              \
		contended(kind, pthread_rwlock_wrlock, read_it_by_clock, write_it_by_clock);                           \
	}

CONTENDED(reader, PTHREAD_RWLOCK_PREFER_READER_NP)
CONTENDED(writer, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP)

/* Whether a reader gets in past a writer that waits, by each form. */
static void reader_past_waiting_writer(int kind)
{
	if (init(&shared_lock, kind, PTHREAD_PROCESS_PRIVATE))
		return;
	RET(pthread_rwlock_rdlock(&shared_lock));
	start(&workers[0], write_it, &shared_lock);
	await_blocked(&workers[0], &shared_lock);
	if (RET(pthread_rwlock_tryrdlock(&shared_lock)) == 0)
		RET(pthread_rwlock_unlock(&shared_lock));
	if (RET(pthread_rwlock_timedrdlock(&shared_lock, SOON(CLOCK_REALTIME))) == 0)
		RET(pthread_rwlock_unlock(&shared_lock));
	if (RET(pthread_rwlock_clockrdlock(&shared_lock, CLOCK_MONOTONIC, SOON(CLOCK_MONOTONIC))) == 0)
		RET(pthread_rwlock_unlock(&shared_lock));
	in_thread(from_outside, &shared_lock);
	RET(pthread_rwlock_unlock(&shared_lock));
	finish(&workers[0]);
}

CASE(reader_past_waiting_writer)
{
	reader_past_waiting_writer(PTHREAD_RWLOCK_PREFER_READER_NP);
}

CASE(reader_behind_waiting_writer)
{
	reader_past_waiting_writer(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
}

CASE(recursive_reader_of_a_writers_lock)
{
	reader_past_waiting_writer(PTHREAD_RWLOCK_PREFER_WRITER_NP);
}

/* Several readers hold it at once, and the last lets the writer in. */
static struct gate leave[3];
static struct gate in[3];

static void *stay(void *argument)
{
	long number = (long)argument;
	RET(pthread_rwlock_rdlock(&shared_lock));
	open_gate(&in[number]);
	pass(&leave[number]);
	RET(pthread_rwlock_unlock(&shared_lock));
	return NULL;
}

CASE(three_readers_and_a_writer)
{
	MUST(pthread_rwlock_init(&shared_lock, NULL));
	for (long i = 0; i < 3; i++) {
		start(&workers[i], stay, (void *)i);
		pass(&in[i]);
	}
	struct worker writer;
	start(&writer, write_it, &shared_lock);
	await_blocked(&writer, &shared_lock);
	for (long i = 0; i < 3; i++) {
		RET(pthread_rwlock_trywrlock(&shared_lock));
		open_gate(&leave[i]);
		finish(&workers[i]);
	}
	finish(&writer);
	RET(pthread_rwlock_trywrlock(&shared_lock));
	RET(pthread_rwlock_unlock(&shared_lock));
	RET(pthread_rwlock_destroy(&shared_lock));
}

/* ---- How many readers there can be ---- */

CASE(too_many_readers)
{
	LOOKS_INSIDE();
	pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
	RET(pthread_rwlock_rdlock(&lock));
	unsigned readers = lock.__data.__readers;
	/* As if all the readers there can be were there. */
	lock.__data.__readers = 1u << 31 | (readers & 7);
	RET(pthread_rwlock_rdlock(&lock));
	RET(pthread_rwlock_tryrdlock(&lock));
	RET(pthread_rwlock_timedrdlock(&lock, PAST));
	RET(pthread_rwlock_clockrdlock(&lock, CLOCK_MONOTONIC, PAST));
	lock.__data.__readers = readers;
	RET(pthread_rwlock_unlock(&lock));
	RET(pthread_rwlock_trywrlock(&lock));
	RET(pthread_rwlock_unlock(&lock));
}

/* ---- Lives ---- */

CASE(initialised_again)
{
	pthread_rwlock_t lock;
	RET(pthread_rwlock_init(&lock, NULL));
	RET(pthread_rwlock_wrlock(&lock));
	RET(pthread_rwlock_init(&lock, NULL));
	RET(pthread_rwlock_tryrdlock(&lock));
	RET(pthread_rwlock_unlock(&lock));
	RET(pthread_rwlock_destroy(&lock));
	RET(pthread_rwlock_destroy(&lock));
}

CASE(copied)
{
	pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
	RET(pthread_rwlock_rdlock(&lock));
	pthread_rwlock_t copy = lock;
	RET(pthread_rwlock_trywrlock(&copy));
	RET(pthread_rwlock_unlock(&copy));
	RET(pthread_rwlock_trywrlock(&copy));
	RET(pthread_rwlock_trywrlock(&lock));
	RET(pthread_rwlock_unlock(&lock));
	RET(pthread_rwlock_unlock(&copy));
}

CASE(assigned_initialiser)
{
	pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
	RET(pthread_rwlock_wrlock(&lock));
	lock = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
	RET(pthread_rwlock_tryrdlock(&lock));
	RET(pthread_rwlock_unlock(&lock));
	RET(pthread_rwlock_trywrlock(&lock));
	RET(pthread_rwlock_unlock(&lock));
}

CASE(zeroed_memory)
{
	pthread_rwlock_t *lock = calloc(1, sizeof *lock);
	for (int i = 0; i < 3; i++) {
		RET(pthread_rwlock_rdlock(lock));
		RET(pthread_rwlock_rdlock(lock));
		RET(pthread_rwlock_unlock(lock));
		memset(lock, 0, sizeof *lock);
	}
	free(lock);
}

CASE(unmapped_while_locked)
{
	for (int i = 0; i < 3; i++) {
		pthread_rwlock_t *lock = shared_memory(4096);
		RET(pthread_rwlock_rdlock(lock));
		SYS(munmap(lock, 4096));
	}
}

CASE(unlocked_by_another)
{
	MUST(pthread_rwlock_init(&shared_lock, NULL));
	RET(pthread_rwlock_rdlock(&shared_lock));
	RET(pthread_rwlock_rdlock(&shared_lock));
	in_thread((void *(*)(void *))(void *)pthread_rwlock_unlock, &shared_lock);
	RET(pthread_rwlock_trywrlock(&shared_lock));
	RET(pthread_rwlock_unlock(&shared_lock));
	RET(pthread_rwlock_trywrlock(&shared_lock));
	in_thread((void *(*)(void *))(void *)pthread_rwlock_unlock, &shared_lock);
	RET(pthread_rwlock_trywrlock(&shared_lock));
}

CASE(many_held)
{
	static pthread_rwlock_t all[1000];
	int failures = 0;
	for (int i = 0; i < 1000; i++)
		failures += (i & 1 ? pthread_rwlock_rdlock(&all[i]) : pthread_rwlock_wrlock(&all[i])) != 0;
	for (int i = 0; i < 1000; i++)
		failures += pthread_rwlock_trywrlock(&all[i]) != EBUSY;
	for (int i = 0; i < 1000; i++)
		failures += pthread_rwlock_unlock(&all[i * 7 % 1000]) != 0;
	for (int i = 0; i < 1000; i++)
		failures += pthread_rwlock_trywrlock(&all[i]) != 0;
	say("%d failures", failures);
}

/* ---- The library's other names for these functions ---- */

#define ALIAS(name, ...)                                                                                               \
	extern int alias_##name(__VA_ARGS__);                                                                          \
	__asm__(".symver alias_" #name ", __" #name "@GLIBC_2.2.5")

ALIAS(pthread_rwlock_init, pthread_rwlock_t *, const pthread_rwlockattr_t *);
ALIAS(pthread_rwlock_destroy, pthread_rwlock_t *);
ALIAS(pthread_rwlock_rdlock, pthread_rwlock_t *);
ALIAS(pthread_rwlock_wrlock, pthread_rwlock_t *);
ALIAS(pthread_rwlock_tryrdlock, pthread_rwlock_t *);
ALIAS(pthread_rwlock_trywrlock, pthread_rwlock_t *);
ALIAS(pthread_rwlock_unlock, pthread_rwlock_t *);

CASE(aliases)
{
	pthread_rwlock_t lock;
	RET(alias_pthread_rwlock_init(&lock, NULL));
	RET(alias_pthread_rwlock_rdlock(&lock));
	RET(alias_pthread_rwlock_tryrdlock(&lock));
	RET(alias_pthread_rwlock_trywrlock(&lock));
	RET(alias_pthread_rwlock_unlock(&lock));
	RET(pthread_rwlock_unlock(&lock));
	RET(alias_pthread_rwlock_wrlock(&lock));
	RET(alias_pthread_rwlock_wrlock(&lock));
	RET(pthread_rwlock_tryrdlock(&lock));
	RET(alias_pthread_rwlock_unlock(&lock));
	RET(alias_pthread_rwlock_destroy(&lock));
}
