/* Functions that newer GLib has, and locks that go by them. As a library (-DLIBRARY), a stand-in for such a GLib, with
 * what is needed of it; else a program that calls them. */
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <pthread.h>

void g_bit_lock(int *word, int bit);
void g_bit_lock_and_get(int *word, unsigned bit, int *had);
void g_bit_unlock_and_set(int *word, unsigned bit, int value, int keep);
void g_pointer_bit_lock_and_get(void *word, unsigned bit, uintptr_t *had);
void g_pointer_bit_unlock_and_set(void *word, unsigned bit, void *value, uintptr_t keep);
int g_once_init_enter_pointer(void *gate);
void g_once_init_leave_pointer(void *gate, void *result);
/* No function of GLib's: whether anybody waits at the gate. */
int waits_at_gate(void);

#ifdef LIBRARY

int g_mutex_trylock(void *unused);
int g_bit_trylock(int *word, int bit);
int g_pointer_bit_trylock(void *word, int bit);

int g_mutex_trylock(void *unused)
{
	return unused == NULL;
}

int g_bit_trylock(int *word, int bit)
{
	return !(atomic_fetch_or((atomic_uint *)word, 1u << bit) >> bit & 1);
}

void g_bit_lock(int *word, int bit)
{
	while (!g_bit_trylock(word, bit))
		sched_yield();
}

int g_pointer_bit_trylock(void *word, int bit)
{
	return !(atomic_fetch_or((atomic_uintptr_t *)word, (uintptr_t)1 << bit) >> bit & 1);
}

void g_bit_lock_and_get(int *word, unsigned bit, int *had)
{
	while (!g_bit_trylock(word, bit))
		sched_yield();
	if (had)
		*had = atomic_load((atomic_int *)word);
}

void g_bit_unlock_and_set(int *word, unsigned bit, int value, int keep)
{
	atomic_store((atomic_int *)word, (value & ~(int)(1u << bit)) | (*word & keep));
}

void g_pointer_bit_lock_and_get(void *word, unsigned bit, uintptr_t *had)
{
	while (!g_pointer_bit_trylock(word, bit))
		sched_yield();
	if (had)
		*had = atomic_load((atomic_uintptr_t *)word);
}

void g_pointer_bit_unlock_and_set(void *word, unsigned bit, void *value, uintptr_t keep)
{
	uintptr_t old = atomic_load((atomic_uintptr_t *)word);

	atomic_store((atomic_uintptr_t *)word, ((uintptr_t)value & ~((uintptr_t)1 << bit)) | (old & keep));
}

static atomic_int begun, waiting;

int waits_at_gate(void)
{
	return waiting;
}

/* For one gate. */
int g_once_init_enter_pointer(void *gate)
{
	if (atomic_load((atomic_uintptr_t *)gate))
		return 0;
	if (!atomic_exchange(&begun, 1))
		return 1;
	waiting++;
	while (!atomic_load((atomic_uintptr_t *)gate))
		sched_yield();
	return 0;
}

void g_once_init_leave_pointer(void *gate, void *result)
{
	atomic_store((atomic_uintptr_t *)gate, (uintptr_t)result);
}

#else

static int first, second;
static void *head;
static void *gate;

static void lock(int *word)
{
	int had;

	g_bit_lock_and_get(word, 0, &had);
	if (had != 9)
		printf("had %d\n", had);
}

static void unlock(int *word)
{
	/* What it keeps: the bit that was there; what it sets: none. */
	g_bit_unlock_and_set(word, 0, 0, 8);
}

static void *first_then_head(void *unused)
{
	uintptr_t had;

	lock(&first);
	g_pointer_bit_lock_and_get(&head, 3, &had);
	if (had != 8)
		printf("had %d\n", (int)had);
	g_pointer_bit_unlock_and_set(&head, 3, NULL, 0);
	unlock(&first);
	return unused;
}

static void *head_then_first(void *unused)
{
	g_pointer_bit_lock_and_get(&head, 3, NULL);
	lock(&first);
	unlock(&first);
	g_pointer_bit_unlock_and_set(&head, 3, NULL, 0);
	return unused;
}

/* The initialising thread does so until the other waits. */
static atomic_int is_under_way;
static int is_alone;

static void *opens(void *unused)
{
	if (g_once_init_enter_pointer(&gate)) {
		lock(&second);
		unlock(&second);
		is_under_way = 1;
		while (!is_alone && !waits_at_gate())
			sched_yield();
		g_once_init_leave_pointer(&gate, &gate);
	}
	return unused;
}

static void *wants(void *unused)
{
	while (!is_under_way)
		sched_yield();
	lock(&second);
	if (g_once_init_enter_pointer(&gate))
		printf("twice\n");
	unlock(&second);
	return unused;
}

static atomic_int turn;

struct step {
	int number;
	void *(*what)(void *);
};

static void *step(void *arg)
{
	struct step *step = arg;

	while (turn != step->number)
		sched_yield();
	step->what(NULL);
	turn++;
	return NULL;
}

static void run(void *(*one)(void *), void *(*other)(void *))
{
	struct step steps[] = { { 0, one }, { 1, other } };
	pthread_t threads[2];

	turn = 0;
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, step, &steps[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void together(void *(*one)(void *), void *(*other)(void *))
{
	pthread_t thread;

	pthread_create(&thread, NULL, one, NULL);
	other(NULL);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	first = second = 8;
	is_alone = !strcmp(what, "gate_done");
	if (!strcmp(what, "locks"))
		run(first_then_head, head_then_first);
	else if (!strcmp(what, "ordered"))
		run(first_then_head, first_then_head);
	else if (!strcmp(what, "gate"))
		together(opens, wants);
	else if (!strcmp(what, "gate_done"))
		run(opens, opens);
	else
		return 2;
	printf("%s: done\n", what);
	return 0;
}

#endif
