/* Small cases, each of which says what it observes. A file of them is a program:
 *
 *     mutex --list        the names of its cases
 *     mutex relock        runs that case
 *     mutex               runs all of them, each in a process of its own, and prints for each what it said and how it
 *                         ended
 *
 * What a case says must be the same on every run: no addresses, no ids, no times, nothing that depends on which thread
 * came first. Nobody sleeps to let somebody else come first: that is what gates and `await_blocked` are for. Deadlines
 * have either passed (`PAST`), or are waited for because nothing else can end the wait (`SOON`), or never come (`NEVER`).
 *
 * What the harness itself does it does by plain system calls, so that it neither uses what it tests nor is a
 * cancellation point. */
#ifndef LOCKWRIGHT_CASE_H
#define LOCKWRIGHT_CASE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "older_glibc.h"

#define UNUSED __attribute__((unused))

/* ---- The table ---- */

struct test_case {
	const char *name;
	void (*run)(void);
	struct test_case *next;
};

static struct test_case *first_case;
static struct test_case **last_case = &first_case;

/* CASE(name) { ... } */
#define CASE(id)                                                                                                       \
	static void case_##id(void);                                                                                   \
	__attribute__((constructor)) static void enter_##id(void)                                                      \
	{                                                                                                              \
		static struct test_case self = {#id, case_##id, NULL};                                                 \
		*last_case = &self;                                                                                    \
		last_case = &self.next;                                                                                \
	}                                                                                                              \
	static void case_##id(void)

/* ---- Saying ---- */

/* What errno is before each call whose outcome is said. */
#define SENTINEL 4711

static void put(int fd, const char *bytes, size_t n)
{
	while (n) {
		long written = syscall(SYS_write, fd, bytes, n);
		if (written <= 0)
			syscall(SYS_exit_group, 99);
		bytes += written;
		n -= (size_t)written;
	}
}

/* What a thread says while others run is kept until it is finished with: so the order of threads does not matter. */
struct saying {
	size_t length;
	char text[1 << 16];
};

static _Thread_local struct saying *saying;

/* One line on stdout, or in what the thread says; errno is left alone. */
__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	int before = errno;
	char line[1024];
	va_list arguments;
	va_start(arguments, format);
	int n = vsnprintf(line, sizeof line - 1, format, arguments);
	va_end(arguments);
	line[n++] = '\n';
	if (!saying) {
		put(1, line, (size_t)n);
	} else if (saying->length + (size_t)n <= sizeof saying->text) {
		memcpy(saying->text + saying->length, line, (size_t)n);
		saying->length += (size_t)n;
	}
	errno = before;
}

UNUSED static const char *error_name(int error)
{
	const char *name = error ? strerrorname_np(error) : "0";
	return name ? name : "no error's number";
}

/* What a call left in errno. */
static const char *errno_after(int after)
{
	static _Thread_local char text[64];
	if (after == SENTINEL)
		return "";
	snprintf(text, sizeof text, ", errno %s", error_name(after));
	return text;
}

/* What one call did, which returns its error. */
#define RET(call) RET_AS(#call, call)
#define RET_AS(what, call)                                                                                             \
	({                                                                                                             \
		errno = SENTINEL;                                                                                      \
		int result_ = (call);                                                                                  \
		int after_ = errno;                                                                                    \
		say("%s: %s%s", what, error_name(result_), errno_after(after_));                                       \
		result_;                                                                                               \
	})

/* What one call did, which returns a number, -1 for an error that errno has. */
#define SYS(call)                                                                                                      \
	({                                                                                                             \
		errno = SENTINEL;                                                                                      \
		long result_ = (long)(call);                                                                           \
		int after_ = errno;                                                                                    \
		say("%s: %ld%s", #call, result_, errno_after(after_));                                                 \
		result_;                                                                                               \
	})

/* What one call of C11's threads did. */
#define C11(call)                                                                                                      \
	({                                                                                                             \
		errno = SENTINEL;                                                                                      \
		int result_ = (call);                                                                                  \
		int after_ = errno;                                                                                    \
		say("%s: %s%s", #call, c11_name(result_), errno_after(after_));                                        \
		result_;                                                                                               \
	})

UNUSED static const char *c11_name(int result)
{
	switch (result) {
	case thrd_success:
		return "thrd_success";
	case thrd_busy:
		return "thrd_busy";
	case thrd_timedout:
		return "thrd_timedout";
	case thrd_nomem:
		return "thrd_nomem";
	case thrd_error:
		return "thrd_error";
	default:
		return "no result of C11's";
	}
}

/* A step that is no subject of the case; ends the case if it fails. */
#define MUST(call)                                                                                                     \
	do {                                                                                                           \
		long result_ = (long)(call);                                                                           \
		if (result_) {                                                                                         \
			say("%s failed: %ld", #call, result_);                                                         \
			syscall(SYS_exit_group, 98);                                                                   \
		}                                                                                                      \
	} while (0)

/* ---- Time ---- */

UNUSED static struct timespec from_now(clockid_t clock, long ms)
{
	struct timespec t;
	clock_gettime(clock, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += ms % 1000 * 1000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

/* A deadline that has passed on every clock. */
#define PAST (&(struct timespec){.tv_sec = 1})
/* One that passes while it is waited for. */
#define SOON(clock) ((struct timespec[1]){from_now(clock, 3)})
/* One that no test lives to see. */
#define NEVER(clock) ((struct timespec[1]){from_now(clock, 3600 * 1000)})
#define BEFORE_ALL_TIMES (&(struct timespec){.tv_sec = -1})
#define NSEC_TOO_LARGE (&(struct timespec){.tv_sec = 1, .tv_nsec = 1000000000})
#define NSEC_NEGATIVE (&(struct timespec){.tv_sec = 1, .tv_nsec = -1})
#define NO_CLOCK ((clockid_t)4711)

/* ---- Waiting for each other ---- */

/* Opened once; shared by threads, or by processes if it lies in shared memory. */
struct gate {
	atomic_int is_open;
};

UNUSED static void open_gate(struct gate *gate)
{
	int before = errno;
	atomic_store(&gate->is_open, 1);
	syscall(SYS_futex, &gate->is_open, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	errno = before;
}

UNUSED static void pass(struct gate *gate)
{
	int before = errno;
	while (!atomic_load(&gate->is_open))
		syscall(SYS_futex, &gate->is_open, FUTEX_WAIT, 0, NULL, NULL, 0);
	errno = before;
}

/* Whether `lockwright swap` has put locks here whose waiters spin, and sleep, if they do, elsewhere than in the lock. */
static int waiters_spin(void)
{
	const char *lock = getenv("LOCKWRIGHT_SWAP");
	return lock && strcmp(lock, "hybrid") != 0 && strcmp(lock, "mutex") != 0;
}

/* How much a thread has run: nanoseconds, and how often it was given a processor. */
struct has_run {
	unsigned long long ns, times;
};

static struct has_run has_run(pid_t pid, pid_t tid)
{
	char path[64], text[64];
	snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", pid, tid);
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	long n = syscall(SYS_read, fd, text, sizeof text - 1);
	syscall(SYS_close, fd);
	text[n > 0 ? n : 0] = 0;
	struct has_run run = {0, 0};
	sscanf(text, "%llu %*u %llu", &run.ns, &run.times);
	return run;
}

/* A thread that has run for so many nanoseconds since it was first looked at can only spin. So can one that was given a
 * processor so often: under load each sched_yield of a spinning thread costs it its turn, and it hardly runs at all. */
#define SPINS_NS 20000000
#define SPINS_TIMES 16

static int spins(struct has_run begun, struct has_run now)
{
	return now.ns - begun.ns > SPINS_NS || now.times - begun.times >= SPINS_TIMES;
}

/* Waits until the thread `tid` of process `pid` waits in a futex call: for a word of the object at `object` if one is
 * given, for any otherwise. Condition variables of `lockwright swap` have their waiters wait for words of their own
 * stacks, and some of its locks have them spin. */
UNUSED static void await_futex(pid_t pid, pid_t tid, const void *object, size_t size)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", pid, tid);
	int may_spin = waiters_spin();
	struct has_run begun = {0, 0};
	if (may_spin)
		begun = has_run(pid, tid);
	for (;;) {
		char text[256];
		int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
		if (fd < 0) {
			say("there is no %s", "/proc/PID/task/TID/syscall");
			syscall(SYS_exit_group, 98);
		}
		long n = syscall(SYS_read, fd, text, sizeof text - 1);
		syscall(SYS_close, fd);
		text[n > 0 ? n : 0] = 0;
		long number = -1;
		unsigned long word = 0, stack = 0;
		if (sscanf(text, "%ld %lx %*x %*x %*x %*x %*x %lx", &number, &word, &stack) == 3 && number == SYS_futex) {
			if (may_spin || !object || (word >= (unsigned long)object && word < (unsigned long)object + size))
				return;
			if (getenv("LOCKWRIGHT_SWAP") && word >= stack && word - stack < 4096)
				return;
		}
		if (may_spin && spins(begun, has_run(pid, tid)))
			return;
		syscall(SYS_sched_yield);
	}
}

/* What follows in a case depends on how glibc lays an object out; `lockwright swap` uses the bytes in other ways. */
#define LOOKS_INSIDE()                                                                                                 \
	do {                                                                                                           \
		if (getenv("LOCKWRIGHT_SWAP"))                                                                         \
			return;                                                                                        \
	} while (0)

/* ---- Threads ---- */

struct worker {
	pthread_t thread;
	atomic_int tid;
	void *(*run)(void *);
	void *argument;
	struct gate begun;
	struct saying *said;
};

UNUSED static void *shared_memory(size_t size);

static void *work(void *argument)
{
	struct worker *worker = argument;
	saying = worker->said;
	atomic_store(&worker->tid, (int)syscall(SYS_gettid));
	open_gate(&worker->begun);
	return worker->run(worker->argument);
}

/* Starts a thread whose kernel id is known on return. */
UNUSED static void start(struct worker *worker, void *(*run)(void *), void *argument)
{
	*worker = (struct worker){.run = run, .argument = argument, .said = shared_memory(sizeof *worker->said)};
	MUST(pthread_create(&worker->thread, NULL, work, worker));
	pass(&worker->begun);
}

/* Prints what the worker has said, which has ended. */
UNUSED static void print_said(struct worker *worker)
{
	put(1, worker->said->text, worker->said->length);
	syscall(SYS_munmap, worker->said, sizeof *worker->said);
}

/* Waits for the worker's end, and prints what it has said. */
UNUSED static void *finish(struct worker *worker)
{
	void *value = NULL;
	MUST(pthread_join(worker->thread, &value));
	print_said(worker);
	return value;
}

/* Waits until the worker waits for a word of `object`. */
#define await_blocked(worker, object) await_futex(getpid(), (worker)->tid, object, sizeof *(object))

UNUSED static void *in_thread(void *(*run)(void *), void *argument)
{
	struct worker worker;
	start(&worker, run, argument);
	return finish(&worker);
}

/* ---- Memory ---- */

/* Memory that forked children share. */
UNUSED static void *shared_memory(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		syscall(SYS_exit_group, 98);
	return at;
}

/* How a child ended, in words. */
UNUSED static const char *ending(int status)
{
	static _Thread_local char text[64];
	if (WIFSIGNALED(status))
		snprintf(text, sizeof text, "killed by SIG%s", sigabbrev_np(WTERMSIG(status)));
	else
		snprintf(text, sizeof text, "exited with %d", WEXITSTATUS(status));
	return text;
}

/* Runs `run(argument)` in a forked child, which then exits; says how it ended. */
UNUSED static void in_child(void *(*run)(void *), void *argument)
{
	pid_t child = fork();
	if (child == 0) {
		run(argument);
		_exit(0);
	}
	int status = 0;
	if (waitpid(child, &status, 0) != child)
		say("no child");
	say("the child %s", ending(status));
}

/* ---- The program ---- */

/* No case needs longer, on however slow a machine. */
#define PATIENCE_MS 60000

static void run_isolated(const char *program, const struct test_case *test)
{
	int said = (int)syscall(SYS_memfd_create, "said", MFD_CLOEXEC);
	pid_t child = fork();
	if (child == 0) {
		setpgid(0, 0);
		dup2(said, 1);
		dup2(said, 2);
		execl(program, program, test->name, (char *)NULL);
		_exit(97);
	}
	int handle = (int)syscall(SYS_pidfd_open, child, 0);
	struct pollfd ended = {.fd = handle, .events = POLLIN};
	int is_over = poll(&ended, 1, PATIENCE_MS) == 1;
	kill(-child, SIGKILL);
	kill(child, SIGKILL);
	int status = 0;
	waitpid(child, &status, 0);
	say("== %s", test->name);
	char bytes[4096];
	long n;
	for (off_t at = 0; (n = pread(said, bytes, sizeof bytes, at)) > 0; at += n)
		put(1, bytes, (size_t)n);
	say("-- %s", is_over ? ending(status) : "hung");
	close(handle);
	close(said);
}

#ifndef NO_MAIN
int main(int argc, char **argv)
{
	for (struct test_case *test = first_case; test; test = test->next) {
		if (argc == 1) {
			run_isolated("/proc/self/exe", test);
		} else if (strcmp(argv[1], "--list") == 0) {
			say("%s", test->name);
		} else if (strcmp(argv[1], test->name) == 0) {
			test->run();
			return 0;
		}
	}
	return argc == 1 || strcmp(argv[1], "--list") == 0 ? 0 : 2;
}
#endif

#endif
