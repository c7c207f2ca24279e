/* The loader's lock and a lock of the program's, taken in both orders at different times; or held by a destructor that
 * waits for a thread which needs it. The first argument is the plugin (loader_lock_plugin.c).
 *
 *   loader_lock PLUGIN inverted   the constructor takes `registry`, and a thread loads with `registry` held
 *   loader_lock PLUGIN searched   the same, by a name that is searched for
 *   loader_lock PLUGIN ordered    the thread loads before it takes `registry`
 *   loader_lock PLUGIN joined     the destructor joins a thread that loads something
 *   loader_lock PLUGIN idle       the destructor joins a thread that does not
 */
#include "baton.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;
static const char *plugin, *how;
static baton loaded, done;

void host_register(void)
{
	pthread_mutex_lock(&registry);
	pthread_mutex_unlock(&registry);
}

static void load(const char *name)
{
	void *module = dlopen(name, RTLD_NOW);
	if (module)
		dlclose(module);
	else
		fprintf(stderr, "%s\n", dlerror());
}

static void *worker(void *arg)
{
	(void)arg;
	if (!strcmp(how, "joined"))
		load("libm.so.6");
	baton_pass(&done);
	return NULL;
}

pthread_t host_worker(void)
{
	pthread_t thread = pthread_self();
	if (!strcmp(how, "joined") || !strcmp(how, "idle"))
		pthread_create(&thread, NULL, worker, NULL);
	return thread;
}

static void *first(void *arg)
{
	void *module = dlopen(plugin, RTLD_NOW);
	(void)arg;
	if (!module)
		fprintf(stderr, "%s\n", dlerror());
	baton_pass(&loaded);
	baton_take(&done);
	if (module)
		dlclose(module);
	return NULL;
}

static void *second(void *arg)
{
	(void)arg;
	baton_take(&loaded);
	if (!strcmp(how, "ordered"))
		load(plugin);
	if (!strcmp(how, "joined") || !strcmp(how, "idle"))
		return NULL;
	pthread_mutex_lock(&registry);
	if (!strcmp(how, "inverted"))
		load(plugin);
	if (!strcmp(how, "searched"))
		load("libm.so.6");
	pthread_mutex_unlock(&registry);
	baton_pass(&done);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	if (argc < 3)
		return 2;
	plugin = argv[1];
	how = argv[2];
	pthread_create(&threads[0], NULL, first, NULL);
	pthread_create(&threads[1], NULL, second, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	puts("the end");
	return 0;
}
