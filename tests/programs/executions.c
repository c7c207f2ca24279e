/*
 * How many processes a command makes, and how: it is run under trace, with all that it starts.
 *
 *   executions PROGRAM [ARGS]...    prints "<forks> <vforks> <executions>" last, the first execution included
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long forks = 0, vforks = 0, executions = 0, options;
	int status;
	pid_t pid = fork();

	if (argc < 2 || pid < 0)
		return 1;
	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		execv(argv[1], argv + 1);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return 1;
	options = PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;
	if (ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)options) || ptrace(PTRACE_CONT, pid, NULL, NULL))
		return 1;
	for (;;) {
		long signal = 0;

		pid = waitpid(-1, &status, __WALL);
		if (pid < 0 && errno == ECHILD)
			break;
		if (pid < 0 || !WIFSTOPPED(status))
			continue;
		switch (status >> 16) {
		case PTRACE_EVENT_FORK:
			forks++;
			break;
		case PTRACE_EVENT_VFORK:
			vforks++;
			break;
		case PTRACE_EVENT_EXEC:
			executions++;
			break;
		case 0:
			/* A new process or thread begins with a stop of its own. */
			if (WSTOPSIG(status) != SIGSTOP)
				signal = WSTOPSIG(status);
		}
		ptrace(PTRACE_CONT, pid, NULL, (void *)signal);
	}
	printf("%ld %ld %ld\n", forks, vforks, executions);
	return 0;
}
