/* Mutexes and rwlocks in the frames of functions that return with them held.
 *
 *   frame_gone called-again  the function is called twice, so that its lock comes to lie at the same place
 *   frame_gone rwlock        the same with a rwlock
 *   frame_gone static        the same, initialised by assignment
 *   frame_gone ends          nothing comes there before the thread ends
 *   frame_gone initialised   no function returns: it initialises what it holds once more
 *   frame_gone clean         unlocks before it returns
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static int unlocks, again;

static __attribute__((noinline)) int holds_mutex(void)
{
	pthread_mutex_t local;
	int result = pthread_mutex_init(&local, NULL);

	result |= pthread_mutex_lock(&local);
	if (again)
		result |= pthread_mutex_init(&local, NULL);
	if (unlocks) {
		result |= pthread_mutex_unlock(&local);
		result |= pthread_mutex_destroy(&local);
	}
	return result + 1;
}

static __attribute__((noinline)) int holds_rwlock(void)
{
	pthread_rwlock_t local;
	int result = pthread_rwlock_init(&local, NULL);

	result |= pthread_rwlock_wrlock(&local);
	return result + 1;
}

static __attribute__((noinline)) int holds_static(void)
{
	pthread_mutex_t local = PTHREAD_MUTEX_INITIALIZER;
	int result = pthread_mutex_lock(&local);

	return result + 1;
}

static void *runs(void *arg)
{
	const char *how = arg;
	int calls = 0;

	pthread_setname_np(pthread_self(), "caller");
	again = !strcmp(how, "initialised");
	unlocks = !strcmp(how, "clean");
	if (!strcmp(how, "rwlock")) {
		calls += holds_rwlock();
		calls += holds_rwlock();
	} else if (!strcmp(how, "static")) {
		calls += holds_static();
		calls += holds_static();
	} else if (!strcmp(how, "ends")) {
		calls += holds_mutex();
	} else if (again) {
		calls += holds_mutex();
	} else {
		calls += holds_mutex();
		calls += holds_mutex();
	}
	printf("%d calls\n", calls);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	pthread_create(&thread, NULL, runs, argc > 1 ? argv[1] : "called-again");
	pthread_join(thread, NULL);
	return 0;
}
