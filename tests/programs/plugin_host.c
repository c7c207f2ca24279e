/* Loads the module given as first argument and takes its lock and the host's in both orders. The module is
 * unloaded before the end, when its code and data can no longer be looked up in the process. */
#include <dlfcn.h>
#include <pthread.h>
#include "baton.h"
#include <stdio.h>

static pthread_mutex_t host_lock = PTHREAD_MUTEX_INITIALIZER;
static void (*plugin_poke)(void);
static void (*plugin_run)(void (*)(void));
static baton run_done, poke_done;

static void enter_host(void)
{
	pthread_mutex_lock(&host_lock);
	pthread_mutex_unlock(&host_lock);
}

static void *runner(void *arg)
{
	(void)arg;
	plugin_run(enter_host);
	baton_pass(&run_done);
	baton_take(&poke_done);
	return NULL;
}

static void *poker(void *arg)
{
	(void)arg;
	baton_take(&run_done);
	pthread_mutex_lock(&host_lock);
	plugin_poke();
	pthread_mutex_unlock(&host_lock);
	baton_pass(&poke_done);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	void *module = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	if (!module) {
		fprintf(stderr, "%s\n", argc > 1 ? dlerror() : "plugin_host MODULE");
		return 2;
	}
	*(void **)&plugin_poke = dlsym(module, "plugin_poke");
	*(void **)&plugin_run = dlsym(module, "plugin_run");
	atomic_init(&run_done, 0);
	atomic_init(&poke_done, 0);
	pthread_create(&threads[0], NULL, runner, NULL);
	pthread_create(&threads[1], NULL, poker, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	dlclose(module);
	puts("the end");
	return 0;
}
