/* Nests as many mutexes as the first number says: each is new to the record, as it is taken with all those held that
 * came before. The second number is how often the first of them is locked and unlocked afterwards. The third is how often
 * a mutex that nobody locks is initialised and destroyed.
 *
 *   cost_nested NESTED AGAIN [LIVES]
 */
#include <pthread.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	long nested = argc > 1 ? atol(argv[1]) : 1;
	long again = argc > 2 ? atol(argv[2]) : 0;
	long lives = argc > 3 ? atol(argv[3]) : 0;
	pthread_mutex_t *locks = calloc(nested, sizeof *locks);
	for (long i = 0; i < nested; i++)
		pthread_mutex_init(&locks[i], NULL);
	for (long i = 0; i < nested; i++)
		pthread_mutex_lock(&locks[i]);
	for (long i = nested; i > 0; i--)
		pthread_mutex_unlock(&locks[i - 1]);
	for (long i = 0; i < again; i++) {
		pthread_mutex_lock(&locks[0]);
		pthread_mutex_unlock(&locks[0]);
	}
	for (long i = 0; i < lives; i++) {
		pthread_mutex_t unused;
		pthread_mutex_init(&unused, NULL);
		pthread_mutex_destroy(&unused);
	}
	return 0;
}
