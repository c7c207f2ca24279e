/* Semaphores, unnamed and named: what each function returns in each state. */
#include "case.h"

static void *post_it(void *argument)
{
	SYS(sem_post((sem_t *)argument));
	return NULL;
}

static void *from_outside(void *argument)
{
	sem_t *sem = argument;
	if (SYS(sem_trywait(sem)) == 0)
		SYS(sem_post(sem));
	if (SYS(sem_timedwait(sem, PAST)) == 0)
		SYS(sem_post(sem));
	if (SYS(sem_timedwait(sem, SOON(CLOCK_REALTIME))) == 0)
		SYS(sem_post(sem));
	if (SYS(sem_clockwait(sem, CLOCK_MONOTONIC, PAST)) == 0)
		SYS(sem_post(sem));
	if (SYS(sem_clockwait(sem, CLOCK_MONOTONIC, SOON(CLOCK_MONOTONIC))) == 0)
		SYS(sem_post(sem));
	return NULL;
}

static void value_of(sem_t *sem)
{
	int value = -1;
	SYS(sem_getvalue(sem, &value));
	say("value %d", value);
}

static void script(int shared, unsigned value)
{
	sem_t *sem = shared_memory(sizeof *sem);
	SYS(sem_init(sem, shared, value));
	value_of(sem);
	for (unsigned i = 0; i <= value; i++)
		SYS(sem_trywait(sem));
	in_thread(from_outside, sem);
	SYS(sem_timedwait(sem, PAST));
	SYS(sem_clockwait(sem, CLOCK_REALTIME, PAST));
	SYS(sem_post(sem));
	in_thread(from_outside, sem);
	SYS(sem_wait(sem));
	in_thread(post_it, sem);
	SYS(sem_timedwait(sem, NEVER(CLOCK_REALTIME)));
	SYS(sem_post(sem));
	SYS(sem_clockwait(sem, CLOCK_MONOTONIC, NEVER(CLOCK_MONOTONIC)));
	value_of(sem);
	SYS(sem_post(sem));
	SYS(sem_post(sem));
	value_of(sem);
	SYS(sem_destroy(sem));
}

#define VALUES(name, value)                                                                                            \
	CASE(name)                                                                                                     \
	{                                                                                                              \
		script(0, value);                                                                                      \
	}                                                                                                              \
	CASE(name##_shared)                                                                                            \
	{                                                                                                              \
		script(1, value);                                                                                      \
	}

VALUES(from_zero, 0)
VALUES(from_one, 1)
VALUES(from_three, 3)

/* ---- Values ---- */

CASE(value_too_large)
{
	sem_t sem;
	SYS(sem_init(&sem, 0, (unsigned)SEM_VALUE_MAX + 1));
	SYS(sem_init(&sem, 0, UINT_MAX));
	SYS(sem_init(&sem, 1, UINT_MAX));
}

CASE(overflow)
{
	sem_t sem;
	SYS(sem_init(&sem, 0, SEM_VALUE_MAX - 1));
	SYS(sem_post(&sem));
	SYS(sem_post(&sem));
	value_of(&sem);
	SYS(sem_wait(&sem));
	SYS(sem_post(&sem));
	SYS(sem_post(&sem));
	value_of(&sem);
}

CASE(overflow_shared)
{
	sem_t *sem = shared_memory(sizeof *sem);
	SYS(sem_init(sem, 1, SEM_VALUE_MAX));
	SYS(sem_post(sem));
	value_of(sem);
}

/* ---- Deadlines ---- */

static void deadlines(unsigned value)
{
	sem_t sem;
	MUST(sem_init(&sem, 0, value));
	const struct timespec *faulty[] = {PAST, BEFORE_ALL_TIMES, NSEC_TOO_LARGE, NSEC_NEGATIVE};
	const char *names[] = {"past", "before all times", "too many ns", "negative ns"};
	clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_PROCESS_CPUTIME_ID, NO_CLOCK};
	for (int i = 0; i < 4; i++) {
		say("a deadline: %s", names[i]);
		if (SYS(sem_timedwait(&sem, faulty[i])) == 0)
			SYS(sem_post(&sem));
		for (int k = 0; k < 5; k++) {
			say("clock %d", clocks[k]);
			if (SYS(sem_clockwait(&sem, clocks[k], faulty[i])) == 0)
				SYS(sem_post(&sem));
		}
	}
}

CASE(deadlines_free)
{
	deadlines(1);
}

CASE(deadlines_several_free)
{
	deadlines(2);
}

CASE(deadlines_taken)
{
	deadlines(0);
}

CASE(no_deadline)
{
	sem_t sem;
	const struct timespec *volatile none = NULL;
	MUST(sem_init(&sem, 0, 1));
	SYS(sem_timedwait(&sem, none));
}

/* ---- Waiting ---- */

#define WAIT(name, call)                                                                                               \
	static void *name(void *argument)                                                                              \
	{                                                                                                              \
		sem_t *sem = argument;                                                                                 \
		SYS(call);                                                                                             \
		return NULL;                                                                                           \
	}

WAIT(wait_for_it, sem_wait(sem))
WAIT(wait_timed, sem_timedwait(sem, NEVER(CLOCK_REALTIME)))
WAIT(wait_by_clock, sem_clockwait(sem, CLOCK_MONOTONIC, NEVER(CLOCK_MONOTONIC)))

static void contended(int shared, unsigned value)
{
	static sem_t sem;
	void *(*ways[])(void *) = {wait_for_it, wait_timed, wait_by_clock};
	MUST(sem_init(&sem, shared, value));
	for (unsigned i = 0; i < value; i++)
		SYS(sem_wait(&sem));
	for (int i = 0; i < 3; i++) {
		struct worker worker;
		start(&worker, ways[i], &sem);
		await_blocked(&worker, &sem);
		SYS(sem_post(&sem));
		finish(&worker);
	}
	value_of(&sem);
	SYS(sem_destroy(&sem));
}

CASE(contended_from_zero)
{
	contended(0, 0);
}

CASE(contended_from_one)
{
	contended(0, 1);
}

CASE(contended_shared)
{
	contended(1, 1);
}

/* ---- Signals in waits ---- */

static void nothing(int number)
{
	say("a handler runs: %s", sigabbrev_np(number));
}

static void *interrupted(void *argument)
{
	void **with = argument;
	sem_t *sem = with[0];
	SYS(sem_wait(sem));
	open_gate(with[1]);
	SYS(sem_timedwait(sem, NEVER(CLOCK_REALTIME)));
	open_gate(with[2]);
	SYS(sem_clockwait(sem, CLOCK_MONOTONIC, NEVER(CLOCK_MONOTONIC)));
	return NULL;
}

static void interruption(int flags, unsigned value)
{
	static sem_t sem;
	static struct gate first, second;
	struct sigaction action = {.sa_handler = nothing, .sa_flags = flags};
	MUST(sigaction(SIGUSR1, &action, NULL));
	MUST(sem_init(&sem, 0, value));
	for (unsigned i = 0; i < value; i++)
		SYS(sem_wait(&sem));
	struct worker worker;
	start(&worker, interrupted, (void *[]){&sem, &first, &second});
	struct gate *gates[] = {&first, &second, NULL};
	for (int i = 0; i < 3; i++) {
		await_blocked(&worker, &sem);
		MUST(pthread_kill(worker.thread, SIGUSR1));
		if (flags & SA_RESTART && i == 0) {
			/* Waits on. */
			SYS(sem_post(&sem));
		}
		if (gates[i])
			pass(gates[i]);
	}
	finish(&worker);
}

CASE(interrupted_from_zero)
{
	interruption(0, 0);
}

CASE(interrupted_from_one)
{
	interruption(0, 1);
}

CASE(ignored_signal)
{
	static sem_t sem;
	struct worker worker;
	MUST(sem_init(&sem, 0, 0));
	signal(SIGUSR1, SIG_IGN);
	start(&worker, wait_for_it, &sem);
	await_blocked(&worker, &sem);
	MUST(pthread_kill(worker.thread, SIGUSR1));
	await_blocked(&worker, &sem);
	SYS(sem_post(&sem));
	finish(&worker);
}

static sem_t posted_by_handler;

static void post_from_handler(int number)
{
	(void)number;
	SYS(sem_post(&posted_by_handler));
}

CASE(posted_by_a_handler)
{
	MUST(sem_init(&posted_by_handler, 0, 0));
	signal(SIGUSR1, post_from_handler);
	raise(SIGUSR1);
	SYS(sem_wait(&posted_by_handler));
	struct worker worker;
	start(&worker, wait_for_it, &posted_by_handler);
	await_blocked(&worker, &posted_by_handler);
	SYS(sem_post(&posted_by_handler));
	finish(&worker);
	value_of(&posted_by_handler);
}

/* ---- Hand-over, and locks ---- */

CASE(as_a_lock)
{
	sem_t sem;
	MUST(sem_init(&sem, 0, 1));
	for (int i = 0; i < 3; i++) {
		SYS(sem_wait(&sem));
		in_thread(from_outside, &sem);
		SYS(sem_post(&sem));
		in_thread(from_outside, &sem);
	}
	SYS(sem_wait(&sem));
	in_thread(post_it, &sem);
	SYS(sem_wait(&sem));
	SYS(sem_post(&sem));
	SYS(sem_post(&sem));
	value_of(&sem);
}

static sem_t ping, pong;

static void *answer(void *unused)
{
	(void)unused;
	for (int i = 0; i < 1000; i++) {
		sem_wait(&ping);
		sem_post(&pong);
	}
	return NULL;
}

CASE(ping_pong)
{
	int failures = 0;
	MUST(sem_init(&ping, 0, 0));
	MUST(sem_init(&pong, 0, 0));
	struct worker worker;
	start(&worker, answer, NULL);
	for (int i = 0; i < 1000; i++) {
		failures += sem_post(&ping) != 0;
		failures += sem_wait(&pong) != 0;
	}
	finish(&worker);
	value_of(&ping);
	value_of(&pong);
	say("%d failures", failures);
}

/* ---- Named ---- */

/* A name of this process's own, which is not said. */
static const char *name(void)
{
	static char text[64];
	snprintf(text, sizeof text, "/lockwright-case-%d", getpid());
	return text;
}

CASE(named)
{
	sem_t *sem = sem_open(name(), O_CREAT | O_EXCL, 0600, 2);
	if (sem == SEM_FAILED) {
		say("sem_open: %s", error_name(errno));
		return;
	}
	errno = SENTINEL;
	sem_t *again = sem_open(name(), 0);
	say("the same%s", errno_after(errno));
	say("%d", again == sem);
	errno = SENTINEL;
	sem_t *exclusive = sem_open(name(), O_CREAT | O_EXCL, 0600, 2);
	say("exclusive: %d%s", exclusive == SEM_FAILED, errno_after(errno));
	value_of(sem);
	SYS(sem_wait(sem));
	SYS(sem_wait(again));
	SYS(sem_trywait(sem));
	in_thread(from_outside, sem);
	SYS(sem_post(again));
	SYS(sem_wait(sem));
	SYS(sem_unlink(name()));
	SYS(sem_unlink(name()));
	errno = SENTINEL;
	sem_t *gone = sem_open(name(), 0);
	say("gone: %d%s", gone == SEM_FAILED, errno_after(errno));
	SYS(sem_post(sem));
	SYS(sem_close(again));
	SYS(sem_wait(sem));
	SYS(sem_close(sem));
}

static void *use_named(void *argument)
{
	(void)argument;
	sem_t *sem = sem_open(name(), 0);
	say("open: %d", sem != SEM_FAILED);
	SYS(sem_post(sem));
	SYS(sem_close(sem));
	return NULL;
}

CASE(named_across_fork)
{
	sem_t *sem = sem_open(name(), O_CREAT | O_EXCL, 0600, 0);
	say("open: %d", sem != SEM_FAILED);
	pid_t child = fork();
	if (child == 0) {
		SYS(sem_wait(sem));
		_exit(7);
	}
	await_futex(child, child, NULL, 0);
	/* The child says what it is woken with. */
	MUST(sem_post(sem));
	int status;
	waitpid(child, &status, 0);
	say("%s", ending(status));
	in_thread(use_named, NULL);
	SYS(sem_wait(sem));
	SYS(sem_unlink(name()));
}

CASE(names_that_are_none)
{
	char long_name[400];
	memset(long_name, 'x', sizeof long_name);
	long_name[0] = '/';
	long_name[399] = 0;
	const char *names[] = {"", "/", "/a/b", long_name, "/lockwright-there-is-no-such-semaphore"};
	for (int i = 0; i < 5; i++) {
		errno = SENTINEL;
		sem_t *sem = sem_open(names[i], 0);
		say("%d: %d%s", i, sem == SEM_FAILED, errno_after(errno));
		SYS(sem_unlink(names[i]));
	}
	errno = SENTINEL;
	sem_t *sem = sem_open(name(), O_CREAT, 0600, UINT_MAX);
	say("too large: %d%s", sem == SEM_FAILED, errno_after(errno));
}

CASE(close_what_is_not_open)
{
	sem_t sem;
	MUST(sem_init(&sem, 0, 0));
	SYS(sem_close(&sem));
}

/* ---- Lives ---- */

CASE(initialised_again)
{
	sem_t sem;
	SYS(sem_init(&sem, 0, 1));
	SYS(sem_wait(&sem));
	SYS(sem_init(&sem, 0, 1));
	SYS(sem_wait(&sem));
	SYS(sem_trywait(&sem));
	SYS(sem_destroy(&sem));
	SYS(sem_init(&sem, 0, 0));
	SYS(sem_trywait(&sem));
	SYS(sem_post(&sem));
	SYS(sem_trywait(&sem));
}

CASE(zeroed_memory)
{
	sem_t *sem = calloc(1, sizeof *sem);
	SYS(sem_trywait(sem));
	SYS(sem_post(sem));
	SYS(sem_wait(sem));
	memset(sem, 0, sizeof *sem);
	SYS(sem_post(sem));
	value_of(sem);
	free(sem);
}

CASE(copied)
{
	sem_t sem;
	MUST(sem_init(&sem, 0, 1));
	SYS(sem_wait(&sem));
	sem_t copy = sem;
	SYS(sem_trywait(&copy));
	SYS(sem_post(&copy));
	SYS(sem_wait(&copy));
	SYS(sem_post(&sem));
	value_of(&sem);
	value_of(&copy);
}

CASE(the_bytes_of_a_semaphore)
{
	/* What a program that keeps semaphores in files would read. */
	sem_t sem;
	memset(&sem, 0x55, sizeof sem);
	MUST(sem_init(&sem, 1, 1));
	MUST(sem_wait(&sem));
	MUST(sem_post(&sem));
	const unsigned *words = (const unsigned *)&sem;
	for (size_t i = 0; i < 4; i++)
		say("word %zu: %x", i, words[i]);
}
