/* A GMutex is unlocked that nobody holds, for which GLib ends the process.
 *
 *   glib_unlocked twice   the thread that unlocks has unlocked it before
 *   glib_unlocked other   another thread locked it last, and has unlocked it
 *   glib_unlocked once    as it should be
 */
#include <glib.h>
#include <stdio.h>
#include <string.h>

static GMutex shelf;
static int books;

static gpointer put(gpointer arg)
{
	(void)arg;
	g_mutex_lock(&shelf);
	++books;
	g_mutex_unlock(&shelf);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	g_thread_join(g_thread_new("reader", put, NULL));
	if (strcmp(what, "other"))
		put(NULL);
	if (strcmp(what, "once"))
		g_mutex_unlock(&shelf);
	printf("%s: done\n", what);
	return 0;
}
