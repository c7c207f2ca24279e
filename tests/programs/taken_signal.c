// A queue with room for one entry. Threads that wait for room and threads that wait for an entry
// share one condition variable.
//
//   taken_signal signal     each wakes one waiter, which is the wrong one once
//   taken_signal broadcast  each wakes all
//   taken_signal two        waiters for room have a condition variable of their own
//   taken_signal passes     a thread woken for nothing wakes the next one
//   taken_signal same       two functions wait for entries, and a third puts them in
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER, has_room = PTHREAD_COND_INITIALIZER;
static int entries, is_closed;
static atomic_int waits_for_room, waits_for_entry;
static const char *how;

static int is(const char *what)
{
	return !strcmp(how, what);
}

static void tell(pthread_cond_t *whom)
{
	if (is("broadcast"))
		pthread_cond_broadcast(whom);
	else
		pthread_cond_signal(whom);
}

static pthread_cond_t *room(void)
{
	return is("two") ? &has_room : &changed;
}

static void *put(void *unused)
{
	int woken = 0;

	pthread_mutex_lock(&queue);
	while (entries == 1 && !is_closed) {
		if (is("passes") && woken)
			tell(&changed);
		waits_for_room++;
		pthread_cond_wait(room(), &queue);
		woken = 1;
	}
	if (!is_closed) {
		entries++;
		tell(&changed);
	}
	pthread_mutex_unlock(&queue);
	return unused;
}

/* Three entries. */
static void get(void)
{
	pthread_mutex_lock(&queue);
	for (int i = 0; i < 3 && !is_closed; i++) {
		while (entries == 0 && !is_closed) {
			waits_for_entry++;
			pthread_cond_wait(&changed, &queue);
		}
		if (!is_closed) {
			entries--;
			tell(room());
		}
	}
	pthread_mutex_unlock(&queue);
}

/* Until so many have come to wait, and have given the mutex up. */
static void await(atomic_int *waits, int count)
{
	while (*waits < count)
		sched_yield();
	pthread_mutex_lock(&queue);
	pthread_mutex_unlock(&queue);
}

/* No thread would wake the waiters then: it sends them home. */
static void *helps(void *unused)
{
	await(&waits_for_room, 3);
	pthread_mutex_lock(&queue);
	is_closed = 1;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&queue);
	return unused;
}

static void *get_one(void *unused)
{
	pthread_mutex_lock(&queue);
	while (entries == 0) {
		waits_for_entry++;
		pthread_cond_wait(&changed, &queue);
	}
	entries--;
	pthread_mutex_unlock(&queue);
	return unused;
}

static void *get_another(void *unused)
{
	pthread_mutex_lock(&queue);
	while (entries == 0) {
		waits_for_entry++;
		pthread_cond_wait(&changed, &queue);
	}
	entries--;
	pthread_mutex_unlock(&queue);
	return unused;
}

/* As if another thread had taken the entry before the woken one does. */
static void put_for_others(void)
{
	for (int wakes = 0; wakes < 2; wakes++) {
		pthread_mutex_lock(&queue);
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&queue);
		await(&waits_for_entry, 3 + wakes);
	}
	pthread_mutex_lock(&queue);
	entries = 2;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&queue);
}

int main(int argc, char **argv)
{
	pthread_t one, two, helper;

	how = argc > 1 ? argv[1] : "";
	if (is("same")) {
		pthread_create(&one, NULL, get_one, NULL);
		await(&waits_for_entry, 1);
		pthread_create(&two, NULL, get_another, NULL);
		await(&waits_for_entry, 2);
		put_for_others();
	} else {
		entries = 1;
		pthread_create(&one, NULL, put, NULL);
		await(&waits_for_room, 1);
		pthread_create(&two, NULL, put, NULL);
		await(&waits_for_room, 2);
		if (is("signal"))
			pthread_create(&helper, NULL, helps, NULL);
		get();
	}
	pthread_join(one, NULL);
	pthread_join(two, NULL);
	if (is("signal"))
		pthread_join(helper, NULL);
	puts("the end");
	return 0;
}
