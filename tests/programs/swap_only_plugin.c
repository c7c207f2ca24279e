/* A library that is loaded while the program runs, with a lock of its own. */
#include <pthread.h>

static pthread_mutex_t plugin_lock = PTHREAD_MUTEX_INITIALIZER;

pthread_mutex_t *plugin_use(void)
{
	pthread_mutex_lock(&plugin_lock);
	pthread_mutex_unlock(&plugin_lock);
	return &plugin_lock;
}
