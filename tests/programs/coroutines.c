/* Coroutines that two threads run in turns.
 *
 *   coroutines carried  each carries its mutex from the thread that locked it to the one that unlocks it
 *   coroutines clean    each unlocks before it is handed over
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define ROUNDS 200
#define STACK (1 << 16)

static ucontext_t coroutines[2], threads[2];
static pthread_mutex_t mutexes[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_barrier_t turn;
static volatile int runs_in[2];
static int carries;

static void back(int i)
{
	swapcontext(&coroutines[i], &threads[runs_in[i]]);
}

static void body(int i)
{
	for (int k = 0; k < ROUNDS; k++) {
		pthread_mutex_lock(&mutexes[i]);
		if (!carries)
			pthread_mutex_unlock(&mutexes[i]);
		back(i);
		if (carries)
			pthread_mutex_unlock(&mutexes[i]);
		back(i);
	}
}

static void *runs(void *arg)
{
	int me = (int)(long)arg;

	for (int k = 0; k < 2 * ROUNDS; k++) {
		int i = (me + k) % 2;
		runs_in[i] = me;
		swapcontext(&threads[me], &coroutines[i]);
		pthread_barrier_wait(&turn);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t ids[2];

	carries = argc > 1 && !strcmp(argv[1], "carried");
	pthread_barrier_init(&turn, NULL, 2);
	for (int i = 0; i < 2; i++) {
		getcontext(&coroutines[i]);
		coroutines[i].uc_stack.ss_sp = malloc(STACK);
		coroutines[i].uc_stack.ss_size = STACK;
		coroutines[i].uc_link = NULL;
		makecontext(&coroutines[i], (void (*)(void))body, 1, i);
	}
	for (long i = 0; i < 2; i++)
		pthread_create(&ids[i], NULL, runs, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(ids[i], NULL);
	puts("the end");
	return 0;
}
