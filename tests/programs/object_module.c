/* A module with objects in its data, compiled with MODULE; and a program that loads the module given as first argument,
 * does with its objects what the second one says, and unloads it.
 *
 *     object_module MODULE idle      a mutex is initialised and not destroyed
 *     object_module MODULE tidy      it is destroyed
 *     object_module MODULE waited    a thread waits on a condition variable that was initialised
 *     object_module MODULE static    ... on one that was initialised statically
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "asleep.h"

struct objects {
	pthread_mutex_t mutex;
	pthread_cond_t cond, of_static;
};

#ifdef MODULE

struct objects module_objects = {.of_static = PTHREAD_COND_INITIALIZER};

void module_init(int is_cond);

void module_init(int is_cond)
{
	if (is_cond)
		pthread_cond_init(&module_objects.cond, NULL);
	else
		pthread_mutex_init(&module_objects.mutex, NULL);
	__asm__ volatile("" ::: "memory");
}

#else

static pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;
static atomic_int waiter_id;

/* This code stays. Nobody ever wakes it. */
static void *waits(void *on)
{
	pthread_mutex_lock(&door);
	atomic_store(&waiter_id, thread_id());
	for (;;)
		pthread_cond_wait(on, &door);
	return NULL;
}

static void wait_on(pthread_cond_t *cond)
{
	pthread_t thread;

	pthread_create(&thread, NULL, waits, cond);
	await_blocked(&waiter_id);
}

int main(int argc, char **argv)
{
	const char *how = argc > 2 ? argv[2] : "";
	void *module = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	struct objects *objects;
	void (*init)(int);

	if (!module) {
		fprintf(stderr, "%s\n", argc > 1 ? dlerror() : "object_module MODULE HOW");
		return 2;
	}
	*(void **)&init = dlsym(module, "module_init");
	objects = dlsym(module, "module_objects");
	if (!strcmp(how, "static")) {
		wait_on(&objects->of_static);
	} else if (!strcmp(how, "waited")) {
		init(1);
		wait_on(&objects->cond);
	} else {
		init(0);
		if (!strcmp(how, "tidy"))
			pthread_mutex_destroy(&objects->mutex);
	}
	dlclose(module);
	puts("the end");
	fflush(stdout);
	exit(0);
}

#endif
