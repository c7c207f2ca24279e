/* Children that begin before lockwright could hear of them, and parents that go on meanwhile. Both make more locks than
 * there is room for if they share a ledger.
 *
 *   forks_unseen handlers  other handlers of forks come first: those of a library that was there before (forks_first.c)
 *   forks_unseen _Fork     no handlers are called
 *   forks_unseen clone     nor is any function of the C library
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "forks_unseen.h"
#include "../conformance/older_glibc.h"

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "handlers";
	int status = 1;
	pid_t child;

	if (!strcmp(how, "handlers"))
		child = fork();
	else if (!strcmp(how, "_Fork"))
		child = _Fork();
	else
		child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (child < 0)
		return 1;
	make_locks();
	if (child == 0)
		_exit(7);
	waitpid(child, &status, 0);
	make_locks();
	printf("the child ended with %d\n", WEXITSTATUS(status));
	return 0;
}
