// Loads a library again and again while there is another thread, and then has two threads use it, one after the other and unordered
// as far as anybody sees.
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static void (*nest)(bool);
static atomic_int turn;

static void *uses(void *number)
{
	int own = (int)(long)number;
	while (turn != own)
		sched_yield();
	nest(own);
	turn++;
	while (turn < 2)
		sched_yield();
	return NULL;
}

static void *idles(void *arg)
{
	while (turn < 2)
		sched_yield();
	return arg;
}

static void *load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	nest = (void (*)(bool))dlsym(library, "nest");
	return library;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	pthread_t idle, users[2];
	pthread_create(&idle, NULL, idles, NULL);
	for (int i = 0; i < atoi(argv[2]); i++) {
		void *library = load(argv[1]);
		nest(false);
		dlclose(library);
	}
	load(argv[1]);
	for (long i = 0; i < 2; i++)
		pthread_create(&users[i], NULL, uses, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(users[i], NULL);
	pthread_join(idle, NULL);
	puts("done");
	return 0;
}
