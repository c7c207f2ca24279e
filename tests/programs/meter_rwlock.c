/* READERS threads hold an rwlock at once for 10 ms, ROUNDS times; a writer then waits until all of them have left, and
 * holds it for 5 ms. Arguments: readers, rounds. Each true figure has the least that it can be, and the most (_around):
 * what lies between the lock's calls, and what lies around them. Where no processor is taken away they are the same. */
#include "meter.h"
#include "baton.h"

enum { MOST = 16 };

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct meeting ready, inside, done;
static int readers, rounds;
static atomic_int writer_id, writer_blocked;
static uint64_t asked_read[MOST], came[MOST], left[MOST], gone[MOST], asked, had, wrote, blocked, ended;

SITE static void reader(int i)
{
	asked_read[i] = now();
	pthread_rwlock_rdlock(&lock);
	came[i] = now();
	meeting_wait(&inside);
	if (i == 0)
		spin_from(now(), 1000000);
	while (!atomic_load(&writer_blocked))
		sched_yield();
	spin_from(now(), 10000000);
	left[i] = now();
	pthread_rwlock_unlock(&lock);
	gone[i] = now();
}

SITE static void writer(void)
{
	asked = now();
	atomic_store(&writer_id, thread_id());
	pthread_rwlock_wrlock(&lock);
	had = now();
	wrote = spin_from(had, 5000000);
	pthread_rwlock_unlock(&lock);
	ended = now();
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
	struct {
		uint64_t least, most;
	} busy = { 0 }, read = { 0 }, written = { 0 }, waited = { 0 };

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
		uint64_t first = UINT64_MAX, first_asked = UINT64_MAX, last = 0, last_gone = 0;
		atomic_store(&writer_id, 0);
		atomic_store(&writer_blocked, 0);
		meeting_wait(&ready);
		await_blocked(&writer_id);
		blocked = now();
		atomic_store(&writer_blocked, 1);
		meeting_wait(&done);
		for (int i = 0; i < readers; i++) {
			first = came[i] < first ? came[i] : first;
			first_asked = asked_read[i] < first_asked ? asked_read[i] : first_asked;
			last = left[i] > last ? left[i] : last;
			last_gone = gone[i] > last_gone ? gone[i] : last_gone;
			read.least += left[i] - came[i];
			read.most += gone[i] - asked_read[i];
		}
		busy.least += last - first;
		busy.most += last_gone - first_asked;
		written.least += wrote - had;
		/* It has the lock when the last reader lets go, and not before that is about to. */
		written.most += ended - last;
		waited.least += last - blocked;
		waited.most += had - asked;
	}
	for (int i = 0; i <= readers; i++)
		pthread_join(threads[i], NULL);
	truth("busy", busy.least);
	truth("busy_around", busy.most);
	truth("read_hold", read.least);
	truth("read_hold_around", read.most);
	truth("write_hold", written.least);
	truth("write_hold_around", written.most);
	truth("write_wait", waited.least);
	truth("write_wait_around", waited.most);
	return 0;
}
