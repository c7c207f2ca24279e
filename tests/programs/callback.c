/* A library's lock, and a callback of the program's which takes a lock of the program's own. The library is
 * callback_library.c; nothing here ever hangs.
 *
 *   callback held       the library calls back with its lock held, and the callback does not call it
 *   callback asks       the same, and at another time, with the lock free, the callback asks the library
 *   callback elsewhere  the same, but another kind of thread runs the callback then
 *   callback many       the same with two objects of the library's, each with a lock: the callback asks the other one
 *   callback released   the library lets its lock go before it calls back, and the callback asks it
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

typedef void callback_fn(int value);
void registry_register(callback_fn *function);
void registry_set(int value);
void registry_set_and_let_go(int value);
int registry_value(void);
void objects_init(void);
void object_set(int i, int value);
int object_value(int i);

static pthread_mutex_t shown_lock = PTHREAD_MUTEX_INITIALIZER;
static int shown;

__attribute__((noinline)) static void on_change(int value)
{
	pthread_mutex_lock(&shown_lock);
	shown = value;
	pthread_mutex_unlock(&shown_lock);
	if (value == -1)
		shown = registry_value();
	if (value == -2)
		shown = object_value(1);
}

static void *setter(void *arg)
{
	const char *how = arg;
	if (!strcmp(how, "released")) {
		registry_set_and_let_go(1);
		registry_set_and_let_go(-1);
	} else if (!strcmp(how, "many")) {
		objects_init();
		object_set(0, 1);
		on_change(-2);
	} else {
		registry_set(1);
	}
	if (!strcmp(how, "asks"))
		on_change(-1);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	if (argc != 2)
		return 2;
	registry_register(on_change);
	pthread_create(&thread, NULL, setter, argv[1]);
	pthread_join(thread, NULL);
	if (!strcmp(argv[1], "elsewhere"))
		on_change(-1);
	printf("%d\n", registry_value());
	return 0;
}
