/* Letter stories: each TURN is what one thread does; the threads take their turns one after the other, so no
 * story hangs, and all of them are alive from the first turn to the last.
 *
 *   PROGRAM            every turn in a thread of its own
 *   PROGRAM single     every turn in the main thread
 *   PROGRAM ordered    every thread is joined before the next is created
 */
#define _GNU_SOURCE
#include <pthread.h>
#include "baton.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t A = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t B = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t C = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t D = PTHREAD_MUTEX_INITIALIZER;

#define L(lock) pthread_mutex_lock(&lock)
#define T(lock) pthread_mutex_trylock(&lock)
#define U(lock) pthread_mutex_unlock(&lock)

enum { TURNS_MAX = 8 };

struct turn {
	void (*run)(void);
	baton here, go, done, leave;
	pthread_t thread;
};

static struct turn turns[TURNS_MAX];
static int turn_count;

#define TURN(number)                                                                                                   \
	static void turn_##number(void);                                                                               \
	__attribute__((constructor(200 + number))) static void add_turn_##number(void)                                 \
	{                                                                                                              \
		turns[turn_count++].run = turn_##number;                                                               \
	}                                                                                                              \
	static void turn_##number(void)

static void *take_turn(void *arg)
{
	struct turn *turn = arg;
	baton_pass(&turn->here);
	baton_take(&turn->go);
	turn->run();
	baton_pass(&turn->done);
	baton_take(&turn->leave);
	return NULL;
}

static void start(int i)
{
	char name[32];
	struct turn *turn = &turns[i];
	atomic_init(&turn->here, 0);
	atomic_init(&turn->go, 0);
	atomic_init(&turn->done, 0);
	atomic_init(&turn->leave, 0);
	if (pthread_create(&turn->thread, NULL, take_turn, turn) != 0)
		abort();
	snprintf(name, sizeof name, "turn-%d", i + 1);
	pthread_setname_np(turn->thread, name);
	baton_take(&turn->here); /* threads come to be in order, and reports are the same every time */
}

static void finish(int i)
{
	baton_pass(&turns[i].leave);
	pthread_join(turns[i].thread, NULL);
}

static void hand_over(int i)
{
	baton_pass(&turns[i].go);
	baton_take(&turns[i].done);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "threads";

	/* Not every story uses every letter. */
	(void)A, (void)B, (void)C, (void)D;

	if (!strcmp(how, "single")) {
		for (int i = 0; i < turn_count; i++)
			turns[i].run();
	} else if (!strcmp(how, "ordered")) {
		for (int i = 0; i < turn_count; i++) {
			start(i);
			hand_over(i);
			finish(i);
		}
	} else {
		for (int i = 0; i < turn_count; i++)
			start(i);
		for (int i = 0; i < turn_count; i++)
			hand_over(i);
		for (int i = 0; i < turn_count; i++)
			finish(i);
	}
	puts("the end");
	return 0;
}
