/* Two locks in both orders, by two threads that take turns, in a place where a program can do less than usual.
 *
 *   descriptors   it has closed all file descriptors but the standard ones
 *   root          its root is an empty folder, /proc/self/root/ARGUMENT
 *   space         it may map little more memory than it has
 *   seccomp       whatever opens or makes files is refused
 *   init          it is process 1 of a namespace
 *   plain         none of these
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
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

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;
static baton first_done, second_done;

static void *a_then_b(void *unused)
{
	pthread_mutex_lock(&a);
	pthread_mutex_lock(&b);
	pthread_mutex_unlock(&b);
	pthread_mutex_unlock(&a);
	baton_pass(&first_done);
	baton_take(&second_done);
	return unused;
}

static void *b_then_a(void *unused)
{
	baton_take(&first_done);
	pthread_mutex_lock(&b);
	pthread_mutex_lock(&a);
	pthread_mutex_unlock(&a);
	pthread_mutex_unlock(&b);
	baton_pass(&second_done);
	return unused;
}

static int work(void)
{
	pthread_t threads[2];
	/* Many small blocks, and a large one: whichever malloc there is, it has to do with it. */
	for (int i = 0; i < 1000; i++)
		free(malloc((size_t)i * 16));
	free(calloc(1, 1 << 20));
	if (pthread_create(&threads[0], NULL, a_then_b, NULL) || pthread_create(&threads[1], NULL, b_then_a, NULL)) {
		puts("no threads");
		return 1;
	}
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	puts("the end");
	return 0;
}

static void refuse_files(void)
{
#define REFUSE(call)                                                                                                   \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		REFUSE(open), REFUSE(openat), REFUSE(creat), REFUSE(memfd_create), REFUSE(readlink), REFUSE(unlink),
		REFUSE(ftruncate), REFUSE(fallocate), REFUSE(socket), REFUSE(execve),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof rules / sizeof *rules, rules };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		puts("no filter");
}

static void limit_space(void)
{
	unsigned long pages = 0;
	FILE *statm = fopen("/proc/self/statm", "r");
	if (statm == NULL || fscanf(statm, "%lu", &pages) != 1)
		puts("no statm");
	fclose(statm);
	/* Two stacks of 8 MiB, and no more of malloc's arenas. */
	struct rlimit limit = { pages * 4096 + (24 << 20), pages * 4096 + (24 << 20) };
	if (setrlimit(RLIMIT_AS, &limit))
		puts("no limit");
}

int main(int argc, char **argv)
{
	const char *where = argc > 1 ? argv[1] : "plain";

	if (!strcmp(where, "descriptors")) {
		for (int fd = 3; fd < 4096; fd++)
			close(fd);
	} else if (!strcmp(where, "root")) {
		if (chroot(argv[2]) || chdir("/"))
			puts("no root");
	} else if (!strcmp(where, "space")) {
		limit_space();
	} else if (!strcmp(where, "seccomp")) {
		refuse_files();
	} else if (!strcmp(where, "init")) {
		int status;
		if (unshare(CLONE_NEWPID))
			puts("no namespace");
		fflush(stdout);
		pid_t child = fork();
		if (child == 0) {
			if (getpid() != 1)
				puts("not process 1");
			return work();
		}
		waitpid(child, &status, 0);
		return WEXITSTATUS(status);
	}
	return work();
}
