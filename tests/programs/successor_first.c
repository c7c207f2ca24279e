/* A module for successors: the other of the two has the same code, for other locks, and comes to lie where this one was. */
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t *first_made;
static pthread_mutex_t first_static = PTHREAD_MUTEX_INITIALIZER;

static void first_within(pthread_mutex_t *lock, void (*within)(void))
{
	pthread_mutex_lock(lock);
	within();
	pthread_mutex_unlock(lock);
}

void module_begin(void)
{
	first_made = malloc(sizeof *first_made);
	pthread_mutex_init(first_made, NULL);
}

void module_end(void)
{
	pthread_mutex_destroy(first_made);
	free(first_made);
}

void module_made(void (*within)(void))
{
	first_within(first_made, within);
}

void module_static(void (*within)(void))
{
	first_within(&first_static, within);
}

void module_given(pthread_mutex_t *lock, void (*within)(void))
{
	first_within(lock, within);
}
