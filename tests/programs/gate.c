/* A mutex as a gate: main waits at it until another thread unlocks it. That is no use POSIX allows, and works.
 *
 *   gate MILLISECONDS...   it is opened so often, each time after so long
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static char **delays;

static void *opener(void *unused)
{
	for (char **delay = delays; *delay; delay++) {
		usleep(atoi(*delay) * 1000);
		pthread_mutex_unlock(&gate);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	delays = argv + 1;
	pthread_mutex_lock(&gate);
	pthread_create(&thread, NULL, opener, NULL);
	for (int i = 1; i < argc; i++) {
		pthread_mutex_lock(&gate);
		puts("opened");
	}
	pthread_join(thread, NULL);
	return 0;
}
