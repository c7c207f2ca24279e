/* Locks of liblockwright, watched as any others are. The argument says what is done:
 *
 *   orders      a mutex and a reader-writer semaphore in both orders
 *   readers     the same, but all read
 *   try         one of the two is only tried for
 *   timed       one of the two has a time, which comes
 *   sleep       a big kernel lock is given up for a sleep, in which another thread takes it
 *   wait        a condition variable gives a mutex up and takes it again
 *   every       each lock, once
 *   unlock      a lock is released twice
 *   heap        locks that functions made, in both orders
 *   held        a lock is destroyed while it is held
 *   completion  a thread waits for another's work with a lock held that the other needs for it
 *   deadlock    two threads deadlock
 */
#include "asleep.h"
#include "baton.h"
#include <lockwright.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static lw_mutex_t accounts;
static lw_rwsem_t table;
static lw_condvar_t changed;
static lw_completion_t done;
static baton first_is_done;
static const char *what;

static int is(const char *name)
{
	return strcmp(what, name) == 0;
}

static void accounts_then_table(void)
{
	lw_mutex_lock(&accounts);
	lw_rwsem_down_write(&table);
	lw_rwsem_up_write(&table);
	lw_mutex_unlock(&accounts);
}

static void table_then_accounts(void)
{
	lw_rwsem_down_write(&table);
	if (is("try")) {
		if (lw_mutex_trylock(&accounts) == 0)
			lw_mutex_unlock(&accounts);
	} else {
		lw_mutex_lock(&accounts);
		lw_mutex_unlock(&accounts);
	}
	lw_rwsem_up_write(&table);
}

static lw_rwsem_t index_;

static void read_both(lw_rwsem_t *one, lw_rwsem_t *other)
{
	lw_rwsem_down_read(one);
	lw_rwsem_down_read(other);
	lw_rwsem_up_read(other);
	lw_rwsem_up_read(one);
}

static lw_mutex_t *upper, *lower;

static void both(lw_mutex_t *one, lw_mutex_t *other)
{
	lw_mutex_lock(one);
	lw_mutex_lock(other);
	lw_mutex_unlock(other);
	lw_mutex_unlock(one);
}

static void *first(void *unused)
{
	if (is("readers"))
		read_both(&table, &index_);
	else if (is("heap"))
		both(upper, lower);
	else
		accounts_then_table();
	baton_pass(&first_is_done);
	return unused;
}

static void *second(void *unused)
{
	baton_take(&first_is_done);
	if (is("readers"))
		read_both(&index_, &table);
	else if (is("heap"))
		both(lower, upper);
	else
		table_then_accounts();
	return unused;
}

static void in_turns(void)
{
	pthread_t threads[2];
	pthread_create(&threads[0], NULL, first, NULL);
	pthread_create(&threads[1], NULL, second, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
}

static lw_mutex_t *make_upper(void)
{
	lw_mutex_t *lock = malloc(sizeof *lock);
	lw_mutex_init(lock);
	return lock;
}

static lw_mutex_t *make_lower(void)
{
	lw_mutex_t *lock = malloc(sizeof *lock);
	lw_mutex_init(lock);
	return lock;
}

static void *try_for_a_moment(void *unused)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	lw_rwsem_down_write(&table);
	lw_mutex_timedlock(&accounts, &now);
	lw_rwsem_up_write(&table);
	return unused;
}

static void *change(void *unused)
{
	lw_mutex_lock(&accounts);
	lw_condvar_signal(&changed);
	lw_mutex_unlock(&accounts);
	return unused;
}

static void nap(void *unused)
{
	(void)unused;
}

#define ONCE(name)                                                                                                     \
	do {                                                                                                           \
		static lw_##name##_t lock;                                                                             \
		lw_##name##_lock(&lock);                                                                               \
		lw_##name##_unlock(&lock);                                                                             \
	} while (0)

static void every(void)
{
	static lw_bkl_t bkl;
	static lw_percpu_rwsem_t percpu_rwsem;
	static lw_qrwlock_t qrwlock;
	static lw_seqlock_t seqlock;
	static lw_ww_mutex_t ww_mutex;
	static lw_ww_class_t class;
	lw_ww_ctx_t ctx;
	ONCE(mutex);
	ONCE(rtmutex);
	ONCE(mcs);
	ONCE(qspinlock);
	ONCE(pvqspinlock);
	ONCE(tas);
	ONCE(ticket);
	lw_qrwlock_read_lock(&qrwlock);
	lw_qrwlock_read_unlock(&qrwlock);
	lw_percpu_rwsem_down_read(&percpu_rwsem);
	lw_percpu_rwsem_up_read(&percpu_rwsem);
	lw_seqlock_write_lock(&seqlock);
	lw_seqlock_write_unlock(&seqlock);
	lw_ww_ctx_init(&ctx, &class);
	lw_ww_mutex_lock(&ww_mutex, &ctx);
	lw_ww_mutex_unlock(&ww_mutex);
	lw_bkl_lock(&bkl);
	lw_bkl_lock(&bkl);
	lw_bkl_schedule(&bkl, nap, NULL);
	lw_bkl_unlock(&bkl);
	lw_bkl_unlock(&bkl);
	lw_rwsem_down_write(&table);
	lw_rwsem_downgrade(&table);
	lw_rwsem_up_read(&table);
}

static lw_bkl_t kernel;
static atomic_int sleeper;

static void *take_until_asked(void *unused)
{
	lw_bkl_lock(&kernel);
	baton_pass(&first_is_done);
	await_blocked(&sleeper);
	lw_bkl_unlock(&kernel);
	return unused;
}

static void until_taken(void *thread)
{
	pthread_create(thread, NULL, take_until_asked, NULL);
	baton_take(&first_is_done);
}

static void sleep_in_kernel(pthread_t *thread)
{
	lw_bkl_lock(&kernel);
	lw_bkl_lock(&kernel);
	lw_bkl_schedule(&kernel, until_taken, thread);
	lw_bkl_unlock(&kernel);
	lw_bkl_unlock(&kernel);
}

static void *work(void *unused)
{
	lw_mutex_lock(&accounts);
	lw_completion_complete(&done);
	lw_mutex_unlock(&accounts);
	baton_pass(&first_is_done);
	return unused;
}

static struct meeting both_hold_one = {.size = 2};

static void *take_crosswise(void *order)
{
	lw_mutex_t *locks[] = {&accounts, upper};
	lw_mutex_lock(locks[order != NULL]);
	meeting_wait(&both_hold_one);
	lw_mutex_lock(locks[order == NULL]);
	return order;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	what = argc > 1 ? argv[1] : "orders";
	if (is("every")) {
		every();
	} else if (is("unlock")) {
		lw_tas_t lock = LW_TAS_INIT;
		lw_tas_lock(&lock);
		lw_tas_unlock(&lock);
		lw_tas_unlock(&lock);
	} else if (is("held")) {
		upper = make_upper();
		lw_mutex_lock(upper);
		lw_mutex_destroy(upper);
	} else if (is("timed")) {
		lw_mutex_lock(&accounts);
		pthread_create(&thread, NULL, try_for_a_moment, NULL);
		pthread_join(thread, NULL);
		lw_mutex_unlock(&accounts);
	} else if (is("sleep")) {
		atomic_store(&sleeper, thread_id());
		sleep_in_kernel(&thread);
		pthread_join(thread, NULL);
	} else if (is("wait")) {
		lw_mutex_lock(&accounts);
		pthread_create(&thread, NULL, change, NULL);
		lw_condvar_wait(&changed, &accounts);
		lw_mutex_unlock(&accounts);
		pthread_join(thread, NULL);
	} else if (is("completion")) {
		pthread_create(&thread, NULL, work, NULL);
		baton_take(&first_is_done);
		lw_mutex_lock(&accounts);
		lw_completion_wait(&done);
		lw_mutex_unlock(&accounts);
		pthread_join(thread, NULL);
	} else if (is("deadlock")) {
		upper = make_upper();
		pthread_create(&thread, NULL, take_crosswise, NULL);
		take_crosswise(&thread);
	} else {
		upper = make_upper();
		lower = make_lower();
		in_turns();
	}
	printf("%s: done\n", what);
	return 0;
}
