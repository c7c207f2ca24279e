/* A ledger that is full: the thread that goes on taking locks then asks the kernel for nothing, so it takes no lock
 * of the tool's. The system calls that recording makes under that lock are trapped, and counted.
 * The program is small: a limit on file sizes makes its ledger so. */
#include "meter.h"
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

enum { LEDGER = 32 << 20, LOCKS = 100000, AFTER = 10000 };

static pthread_mutex_t locks[LOCKS + AFTER];
static pthread_rwlock_t rwlocks[AFTER];
static volatile sig_atomic_t trapped;

static void on_trap(int number)
{
	(void)number;
	trapped++;
}

/* Traps a system call of this thread, which is then not done. */
static void trap(int call)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof filter / sizeof *filter, filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("seccomp");
		exit(2);
	}
}

SITE static void fill(int i)
{
	pthread_mutex_lock(&locks[i]);
	pthread_mutex_unlock(&locks[i]);
	NO_TAIL_CALL;
}

/* A lock that is known, at a place that is not. */
SITE static void elsewhere(int i)
{
	pthread_mutex_lock(&locks[i]);
	pthread_mutex_unlock(&locks[i]);
	NO_TAIL_CALL;
}

SITE static void read_one(int i)
{
	pthread_rwlock_rdlock(&rwlocks[i]);
	pthread_rwlock_unlock(&rwlocks[i]);
	NO_TAIL_CALL;
}

static void *work(void *arg)
{
	trap(SYS_rt_sigprocmask);
	for (int i = 0; i < LOCKS; i++)
		fill(i);
	truth("until_full", (uint64_t)trapped);
	trapped = 0;
	for (int i = 0; i < AFTER; i++) {
		elsewhere(i);
		fill(LOCKS + i);
		read_one(i);
	}
	truth("when_full", (uint64_t)trapped);
	truth("not_recorded", 3 * AFTER);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc == 1) {
		/* Before the ledger is made. */
		struct rlimit limit = { LEDGER, LEDGER };
		char *again[] = { argv[0], "again", NULL };
		setrlimit(RLIMIT_FSIZE, &limit);
		execv("/proc/self/exe", again);
		return 2;
	}
	signal(SIGSYS, on_trap);
	pthread_create(&thread, NULL, work, NULL);
	pthread_join(thread, NULL);
	return 0;
}
