// Loads a library again and again while there is another thread, and then has two threads use it, one after the other and unordered
// as far as anybody sees. With a second library, the first is unloaded between the two, and the second one's code and locks come to
// its place: the output says whether to the same address.
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
	void *library = load(argv[1]);
	pthread_create(&users[0], NULL, uses, (void *)0);
	if (argc > 3) {
		while (turn < 1)
			sched_yield();
		dlclose(library);
		void (*first)(bool) = nest;
		load(argv[3]);
		puts(nest == first ? "at the same address" : "elsewhere");
	}
	pthread_create(&users[1], NULL, uses, (void *)1);
	for (int i = 0; i < 2; i++)
		pthread_join(users[i], NULL);
	pthread_join(idle, NULL);
	puts("done");
	return 0;
}
