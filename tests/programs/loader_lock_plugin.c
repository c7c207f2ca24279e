/* What loader_lock.c loads: registers itself as it is loaded, and joins its worker, if it has one, as it is unloaded. */
#include <pthread.h>

void host_register(void);
pthread_t host_worker(void);

static pthread_t worker, loader;

__attribute__((constructor)) static void begin(void)
{
	host_register();
	loader = pthread_self();
	worker = host_worker();
}

__attribute__((destructor)) static void end(void)
{
	if (!pthread_equal(worker, loader))
		pthread_join(worker, NULL);
}
