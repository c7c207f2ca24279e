/* Two locks in both orders, which meet only if a thread is held up at the right place, or cannot meet at all.
 *
 *   confirmed mutexes     the second thread comes 20 ms after the first
 *   confirmed rwlocks     the same, with locks that are taken for reading first
 *   confirmed spinlocks   the same, with spinlocks
 *   confirmed semaphores  the same, with semaphores that begin at 1
 *   confirmed wrapped     the same, by a function of the program's own
 *   confirmed three       three threads, three locks
 *   confirmed phases      as mutexes, and the second thread takes the first one's first lock alone, before its own two
 *   confirmed hot         as mutexes, and a third thread takes the first lock alone meanwhile
 *   confirmed spins       as mutexes, while a third thread does something all the time
 *   confirmed joined      a lock is held while the thread is joined that takes it
 *   confirmed read_again  a reader takes its lock again, and a writer may come between
 *   confirmed lost          a flag is set and signalled without the mutex of the waiter, 50 ms after that has begun to wait
 *   confirmed at_once      as mutexes, both threads at once
 *   confirmed lost_at_once as lost, at once, again and again
 *   confirmed flag        the second thread waits for a flag that the first one sets in the end
 *   confirmed gate        the second thread takes the first lock of the other, alone, before its own two, and cannot go on
 *                         meanwhile
 *   confirmed needed      a thread between its two locks needs a third, which another has that comes to its own first one
 *   confirmed busy        both orders again and again, at once
 *   confirmed others      each thread has two locks of its own, of the same classes; one thread takes both orders of one pair
 *   confirmed once FILE   the second thread takes its locks only if there is no FILE, and makes it
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t right = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t third = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rw_left = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t rw_right = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t rw_again = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static pthread_spinlock_t spin_left, spin_right;
static sem_t sem_left, sem_right;
static atomic_int done, stopping;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static const char *file;

struct item {
	pthread_mutex_t head, tail;
};
static struct item *items[2];

static void later(void)
{
	usleep(20000);
}

static void both(pthread_mutex_t *first, pthread_mutex_t *second)
{
	pthread_mutex_lock(first);
	pthread_mutex_lock(second);
	pthread_mutex_unlock(second);
	pthread_mutex_unlock(first);
}

/* Called between the two locks. */
static void (*between)(void);
/* The second thread takes its first lock alone. */
static int only_first;

static void *mutexes_left(void *unused)
{
	pthread_mutex_lock(&left);
	if (between)
		between();
	pthread_mutex_lock(&right);
	pthread_mutex_unlock(&right);
	pthread_mutex_unlock(&left);
	return unused;
}

static void *mutexes_right(void *unused)
{
	later();
	pthread_mutex_lock(&right);
	if (!only_first) {
		pthread_mutex_lock(&left);
		pthread_mutex_unlock(&left);
	}
	pthread_mutex_unlock(&right);
	return unused;
}

static void need_third(void)
{
	while (!done)
		usleep(1000);
	pthread_mutex_lock(&third);
	pthread_mutex_unlock(&third);
}

static void *has_third(void *unused)
{
	pthread_mutex_lock(&third);
	done = 1;
	mutexes_right(unused);
	pthread_mutex_unlock(&third);
	return unused;
}

static void *busy_left(void *unused)
{
	for (int i = 0; i < 50; i++) {
		pthread_mutex_lock(&left);
		usleep(200);
		pthread_mutex_lock(&right);
		pthread_mutex_unlock(&right);
		pthread_mutex_unlock(&left);
	}
	return unused;
}

static void *busy_right(void *unused)
{
	for (int i = 0; i < 50; i++) {
		pthread_mutex_lock(&right);
		usleep(200);
		pthread_mutex_lock(&left);
		pthread_mutex_unlock(&left);
		pthread_mutex_unlock(&right);
	}
	return unused;
}

static void *rwlocks_left(void *unused)
{
	pthread_rwlock_rdlock(&rw_left);
	pthread_rwlock_wrlock(&rw_right);
	pthread_rwlock_unlock(&rw_right);
	pthread_rwlock_unlock(&rw_left);
	return unused;
}

static void *rwlocks_right(void *unused)
{
	later();
	pthread_rwlock_rdlock(&rw_right);
	pthread_rwlock_wrlock(&rw_left);
	pthread_rwlock_unlock(&rw_left);
	pthread_rwlock_unlock(&rw_right);
	return unused;
}

static void *spinlocks_left(void *unused)
{
	pthread_spin_lock(&spin_left);
	pthread_spin_lock(&spin_right);
	pthread_spin_unlock(&spin_right);
	pthread_spin_unlock(&spin_left);
	return unused;
}

static void *spinlocks_right(void *unused)
{
	later();
	pthread_spin_lock(&spin_right);
	pthread_spin_lock(&spin_left);
	pthread_spin_unlock(&spin_left);
	pthread_spin_unlock(&spin_right);
	return unused;
}

static void *semaphores_left(void *unused)
{
	sem_wait(&sem_left);
	sem_wait(&sem_right);
	sem_post(&sem_right);
	sem_post(&sem_left);
	return unused;
}

static void *semaphores_right(void *unused)
{
	later();
	sem_wait(&sem_right);
	sem_wait(&sem_left);
	sem_post(&sem_left);
	sem_post(&sem_right);
	return unused;
}

static __attribute__((noinline)) int take(pthread_mutex_t *lock)
{
	int result = pthread_mutex_lock(lock);

	__asm__ volatile("" : "+r"(result));
	return result;
}

/* Often enough that the function is known to return with the lock. */
static void *wrapped_left(void *unused)
{
	for (int i = 0; i < 50; i++) {
		take(&left);
		take(&right);
		pthread_mutex_unlock(&right);
		pthread_mutex_unlock(&left);
	}
	return unused;
}

static void *wrapped_right(void *unused)
{
	later();
	for (int i = 0; i < 50; i++) {
		take(&right);
		take(&left);
		pthread_mutex_unlock(&left);
		pthread_mutex_unlock(&right);
	}
	return unused;
}

static void *three_first(void *unused)
{
	both(&left, &right);
	return unused;
}

static void *three_second(void *unused)
{
	later();
	both(&right, &third);
	return unused;
}

static void *three_third(void *unused)
{
	later();
	later();
	both(&third, &left);
	return unused;
}

static void *joined(void *unused)
{
	pthread_mutex_lock(&left);
	pthread_mutex_unlock(&left);
	return unused;
}

static void *reads_again(void *unused)
{
	pthread_rwlock_rdlock(&rw_again);
	pthread_rwlock_rdlock(&rw_again);
	pthread_rwlock_unlock(&rw_again);
	pthread_rwlock_unlock(&rw_again);
	return unused;
}

static void *writes(void *unused)
{
	later();
	pthread_rwlock_wrlock(&rw_again);
	pthread_rwlock_unlock(&rw_again);
	return unused;
}

static void *waits_to_stop(void *unused)
{
	pthread_mutex_lock(&left);
	while (!stopping)
		pthread_cond_wait(&changed, &left);
	pthread_mutex_unlock(&left);
	return unused;
}

static void lose(int pause)
{
	pthread_t thread;

	stopping = 0;
	pthread_create(&thread, NULL, waits_to_stop, NULL);
	usleep(pause);
	stopping = 1;
	pthread_cond_signal(&changed);
	pthread_join(thread, NULL);
}

static void *at_once_right(void *unused)
{
	both(&right, &left);
	return unused;
}

static void *flag_first(void *unused)
{
	mutexes_left(unused);
	done = 1;
	return unused;
}

static void *flag_second(void *unused)
{
	while (!done)
		usleep(1000);
	return mutexes_right(unused);
}

static void *gate_second(void *unused)
{
	later();
	pthread_mutex_lock(&left);
	pthread_mutex_unlock(&left);
	while (!done)
		usleep(1000);
	return mutexes_right(unused);
}

static void *phases_second(void *unused)
{
	later();
	pthread_mutex_lock(&left);
	pthread_mutex_unlock(&left);
	return mutexes_right(unused);
}

static void *hot(void *unused)
{
	usleep(5000);
	pthread_mutex_lock(&left);
	pthread_mutex_unlock(&left);
	return unused;
}

/* For ever, if the others deadlock. */
static void *spins(void *unused)
{
	while (done < 2)
		usleep(1000);
	return unused;
}

static void *spins_left(void *unused)
{
	mutexes_left(unused);
	done++;
	return unused;
}

static void *spins_right(void *unused)
{
	mutexes_right(unused);
	done++;
	return unused;
}

static struct item *new_item(void)
{
	struct item *item = malloc(sizeof *item);

	pthread_mutex_init(&item->head, NULL);
	pthread_mutex_init(&item->tail, NULL);
	return item;
}

static void *others_first(void *unused)
{
	pthread_mutex_lock(&items[0]->head);
	pthread_mutex_lock(&items[0]->tail);
	pthread_mutex_unlock(&items[0]->tail);
	pthread_mutex_unlock(&items[0]->head);
	return unused;
}

static void *others_second(void *unused)
{
	later();
	pthread_mutex_lock(&items[1]->tail);
	pthread_mutex_lock(&items[1]->head);
	pthread_mutex_unlock(&items[1]->head);
	pthread_mutex_unlock(&items[1]->tail);
	return unused;
}

static void *once_second(void *unused)
{
	if (!access(file, F_OK))
		return unused;
	fclose(fopen(file, "w"));
	return mutexes_right(unused);
}

static void run(void *(*first)(void *), void *(*second)(void *), void *(*more)(void *))
{
	void *(*all[])(void *) = { first, second, more };
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		if (all[i])
			pthread_create(&threads[i], NULL, all[i], NULL);
	for (int i = 0; i < 3; i++)
		if (all[i])
			pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "mutexes";

	file = argc > 2 ? argv[2] : NULL;
	pthread_spin_init(&spin_left, 0);
	pthread_spin_init(&spin_right, 0);
	sem_init(&sem_left, 0, 1);
	sem_init(&sem_right, 0, 1);
	items[0] = new_item();
	items[1] = new_item();
	if (!strcmp(what, "mutexes"))
		run(mutexes_left, mutexes_right, NULL);
	else if (!strcmp(what, "phases"))
		run(mutexes_left, phases_second, NULL);
	else if (!strcmp(what, "hot"))
		run(mutexes_left, mutexes_right, hot);
	else if (!strcmp(what, "spins"))
		run(spins_left, spins_right, spins);
	else if (!strcmp(what, "busy"))
		run(busy_left, busy_right, NULL);
	else if (!strcmp(what, "needed")) {
		between = need_third;
		only_first = 1;
		run(mutexes_left, has_third, NULL);
	} else if (!strcmp(what, "at_once"))
		run(three_first, at_once_right, NULL);
	else if (!strcmp(what, "lost"))
		lose(50000);
	else if (!strcmp(what, "lost_at_once"))
		for (int i = 0; i < 20; i++)
			lose(100);
	else if (!strcmp(what, "rwlocks"))
		run(rwlocks_left, rwlocks_right, NULL);
	else if (!strcmp(what, "spinlocks"))
		run(spinlocks_left, spinlocks_right, NULL);
	else if (!strcmp(what, "semaphores"))
		run(semaphores_left, semaphores_right, NULL);
	else if (!strcmp(what, "wrapped"))
		run(wrapped_left, wrapped_right, NULL);
	else if (!strcmp(what, "three"))
		run(three_first, three_second, three_third);
	else if (!strcmp(what, "read_again"))
		run(reads_again, writes, NULL);
	else if (!strcmp(what, "flag"))
		run(flag_first, flag_second, NULL);
	else if (!strcmp(what, "gate"))
		run(flag_first, gate_second, NULL);
	else if (!strcmp(what, "others"))
		run(others_first, others_second, NULL);
	else if (!strcmp(what, "once"))
		run(mutexes_left, once_second, NULL);
	else if (!strcmp(what, "joined")) {
		pthread_t thread;

		pthread_create(&thread, NULL, joined, NULL);
		later();
		later();
		pthread_mutex_lock(&left);
		pthread_join(thread, NULL);
		pthread_mutex_unlock(&left);
	} else {
		return 2;
	}
	puts("done");
	return 0;
}
