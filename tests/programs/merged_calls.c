/* Two calls of which -Os makes one, with the line of one of them. */
#include <stdlib.h>

#include "owners.h"

struct first {
	long count;
	pthread_mutex_t mutex;
};

struct second {
	long count;
	pthread_mutex_t guard;
};

static pthread_mutex_t fixed = PTHREAD_MUTEX_INITIALIZER;
static struct first *first;
static struct second *second;

__attribute__((noipa)) static void take(int which, struct first *a, struct second *b)
{
	if (which)
		pthread_mutex_lock(&a->mutex);
	else
		pthread_mutex_lock(&b->guard);
	pthread_mutex_lock(&fixed);
	pthread_mutex_unlock(&fixed);
	pthread_mutex_unlock(which ? &a->mutex : &b->guard);
}

static void in_order(void)
{
	take(0, first, second);
	take(1, first, second);
}

static void reversed(void)
{
	pthread_mutex_lock(&fixed);
	pthread_mutex_lock(&first->mutex);
	pthread_mutex_unlock(&first->mutex);
	pthread_mutex_lock(&second->guard);
	pthread_mutex_unlock(&second->guard);
	pthread_mutex_unlock(&fixed);
}

int main(void)
{
	first = calloc(1, sizeof *first);
	second = calloc(1, sizeof *second);
	run_both();
	return 0;
}
