/* Each worker holds a lock of its own as long as it lives, as CPython's threads do, and takes each account's lock by itself.
 * Then money is moved between two accounts, by one thread after the other: "both" in both orders, "one" in one.
 *
 * accounts_of_workers WORKERS both|one */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define ACCOUNTS 100

static pthread_mutex_t *accounts, *lives;
static int both;
/* No order that anybody could know of, but the threads do not meet. */
static atomic_int paid;

static void *look(void *life)
{
	pthread_mutex_lock(life);
	for (int i = 0; i < ACCOUNTS; i++) {
		pthread_mutex_lock(&accounts[i]);
		pthread_mutex_unlock(&accounts[i]);
	}
	pthread_mutex_unlock(life);
	return NULL;
}

static void move(int from, int to)
{
	pthread_mutex_lock(&accounts[from]);
	pthread_mutex_lock(&accounts[to]);
	pthread_mutex_unlock(&accounts[to]);
	pthread_mutex_unlock(&accounts[from]);
}

static void *pay(void *life)
{
	pthread_mutex_lock(life);
	move(0, 1);
	atomic_store(&paid, 1);
	pthread_mutex_unlock(life);
	return NULL;
}

static void *pay_back(void *life)
{
	while (!atomic_load(&paid))
		sched_yield();
	pthread_mutex_lock(life);
	if (both)
		move(1, 0);
	else
		move(0, 1);
	pthread_mutex_unlock(life);
	return NULL;
}

int main(int argc, char **argv)
{
	int workers = atoi(argv[1]);
	both = argc > 2 && strcmp(argv[2], "both") == 0;
	accounts = calloc(ACCOUNTS, sizeof *accounts);
	lives = calloc(workers + 2, sizeof *lives);
	for (int i = 0; i < ACCOUNTS; i++)
		pthread_mutex_init(&accounts[i], NULL);
	for (int i = 0; i < workers + 2; i++)
		pthread_mutex_init(&lives[i], NULL);
	pthread_t thread, other;
	for (int i = 0; i < workers; i++) {
		pthread_create(&thread, NULL, look, &lives[i]);
		pthread_join(thread, NULL);
	}
	pthread_create(&thread, NULL, pay, &lives[workers]);
	pthread_create(&other, NULL, pay_back, &lives[workers + 1]);
	pthread_join(thread, NULL);
	pthread_join(other, NULL);
	return 0;
}
