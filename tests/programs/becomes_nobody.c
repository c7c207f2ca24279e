/* Starts as root and gives its privileges up, as servers do: a child becomes nobody, forks, and executes this program
 * again, each of which uses locks. Waits before that, and after, if asked to.
 *
 *   becomes_nobody [wait]    prints its process id first; with `wait`, goes on when its standard input ends
 */
#define _GNU_SOURCE
#include <grp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534 };

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;

static void use_locks(void)
{
	pthread_mutex_lock(&outer);
	pthread_mutex_lock(&inner);
	pthread_mutex_unlock(&inner);
	pthread_mutex_unlock(&outer);
}

static int status_of(pid_t child)
{
	int status;

	return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void serve(char *own_path)
{
	pid_t worker;

	if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
		exit(2);
	worker = fork();
	if (worker == 0) {
		use_locks();
		exit(0);
	}
	if (status_of(worker))
		exit(3);
	execl(own_path, "worker", "executed", NULL);
	exit(4);
}

int main(int argc, char **argv)
{
	pid_t server;

	if (argc > 1 && !strcmp(argv[1], "executed")) {
		use_locks();
		return 0;
	}
	printf("%d\n", (int)getpid());
	fflush(stdout);
	use_locks();
	if (argc > 1 && !strcmp(argv[1], "wait"))
		while (getchar() != EOF)
			;
	server = fork();
	if (server == 0)
		serve(realpath("/proc/self/exe", NULL));
	return status_of(server);
}
