/* Takes locks in the order of its argument, one inside the other, and unlocks them: "AB" takes A, then B. What one
 * run does has no cycle. Locks: A, B and C are static, d and e are on the heap, each initialised at a place of its
 * own.
 */
#include <pthread.h>
#include <stdlib.h>

pthread_mutex_t A = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t B = PTHREAD_MUTEX_INITIALIZER;
#ifdef MOVED
/* Another build has its variables elsewhere. */
char in_between[4096] = { 1 };
#endif
static pthread_mutex_t C = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t *d, *e;

static void make_d(void)
{
	d = malloc(sizeof *d);
	if (!d || pthread_mutex_init(d, NULL))
		abort();
}

static void make_e(void)
{
	e = malloc(sizeof *e);
	if (!e || pthread_mutex_init(e, NULL))
		abort();
}

static pthread_mutex_t *lock_of(char letter)
{
	switch (letter) {
	case 'A': return &A;
	case 'B': return &B;
	case 'C': return &C;
	case 'd': return d;
	case 'e': return e;
	default: abort();
	}
}

static void *take(void *arg)
{
	const char *order = arg;
	if (!*order)
		return NULL;
	pthread_mutex_lock(lock_of(*order));
	take((void *)(order + 1));
	pthread_mutex_unlock(lock_of(*order));
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	make_d();
	make_e();
	/* In a thread: what the one that made them takes first, nobody else could know. */
	if (pthread_create(&thread, NULL, take, argc > 1 ? argv[1] : ""))
		abort();
	pthread_join(thread, NULL);
	return 0;
}
