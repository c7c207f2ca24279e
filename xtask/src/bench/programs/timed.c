/* Runs COMMAND and prints how many seconds of processor time that took, with all its children, if it succeeds.
 * (Whatever else the machine does, processor time is the program's own.)
 *
 *   timed COMMAND...
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	pid_t child = argc > 1 ? fork() : -1;
	if (child == 0) {
		execvp(argv[1], argv + 1);
		perror(argv[1]);
		_exit(127);
	}
	int status;
	if (child < 0 || waitpid(child, &status, 0) < 0 || status)
		return 1;
	struct rusage used;
	getrusage(RUSAGE_CHILDREN, &used);
	printf("%f\n", used.ru_utime.tv_sec + used.ru_stime.tv_sec +
	       (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
	return 0;
}
