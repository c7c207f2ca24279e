// The two faults of HotSpot for which rules ship with lockwright, in functions that are named as HotSpot's.
// Built as a library that is called libjvm.so, and with -DMAIN as a program.
// Usage: hotspot_names [LIBRARY]: without one the program's own functions are called. First a thread ends with a lock held;
// then a thread waits for another to start, with a lock of the same module held, which that other takes in its turn. With
// a second argument, that lock is the program's own.
#include <pthread.h>
#include <stddef.h>

namespace {
pthread_mutex_t threads_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t heap_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t started = PTHREAD_COND_INITIALIZER;
bool has_started;
int taken;
} // namespace

#define KEPT __attribute__((noinline, visibility("default")))

namespace SafepointSynchronize {
KEPT void begin()
{
	pthread_mutex_lock(&threads_lock);
	taken++;
}
} // namespace SafepointSynchronize

struct VMThread {
	KEPT static void run();
};

void VMThread::run()
{
	SafepointSynchronize::begin();
	taken++;
}

namespace {
void *vm_thread(void *)
{
	VMThread::run();
	return NULL;
}

// What is held while the new thread starts.
pthread_mutex_t *held_meanwhile;

void *new_thread(void *)
{
	pthread_mutex_lock(&start_lock);
	has_started = true;
	pthread_cond_signal(&started);
	pthread_mutex_unlock(&start_lock);
	pthread_mutex_lock(held_meanwhile);
	pthread_mutex_unlock(held_meanwhile);
	return NULL;
}
} // namespace

namespace os {
KEPT pthread_t create_thread()
{
	pthread_t thread;
	// Before, so that the new thread cannot signal too early: it always comes to a wait.
	pthread_mutex_lock(&start_lock);
	pthread_create(&thread, NULL, new_thread, NULL);
	while (!has_started)
		pthread_cond_wait(&started, &start_lock);
	pthread_mutex_unlock(&start_lock);
	return thread;
}
} // namespace os

extern "C" KEPT void jvm_end()
{
	pthread_t thread;
	pthread_create(&thread, NULL, vm_thread, NULL);
	pthread_join(thread, NULL);
}

// `own` is a lock that the caller holds, if any.
extern "C" KEPT pthread_t jvm_start(pthread_mutex_t *own)
{
	held_meanwhile = own ? own : &heap_lock;
	if (!own)
		pthread_mutex_lock(&heap_lock);
	pthread_t thread = os::create_thread();
	if (!own)
		pthread_mutex_unlock(&heap_lock);
	return thread;
}

#ifdef MAIN
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_t (*start)(pthread_mutex_t *) = jvm_start;
	void (*end)() = jvm_end;
	bool own = argc > 2;
	if (argc > 1) {
		void *library = dlopen(argv[1], RTLD_NOW);
		if (!library) {
			puts(dlerror());
			return 1;
		}
		start = (pthread_t (*)(pthread_mutex_t *))dlsym(library, "jvm_start");
		end = (void (*)())dlsym(library, "jvm_end");
	}
	if (own)
		pthread_mutex_lock(&own_lock);
	pthread_t thread = start(own ? &own_lock : NULL);
	if (own)
		pthread_mutex_unlock(&own_lock);
	pthread_join(thread, NULL);
	end();
	return 0;
}
#endif
