/* Two locks in both orders, by two threads that take turns, in a process that is killed if it makes a system call which
 * it does not make by itself. With -DWATCHED=... -DCHILDREN=... it may make those, too, the latter in a child.
 *
 *   seccomp          as said
 *   seccomp child    a child that it forks does the work
 *   seccomp wait     it says its process id, and waits for a signal
 */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "baton.h"

static const int own[] = {
	SYS_brk, SYS_clone, SYS_clone3, SYS_exit, SYS_exit_group, SYS_futex, SYS_madvise, SYS_mmap, SYS_mprotect, SYS_munmap,
	SYS_pause, SYS_rseq, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sched_yield, SYS_set_robust_list,
	SYS_wait4,
};

#ifdef WATCHED
/* What lockwright says that it makes in a process, and what in a child besides. */
static const int watched[] = {WATCHED};
static const int children[] = {CHILDREN};
#endif

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;
static baton first_done;

static void both(pthread_mutex_t *outer, pthread_mutex_t *inner)
{
	pthread_mutex_lock(outer);
	pthread_mutex_lock(inner);
	pthread_mutex_unlock(inner);
	pthread_mutex_unlock(outer);
}

static void *a_then_b(void *unused)
{
	both(&a, &b);
	baton_pass(&first_done);
	return unused;
}

static void *b_then_a(void *unused)
{
	baton_take(&first_done);
	both(&b, &a);
	return unused;
}

static void work(void)
{
	pthread_t threads[2];
	pthread_create(&threads[0], NULL, a_then_b, NULL);
	pthread_create(&threads[1], NULL, b_then_a, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
}

static struct sock_filter filter[256];
static unsigned short length;

static void add(unsigned short code, unsigned k, unsigned char if_so, unsigned char if_not)
{
	filter[length++] = (struct sock_filter)BPF_JUMP(code, k, if_so, if_not);
}

static void allow(const int *calls, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		add(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i], 0, 1);
		add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
	}
}

static int has(char **words, const char *wanted)
{
	for (; *words; words++)
		if (!strcmp(*words, wanted))
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	(void)argc;
	/* For its heap the C library makes calls once. */
	static void *volatile block;
	block = malloc(1);
	free(block);
	if (has(argv, "wait")) {
		printf("%d\n", getpid());
		fflush(stdout);
	}
	add(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
	allow(own, sizeof own / sizeof *own);
#ifdef WATCHED
	allow(watched, sizeof watched / sizeof *watched);
	if (has(argv, "child"))
		allow(children, sizeof children / sizeof *children);
#endif
	add(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, 0, 0);
	struct sock_fprog program = {.len = length, .filter = filter};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("seccomp");
		return 1;
	}
	if (has(argv, "wait"))
		pause();
	if (!has(argv, "child")) {
		work();
		return 0;
	}
	int status = 0;
	pid_t child = fork();
	if (child == 0) {
		work();
		_exit(3);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
