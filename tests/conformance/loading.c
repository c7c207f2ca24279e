/* Libraries with locks in them, loaded and unloaded; functions looked up by name and version. */
#include "case.h"

#include <dlfcn.h>

static void *load(int flags)
{
	void *plugin = dlopen(getenv("PLUGIN"), RTLD_NOW | flags);
	say("loaded: %d", plugin != NULL);
	return plugin;
}

static int call(void *plugin, const char *name)
{
	int (*function)(void) = (int (*)(void))dlsym(plugin, name);
	return function ? function() : -1;
}

CASE(loaded_and_unloaded)
{
	for (int i = 0; i < 3; i++) {
		void *plugin = load(RTLD_LOCAL);
		say("constructed: %d", call(plugin, "was_constructed"));
		RET(call(plugin, "lock"));
		RET(call(plugin, "lock"));
		RET(call(plugin, "unlock"));
		RET(call(plugin, "unlock"));
		SYS(dlclose(plugin));
	}
}

CASE(unloaded_with_locks_held)
{
	for (int i = 0; i < 3; i++) {
		void *plugin = load(RTLD_LOCAL);
		RET(call(plugin, "lock"));
		SYS(dlclose(plugin));
	}
}

CASE(loaded_twice)
{
	void *one = load(RTLD_LOCAL), *other = load(RTLD_GLOBAL);
	say("the same: %d", one == other);
	RET(call(one, "lock"));
	RET(call(other, "lock"));
	SYS(dlclose(one));
	RET(call(other, "unlock"));
	SYS(dlclose(other));
}

/* A namespace of its own has a C library of its own, which nobody has been preloaded into. */
CASE(own_namespace)
{
	void *plugin = dlmopen(LM_ID_NEWLM, getenv("PLUGIN"), RTLD_NOW);
	say("loaded: %d", plugin != NULL);
	if (!plugin)
		return;
	say("constructed: %d", call(plugin, "was_constructed"));
	RET(call(plugin, "lock"));
	RET(call(plugin, "lock"));
	RET(call(plugin, "unlock"));
	SYS(dlclose(plugin));
}

static void *use(void *plugin)
{
	RET(call(plugin, "lock"));
	RET(call(plugin, "unlock"));
	return NULL;
}

CASE(used_by_threads)
{
	void *plugin = load(RTLD_LOCAL);
	in_thread(use, plugin);
	in_thread(use, plugin);
	SYS(dlclose(plugin));
}

CASE(no_such_library)
{
	say("%d", dlopen("/there/is/no/such/library.so", RTLD_NOW) == NULL);
	say("an error: %d", dlerror() != NULL);
	say("%d", dlsym(RTLD_DEFAULT, "there_is_no_such_function") == NULL);
	say("an error: %d", dlerror() != NULL);
	say("no error: %d", dlerror() == NULL);
}

/* By each version that there is. */
CASE(looked_up_by_version)
{
	const char *versions[] = {"GLIBC_2.2.5", "GLIBC_2.34"};
	for (int i = 0; i < 2; i++) {
		int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
			(int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlvsym(
				RTLD_DEFAULT, "pthread_create", versions[i]);
		say("found: %d", create != NULL);
		if (!create)
			continue;
		void *plugin = load(RTLD_LOCAL);
		pthread_t thread;
		MUST(create(&thread, NULL, use, plugin));
		MUST(pthread_join(thread, NULL));
	}
}

CASE(looked_up_in_the_library)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW);
	static pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
	int (*lock)(pthread_mutex_t *) = (int (*)(pthread_mutex_t *))dlsym(libc, "pthread_mutex_lock");
	int (*unlock)(pthread_mutex_t *) = (int (*)(pthread_mutex_t *))dlsym(libc, "pthread_mutex_unlock");
	RET(lock(&mutex));
	RET(pthread_mutex_lock(&mutex));
	RET(pthread_mutex_unlock(&mutex));
	RET(pthread_mutex_lock(&mutex));
	RET(unlock(&mutex));
	RET(unlock(&mutex));
	RET(pthread_mutex_trylock(&mutex));
}
