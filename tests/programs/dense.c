/* 45 locks, taken all at once from each of them on round about: of any two, each is taken within the other. There are
 * 990 cycles of two and 28,380 of three, and far more of more.
 *
 *   dense          all by one thread
 *   dense turns    by four threads, each of which ends before the next begins
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOCKS = 45, THREADS = 4 };

static pthread_mutex_t *locks;

static void *rounds(void *unused)
{
	(void)unused;
	for (int first = 0; first < LOCKS; first++) {
		for (int i = 0; i < LOCKS; i++)
			pthread_mutex_lock(&locks[(first + i) % LOCKS]);
		for (int i = 0; i < LOCKS; i++)
			pthread_mutex_unlock(&locks[(first + i) % LOCKS]);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	locks = malloc(LOCKS * sizeof *locks);
	for (int i = 0; i < LOCKS; i++)
		pthread_mutex_init(&locks[i], NULL);
	if (argc > 1 && !strcmp(argv[1], "turns")) {
		for (int i = 0; i < THREADS; i++) {
			pthread_t thread;

			pthread_create(&thread, NULL, rounds, NULL);
			pthread_join(thread, NULL);
		}
	} else {
		rounds(NULL);
	}
	puts("done");
	return 0;
}
