/* Condition waits that go wrong without a circle.
 *
 *   cond_misuse second   a wait that keeps a second lock, taken before its own
 *   cond_misuse two      waits on one condition variable with two mutexes at a time
 *   cond_misuse in-turn  with two mutexes, one after the other: clean
 *   cond_misuse cancel   the same, but the first wait is cancelled: clean
 *   cond_misuse signal   the first wait is signalled, and still waits for its mutex: clean
 *   cond_misuse broadcast   the same
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t config = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t front = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t back = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER;
static int done_front, done_back, is_at_back;

static void unlock(void *mutex)
{
	pthread_mutex_unlock(mutex);
}

static void *waits_in_front(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "front");
	pthread_mutex_lock(&front);
	pthread_cleanup_push(unlock, &front);
	while (!done_front)
		pthread_cond_wait(&arrived, &front);
	pthread_cleanup_pop(1);
	return NULL;
}

static void *waits_in_back(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "back");
	pthread_mutex_lock(&back);
	is_at_back = 1;
	while (!done_back)
		pthread_cond_wait(&arrived, &back);
	pthread_mutex_unlock(&back);
	return NULL;
}

static void *keeps_config(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "keeper");
	pthread_mutex_lock(&config);
	pthread_mutex_lock(&front);
	while (!done_front)
		pthread_cond_wait(&arrived, &front);
	pthread_mutex_unlock(&front);
	pthread_mutex_unlock(&config);
	return NULL;
}

static void await_waiters(unsigned count)
{
	while (*(volatile unsigned *)&arrived.__data.__wrefs >> 3 < count)
		usleep(1000);
}

static pthread_t begin(void *(*run)(void *), unsigned waiters)
{
	pthread_t thread;

	pthread_create(&thread, NULL, run, NULL);
	await_waiters(waiters);
	return thread;
}

static void say(pthread_mutex_t *mutex, int *done)
{
	pthread_mutex_lock(mutex);
	*done = 1;
	pthread_mutex_unlock(mutex);
}

static void finish(pthread_mutex_t *mutex, int *done)
{
	say(mutex, done);
	pthread_cond_broadcast(&arrived);
}

/* The second thread waits with its mutex before the first thread gets its own mutex back. */
static void woken(int (*wake)(pthread_cond_t *))
{
	pthread_t first = begin(waits_in_front, 1), second;

	pthread_mutex_lock(&front);
	done_front = 1;
	wake(&arrived);
	pthread_create(&second, NULL, waits_in_back, NULL);
	for (int waits = 0; !waits; usleep(1000)) {
		pthread_mutex_lock(&back);
		waits = is_at_back;
		pthread_mutex_unlock(&back);
	}
	pthread_mutex_unlock(&front);
	pthread_join(first, NULL);
	finish(&back, &done_back);
	pthread_join(second, NULL);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "second";
	pthread_t first, second;

	if (!strcmp(how, "second")) {
		first = begin(keeps_config, 1);
		finish(&front, &done_front);
		pthread_join(first, NULL);
	} else if (!strcmp(how, "two")) {
		first = begin(waits_in_front, 1);
		second = begin(waits_in_back, 2);
		/* No thread is woken before both may go: a thread that waits again would be one more mismatch. */
		say(&front, &done_front);
		finish(&back, &done_back);
		pthread_join(first, NULL);
		pthread_join(second, NULL);
	} else if (!strcmp(how, "signal")) {
		woken(pthread_cond_signal);
	} else if (!strcmp(how, "broadcast")) {
		woken(pthread_cond_broadcast);
	} else {
		first = begin(waits_in_front, 1);
		if (!strcmp(how, "cancel"))
			pthread_cancel(first);
		else
			finish(&front, &done_front);
		pthread_join(first, NULL);
		second = begin(waits_in_back, 1);
		finish(&back, &done_back);
		pthread_join(second, NULL);
	}
	puts("the end");
	return 0;
}
