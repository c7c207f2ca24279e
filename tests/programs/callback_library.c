/* A library that calls back, with its lock held or without: see callback.c. */
#include <pthread.h>

typedef void callback_fn(int value);

static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;
static callback_fn *callback;
static int value;

void registry_register(callback_fn *function)
{
	pthread_mutex_lock(&registry);
	callback = function;
	pthread_mutex_unlock(&registry);
}

int registry_value(void)
{
	pthread_mutex_lock(&registry);
	int now = value;
	pthread_mutex_unlock(&registry);
	return now;
}

void registry_set(int new_value)
{
	pthread_mutex_lock(&registry);
	value = new_value;
	if (callback)
		callback(new_value);
	pthread_mutex_unlock(&registry);
}

void registry_set_and_let_go(int new_value)
{
	pthread_mutex_lock(&registry);
	value = new_value;
	callback_fn *function = callback;
	pthread_mutex_unlock(&registry);
	if (function)
		function(new_value);
}

/* One of several objects, each with its lock. */
struct object {
	pthread_mutex_t lock;
	int value;
};

static struct object objects[2];

void objects_init(void)
{
	for (int i = 0; i < 2; i++)
		pthread_mutex_init(&objects[i].lock, NULL);
}

int object_value(int i)
{
	pthread_mutex_lock(&objects[i].lock);
	int now = objects[i].value;
	pthread_mutex_unlock(&objects[i].lock);
	return now;
}

void object_set(int i, int new_value)
{
	pthread_mutex_lock(&objects[i].lock);
	objects[i].value = new_value;
	callback(new_value);
	pthread_mutex_unlock(&objects[i].lock);
}
