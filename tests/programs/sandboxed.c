/* A process that may open no file any more makes children, one after the other, each of which takes two locks in both
 * orders, by two threads that take turns.
 *
 *   sandboxed WAY CHILDREN [wait]
 *
 * Ways: `fork`; `clone`, `_Fork`, which call no handlers of forks; `grandchild`: the child's child does it, and the child
 * takes one lock itself; `deadlock`: the two threads of a forked child come to wait for each other; `many`: a forked
 * child takes 50,000 locks; `confined`: it does so with an address space of 4 GiB. Says what the last child exited with.
 * With `wait` a child says its process id then, and waits for a signal, before it takes a lock and after.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "baton.h"
#include "../conformance/older_glibc.h"

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t right = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t alone = PTHREAD_MUTEX_INITIALIZER;
static baton first_done;
static int waits;

static void both(pthread_mutex_t *outer, pthread_mutex_t *inner)
{
	pthread_mutex_lock(outer);
	pthread_mutex_lock(inner);
	pthread_mutex_unlock(inner);
	pthread_mutex_unlock(outer);
}

static void *left_then_right(void *unused)
{
	both(&left, &right);
	baton_pass(&first_done);
	return unused;
}

static void *right_then_left(void *unused)
{
	baton_take(&first_done);
	both(&right, &left);
	return unused;
}

static struct meeting both_have_one = {.size = 2};

static void *hang(void *locks)
{
	pthread_mutex_t **of = locks;
	pthread_mutex_lock(of[0]);
	meeting_wait(&both_have_one);
	pthread_mutex_lock(of[1]);
	return NULL;
}

static int deadlock(void)
{
	pthread_mutex_t *one[] = {&left, &right}, *other[] = {&right, &left};
	pthread_t threads[2];
	if (pthread_create(&threads[0], NULL, hang, one) || pthread_create(&threads[1], NULL, hang, other))
		return 1;
	pthread_join(threads[0], NULL);
	return 2;
}

static void pause_here(void)
{
	int number;
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	printf("%d\n", getpid());
	fflush(stdout);
	sigwait(&signals, &number);
}

static int work(void *unused)
{
	(void)unused;
	pthread_t threads[2];
	if (waits)
		pause_here();
	if (pthread_create(&threads[0], NULL, left_then_right, NULL) || pthread_create(&threads[1], NULL, right_then_left, NULL))
		return 1;
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	if (waits)
		pause_here();
	return 7;
}

static int of(pid_t child)
{
	int status = 0;
	if (child < 0 || waitpid(child, &status, 0) != child)
		return 99;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int use_and_fork(void *unused)
{
	pthread_mutex_lock(&alone);
	pthread_mutex_unlock(&alone);
	pid_t child = fork();
	if (child == 0)
		_exit(work(unused));
	return of(child);
}

static int take_many(void)
{
	enum { LOCKS = 50000 };
	pthread_mutex_t *locks = calloc(LOCKS, sizeof *locks);
	if (!locks)
		return 1;
	for (int i = 0; i < LOCKS; i++) {
		pthread_mutex_init(&locks[i], NULL);
		both(&left, &locks[i]);
	}
	return 7;
}

static pid_t make(const char *way)
{
	static char stack[1 << 18] __attribute__((aligned(64)));
	if (!strcmp(way, "clone"))
		return clone(work, stack + sizeof stack, SIGCHLD, NULL);
	pid_t child = !strcmp(way, "_Fork") ? _Fork() : fork();
	if (child == 0 && !strcmp(way, "deadlock"))
		_exit(deadlock());
	if (child == 0 && !strcmp(way, "many"))
		_exit(take_many());
	if (child == 0 && !strcmp(way, "confined")) {
		struct rlimit space = {4UL << 30, 4UL << 30};
		_exit(setrlimit(RLIMIT_AS, &space) ? 1 : take_many());
	}
	if (child == 0)
		_exit(!strcmp(way, "grandchild") ? use_and_fork(NULL) : work(NULL));
	return child;
}

static void refuse_files(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_open, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_readlinkat, 1, 0),
		/* An allowance for the advice that programs give, as browsers have it: none is above 21. */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 1, 4),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 21, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		puts("no filter");
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	waits = argc > 3;
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	/* Its own, which its children are not to change. */
	pthread_mutex_lock(&alone);
	pthread_mutex_unlock(&alone);
	refuse_files();
	int result = 0;
	for (int i = atoi(argv[2]); i > 0; i--)
		result = of(make(argv[1]));
	printf("%d\n", result);
	return 0;
}
