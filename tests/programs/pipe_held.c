/* A thread keeps a mutex while it waits for what another is to write to a pipe or an eventfd, which comes to the
 * mutex first: both wait for ever, in no cycle of locks. Prints its process id, and hangs.
 *
 *   pipe, event   so
 *   full          it writes to a pipe that is full, whose reader comes to the mutex first
 *   fixed         it waits without the mutex, and the program ends
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static sem_t ready;
static int from, to;
static uint64_t word;
static const char *how;

static void fill(void)
{
	static char page[4096];

	while (write(to, page, sizeof page) == sizeof page)
		;
}

static void *keeps(void *unused)
{
	pthread_mutex_lock(&table);
	if (!strcmp(how, "fixed"))
		pthread_mutex_unlock(&table);
	sem_post(&ready);
	if (!strcmp(how, "full"))
		fill();
	else if (read(from, &word, sizeof word) != sizeof word)
		perror("read");
	if (strcmp(how, "fixed"))
		pthread_mutex_unlock(&table);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int ends[2];

	how = argc > 1 ? argv[1] : "";
	if (!strcmp(how, "event")) {
		from = to = eventfd(0, 0);
	} else {
		if (pipe(ends))
			return 2;
		from = ends[0];
		to = ends[1];
	}
	printf("%d\n", (int)getpid());
	fflush(stdout);
	sem_init(&ready, 0, 0);
	pthread_create(&thread, NULL, keeps, NULL);
	while (sem_wait(&ready))
		;
	pthread_mutex_lock(&table);
	word = 1;
	if (write(to, &word, sizeof word) != sizeof word)
		return 2;
	pthread_mutex_unlock(&table);
	pthread_join(thread, NULL);
	puts("the end");
	return 0;
}
