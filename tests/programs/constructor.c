/* A constructor that enters its object in a registry with the object locked; everybody else takes the registry's
 * lock first.
 *
 *   constructor new       nobody else can know the object before it is in the registry: no deadlock
 *   constructor released  it is locked, released and locked again: a thread that took the registry's lock, or any other,
 *                         in between may have learnt of it
 *   constructor handed    another thread was handed the object before its constructor locks it
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "baton.h"

struct object {
	pthread_mutex_t lock;
	long uses;
};

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static struct object *registry;

static pthread_mutex_t inbox_lock = PTHREAD_MUTEX_INITIALIZER;
static struct object *inbox;

static const char *how = "";
static baton here, made, used;

static struct object *object_make(void)
{
	struct object *object = calloc(1, sizeof *object);

	pthread_mutex_init(&object->lock, NULL);
	if (!strcmp(how, "released")) {
		pthread_mutex_lock(&object->lock);
		object->uses++;
		pthread_mutex_unlock(&object->lock);
	} else if (!strcmp(how, "handed")) {
		pthread_mutex_lock(&inbox_lock);
		inbox = object;
		pthread_mutex_unlock(&inbox_lock);
	}
	return object;
}

static void object_register(struct object *object)
{
	pthread_mutex_lock(&object->lock);
	pthread_mutex_lock(&registry_lock);
	registry = object;
	pthread_mutex_unlock(&registry_lock);
	object->uses++;
	pthread_mutex_unlock(&object->lock);
}

static void *maker(void *arg)
{
	(void)arg;
	baton_pass(&here);
	object_register(object_make());
	baton_pass(&made);
	baton_take(&used);
	return NULL;
}

static void registry_use(void)
{
	pthread_mutex_lock(&registry_lock);
	pthread_mutex_lock(&registry->lock);
	registry->uses++;
	pthread_mutex_unlock(&registry->lock);
	pthread_mutex_unlock(&registry_lock);
}

static void *user(void *arg)
{
	(void)arg;
	baton_take(&made);
	registry_use();
	baton_pass(&used);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	if (argc > 1)
		how = argv[1];
	pthread_create(&threads[0], NULL, maker, NULL);
	baton_take(&here);
	pthread_create(&threads[1], NULL, user, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	puts("the end");
	return 0;
}
