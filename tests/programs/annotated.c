/* Annotations of pthread locks. The argument says which:
 *
 *   names      two named locks in both orders
 *   order      one order, against the declared one
 *   far        the same over two declarations, where the locks are variables without annotation
 *   obeyed     the declared order
 *   subclass   two locks of one class in both orders, told apart by subclass: A, A/1
 *   nest       many locks of one class in any order, under a nest lock
 *   unnested   the same without it
 *   assert     assertions that fail, one of each
 *   asserted   assertions that hold
 *   pin        a pinned lock is released
 *   pinwait    a condition wait gives a pinned lock up
 *   unpinned   unpinned first
 *   wait       a lock that sleeps, taken inside one that spins
 *   waited     the other way round
 */
#define _GNU_SOURCE
#include <lockwright.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t family = PTHREAD_MUTEX_INITIALIZER;
static pthread_spinlock_t spin;

/* Two threads, alive together, of which the first does its part before the second begins. Nothing here is
 * an order that a checker would know. */
static void (*parts[2])(void);
static atomic_int turn;

static void *take_part(void *arg)
{
	int i = (int)(long)arg;
	while (atomic_load(&turn) != i)
		sched_yield();
	parts[i]();
	atomic_fetch_add(&turn, 1);
	while (atomic_load(&turn) < 2)
		sched_yield();
	return NULL;
}

static void together(void (*first)(void), void (*second)(void))
{
	pthread_t threads[2];
	parts[0] = first;
	parts[1] = second;
	for (long i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, take_part, (void *)i) != 0)
			abort();
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void both(pthread_mutex_t *outer, pthread_mutex_t *inner)
{
	pthread_mutex_lock(outer);
	pthread_mutex_lock(inner);
	pthread_mutex_unlock(inner);
	pthread_mutex_unlock(outer);
}

static void a_then_b(void)
{
	both(&a, &b);
}

static void b_then_a(void)
{
	both(&b, &a);
}

enum { CHILDREN = 4 };
static pthread_mutex_t *children[CHILDREN];

static void make_children(int nested)
{
	for (int i = 0; i < CHILDREN; i++) {
		children[i] = malloc(sizeof *children[i]);
		pthread_mutex_init(children[i], NULL);
		lw_set_name(children[i], "child");
		if (nested)
			lw_set_nest_lock(children[i], &family);
	}
}

/* As a list that is sorted by something else than the address. */
static void nest_up(void)
{
	pthread_mutex_lock(&family);
	both(children[0], children[1]);
	both(children[2], children[1]);
	both(children[2], children[3]);
	pthread_mutex_unlock(&family);
}

static void nest_down(void)
{
	pthread_mutex_lock(&family);
	both(children[1], children[0]);
	both(children[3], children[2]);
	pthread_mutex_unlock(&family);
}

static void nest_alone(void)
{
	both(children[0], children[1]);
}

static void nest_alone_down(void)
{
	both(children[1], children[0]);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	unsigned cookie;

	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	if (!strcmp(what, "names")) {
		lw_set_name(&a, "the first");
		lw_set_name(&b, "the second");
		together(a_then_b, b_then_a);
	} else if (!strcmp(what, "order")) {
		lw_set_name(&a, "catalogue");
		lw_set_name(&b, "table");
		lw_lock_order("catalogue", "table", "row");
		b_then_a();
	} else if (!strcmp(what, "far")) {
		lw_lock_order("a", "nobody");
		lw_lock_order("nobody", "b");
		b_then_a();
	} else if (!strcmp(what, "obeyed")) {
		lw_lock_order("a", "b");
		a_then_b();
	} else if (!strcmp(what, "subclass")) {
		lw_set_name(&a, "node");
		lw_set_name(&b, "node");
		lw_set_subclass(&b, 1);
		together(a_then_b, b_then_a);
	} else if (!strcmp(what, "nest")) {
		make_children(1);
		together(nest_up, nest_down);
	} else if (!strcmp(what, "unnested")) {
		make_children(1);
		together(nest_alone, nest_alone_down);
	} else if (!strcmp(what, "assert")) {
		pthread_mutex_lock(&a);
		lw_assert_held(&b);
		lw_assert_not_held(&a);
		pthread_mutex_unlock(&a);
	} else if (!strcmp(what, "asserted")) {
		pthread_mutex_lock(&a);
		lw_assert_held(&a);
		lw_assert_not_held(&b);
		pthread_mutex_unlock(&a);
		lw_assert_not_held(&a);
	} else if (!strcmp(what, "pin")) {
		pthread_mutex_lock(&a);
		cookie = lw_pin(&a);
		pthread_mutex_unlock(&a);
		pthread_mutex_lock(&a);
		lw_unpin(&a, cookie);
		pthread_mutex_unlock(&a);
	} else if (!strcmp(what, "pinwait")) {
		static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
		struct timespec past = {0, 0};
		pthread_mutex_lock(&a);
		cookie = lw_pin(&a);
		pthread_cond_timedwait(&never, &a, &past);
		lw_unpin(&a, cookie);
		pthread_mutex_unlock(&a);
	} else if (!strcmp(what, "unpinned")) {
		unsigned again;
		pthread_mutex_lock(&a);
		cookie = lw_pin(&a);
		again = lw_pin(&a);
		lw_unpin(&a, again);
		lw_unpin(&a, cookie);
		pthread_mutex_unlock(&a);
	} else if (!strcmp(what, "wait")) {
		lw_set_wait_type(&spin, LW_WAIT_SPIN);
		pthread_spin_lock(&spin);
		pthread_mutex_lock(&a);
		pthread_mutex_unlock(&a);
		pthread_spin_unlock(&spin);
	} else if (!strcmp(what, "waited")) {
		lw_set_wait_type(&spin, LW_WAIT_SPIN);
		pthread_mutex_lock(&a);
		pthread_spin_lock(&spin);
		pthread_spin_unlock(&spin);
		pthread_mutex_unlock(&a);
	} else {
		return 2;
	}
	printf("%s: done\n", what);
	return 0;
}
