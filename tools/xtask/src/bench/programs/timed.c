/* Runs COMMAND without its output and, if it succeeds, prints what it took: seconds by the clock, seconds of processor
 * time with all its children (whatever else the machine does, that is the program's own), and KiB of memory that its
 * largest process had at most.
 *
 *   timed COMMAND...
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	double start = now();
	pid_t child = argc > 1 ? fork() : -1;
	if (child == 0) {
		dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
		execvp(argv[1], argv + 1);
		perror(argv[1]);
		_exit(127);
	}
	int status;
	if (child < 0 || waitpid(child, &status, 0) < 0 || status)
		return 1;
	double took = now() - start;
	struct rusage used;
	getrusage(RUSAGE_CHILDREN, &used);
	printf("%f %f %ld\n", took,
	       used.ru_utime.tv_sec + used.ru_stime.tv_sec +
		       (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6,
	       used.ru_maxrss);
	return 0;
}
