/* Asks whether GLib is there, as programs do that can do without, and loads it then; and a plugin
 * that needs it. The program itself is not linked with it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

extern void g_mutex_lock(void *) __attribute__((weak));
extern void g_rec_mutex_lock(void *) __attribute__((weak));
extern void omp_set_lock(void *) __attribute__((weak));

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	/* Not printed by their addresses: these differ from run to run. */
	printf("weak %d %d %d\n", g_mutex_lock != NULL, g_rec_mutex_lock != NULL, omp_set_lock != NULL);
	printf("named %d %d\n", dlsym(RTLD_DEFAULT, "g_mutex_lock") != NULL,
	       dlsym(RTLD_DEFAULT, "omp_set_lock") != NULL);

	void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (!plugin) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	printf("still not named %d\n", dlsym(RTLD_DEFAULT, "g_mutex_lock") != NULL);
	int (*run)(int, char **) = (int (*)(int, char **))dlsym(plugin, "plugin_main");
	int code = run(argc - 1, argv + 1);

	/* By its bare name, for all to see. */
	void *glib = dlopen("libglib-2.0.so.0", RTLD_NOW | RTLD_GLOBAL);
	void (*lock)(void *) = (void (*)(void *))dlsym(glib, "g_mutex_lock");
	void (*unlock)(void *) = (void (*)(void *))dlsym(glib, "g_mutex_unlock");
	static void *mutex;

	lock(&mutex);
	unlock(&mutex);
	printf("the library's own %d\n", dlsym(RTLD_DEFAULT, "g_mutex_lock") == (void *)lock);
	return code;
}
