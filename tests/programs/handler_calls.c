/* A handler calls what is not async-signal-safe: malloc, or a function of stdio.
 *
 *   open [stdio]      outside it is called with the signal open
 *   thread            by another thread, which does not block it
 *   sigsuspend [stdio] the signal is blocked but in sigsuspend
 *   window            it is blocked but around a wait
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>

static void *volatile block;
static int by_stdio;
static volatile sig_atomic_t arrived;

static void call(void)
{
	if (by_stdio) {
		fputs("called\n", stdout);
		return;
	}
	block = malloc(8);
	free(block);
}

static void on_usr1(int signal)
{
	(void)signal;
	call();
	arrived = 1;
}

static void *use(void *arg)
{
	sigset_t *open = arg;

	pthread_sigmask(SIG_SETMASK, open, NULL);
	call();
	return NULL;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "open";
	struct sigaction action = {.sa_handler = on_usr1};
	sigset_t usr1, before;
	pthread_t thread;

	by_stdio = argc > 2 && !strcmp(argv[2], "stdio");
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	/* Before there is a handler it does not matter what is open. */
	call();
	sigprocmask(SIG_BLOCK, &usr1, &before);
	sigaction(SIGUSR1, &action, NULL);
	call();
	raise(SIGUSR1);
	if (!strcmp(how, "window")) {
		struct timeval none = {0, 0};

		sigprocmask(SIG_SETMASK, &before, NULL);
		select(0, NULL, NULL, NULL, &none);
		sigprocmask(SIG_BLOCK, &usr1, NULL);
	} else {
		sigsuspend(&before);
	}
	call();
	if (!strcmp(how, "thread")) {
		pthread_create(&thread, NULL, use, &before);
		pthread_join(thread, NULL);
	}
	if (!strcmp(how, "open")) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		call();
	}
	return !arrived;
}
