/* A library that registers fork handlers when it is loaded, and whose handlers use locks: allocators do so. */
#include "forks_unseen.h"

#define LOCKS 100

static pthread_mutex_t locks[LOCKS];

static void take(void)
{
	for (int i = 0; i < LOCKS; i++)
		pthread_mutex_lock(&locks[i]);
}

static void give(void)
{
	for (int i = 0; i < LOCKS; i++)
		pthread_mutex_unlock(&locks[i]);
	make_locks();
}

static void renew(void)
{
	for (int i = 0; i < LOCKS; i++)
		pthread_mutex_init(&locks[i], NULL);
	make_locks();
}

__attribute__((constructor)) static void load(void)
{
	for (int i = 0; i < LOCKS; i++)
		pthread_mutex_init(&locks[i], NULL);
	pthread_atfork(take, give, renew);
}

/* Has the program need this library. */
void forks_first(void);
void forks_first(void)
{
}
