/*
 * Locks whose lives begin again and again at a few places, by pthread_mutex_init or by their first acquisition.
 *
 *   births callers N    two functions alike, each of which has N locks made by a third
 *   births frames N     a function whose frame has another size each time
 *   births depths N     calls that nest, one to five deep
 *   births inits N      pthread_mutex_init and _destroy, in two places
 *   births threads N    four threads, each of N locks
 *   births race N       four threads that come to each of N new locks at once
 *   births child N      a parent, and then a child, each of N locks
 *   births again N      a block that is given back and handed out again with its old content, N times
 */
#include <alloca.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void fail(const char *what)
{
	perror(what);
	exit(2);
}

/* A mutex that nobody initialises: as std::mutex, all zeros. */
__attribute__((noinline, noclone)) static void use_new_mutex(void)
{
	pthread_mutex_t *mutex = calloc(1, sizeof *mutex);
	if (!mutex)
		fail("calloc");
	pthread_mutex_lock(mutex);
	pthread_mutex_unlock(mutex);
	free(mutex);
	__asm__ volatile("");
}

__attribute__((noinline, noclone)) static void first_caller(void)
{
	use_new_mutex();
	__asm__ volatile("# first");
}

__attribute__((noinline, noclone)) static void second_caller(void)
{
	use_new_mutex();
	__asm__ volatile("# second");
}

__attribute__((noinline, noclone)) static void with_frame_of(int size)
{
	volatile char *room = alloca(size);
	room[0] = 1;
	use_new_mutex();
	room[0] = 2;
}

__attribute__((noinline, noclone)) static void nest(int depth)
{
	if (depth == 0)
		use_new_mutex();
	else
		nest(depth - 1);
	__asm__ volatile("");
}

__attribute__((noinline, noclone)) static void init_here(void)
{
	pthread_mutex_t mutex;
	pthread_mutex_init(&mutex, NULL);
	pthread_mutex_destroy(&mutex);
}

__attribute__((noinline, noclone)) static void init_there(void)
{
	pthread_mutex_t mutex;
	pthread_mutex_init(&mutex, NULL);
	pthread_mutex_destroy(&mutex);
}

static int count;

static void *make_all(void *unused)
{
	(void)unused;
	for (int i = 0; i < count; i++)
		use_new_mutex();
	return NULL;
}

static pthread_barrier_t barrier;
static pthread_mutex_t *shared;

static void *meet(void *unused)
{
	(void)unused;
	for (int i = 0; i < count; i++) {
		if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
			shared = calloc(1, sizeof *shared);
			if (!shared)
				fail("calloc");
		}
		pthread_barrier_wait(&barrier);
		pthread_mutex_lock(shared);
		pthread_mutex_unlock(shared);
		if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
			free(shared);
	}
	return NULL;
}

static void on_threads(void *(*routine)(void *))
{
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, routine, NULL))
			fail("pthread_create");
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	count = atoi(argv[2]);
	const char *how = argv[1];
	if (!strcmp(how, "callers")) {
		for (int i = 0; i < count; i++) {
			first_caller();
			second_caller();
		}
	} else if (!strcmp(how, "frames")) {
		for (int i = 0; i < count; i++)
			with_frame_of(16 + 16 * (i % 40));
	} else if (!strcmp(how, "depths")) {
		for (int i = 0; i < count; i++)
			nest(1 + i % 5);
	} else if (!strcmp(how, "inits")) {
		for (int i = 0; i < count; i++) {
			init_here();
			init_there();
		}
	} else if (!strcmp(how, "threads")) {
		on_threads(make_all);
	} else if (!strcmp(how, "race")) {
		pthread_barrier_init(&barrier, NULL, 4);
		on_threads(meet);
		pthread_barrier_destroy(&barrier);
	} else if (!strcmp(how, "child")) {
		make_all(NULL);
		fflush(NULL);
		pid_t child = fork();
		if (child < 0)
			fail("fork");
		make_all(NULL);
		if (child == 0)
			exit(0);
		waitpid(child, NULL, 0);
	} else if (!strcmp(how, "again")) {
		pthread_mutex_t *mutex = calloc(1, sizeof *mutex);
		for (int i = 0; i < count; i++) {
			pthread_mutex_init(mutex, NULL);
			pthread_mutex_lock(mutex);
			pthread_mutex_unlock(mutex);
			pthread_mutex_destroy(mutex);
		}
		free(mutex);
	} else {
		return 2;
	}
	puts("the end");
	return 0;
}
