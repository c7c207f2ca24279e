/* What careful programs do, which looks wrong to a simple tool: none of it can deadlock.
 *
 *   idioms hand-over-hand  a list whose nodes are locked one ahead, by many threads; its order is not that of
 *                          the addresses
 *   idioms back-off        the wrong order, but with a trylock, and everything released if that fails
 *   idioms address         two of an array's locks at a time, the lower address first
 *   idioms once            initialised at first use: checked, locked, checked again
 *   idioms construction    an object is locked while it is built, for the sake of functions that want it
 *                          locked, and published in a registry when it is done
 *   idioms gate            both orders, but always inside a further lock
 *   idioms joined          both orders, but in threads of which one is joined before the other begins
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "baton.h"

enum { THREADS = 4, ROUNDS = 200, NODES = 24, SLOTS = 12 };

static struct meeting together;

static unsigned roll(unsigned *seed)
{
	*seed = *seed * 1103515245 + 12345;
	return *seed >> 16;
}

static void in_threads(void *(*run)(void *))
{
	pthread_t threads[THREADS];

	together.size = THREADS;
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, run, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* hand-over-hand */

struct node {
	pthread_mutex_t lock;
	struct node *next;
	long value;
};

static struct node list[NODES];

static void list_make(void)
{
	unsigned seed = 1;
	int order[NODES];

	for (int i = 0; i < NODES; i++)
		order[i] = i;
	for (int i = NODES - 1; i > 1; i--) {
		int j = 1 + roll(&seed) % i, swap = order[i];
		order[i] = order[j];
		order[j] = swap;
	}
	for (int i = 0; i < NODES; i++) {
		pthread_mutex_init(&list[order[i]].lock, NULL);
		list[order[i]].next = i + 1 < NODES ? &list[order[i + 1]] : NULL;
	}
}

static void *list_walk(void *arg)
{
	(void)arg;
	meeting_wait(&together);
	for (int round = 0; round < ROUNDS; round++) {
		struct node *node = &list[0];
		pthread_mutex_lock(&node->lock);
		while (node->next) {
			struct node *next = node->next;
			pthread_mutex_lock(&next->lock);
			next->value++;
			pthread_mutex_unlock(&node->lock);
			node = next;
		}
		pthread_mutex_unlock(&node->lock);
	}
	return NULL;
}

/* back-off, gate, joined */

static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void forward(void)
{
	pthread_mutex_lock(&outer);
	pthread_mutex_lock(&inner);
	pthread_mutex_unlock(&inner);
	pthread_mutex_unlock(&outer);
}

static void backward(void)
{
	pthread_mutex_lock(&inner);
	pthread_mutex_lock(&outer);
	pthread_mutex_unlock(&outer);
	pthread_mutex_unlock(&inner);
}

static void backward_politely(void)
{
	for (;;) {
		pthread_mutex_lock(&inner);
		if (pthread_mutex_trylock(&outer) == 0)
			break;
		pthread_mutex_unlock(&inner);
		sched_yield();
	}
	pthread_mutex_unlock(&outer);
	pthread_mutex_unlock(&inner);
}

static void *back_off(void *arg)
{
	meeting_wait(&together);
	for (int round = 0; round < ROUNDS; round++)
		(long)arg % 2 ? forward() : backward_politely();
	return NULL;
}

static void *through_gate(void *arg)
{
	meeting_wait(&together);
	for (int round = 0; round < ROUNDS; round++) {
		pthread_mutex_lock(&gate);
		(long)arg % 2 ? forward() : backward();
		pthread_mutex_unlock(&gate);
	}
	return NULL;
}

static void *one_way(void *arg)
{
	arg ? forward() : backward();
	return NULL;
}

static void joined(void)
{
	pthread_t thread;

	for (long i = 0; i < 2; i++) {
		pthread_create(&thread, NULL, one_way, (void *)i);
		pthread_join(thread, NULL);
	}
}

/* address */

static struct slot {
	pthread_mutex_t lock;
	long value;
} slots[SLOTS];

static void *swap_slots(void *arg)
{
	unsigned seed = 7 + (unsigned)(long)arg;

	meeting_wait(&together);
	for (int round = 0; round < ROUNDS; round++) {
		struct slot *a = &slots[roll(&seed) % SLOTS], *b = &slots[roll(&seed) % SLOTS];
		if (a == b)
			continue;
		if (a > b) {
			struct slot *swap = a;
			a = b;
			b = swap;
		}
		pthread_mutex_lock(&a->lock);
		pthread_mutex_lock(&b->lock);
		a->value++;
		b->value--;
		pthread_mutex_unlock(&a->lock);
		pthread_mutex_unlock(&b->lock);
	}
	return NULL;
}

/* once */

static pthread_mutex_t once_lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(struct slot *) shared;

static struct slot *get_shared(void)
{
	struct slot *slot = atomic_load(&shared);

	if (!slot) {
		pthread_mutex_lock(&once_lock);
		slot = atomic_load(&shared);
		if (!slot) {
			slot = calloc(1, sizeof *slot);
			pthread_mutex_init(&slot->lock, NULL);
			pthread_mutex_lock(&slot->lock);
			slot->value = 1;
			pthread_mutex_unlock(&slot->lock);
			atomic_store(&shared, slot);
		}
		pthread_mutex_unlock(&once_lock);
	}
	return slot;
}

static void *use_shared(void *arg)
{
	(void)arg;
	meeting_wait(&together);
	for (int round = 0; round < ROUNDS; round++) {
		struct slot *slot = get_shared();
		pthread_mutex_lock(&slot->lock);
		slot->value++;
		pthread_mutex_unlock(&slot->lock);
	}
	return NULL;
}

/* construction */

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static struct object {
	struct slot whole, part;
} *registry[THREADS];
static int registered;

/* With the whole locked. */
static void count(struct object *object)
{
	pthread_mutex_lock(&object->part.lock);
	object->part.value++;
	pthread_mutex_unlock(&object->part.lock);
}

static struct object *build(void)
{
	struct object *object = calloc(1, sizeof *object);

	pthread_mutex_init(&object->whole.lock, NULL);
	pthread_mutex_init(&object->part.lock, NULL);
	pthread_mutex_lock(&object->whole.lock);
	count(object);
	pthread_mutex_unlock(&object->whole.lock);
	return object;
}

static void *build_and_publish(void *arg)
{
	struct object *object = build();

	(void)arg;
	pthread_mutex_lock(&registry_lock);
	registry[registered++] = object;
	pthread_mutex_unlock(&registry_lock);
	meeting_wait(&together);
	for (int round = 0; round < ROUNDS; round++) {
		pthread_mutex_lock(&registry_lock);
		object = registry[round % registered];
		pthread_mutex_lock(&object->whole.lock);
		count(object);
		pthread_mutex_unlock(&object->whole.lock);
		pthread_mutex_unlock(&registry_lock);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	if (!strcmp(how, "hand-over-hand")) {
		list_make();
		in_threads(list_walk);
	} else if (!strcmp(how, "back-off")) {
		in_threads(back_off);
	} else if (!strcmp(how, "address")) {
		for (int i = 0; i < SLOTS; i++)
			pthread_mutex_init(&slots[i].lock, NULL);
		in_threads(swap_slots);
	} else if (!strcmp(how, "once")) {
		in_threads(use_shared);
	} else if (!strcmp(how, "construction")) {
		in_threads(build_and_publish);
	} else if (!strcmp(how, "gate")) {
		in_threads(through_gate);
	} else if (!strcmp(how, "joined")) {
		joined();
	} else {
		return 2;
	}
	puts("the end");
	return 0;
}
