/* Takes a lock and ends.
 *
 *   ends [child] exit CODE | _exit CODE | quick CODE | abort | kill NUMBER | exec | return
 *
 * With `child` first, a forked child does so, and then the parent returns from main.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void use(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

static int end(char **words)
{
	const char *how = words[0];
	int number = words[1] ? atoi(words[1]) : 0;

	if (!strcmp(how, "exit"))
		exit(number);
	if (!strcmp(how, "_exit"))
		_exit(number);
	if (!strcmp(how, "quick"))
		quick_exit(number);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "kill")) {
		kill(getpid(), number);
		pause();
	}
	if (!strcmp(how, "exec"))
		execl("/bin/true", "true", (char *)NULL);
	return number;
}

/* By the function of that name; "unwatched" is the system call. */
static void wait_for_child(const char *by)
{
	int status = 0;
	siginfo_t info = {0};

	if (!by || !strcmp(by, "unwanted"))
		wait(NULL);
	else if (!strcmp(by, "wait"))
		wait(&status);
	else if (!strcmp(by, "waitpid"))
		waitpid(-1, &status, 0);
	else if (!strcmp(by, "wait3"))
		wait3(&status, 0, NULL);
	else if (!strcmp(by, "wait4"))
		wait4(-1, &status, 0, NULL);
	else if (!strcmp(by, "waitid"))
		waitid(P_ALL, 0, &info, WEXITED);
	else
		syscall(SYS_wait4, -1, &status, 0, NULL);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	use();
	if (!strcmp(argv[1], "child") && argc > 2) {
		if (fork() == 0) {
			use();
			return end(argv + 2);
		}
		wait_for_child(getenv("WAIT_BY"));
		return 0;
	}
	return end(argv + 1);
}
