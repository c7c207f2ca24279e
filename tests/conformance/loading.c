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

/* ---- The loader's own lock ---- */

#include <link.h>

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;

/* Deep, and new to a tool that looks at stacks. */
__attribute__((noinline)) static int lock_deeply(int depth)
{
	if (depth)
		return lock_deeply(depth - 1) + 1;
	RET(pthread_mutex_lock(&outer));
	RET(pthread_mutex_lock(&inner));
	RET(pthread_mutex_unlock(&inner));
	RET(pthread_mutex_unlock(&outer));
	return 0;
}

static void *lock_meanwhile(void *argument)
{
	say("%d", lock_deeply((int)(long)argument));
	return NULL;
}

static int once_for_all(struct dl_phdr_info *info, size_t size, void *argument)
{
	(void)info, (void)size;
	in_thread(lock_meanwhile, argument);
	lock_deeply(3);
	return 1;
}

/* It is held while the modules are listed; who then waits for a thread that needs it waits for good. */
CASE(while_modules_are_listed)
{
	SYS(dl_iterate_phdr(once_for_all, (void *)7));
	SYS(dl_iterate_phdr(once_for_all, (void *)9));
}

static int stop_at_once(struct dl_phdr_info *info, size_t size, void *argument)
{
	(void)info, (void)size, (void)argument;
	return 3;
}

static int list_within(struct dl_phdr_info *info, size_t size, void *argument)
{
	(void)info, (void)size, (void)argument;
	SYS(dl_iterate_phdr(stop_at_once, NULL));
	return 4;
}

static void list_in_a_handler(int signal)
{
	(void)signal;
	SYS(dl_iterate_phdr(stop_at_once, NULL));
}

static int interrupted(struct dl_phdr_info *info, size_t size, void *argument)
{
	(void)info, (void)size, (void)argument;
	raise(SIGUSR1);
	return 5;
}

__attribute__((unused)) static int end_thread(struct dl_phdr_info *info, size_t size, void *argument)
{
	(void)info, (void)size;
	pthread_exit(argument);
}

static void *list_modules(void *callback)
{
	SYS(dl_iterate_phdr((int (*)(struct dl_phdr_info *, size_t, void *))callback, (void *)11));
	return NULL;
}

/* Its thread gets that lock again, also in a handler; if it ends in the callback, it gives it back. */
CASE(listed_within_a_listing)
{
	signal(SIGUSR1, list_in_a_handler);
	list_modules(list_within);
	list_modules(interrupted);
#if __GLIBC_PREREQ(2, 36)
	/* With glibc 2.31 the lock stays with the thread that has ended. */
	say("ended by %ld", (long)in_thread(list_modules, end_thread));
	in_thread(list_modules, list_within);
#endif
}

static void *look_up(void *argument)
{
	say("%d", dlsym(argument, "lock") != NULL);
	return NULL;
}

/* What the program's own look-up has failed with stays, whatever else is looked up. */
CASE(errors_are_each_threads_own)
{
	void *plugin = load(RTLD_LOCAL);
	say("%d", dlsym(plugin, "there_is_no_such_function") == NULL);
	in_thread(look_up, plugin);
	RET(call(plugin, "lock"));
	RET(call(plugin, "unlock"));
	in_thread(lock_meanwhile, (void *)3);
	say("an error yet: %d", dlerror() != NULL);
	say("no other: %d", dlerror() == NULL);
}

/* Modules come and go while others lock, and are waited for. */
static atomic_int loads;

static void *load_often(void *plugin)
{
	for (int i = 0; i < 50; i++) {
		void *again = dlmopen(LM_ID_BASE, getenv("PLUGIN"), RTLD_NOW);
		atomic_fetch_add(&loads, again != NULL);
		dlclose(again);
	}
	return plugin;
}

static void *lock_often(void *plugin)
{
	int errors = 0;
	for (int i = 0; i < 2000; i++) {
		errors += pthread_mutex_lock(&outer) != 0;
		errors += pthread_mutex_unlock(&outer) != 0;
	}
	say("%d errors", errors);
	return plugin;
}

CASE(while_others_lock)
{
	struct worker one, other;
	start(&one, load_often, NULL);
	start(&other, lock_often, NULL);
	finish(&one);
	finish(&other);
	say("%d loads", loads);
}
