/* COUNT lock classes in a row: each lock is of a class of its own name, and the one before is taken while it is held.
 *
 *   classes COUNT
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../../../../include/lockwright.h"

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 1000;
	pthread_mutex_t *locks = calloc(count, sizeof *locks);
	for (long i = 0; i < count; i++) {
		char name[32];
		snprintf(name, sizeof name, "lock %ld", i);
		pthread_mutex_init(&locks[i], 0);
		lw_set_name(&locks[i], name);
		pthread_mutex_lock(&locks[i]);
		if (i > 0) {
			pthread_mutex_lock(&locks[i - 1]);
			pthread_mutex_unlock(&locks[i - 1]);
		}
		pthread_mutex_unlock(&locks[i]);
	}
	return 0;
}
