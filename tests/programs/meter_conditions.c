// Condition waits whose threads have to wait for the mutex after the signal. Prints how long it was from the begin of the waits to
// their signals, and from the signals to the return of the waits.
//
//     meter_conditions wait|timed|clock|c11|timeout|cancel
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <threads.h>
#include <time.h>

enum { WAITERS = 4, ROUNDS = 6 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t round_is_over;
static int generation, waiting;
static const char *how;
static int64_t signalled;
static _Atomic int64_t to_signal, to_return;
static _Atomic long returned;

static int64_t by(clockid_t clock) {
	struct timespec now;
	clock_gettime(clock, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static int64_t now(void) {
	return by(CLOCK_MONOTONIC);
}

static void sleep_ms(int ms) {
	struct timespec time = {0, ms * 1000000l};
	nanosleep(&time, NULL);
}

static struct timespec in_ms(clockid_t clock, int ms) {
	int64_t then = by(clock) + ms * 1000000ll;
	return (struct timespec){then / 1000000000, then % 1000000000};
}

static void wait_once(void) {
	struct timespec soon;
	if (!strcmp(how, "timed")) {
		soon = in_ms(CLOCK_REALTIME, 100000);
		pthread_cond_timedwait(&condition, &mutex, &soon);
	} else if (!strcmp(how, "clock")) {
		soon = in_ms(CLOCK_MONOTONIC, 100000);
		pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &soon);
	} else if (!strcmp(how, "c11")) {
		cnd_wait((cnd_t *)&condition, (mtx_t *)&mutex);
	} else {
		pthread_cond_wait(&condition, &mutex);
	}
}

static void *waiter(void *unused) {
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&mutex);
		int before = generation;
		waiting++;
		while (generation == before) {
			int64_t begun = now();
			wait_once();
			int64_t ended = now();
			to_signal += signalled - begun;
			to_return += ended - signalled;
			returned++;
		}
		sleep_ms(2);
		pthread_mutex_unlock(&mutex);
		pthread_barrier_wait(&round_is_over);
	}
	return unused;
}

static void until_they_wait(int so_many) {
	for (;;) {
		pthread_mutex_lock(&mutex);
		if (waiting == so_many)
			return;
		pthread_mutex_unlock(&mutex);
		sleep_ms(1);
	}
}

static void keep_mutex(void) {
	sleep_ms(10);
	pthread_mutex_unlock(&mutex);
}

static void signals(void) {
	pthread_t thread[WAITERS];
	pthread_barrier_init(&round_is_over, NULL, WAITERS + 1);
	for (int i = 0; i < WAITERS; i++)
		pthread_create(&thread[i], NULL, waiter, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		until_they_wait(WAITERS);
		waiting = 0;
		generation++;
		signalled = now();
		if (!strcmp(how, "c11"))
			cnd_broadcast((cnd_t *)&condition);
		else
			pthread_cond_broadcast(&condition);
		keep_mutex();
		pthread_barrier_wait(&round_is_over);
	}
	for (int i = 0; i < WAITERS; i++)
		pthread_join(thread[i], NULL);
}

// The mutex is taken before the time is over, and kept for longer.
static void *runs_out(void *unused) {
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&mutex);
		waiting = 1;
		struct timespec then = in_ms(CLOCK_REALTIME, 100);
		int64_t begun = now(), late = by(CLOCK_MONOTONIC) - by(CLOCK_REALTIME);
		int64_t over = then.tv_sec * 1000000000ll + then.tv_nsec + late;
		while (pthread_cond_timedwait(&condition, &mutex, &then) == 0)
			;
		to_return += now() - over;
		to_signal += over - begun;
		returned++;
		pthread_mutex_unlock(&mutex);
		pthread_barrier_wait(&round_is_over);
	}
	return unused;
}

static void timeouts(void) {
	pthread_t thread;
	pthread_barrier_init(&round_is_over, NULL, 2);
	pthread_create(&thread, NULL, runs_out, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		until_they_wait(1);
		waiting = 0;
		sleep_ms(150);
		keep_mutex();
		pthread_barrier_wait(&round_is_over);
	}
	pthread_join(thread, NULL);
}

static void has_mutex(void *begun) {
	int64_t ended = now();
	to_signal += signalled - *(int64_t *)begun;
	to_return += ended - signalled;
	returned++;
	sleep_ms(2);
	pthread_mutex_unlock(&mutex);
}

static void *cancelled(void *unused) {
	pthread_mutex_lock(&mutex);
	int64_t begun = now();
	pthread_cleanup_push(has_mutex, &begun);
	waiting = 1;
	for (;;)
		pthread_cond_wait(&condition, &mutex);
	pthread_cleanup_pop(0);
	return unused;
}

static void cancels(void) {
	for (int i = 0; i < ROUNDS; i++) {
		pthread_t thread;
		waiting = 0;
		pthread_create(&thread, NULL, cancelled, NULL);
		until_they_wait(1);
		signalled = now();
		pthread_cancel(thread);
		keep_mutex();
		pthread_join(thread, NULL);
	}
}

int main(int argc, char **argv) {
	how = argc > 1 ? argv[1] : "wait";
	if (!strcmp(how, "timeout"))
		timeouts();
	else if (!strcmp(how, "cancel"))
		cancels();
	else
		signals();
	printf("waits=%ld\nto_signal=%lld\nto_return=%lld\n", returned, (long long)to_signal, (long long)to_return);
	return 0;
}
