/* Prints its process id, and then "term" whenever it gets a SIGTERM; SIGUSR1 ends it. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static void tells(int number)
{
	(void)number;
	if (write(STDOUT_FILENO, "term\n", 5) != 5)
		_exit(1);
}

static void ends(int number)
{
	(void)number;
	_exit(5);
}

int main(void)
{
	signal(SIGTERM, tells);
	signal(SIGUSR1, ends);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	for (;;)
		pause();
}
