/* While one thread initialises what GLib initialises once, other threads that want it wait. A routine takes a mutex;
 * while it runs, another thread wants what it initialises.
 *
 *   once        a GOnce, wanted with the mutex held
 *   once_fixed  as once, but the mutex is taken afterwards
 *   gate        as once, with g_once_init_enter
 *   gate_fixed  as once_fixed, with that
 *   late        as once, but the routine is done by then: no call of GLib's headers waits
 *   heap        two GOnces that come to lie at one place, the first wanted before the mutex is taken, the second after
 *   hangs       as once, and the routine takes the mutex when it is wanted
 *   itself      a routine wants what it initialises
 */
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "asleep.h"

static GMutex registry;
static GOnce once = G_ONCE_INIT;
static gsize gate;
static GOnce *of_heap;

static int is_under_way, is_wanted;
static atomic_int wanting;

static void await(int *flag)
{
	while (!g_atomic_int_get(flag))
		g_thread_yield();
}

static void use_registry(void)
{
	g_mutex_lock(&registry);
	g_mutex_unlock(&registry);
}

/* It goes on until the other waits for it. */
static gpointer initialise(gpointer value)
{
	use_registry();
	g_atomic_int_set(&is_under_way, 1);
	await_blocked(&wanting);
	return value;
}

static gpointer initialise_alone(gpointer value)
{
	use_registry();
	return value;
}

static gpointer initialise_when_wanted(gpointer value)
{
	g_atomic_int_set(&is_under_way, 1);
	await(&is_wanted);
	use_registry();
	return value;
}

static gpointer initialise_itself(gpointer unused)
{
	return g_once(&once, initialise_itself, unused);
}

static void call_once(GThreadFunc routine)
{
	if (g_once(&once, routine, "value") != once.retval || strcmp(once.retval, "value"))
		abort();
}

static gpointer begins_once(gpointer unused)
{
	call_once(initialise);
	return unused;
}

static gpointer begins_when_wanted(gpointer unused)
{
	call_once(initialise_when_wanted);
	return unused;
}

static void open_gate(void)
{
	if (g_once_init_enter(&gate)) {
		initialise(NULL);
		g_once_init_leave(&gate, 7);
	}
	if (gate != 7)
		abort();
}

static void open_gate_alone(void)
{
	if (g_once_init_enter(&gate)) {
		use_registry();
		g_once_init_leave(&gate, 7);
	}
}

static gpointer begins_gate(gpointer unused)
{
	open_gate();
	return unused;
}

static void wants(void (*call)(void))
{
	await(&is_under_way);
	atomic_store(&wanting, thread_id());
	g_atomic_int_set(&is_wanted, 1);
	call();
}

static void call_once_too(void)
{
	call_once(initialise);
}

static void holding(void (*call)(void))
{
	await(&is_under_way);
	g_mutex_lock(&registry);
	wants(call);
	g_mutex_unlock(&registry);
}

static gpointer once_holding(gpointer unused)
{
	holding(call_once_too);
	return unused;
}

static gpointer gate_holding(gpointer unused)
{
	holding(open_gate);
	return unused;
}

static gpointer once_then_registry(gpointer unused)
{
	wants(call_once_too);
	use_registry();
	return unused;
}

static gpointer gate_then_registry(gpointer unused)
{
	wants(open_gate);
	use_registry();
	return unused;
}

static gpointer late(gpointer unused)
{
	g_mutex_lock(&registry);
	/* As a caller does without the macro. */
	(g_once_impl)(&once, initialise, NULL);
	(g_once_init_enter)(&gate);
	g_mutex_unlock(&registry);
	return unused;
}

static gpointer simple(gpointer value)
{
	return value;
}

static gpointer heap_first(gpointer unused)
{
	g_once(of_heap, initialise_alone, NULL);
	g_atomic_int_set(&is_under_way, 1);
	return unused;
}

static gpointer heap_second(gpointer unused)
{
	g_mutex_lock(&registry);
	g_once(of_heap, simple, NULL);
	g_mutex_unlock(&registry);
	return unused;
}

static void both(GThreadFunc one, GThreadFunc other)
{
	GThread *threads[] = { g_thread_new("one", one, NULL), g_thread_new("other", other, NULL) };

	g_thread_join(threads[0]);
	g_thread_join(threads[1]);
}

static GOnce *new_once(void)
{
	return memset(malloc(sizeof(GOnce)), 0, sizeof(GOnce));
}

/* The second lies where the first lay. */
static int heap(void)
{
	GOnce *was = of_heap = new_once();
	GThread *one, *other;

	one = g_thread_new("one", heap_first, NULL);
	await(&is_under_way);
	free(was);
	of_heap = NULL;
	for (int i = 0; i < 10000 && of_heap != was; i++)
		of_heap = new_once();
	other = g_thread_new("other", heap_second, NULL);
	g_thread_join(one);
	g_thread_join(other);
	if (of_heap != was)
		return 3;
	free(of_heap);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int result = 0;

	if (!strcmp(what, "once")) {
		both(begins_once, once_holding);
	} else if (!strcmp(what, "once_fixed")) {
		both(begins_once, once_then_registry);
	} else if (!strcmp(what, "gate")) {
		both(begins_gate, gate_holding);
	} else if (!strcmp(what, "gate_fixed")) {
		both(begins_gate, gate_then_registry);
	} else if (!strcmp(what, "late")) {
		both(begins_once, once_then_registry);
		open_gate_alone();
		both(late, late);
	} else if (!strcmp(what, "heap")) {
		result = heap();
	} else if (!strcmp(what, "hangs")) {
		both(begins_when_wanted, once_holding);
	} else if (!strcmp(what, "itself")) {
		initialise_itself(NULL);
	} else {
		fprintf(stderr, "what?\n");
		return 2;
	}
	printf("%s: done\n", what);
	return result;
}
