/* Objects whose life, or memory, ends while they are in use, and once controls that are none.
 *
 *     object_ends CASE
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "asleep.h"

enum { PAGE = 4096, LARGE = 1 << 20 };

static pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static int is_open;
static atomic_int waiter_id, is_inside;

static void *waits(void *on)
{
	pthread_mutex_lock(&door);
	atomic_store(&waiter_id, thread_id());
	while (!is_open)
		pthread_cond_wait(on, &door);
	pthread_mutex_unlock(&door);
	return NULL;
}

static void *arrives(void *at)
{
	atomic_store(&waiter_id, thread_id());
	pthread_barrier_wait(at);
	return NULL;
}

/* A thread that is blocked in `routine`, on `object`. */
static pthread_t blocked_in(void *(*routine)(void *), void *object)
{
	pthread_t thread;

	pthread_create(&thread, NULL, routine, object);
	await_blocked(&waiter_id);
	return thread;
}

/* Destroyed: glibc's functions for that return only when nobody waits any more, and first put a mark into the object. */

static void await_mark(volatile unsigned *word, unsigned bits)
{
	while (!(*word & bits))
		usleep(500);
}

static void *destroys_cond(void *unused)
{
	pthread_cond_destroy(&cond);
	return unused;
}

static void destroyed_cond(void)
{
	pthread_t waiter = blocked_in(waits, &cond), destroyer;

	pthread_create(&destroyer, NULL, destroys_cond, NULL);
	await_mark(&cond.__data.__wrefs, 4);
	pthread_mutex_lock(&door);
	is_open = 1;
	pthread_cond_broadcast(&cond);
	pthread_mutex_unlock(&door);
	pthread_join(destroyer, NULL);
	pthread_join(waiter, NULL);
}

static void *destroys_barrier(void *unused)
{
	pthread_barrier_destroy(&barrier);
	return unused;
}

static void destroyed_barrier(void)
{
	pthread_t destroyer;

	pthread_barrier_init(&barrier, NULL, 2);
	blocked_in(arrives, &barrier);
	pthread_create(&destroyer, NULL, destroys_barrier, NULL);
	/* `out`. Nobody gets out of there any more. */
	await_mark((unsigned *)&barrier + 4, ~0u);
}

/* The memory goes. */

static void moved_cond(void)
{
	pthread_cond_t *heap = calloc(1, sizeof *heap);
	/* Where it is there is no room. */
	char *next = malloc(64);

	blocked_in(waits, heap);
	heap = realloc(heap, LARGE);
	free(heap);
	free(next);
}

static void grown_cond(void)
{
	pthread_cond_t *heap = calloc(1, sizeof *heap);

	pthread_t waiter = blocked_in(waits, heap);

	/* There is room enough: it stays where it is. */
	heap = realloc(heap, sizeof *heap);
	pthread_mutex_lock(&door);
	is_open = 1;
	pthread_cond_broadcast(heap);
	pthread_mutex_unlock(&door);
	pthread_join(waiter, NULL);
	pthread_cond_destroy(heap);
	free(heap);
}

static void unmapped_cond(void)
{
	void *mapped = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	pthread_cond_init(mapped, NULL);
	blocked_in(waits, mapped);
	munmap(mapped, PAGE);
}

/* Two pages, and where else they may be. */
static char *two_pages(char **elsewhere)
{
	char *pages = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*elsewhere = pages + 2 * PAGE;
	return pages;
}

static void remapped_cond(void)
{
	char *elsewhere, *pages = two_pages(&elsewhere);

	pthread_cond_init((pthread_cond_t *)pages, NULL);
	blocked_in(waits, pages);
	mremap(pages, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, elsewhere);
}

static void cut_cond(void)
{
	char *elsewhere, *pages = two_pages(&elsewhere);

	pthread_cond_init((pthread_cond_t *)(pages + PAGE), NULL);
	blocked_in(waits, pages + PAGE);
	mremap(pages, 2 * PAGE, PAGE, 0);
}

static void covered_cond(void)
{
	char *elsewhere, *pages = two_pages(&elsewhere);

	pthread_cond_init((pthread_cond_t *)elsewhere, NULL);
	blocked_in(waits, elsewhere);
	mremap(pages, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, elsewhere);
}

static void kept_cond(void)
{
	char *elsewhere, *pages = two_pages(&elsewhere);
	pthread_cond_t *kept = (pthread_cond_t *)pages;
	pthread_t waiter;

	pthread_cond_init(kept, NULL);
	waiter = blocked_in(waits, kept);
	/* It gets shorter, and stays; or there is no room where it is, and it must not move. */
	mremap(pages, 2 * PAGE, PAGE, 0);
	if (mremap(pages, PAGE, 1UL << 46, 0) != MAP_FAILED)
		exit(1);
	pthread_mutex_lock(&door);
	is_open = 1;
	pthread_cond_broadcast(kept);
	pthread_mutex_unlock(&door);
	pthread_join(waiter, NULL);
	pthread_cond_destroy(kept);
}

/* Once controls. */

static void stays(void)
{
	atomic_store(&is_inside, 1);
	for (;;)
		pause();
}

static void *runs(void *control)
{
	pthread_once(control, stays);
	return NULL;
}

static void nothing(void)
{
}

static void freed_once(void)
{
	pthread_once_t *heap = calloc(1, sizeof *heap);
	pthread_t thread;

	pthread_create(&thread, NULL, runs, heap);
	while (!atomic_load(&is_inside))
		usleep(500);
	free(heap);
}

static void done_once(void)
{
	pthread_once_t *heap = calloc(1, sizeof *heap);

	pthread_once(heap, nothing);
	free(heap);
}

static void garbage_once(void)
{
	pthread_once_t *heap = malloc(sizeof *heap);

	memset(heap, 0xa4, sizeof *heap);
	pthread_once(heap, nothing);
	free(heap);
}

#define CASE(name) { #name, name }
static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	CASE(destroyed_cond), CASE(destroyed_barrier), CASE(moved_cond), CASE(grown_cond), CASE(unmapped_cond),
	CASE(remapped_cond), CASE(cut_cond), CASE(covered_cond), CASE(kept_cond),
	CASE(freed_once), CASE(done_once), CASE(garbage_once),
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
		if (!strcmp(cases[i].name, argv[1]))
			cases[i].run();
	puts("the end");
	fflush(stdout);
	/* Those that nobody can wake do not keep it. */
	exit(0);
}
