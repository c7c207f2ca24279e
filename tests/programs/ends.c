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
		wait(NULL);
		return 0;
	}
	return end(argv + 1);
}
