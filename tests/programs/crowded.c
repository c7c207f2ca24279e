/* One thread makes, takes and destroys the locks of many levels, again and again: more of a class than are recorded one by one.
   With "two", a second thread does the same after it. */
#include <pthread.h>
#include <string.h>

#define ROUNDS 4
#define LEVELS 10
#define MANY 30

static struct {
	pthread_mutex_t many[MANY];
	pthread_mutex_t last;
} level[LEVELS];

static void *descend(void *arg)
{
	for (int l = 0; l < LEVELS; l++) {
		for (int i = 0; i < MANY; i++)
			pthread_mutex_init(&level[l].many[i], NULL);
		pthread_mutex_init(&level[l].last, NULL);
	}
	for (int l = 0; l < LEVELS; l++) {
		for (int i = 0; i < MANY; i++)
			pthread_mutex_lock(&level[l].many[i]);
		pthread_mutex_lock(&level[l].last);
	}
	for (int l = 0; l < LEVELS; l++) {
		pthread_mutex_unlock(&level[l].last);
		pthread_mutex_destroy(&level[l].last);
		for (int i = 0; i < MANY; i++) {
			pthread_mutex_unlock(&level[l].many[i]);
			pthread_mutex_destroy(&level[l].many[i]);
		}
	}
	return arg;
}

int main(int argc, char **argv)
{
	for (int round = 0; round < ROUNDS; round++) {
		pthread_t thread;
		descend(NULL);
		if (argc > 1 && !strcmp(argv[1], "two")) {
			pthread_create(&thread, NULL, descend, NULL);
			pthread_join(thread, NULL);
		}
	}
	return 0;
}
