/* Pairs of locks, each taken in both orders: by two threads that are both alive throughout. */
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

static void nest(pthread_mutex_t *outer, pthread_mutex_t *inner)
{
	pthread_mutex_lock(outer);
	pthread_mutex_lock(inner);
	pthread_mutex_unlock(inner);
	pthread_mutex_unlock(outer);
}

/* The program's pairs, in order or the other way round. */
static void take_pairs(int reversed);

static void *forth(void *unused)
{
	take_pairs(0);
	set_turn(1);
	await_turn(2);
	return unused;
}

static void *back(void *unused)
{
	await_turn(1);
	take_pairs(1);
	set_turn(2);
	return unused;
}

int main(void)
{
	pthread_t one, two;
	pthread_create(&one, NULL, forth, NULL);
	pthread_create(&two, NULL, back, NULL);
	pthread_join(one, NULL);
	pthread_join(two, NULL);
	return 0;
}
