/* Ways to end, and the streams.
 *
 *   ending exit CODE   ending signal NUMBER   ending wait    (until killed; prints its process id first)
 *   ending copy        stdin to stdout, and its length in bytes to stderr
 *   ending nolocks     does nothing at all
 *   ending environment prints LD_PRELOAD-free facts: argv, and what is in the variable GREETING
 *   ending terminal    whether each stream is a terminal
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;

static void on_term(int number)
{
	(void)number;
	if (write(STDOUT_FILENO, "terminated\n", 11) != 11)
		_exit(1);
	_exit(7);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "nolocks";
	if (!strcmp(how, "nolocks"))
		return 0;

	pthread_mutex_lock(&outer);
	pthread_mutex_lock(&inner);
	pthread_mutex_unlock(&inner);
	pthread_mutex_unlock(&outer);

	if (!strcmp(how, "exit"))
		exit(atoi(argv[2]));
	if (!strcmp(how, "signal")) {
		int number = atoi(argv[2]);
		if (number == SIGSEGV) {
			volatile int *nowhere = NULL;
			*nowhere = 1;
		}
		kill(getpid(), number);
		pause();
	}
	if (!strcmp(how, "wait")) {
		signal(SIGTERM, on_term);
		printf("%d\n", (int)getpid());
		fflush(stdout);
		for (;;)
			pause();
	}
	if (!strcmp(how, "copy")) {
		static char buffer[65536];
		size_t n, all = 0;
		while ((n = fread(buffer, 1, sizeof buffer, stdin)) > 0) {
			fwrite(buffer, 1, n, stdout);
			all += n;
		}
		fprintf(stderr, "%zu bytes\n", all);
	}
	if (!strcmp(how, "environment")) {
		for (int i = 2; i < argc; i++)
			printf("[%s]\n", argv[i]);
		printf("%s\n", getenv("GREETING") ? getenv("GREETING") : "no greeting");
	}
	if (!strcmp(how, "terminal"))
		printf("%d%d%d\n", isatty(0), isatty(1), isatty(2));
	return 0;
}
