/* Started by root, becomes nobody as servers do, then forks a child that takes locks too. */
#define _GNU_SOURCE
#include <grp.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534 };

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;

static void nest(void)
{
	pthread_mutex_lock(&outer);
	pthread_mutex_lock(&inner);
	pthread_mutex_unlock(&inner);
	pthread_mutex_unlock(&outer);
}

int main(void)
{
	int status;
	nest();
	if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY)) {
		perror("becoming nobody");
		return 1;
	}
	nest();
	pid_t child = fork();
	if (child == 0) {
		nest();
		return 0;
	}
	waitpid(child, &status, 0);
	return WEXITSTATUS(status);
}
