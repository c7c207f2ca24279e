/* Futexes by the C library's `syscall`: what each operation returns in each state. */
#include "case.h"

#include <stddef.h>

#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif
#define NR_FUTEX_WAITV 449
#define NR_FUTEX_WAKE 454
#define NR_FUTEX_WAIT 455
#define NR_FUTEX_REQUEUE 456

struct waited {
	uint64_t value;
	uint64_t address;
	uint32_t flags;
	uint32_t reserved;
};

/* A time to wait that is over at once, and one that passes. */
#define NONE (&(struct timespec){0, 0})
#define SHORT (&(struct timespec){0, 3000000})

static atomic_uint word, other;
static atomic_int waiter;

static pid_t own_id(void)
{
	return (pid_t)syscall(SYS_gettid);
}

/* The call is the kernel's, and reaches it as it came: seen before the thread is woken. */
static void await_waiter(void)
{
	while (!atomic_load(&waiter))
		syscall(SYS_sched_yield);
	await_futex(getpid(), atomic_load(&waiter), &word, sizeof word);
}

CASE(refused)
{
	atomic_store(&word, 1);
	SYS(syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL));
	SYS(syscall(SYS_futex, &word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 2, NONE));
	SYS(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 0, NULL, NULL, 1));
	SYS(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 1, NULL, NULL, 0));
	SYS(syscall(SYS_futex, NULL, FUTEX_WAIT, 0, NULL));
	SYS(syscall(SYS_futex, (char *)&word + 1, FUTEX_WAIT, 1, NULL));
	SYS(syscall(SYS_futex, &word, FUTEX_WAIT, 1, NSEC_TOO_LARGE));
	SYS(syscall(SYS_futex, &word, FUTEX_WAIT, 1, (void *)8));
	SYS(syscall(SYS_futex, &word, 4711, 1, NULL));
	SYS(syscall(SYS_futex, &word, FUTEX_FD, 1, NULL));
}

CASE(timed_out)
{
	atomic_store(&word, 1);
	SYS(syscall(SYS_futex, &word, FUTEX_WAIT, 1, NONE));
	SYS(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, SHORT));
	SYS(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 1, PAST, NULL, FUTEX_BITSET_MATCH_ANY));
	SYS(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 1, SOON(CLOCK_REALTIME), NULL, 1));
	SYS(syscall(SYS_futex, &word, FUTEX_WAIT_REQUEUE_PI, 1, PAST, &other));
}

CASE(nobody_waits)
{
	atomic_store(&word, 1);
	SYS(syscall(SYS_futex, &word, FUTEX_WAKE, 1));
	SYS(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX));
	SYS(syscall(SYS_futex, &word, FUTEX_WAKE_BITSET, 1, NULL, NULL, 1));
	SYS(syscall(SYS_futex, &word, FUTEX_WAKE_BITSET, 1, NULL, NULL, 0));
	SYS(syscall(SYS_futex, &word, FUTEX_WAKE_OP, 1, 1, &other, FUTEX_OP(FUTEX_OP_SET, 3, FUTEX_OP_CMP_EQ, 0)));
	say("other %u", atomic_load(&other));
	SYS(syscall(SYS_futex, &word, FUTEX_REQUEUE, 1, 1, &other));
	SYS(syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE, 1, 1, &other, 1));
	SYS(syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE, 1, 1, &other, 2));
	SYS(syscall(SYS_futex, NULL, FUTEX_WAKE, 1));
	SYS(syscall(SYS_futex, &word, FUTEX_UNLOCK_PI));
	say("word %u", atomic_load(&word));
}

static void *waits(void *argument)
{
	(void)argument;
	atomic_store(&waiter, own_id());
	SYS(syscall(SYS_futex, &word, FUTEX_WAIT, 1, NULL));
	return NULL;
}

static void *waits_for_some_bits(void *argument)
{
	(void)argument;
	atomic_store(&waiter, own_id());
	SYS(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 1, NULL, NULL, 6));
	return NULL;
}

#define WOKEN(name, wait, ...)                                                                                         \
	CASE(name)                                                                                                     \
	{                                                                                                              \
		struct worker worker;                                                                                 \
		atomic_store(&word, 1);                                                                                \
		start(&worker, wait, NULL);                                                                            \
		await_waiter();                                                                                        \
		__VA_ARGS__;                                                                                           \
		finish(&worker);                                                                                        \
	}

WOKEN(woken, waits, SYS(syscall(SYS_futex, &word, FUTEX_WAKE, 1)))
WOKEN(woken_of_many, waits, SYS(syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX)))
WOKEN(woken_by_operation, waits,
      SYS(syscall(SYS_futex, &other, FUTEX_WAKE_OP, 1, 1, &word, FUTEX_OP(FUTEX_OP_ADD, 1, FUTEX_OP_CMP_EQ, 1)));
      say("word %u", atomic_load(&word)))
WOKEN(woken_by_bits, waits_for_some_bits,
      SYS(syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, 1, NULL, NULL, 1));
      SYS(syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, 1, NULL, NULL, 2)))
WOKEN(requeued, waits, SYS(syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE, 0, 1, &other, 1));
      SYS(syscall(SYS_futex, &word, FUTEX_WAKE, 1)); SYS(syscall(SYS_futex, &other, FUTEX_WAKE, 1)))

static void handle(int number)
{
	(void)number;
}

CASE(interrupted)
{
	struct sigaction action = {.sa_handler = handle};
	struct worker worker;
	atomic_store(&word, 1);
	MUST(sigaction(SIGUSR1, &action, NULL));
	start(&worker, waits, NULL);
	await_waiter();
	syscall(SYS_tgkill, getpid(), atomic_load(&waiter), SIGUSR1);
	finish(&worker);
}

static void wakes_in_handler(int number)
{
	(void)number;
	SYS(syscall(SYS_futex, &other, FUTEX_WAIT, 1, NULL));
	SYS(syscall(SYS_futex, &other, FUTEX_WAIT, 0, NONE));
	SYS(syscall(SYS_futex, &other, FUTEX_WAKE, 1));
}

CASE(interrupted_by_a_handler_that_waits)
{
	struct sigaction action = {.sa_handler = wakes_in_handler, .sa_flags = SA_RESTART};
	struct worker worker;
	atomic_store(&word, 1);
	MUST(sigaction(SIGUSR1, &action, NULL));
	start(&worker, waits, NULL);
	await_waiter();
	syscall(SYS_tgkill, getpid(), atomic_load(&waiter), SIGUSR1);
	/* The wait goes on after the handler. */
	while (syscall(SYS_futex, &word, FUTEX_WAKE, 1) != 1 && syscall(SYS_tgkill, getpid(), atomic_load(&waiter), 0) == 0)
		syscall(SYS_sched_yield);
	finish(&worker);
}

static void *locks_pi(void *argument)
{
	(void)argument;
	atomic_store(&waiter, own_id());
	SYS(syscall(SYS_futex, &word, FUTEX_LOCK_PI_PRIVATE, 0, NULL));
	say("is mine: %d", (atomic_load(&word) & FUTEX_TID_MASK) == (unsigned)own_id());
	SYS(syscall(SYS_futex, &word, FUTEX_UNLOCK_PI_PRIVATE));
	return NULL;
}

CASE(priority_inheritance)
{
	struct worker worker;
	atomic_store(&word, (unsigned)own_id());
	SYS(syscall(SYS_futex, &word, FUTEX_LOCK_PI_PRIVATE, 0, NULL));
	SYS(syscall(SYS_futex, &word, FUTEX_TRYLOCK_PI_PRIVATE));
	start(&worker, locks_pi, NULL);
	await_waiter();
	SYS(syscall(SYS_futex, &word, FUTEX_UNLOCK_PI_PRIVATE));
	finish(&worker);
	say("free: %d", atomic_load(&word) == 0);
	SYS(syscall(SYS_futex, &word, FUTEX_LOCK_PI_PRIVATE, 0, NULL));
	SYS(syscall(SYS_futex, &word, FUTEX_LOCK_PI2 | FUTEX_PRIVATE_FLAG, 0, PAST));
	SYS(syscall(SYS_futex, &word, FUTEX_UNLOCK_PI_PRIVATE));
	SYS(syscall(SYS_futex, NULL, FUTEX_LOCK_PI, 0, NULL));
}

CASE(several_words)
{
	struct waited at[2] = {{1, (uintptr_t)&word, 2, 0}, {0, (uintptr_t)&other, 2, 0}};
	struct timespec past = *PAST;
	atomic_store(&word, 0);
	SYS(syscall(NR_FUTEX_WAITV, at, 2, 0, NULL, CLOCK_MONOTONIC));
	atomic_store(&word, 1);
	SYS(syscall(NR_FUTEX_WAITV, at, 2, 0, &past, CLOCK_MONOTONIC));
	SYS(syscall(NR_FUTEX_WAITV, NULL, 2, 0, NULL, CLOCK_MONOTONIC));
	SYS(syscall(NR_FUTEX_WAITV, at, 0, 0, NULL, CLOCK_MONOTONIC));
}

/* The kernel may have these or not: the same without the tool. */
CASE(second_interface)
{
	struct waited at[2] = {{1, (uintptr_t)&word, 2, 0}, {0, (uintptr_t)&other, 2, 0}};
	struct timespec past = *PAST;
	atomic_store(&word, 1);
	SYS(syscall(NR_FUTEX_WAIT, &word, 0L, 1L, 2, NULL, CLOCK_MONOTONIC));
	SYS(syscall(NR_FUTEX_WAIT, &word, 1L, 1L, 2, &past, CLOCK_MONOTONIC));
	SYS(syscall(NR_FUTEX_WAKE, &word, 1L, 1, 2));
	SYS(syscall(NR_FUTEX_WAKE, NULL, 1L, 1, 2));
	SYS(syscall(NR_FUTEX_REQUEUE, at, 0, 1, 1));
	SYS(syscall(NR_FUTEX_REQUEUE, NULL, 0, 1, 1));
}

static void say_cleaned(void *argument)
{
	(void)argument;
	say("cleaned up");
}

static void *cancelled(void *argument)
{
	(void)argument;
	pthread_cleanup_push(say_cleaned, NULL);
	MUST(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
	atomic_store(&waiter, own_id());
	syscall(SYS_futex, &word, FUTEX_WAIT, 1, NULL);
	pthread_cleanup_pop(0);
	return NULL;
}

/* `syscall` is no cancellation point; asynchronous cancellation acts in it all the same. */
CASE(cancellation)
{
	pthread_t thread;
	void *value = NULL;
	atomic_store(&word, 1);
	MUST(pthread_create(&thread, NULL, cancelled, NULL));
	await_waiter();
	MUST(pthread_cancel(thread));
	RET(pthread_join(thread, &value));
	say("cancelled: %d", value == PTHREAD_CANCELED);
	SYS(syscall(SYS_futex, &word, FUTEX_WAKE, 1));
}

static sigjmp_buf away;

static void jumps(int number)
{
	(void)number;
	siglongjmp(away, 1);
}

static void *jumped(void *argument)
{
	(void)argument;
	if (sigsetjmp(away, 1) == 0) {
		atomic_store(&waiter, own_id());
		syscall(SYS_futex, &word, FUTEX_WAIT, 1, NULL);
	}
	say("jumped");
	SYS(syscall(SYS_futex, &word, FUTEX_WAIT, 1, NONE));
	return NULL;
}

CASE(long_jump)
{
	struct sigaction action = {.sa_handler = jumps};
	struct worker worker;
	atomic_store(&word, 1);
	MUST(sigaction(SIGUSR1, &action, NULL));
	start(&worker, jumped, NULL);
	await_waiter();
	syscall(SYS_tgkill, getpid(), atomic_load(&waiter), SIGUSR1);
	finish(&worker);
}

CASE(in_a_forked_child)
{
	pid_t child;
	int status;
	atomic_store(&word, 1);
	SYS(syscall(SYS_futex, &word, FUTEX_WAIT, 1, NONE));
	child = fork();
	if (child == 0) {
		SYS(syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL));
		SYS(syscall(SYS_futex, &word, FUTEX_WAIT, 1, NONE));
		SYS(syscall(SYS_futex, &word, FUTEX_WAKE, 1));
		_exit(7);
	}
	waitpid(child, &status, 0);
	say("status %d", WEXITSTATUS(status));
}

CASE(across_processes)
{
	atomic_uint *shared = shared_memory(sizeof *shared);
	pid_t child;
	int status;
	atomic_store(shared, 1);
	child = fork();
	/* What it says comes by its status: nobody knows which of the two would say theirs first. */
	if (child == 0)
		_exit(syscall(SYS_futex, shared, FUTEX_WAIT, 1, NULL) == 0 ? 7 : 8);
	await_futex(child, child, shared, sizeof *shared);
	SYS(syscall(SYS_futex, shared, FUTEX_WAKE, 1));
	waitpid(child, &status, 0);
	say("status %d", WEXITSTATUS(status));
}

/* Operations that the tool does not look at, and some that no kernel has. */
CASE(other_numbers)
{
	SYS(syscall(SYS_getppid) > 0);
	SYS(syscall(511));
	SYS(syscall(512));
	SYS(syscall(513));
	SYS(syscall(-1));
	SYS(syscall(100000));
	SYS(syscall(SYS_close, -1));
}
