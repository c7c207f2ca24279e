/* Four threads load and unload the library that the argument names, 200 times each. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static const char *library;

static void *load(void *unused)
{
	(void)unused;
	for (int i = 0; i < 200; i++) {
		void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
		if (!handle) {
			puts(dlerror());
			return NULL;
		}
		int (*use)(void) = (int (*)(void))dlsym(handle, "use");
		use();
		dlclose(handle);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	library = argc > 1 ? argv[1] : "";
	pthread_t ids[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&ids[i], NULL, load, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(ids[i], NULL);
	puts("loaded");
	return 0;
}
