/* Loads modules one after the other, so that each comes to lie where the one before was: MODULE SUCCESSOR ROUNDS WHAT. Both are
 * used and unloaded ROUNDS times first. Then locks are taken in one order by the main thread and in the other by a second one. */
#include <dlfcn.h>
#include <pthread.h>
#include "baton.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t host_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t other_lock = PTHREAD_MUTEX_INITIALIZER;
static const char *paths[2];
static void *handle;
static void (*module_begin)(void), (*module_end)(void);
static void (*module_made)(void (*)(void)), (*module_static)(void (*)(void));
static void (*module_given)(pthread_mutex_t *, void (*)(void));
static baton turn, back;
static void (*step)(void);

static void *load(int which)
{
	handle = dlopen(paths[which], RTLD_NOW);
	if (!handle) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
	*(void **)&module_begin = dlsym(handle, "module_begin");
	*(void **)&module_end = dlsym(handle, "module_end");
	*(void **)&module_made = dlsym(handle, "module_made");
	*(void **)&module_static = dlsym(handle, "module_static");
	*(void **)&module_given = dlsym(handle, "module_given");
	module_begin();
	return (void *)module_begin;
}

static void unload(void)
{
	module_end();
	dlclose(handle);
}

static void nothing(void)
{
}

static void take_host(void)
{
	pthread_mutex_lock(&host_lock);
	pthread_mutex_unlock(&host_lock);
}

static void take_other(void)
{
	pthread_mutex_lock(&other_lock);
	pthread_mutex_unlock(&other_lock);
}

static void made_in_host(void)
{
	pthread_mutex_lock(&host_lock);
	module_made(nothing);
	pthread_mutex_unlock(&host_lock);
}

static void host_in_made(void)
{
	module_made(take_host);
}

static void static_in_host(void)
{
	pthread_mutex_lock(&host_lock);
	module_static(nothing);
	pthread_mutex_unlock(&host_lock);
}

static void host_in_static(void)
{
	module_static(take_host);
}

static void host_in_other(void)
{
	pthread_mutex_lock(&other_lock);
	take_host();
	pthread_mutex_unlock(&other_lock);
}

static void *second(void *arg)
{
	(void)arg;
	baton_take(&turn);
	step();
	baton_pass(&back);
	return NULL;
}

static void by_second(void (*what)(void))
{
	step = what;
	baton_pass(&turn);
	baton_take(&back);
}

/* What is done with a module between its loading and its unloading: by the main thread, then by the second. */
struct use {
	int which;
	void (*by_main)(void);
	void (*by_second)(void);
};

static void both(void)
{
	module_made(nothing);
	module_static(nothing);
}

static void given(void)
{
	module_given(&host_lock, nothing);
}

static void other_in_given(void)
{
	module_given(&host_lock, take_other);
}

static const struct {
	const char *what;
	struct use uses[2];
} plans[] = {
	/* No lock is taken in both orders. */
	{ "two", { { 0, made_in_host, NULL }, { 1, nothing, host_in_made } } },
	/* Locks of one class are: the module is the same. */
	{ "again", { { 0, made_in_host, NULL }, { 0, nothing, host_in_made } } },
	{ "made", { { 0, both, NULL }, { 1, made_in_host, host_in_made } } },
	{ "static", { { 0, both, NULL }, { 1, static_in_host, host_in_static } } },
	/* The first module takes the lock, too, but nothing within. */
	{ "given", { { 0, given, NULL }, { 1, other_in_given, host_in_other } } },
	/* Both modules take it in the same way. */
	{ "alike", { { 0, given, NULL }, { 1, given, NULL } } },
};

/* Every module is loaded by one and the same call. Returns how many came to lie elsewhere than the first. */
static int use_all(const struct use *uses, int n)
{
	static void *first;
	int others = 0;
	for (int i = 0; i < n; i++) {
		void *at = load(uses[i].which);
		others += first && at != first;
		first = first ? first : at;
		uses[i].by_main();
		if (uses[i].by_second)
			by_second(uses[i].by_second);
		unload();
	}
	return others;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int rounds = argc == 5 ? atoi(argv[3]) : 0;
	struct use *uses = calloc(2 * rounds + 2, sizeof *uses);
	int plan = 0;
	while (argc == 5 && plan < 6 && strcmp(plans[plan].what, argv[4]))
		plan++;
	if (argc != 5 || plan == 6) {
		fprintf(stderr, "successors MODULE SUCCESSOR ROUNDS WHAT\n");
		return 2;
	}
	paths[0] = argv[1];
	paths[1] = argv[2];
	for (int i = 0; i < 2 * rounds; i++)
		uses[i] = (struct use){ i % 2, both, NULL };
	memcpy(uses + 2 * rounds, plans[plan].uses, sizeof plans[plan].uses);
	pthread_create(&thread, NULL, second, NULL);
	int others = use_all(uses, 2 * rounds + 2);
	if (!plans[plan].uses[1].by_second)
		by_second(nothing);
	pthread_join(thread, NULL);
	free(uses);
	puts(others ? "elsewhere" : "the same place");
	return 0;
}
