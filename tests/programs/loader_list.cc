// Going through the loaded objects takes a lock of the loader's, with which the callback runs. Two threads take it and a
// mutex, one after the other, by turns that no tool sees. The other thread goes through the objects with the mutex held.
//
//   inverted  the callback takes the mutex
//   ordered   the mutex is taken first
//   nested    as ordered, with the objects gone through within the callback
//   handled   as ordered, with the objects gone through in a signal handler, before and within the callback
//   throws    the callback is left by an exception, which releases the loader's lock; the mutex is taken then
//   ends      the callback ends its thread, which releases the lock, too
//   jumps     the callback is left by a long jump, which does not release the lock
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <link.h>
#include <pthread.h>
#include <sched.h>

static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;
static std::atomic<bool> turn, listed;
static const char *how;
static jmp_buf back;

static int stops(dl_phdr_info *, size_t, void *)
{
	return 1;
}

static int registers(dl_phdr_info *, size_t, void *)
{
	pthread_mutex_lock(&registry);
	pthread_mutex_unlock(&registry);
	return 1;
}

static int throws(dl_phdr_info *, size_t, void *)
{
	throw 1;
}

static int ends(dl_phdr_info *, size_t, void *)
{
	pthread_exit(nullptr);
}

static int jumps(dl_phdr_info *, size_t, void *)
{
	longjmp(back, 1);
}

static int raises(dl_phdr_info *, size_t, void *)
{
	raise(SIGUSR1);
	return 1;
}

static void handles(int)
{
	dl_iterate_phdr(stops, nullptr);
}

static int nests(dl_phdr_info *, size_t, void *)
{
	return dl_iterate_phdr(stops, nullptr);
}

static void *lists(void *unused)
{
	while (!turn)
		sched_yield();
	pthread_mutex_lock(&registry);
	dl_iterate_phdr(stops, nullptr);
	pthread_mutex_unlock(&registry);
	listed = true;
	return unused;
}

static void *goes_to_its_end(void *unused)
{
	dl_iterate_phdr(ends, nullptr);
	return unused;
}

static void takes_registry()
{
	pthread_mutex_lock(&registry);
	pthread_mutex_unlock(&registry);
}

static void goes_through()
{
	if (!strcmp(how, "inverted")) {
		dl_iterate_phdr(registers, nullptr);
	} else if (!strcmp(how, "throws")) {
		try {
			dl_iterate_phdr(throws, nullptr);
		} catch (int) {
			puts("caught");
		}
		takes_registry();
	} else if (!strcmp(how, "ends")) {
		pthread_t thread;
		pthread_create(&thread, nullptr, goes_to_its_end, nullptr);
		pthread_join(thread, nullptr);
		takes_registry();
	} else if (!strcmp(how, "jumps")) {
		while (!listed)
			sched_yield();
		if (!setjmp(back))
			dl_iterate_phdr(jumps, nullptr);
		takes_registry();
	} else {
		int (*callback)(dl_phdr_info *, size_t, void *) = stops;
		if (!strcmp(how, "nested"))
			callback = nests;
		if (!strcmp(how, "handled")) {
			signal(SIGUSR1, handles);
			raise(SIGUSR1);
			callback = raises;
		}
		pthread_mutex_lock(&registry);
		dl_iterate_phdr(callback, nullptr);
		pthread_mutex_unlock(&registry);
	}
}

int main(int argc, char **argv)
{
	pthread_t thread;

	how = argc > 1 ? argv[1] : "";
	turn = !strcmp(how, "jumps");
	pthread_create(&thread, nullptr, lists, nullptr);
	goes_through();
	turn = true;
	pthread_join(thread, nullptr);
	puts("the end");
	return 0;
}
