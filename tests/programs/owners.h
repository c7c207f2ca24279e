/* Two threads, both alive throughout, of which one takes all pairs of locks in order and the other the
   other way round. */
#pragma once
#include <pthread.h>
#include <sched.h>

static int turn;

static void await_turn(int mine)
{
	while (__atomic_load_n(&turn, __ATOMIC_RELAXED) != mine)
		sched_yield();
}

static void set_turn(int next)
{
	__atomic_store_n(&turn, next, __ATOMIC_RELAXED);
}

static void in_order(void);
static void reversed(void);

static void *forth(void *unused)
{
	in_order();
	set_turn(1);
	await_turn(2);
	return unused;
}

static void *back(void *unused)
{
	await_turn(1);
	reversed();
	set_turn(2);
	return unused;
}

static void run_both(void)
{
	pthread_t one, two;
	pthread_create(&one, NULL, forth, NULL);
	pthread_create(&two, NULL, back, NULL);
	pthread_join(one, NULL);
	pthread_join(two, NULL);
}
