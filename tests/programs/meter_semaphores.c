// Semaphores that are locks, and one that is not. Prints what each was taken, waited for and held.
#include "meter.h"
#include <semaphore.h>

enum { THREADS = 3, TURNS = 40 };

static sem_t as_lock, as_signal, begins_taken;
static _Atomic uint64_t waited, held, waits_for_signal;

SITE static void takes(void)
{
	uint64_t begun = now();
	sem_wait(&as_lock);
	uint64_t had = now();
	usleep(1000);
	held += now() - had;
	sem_post(&as_lock);
	waited += had - begun;
	NO_TAIL_CALL;
}

static void *locker(void *unused)
{
	for (int i = 0; i < TURNS; i++) {
		takes();
		if (i % 8 == 0)
			usleep(1500);
	}
	return unused;
}

SITE static void waits(sem_t *semaphore)
{
	sem_wait(semaphore);
	waits_for_signal++;
	NO_TAIL_CALL;
}

static void *waiter(void *unused)
{
	for (int i = 0; i < TURNS; i++)
		waits(&as_signal);
	// It begins at 1: its first wait takes it as a lock does. The posts are another thread's.
	for (int i = 0; i < TURNS; i++)
		waits(&begins_taken);
	return unused;
}

SITE static int tries(void)
{
	int rejected = sem_trywait(&as_lock) != 0;
	NO_TAIL_CALL;
	return rejected;
}

int main(void)
{
	sem_init(&as_lock, 0, 1);
	sem_init(&as_signal, 0, 0);
	sem_init(&begins_taken, 0, 1);
	pthread_t thread[THREADS + 1];
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, locker, NULL);
	pthread_create(&thread[THREADS], NULL, waiter, NULL);
	for (int i = 0; i < TURNS; i++) {
		usleep(500);
		sem_post(&as_signal);
	}
	for (int i = 1; i < TURNS; i++) {
		usleep(500);
		sem_post(&begins_taken);
	}
	for (int i = 0; i <= THREADS; i++)
		pthread_join(thread[i], NULL);
	sem_wait(&as_lock);
	truth("rejected", (uint64_t)tries());
	sem_post(&as_lock);
	truth("taken", THREADS * TURNS);
	truth("waited", waited);
	truth("held", held);
	truth("waits", waits_for_signal);
	return 0;
}
