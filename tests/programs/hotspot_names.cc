// The two faults of HotSpot for which rules ship with lockwright, in functions that are named as HotSpot's.
// Built as a library that is called libjvm.so, and with -DMAIN as a program.
// Usage: hotspot_names [LIBRARY]: without one the program's own functions are called. First a thread ends with a lock held;
// then a thread waits for another to start, with a lock of the same module held. With a second argument, that lock is
// the program's own.
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

void *new_thread(void *)
{
	pthread_mutex_lock(&start_lock);
	has_started = true;
	pthread_cond_signal(&started);
	pthread_mutex_unlock(&start_lock);
	return NULL;
}
} // namespace

namespace os {
KEPT void create_thread()
{
	pthread_t thread;
	// Before, so that the new thread cannot signal too early: it always comes to a wait.
	pthread_mutex_lock(&start_lock);
	pthread_create(&thread, NULL, new_thread, NULL);
	while (!has_started)
		pthread_cond_wait(&started, &start_lock);
	pthread_mutex_unlock(&start_lock);
	pthread_join(thread, NULL);
}
} // namespace os

extern "C" KEPT void jvm_end()
{
	pthread_t thread;
	pthread_create(&thread, NULL, vm_thread, NULL);
	pthread_join(thread, NULL);
}

extern "C" KEPT void jvm_start(bool lock)
{
	if (lock)
		pthread_mutex_lock(&heap_lock);
	os::create_thread();
	if (lock)
		pthread_mutex_unlock(&heap_lock);
}

#ifdef MAIN
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;
	void (*start)(bool) = jvm_start;
	void (*end)() = jvm_end;
	bool own = argc > 2;
	if (argc > 1) {
		void *library = dlopen(argv[1], RTLD_NOW);
		if (!library) {
			puts(dlerror());
			return 1;
		}
		start = (void (*)(bool))dlsym(library, "jvm_start");
		end = (void (*)())dlsym(library, "jvm_end");
	}
	if (own)
		pthread_mutex_lock(&own_lock);
	start(!own);
	if (own)
		pthread_mutex_unlock(&own_lock);
	end();
	return 0;
}
#endif
