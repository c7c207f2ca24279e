/* Two threads of GLib's, one after the other. */
#ifndef GLIB_TURNS_H
#define GLIB_TURNS_H
#include <glib.h>

/* By nothing that says that it must be so. */
static void (*steps[2])(void);
static int turn;

static gpointer step(gpointer number)
{
	while (g_atomic_int_get(&turn) != GPOINTER_TO_INT(number))
		g_thread_yield();
	steps[GPOINTER_TO_INT(number)]();
	g_atomic_int_inc(&turn);
	return NULL;
}

static inline void run(void (*one)(void), void (*other)(void))
{
	GThread *threads[2];

	g_atomic_int_set(&turn, 0);
	steps[0] = one;
	steps[1] = other;
	threads[0] = g_thread_new("one", step, GINT_TO_POINTER(0));
	threads[1] = g_thread_new("other", step, GINT_TO_POINTER(1));
	g_thread_join(threads[0]);
	g_thread_join(threads[1]);
}

#endif
