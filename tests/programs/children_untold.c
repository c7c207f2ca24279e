/* Children that are made past all handlers of forks, and end with locks held that their parent takes afterwards. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../conformance/older_glibc.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

static int use(void *unused)
{
	(void)unused;
	pthread_rwlock_wrlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
	pthread_mutex_lock(&mutex);
	pthread_rwlock_rdlock(&rwlock);
	return 0;
}

static pid_t make(const char *way)
{
	static char stack[1 << 16] __attribute__((aligned(64)));
	if (strcmp(way, "clone") == 0)
		return clone(use, stack + sizeof stack, SIGCHLD, NULL);
	pid_t child = strcmp(way, "_Fork") == 0 ? _Fork() : (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (child == 0) {
		use(NULL);
		_exit(0);
	}
	return child;
}

int main(int argc, char **argv)
{
	int children = 0;
	for (int i = 0; i < 3; i++) {
		/* So that to most children none of this is new. */
		use(NULL);
		pthread_rwlock_unlock(&rwlock);
		pthread_mutex_unlock(&mutex);
		pid_t child = make(argc > 1 ? argv[1] : "");
		children += child > 0 && waitpid(child, NULL, 0) == child;
	}
	use(NULL);
	printf("%d children\n", children);
	return 0;
}
