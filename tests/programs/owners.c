/* Locks on the heap and on the stack, which have no name but that of the member that they are. Each pair
   is taken in both orders. The first of `misleading` are those whose names only look known. */
#include <stdlib.h>

#include "owners.h"

struct account {
	long number;
	pthread_mutex_t lock;
	pthread_mutex_t audit;
};

typedef struct {
	struct {
		long count;
		struct account accounts[3];
	} inner;
	union {
		long raw[8];
		pthread_mutex_t table;
	};
} Bank;

struct other {
	pthread_mutex_t audit;
	pthread_mutex_t lock;
};

static struct account *from;
static Bank *bank;
static struct other *other;

static void account_init(struct account *account)
{
	pthread_mutex_init(&account->lock, NULL);
	pthread_mutex_init(&account->audit, NULL);
}

static void take(pthread_mutex_t *outer, pthread_mutex_t *inner)
{
	pthread_mutex_lock(outer);
	pthread_mutex_lock(inner);
	pthread_mutex_unlock(inner);
	pthread_mutex_unlock(outer);
}

/* What is first taken has no place where it was initialised. */
static void take_first(Bank *b, int i)
{
	pthread_mutex_lock(&b->inner.accounts[i].lock);
	pthread_mutex_unlock(&b->inner.accounts[i].lock);
	pthread_mutex_lock(&b->table);
	pthread_mutex_unlock(&b->table);
}

#define INIT(object) pthread_mutex_init(&(object)->lock, NULL)
#define HIDDEN(object) pthread_mutex_init(&(object)->lock, NULL);

/* A name of two things, another call in the line, and a macro: no report names any. */
static void misleading(struct account *object, struct other *shadow)
{
	pthread_mutex_destroy(&object->lock);
	pthread_mutex_destroy(&object->audit);
	{
		struct other *object = shadow;
		pthread_mutex_init(&object->lock, NULL);
	}
	HIDDEN(object) pthread_mutex_init(&shadow->audit, NULL);
	INIT(object);
}

static void in_order(void)
{
	take(&from->lock, &from->audit);
	take(&bank->inner.accounts[1].lock, &bank->table);
	take(&other->lock, &other->audit);
}

static void reversed(void)
{
	take(&from->audit, &from->lock);
	take(&bank->table, &bank->inner.accounts[1].lock);
	take(&other->audit, &other->lock);
}

int main(int argc, char **argv)
{
	(void)argv;
	pthread_mutex_t local;
	from = calloc(1, sizeof *from);
	bank = calloc(1, sizeof *bank);
	other = calloc(1, sizeof *other);
	account_init(from);
	take_first(bank, 1);
	if (argc > 1)
		misleading(from, other);
	else {
		pthread_mutex_init(&other->lock, NULL);
		other->audit = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
		pthread_mutex_lock(&other->audit);
		pthread_mutex_unlock(&other->audit);
	}
	pthread_mutex_init(&local, NULL);
	take(&local, &from->lock);
	take(&from->lock, &local);
	run_both();
	return 0;
}
