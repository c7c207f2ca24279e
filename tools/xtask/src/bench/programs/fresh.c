/* Makes so many objects with a mutex in them, one after the other, and locks each once: every one is new to the tool.
 *
 *   fresh OBJECTS
 */
#include <pthread.h>
#include <stdlib.h>

struct object {
	pthread_mutex_t mutex;
	int value;
};

int main(int argc, char **argv)
{
	long objects = argc > 1 ? atol(argv[1]) : 1;
	long sum = 0;
	for (long i = 0; i < objects; i++) {
		struct object *object = calloc(1, sizeof *object);
		pthread_mutex_lock(&object->mutex);
		sum += object->value;
		pthread_mutex_unlock(&object->mutex);
		free(object);
	}
	return sum != 0;
}
