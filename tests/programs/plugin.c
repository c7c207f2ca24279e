/* A module for plugin_host: a static lock of its own, and a call back into the host with it held. */
#include <pthread.h>

static pthread_mutex_t plugin_lock = PTHREAD_MUTEX_INITIALIZER;

void plugin_poke(void)
{
	pthread_mutex_lock(&plugin_lock);
	pthread_mutex_unlock(&plugin_lock);
}

void plugin_run(void (*host)(void))
{
	pthread_mutex_lock(&plugin_lock);
	host();
	pthread_mutex_unlock(&plugin_lock);
}
