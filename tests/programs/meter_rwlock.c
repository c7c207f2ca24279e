/* READERS threads hold an rwlock at once for 3 ms, ROUNDS times; a writer then waits until all of them have left, and
 * holds it for 1 ms. Arguments: readers, rounds. */
#include "meter.h"
#include "baton.h"

enum { MOST = 16 };

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct meeting ready, inside, done;
static int readers, rounds;
static atomic_int writer_id, writer_blocked;
static uint64_t came[MOST], left[MOST], written, waited, read_hold, asked, had;

SITE static void reader(int i)
{
	pthread_rwlock_rdlock(&lock);
	came[i] = now();
	meeting_wait(&inside);
	if (i == 0)
		spin_from(now(), 1000000);
	while (!atomic_load(&writer_blocked))
		sched_yield();
	spin_from(now(), 2000000);
	left[i] = now();
	pthread_rwlock_unlock(&lock);
	NO_TAIL_CALL;
}

SITE static void writer(void)
{
	asked = now();
	atomic_store(&writer_id, thread_id());
	pthread_rwlock_wrlock(&lock);
	had = now();
	written += spin_from(had, 1000000) - had;
	pthread_rwlock_unlock(&lock);
	NO_TAIL_CALL;
}

static void *read_it(void *arg)
{
	for (int round = 0; round < rounds; round++) {
		meeting_wait(&ready);
		reader((int)(intptr_t)arg);
		meeting_wait(&done);
	}
	return NULL;
}

static void *write_it(void *arg)
{
	(void)arg;
	for (int round = 0; round < rounds; round++) {
		meeting_wait(&ready);
		meeting_wait(&inside);
		writer();
		meeting_wait(&done);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[MOST + 1];
	uint64_t busy = 0, by_readers = 0;

	readers = argc > 1 ? atoi(argv[1]) : 4;
	rounds = argc > 2 ? atoi(argv[2]) : 5;
	if (readers > MOST)
		return 2;
	ready.size = done.size = readers + 2;
	inside.size = readers + 1;
	for (int i = 0; i < readers; i++)
		pthread_create(&threads[i], NULL, read_it, (void *)(intptr_t)i);
	pthread_create(&threads[readers], NULL, write_it, NULL);
	for (int round = 0; round < rounds; round++) {
		uint64_t first = UINT64_MAX, last = 0;
		atomic_store(&writer_id, 0);
		atomic_store(&writer_blocked, 0);
		meeting_wait(&ready);
		await_blocked(&writer_id);
		atomic_store(&writer_blocked, 1);
		meeting_wait(&done);
		for (int i = 0; i < readers; i++) {
			first = came[i] < first ? came[i] : first;
			last = left[i] > last ? left[i] : last;
			read_hold += left[i] - came[i];
		}
		busy += last - first;
		waited += had - asked;
		by_readers += overlap(asked, had, first, last);
	}
	for (int i = 0; i <= readers; i++)
		pthread_join(threads[i], NULL);
	truth("busy", busy);
	truth("read_hold", read_hold);
	truth("write_hold", written);
	truth("write_wait", waited);
	truth("by_readers", by_readers);
	return 0;
}
