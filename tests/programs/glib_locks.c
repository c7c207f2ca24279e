/* GLib's locks, used rightly and wrongly: what is done is named by the argument. */
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include "asleep.h"
#include "glib_turns.h"

static GMutex first;
static GMutex second;
static GRecMutex outer;
static GRecMutex inner;
static GRWLock catalogue;
static GRWLock table;
static GCond changed;
static gboolean is_changed;
static gsize gate;

/* A guard as GLib's headers have it. */
static void first_then_second(void)
{
	g_autoptr(GMutexLocker) a = g_mutex_locker_new(&first);
	g_autoptr(GMutexLocker) b = g_mutex_locker_new(&second);
	(void)a;
	(void)b;
}

static void second_then_first(void)
{
	g_mutex_lock(&second);
	g_mutex_lock(&first);
	g_mutex_unlock(&first);
	g_mutex_unlock(&second);
}

static void outer_then_inner(void)
{
	g_rec_mutex_lock(&outer);
	g_rec_mutex_lock(&outer);
	g_rec_mutex_lock(&inner);
	g_rec_mutex_unlock(&inner);
	g_rec_mutex_unlock(&outer);
	g_rec_mutex_unlock(&outer);
}

static void inner_then_outer(void)
{
	g_rec_mutex_lock(&inner);
	g_rec_mutex_lock(&outer);
	g_rec_mutex_unlock(&outer);
	g_rec_mutex_unlock(&inner);
}

static void catalogue_then_table(void)
{
	g_rw_lock_writer_lock(&catalogue);
	g_rw_lock_writer_lock(&table);
	g_rw_lock_writer_unlock(&table);
	g_rw_lock_writer_unlock(&catalogue);
}

static void table_then_catalogue(void)
{
	g_rw_lock_reader_lock(&table);
	g_rw_lock_writer_lock(&catalogue);
	g_rw_lock_writer_unlock(&catalogue);
	g_rw_lock_reader_unlock(&table);
}

/* Locks in memory of their own. */
struct account {
	GMutex lock;
};

static struct account *giver, *taker;

static struct account *open_giver(void)
{
	struct account *a = g_new(struct account, 1);

	g_mutex_init(&a->lock);
	return a;
}

static struct account *open_taker(void)
{
	struct account *a = g_new(struct account, 1);

	g_mutex_init(&a->lock);
	return a;
}

static void close_account(struct account *a)
{
	g_mutex_clear(&a->lock);
	g_free(a);
}

static void giver_then_taker(void)
{
	g_mutex_lock(&giver->lock);
	g_mutex_lock(&taker->lock);
	g_mutex_unlock(&taker->lock);
	g_mutex_unlock(&giver->lock);
}

static void taker_then_giver(void)
{
	g_mutex_lock(&taker->lock);
	g_mutex_lock(&giver->lock);
	g_mutex_unlock(&giver->lock);
	g_mutex_unlock(&taker->lock);
}

static void wait_for_change(void)
{
	g_mutex_lock(&first);
	while (!is_changed)
		g_cond_wait(&changed, &first);
	g_mutex_lock(&second);
	g_mutex_unlock(&second);
	g_mutex_unlock(&first);
}

static int has_waited;

static gpointer waits(gpointer unused)
{
	wait_for_change();
	g_atomic_int_set(&has_waited, 1);
	return unused;
}

/* After the waiter, by nothing that says that it must be so: they are not to hang. */
static void second_then_first_afterwards(void)
{
	while (!g_atomic_int_get(&has_waited))
		g_thread_yield();
	second_then_first();
}

static void change(void)
{
	g_mutex_lock(&first);
	is_changed = TRUE;
	g_cond_broadcast(&changed);
	g_mutex_unlock(&first);
}

static void try_out(void)
{
	g_mutex_lock(&second);
	/* What is tried for waits for nobody. */
	if (g_mutex_trylock(&first))
		g_mutex_unlock(&first);
	g_mutex_unlock(&second);
}

static void initialise(void)
{
	if (g_once_init_enter(&gate)) {
		g_mutex_lock(&second);
		g_mutex_unlock(&second);
		g_once_init_leave(&gate, 1);
	}
}

/* Both hold one lock and wait for the other's. */
static GMutex meeting;
static GCond met;
static int here;

static void meet(void)
{
	g_mutex_lock(&meeting);
	here++;
	g_cond_broadcast(&met);
	while (here < 2)
		g_cond_wait(&met, &meeting);
	g_mutex_unlock(&meeting);
}

static gpointer hang_one(gpointer unused)
{
	g_mutex_lock(&first);
	meet();
	g_mutex_lock(&second);
	return unused;
}

static gpointer hang_other(gpointer unused)
{
	g_mutex_lock(&second);
	meet();
	g_mutex_lock(&first);
	return unused;
}

/* A thread holds the lock until another waits for it. */
static atomic_int wanting;

static gpointer keeper(gpointer unused)
{
	g_mutex_lock(&first);
	meet();
	await_blocked(&wanting);
	g_mutex_unlock(&first);
	return unused;
}

static void want(void)
{
	meet();
	atomic_store(&wanting, thread_id());
	g_mutex_lock(&first);
	g_mutex_unlock(&first);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "mutexes")) {
		run(first_then_second, second_then_first);
	} else if (!strcmp(what, "ordered")) {
		run(first_then_second, first_then_second);
		run(try_out, initialise);
		run(initialise, first_then_second);
		run(outer_then_inner, outer_then_inner);
		run(catalogue_then_table, catalogue_then_table);
	} else if (!strcmp(what, "recursive")) {
		run(outer_then_inner, inner_then_outer);
	} else if (!strcmp(what, "rwlocks")) {
		run(catalogue_then_table, table_then_catalogue);
	} else if (!strcmp(what, "heap")) {
		giver = open_giver();
		taker = open_taker();
		run(giver_then_taker, taker_then_giver);
		close_account(giver);
		close_account(taker);
	} else if (!strcmp(what, "cond")) {
		GThread *waiter = g_thread_new("waiter", waits, NULL);

		run(change, second_then_first_afterwards);
		g_thread_join(waiter);
	} else if (!strcmp(what, "hang")) {
		GThread *one = g_thread_new("one", hang_one, NULL);
		GThread *other = g_thread_new("other", hang_other, NULL);

		g_thread_join(one);
		g_thread_join(other);
	} else if (!strcmp(what, "contended")) {
		GThread *one = g_thread_new("keeper", keeper, NULL);

		want();
		g_thread_join(one);
	} else {
		fprintf(stderr, "what?\n");
		return 2;
	}
	printf("%s: done\n", what);
	return 0;
}
