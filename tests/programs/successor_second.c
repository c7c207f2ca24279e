/* Another module for successors: the other of the two has the same code, for other locks, and comes to lie where this one was. */
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t *second_made;
static pthread_mutex_t second_static = PTHREAD_MUTEX_INITIALIZER;

static void second_within(pthread_mutex_t *lock, void (*within)(void))
{
	pthread_mutex_lock(lock);
	within();
	pthread_mutex_unlock(lock);
}

void module_begin(void)
{
	second_made = malloc(sizeof *second_made);
	pthread_mutex_init(second_made, NULL);
}

void module_end(void)
{
	pthread_mutex_destroy(second_made);
	free(second_made);
}

void module_made(void (*within)(void))
{
	second_within(second_made, within);
}

void module_static(void (*within)(void))
{
	second_within(&second_static, within);
}

void module_given(pthread_mutex_t *lock, void (*within)(void))
{
	second_within(lock, within);
}
