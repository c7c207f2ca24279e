/*
 * What a forked child costs that takes one lock and ends: the system calls that it makes, which its parent counts as its
 * tracer, and its page faults. Of several children the fewest: memory may be short meanwhile.
 *
 *   forked_child    prints "<system calls> <page faults>"
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void child(void)
{
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	_exit(0);
}

int main(void)
{
	long fewest_calls = 1000000, fewest_faults = 1000000;

	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < 8; i++) {
		long stops = 0;
		int status;
		struct rusage usage;
		pid_t pid = fork();

		if (pid == 0)
			child();
		if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
			return 1;
		ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)(long)PTRACE_O_TRACESYSGOOD);
		while (!ptrace(PTRACE_SYSCALL, pid, NULL, NULL)) {
			if (wait4(pid, &status, 0, &usage) != pid)
				return 1;
			if (WIFEXITED(status))
				break;
			if (!WIFSTOPPED(status) || WSTOPSIG(status) != (SIGTRAP | 0x80))
				return 1;
			stops++;
		}
		/* Each call stops twice; the last one, exit, once. */
		if (stops / 2 + 1 < fewest_calls)
			fewest_calls = stops / 2 + 1;
		if (usage.ru_minflt < fewest_faults)
			fewest_faults = usage.ru_minflt;
	}
	printf("%ld %ld\n", fewest_calls, fewest_faults);
	return 0;
}
