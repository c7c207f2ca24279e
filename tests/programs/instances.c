/* Many locks of few classes: all accounts' locks are initialised in one place, all branches' in another.
 *
 *   instances classes    account 1 then branch 1; branch 2 then account 2: only the classes make a circle
 *   instances same       account 1 then branch 1; branch 1 then account 1: so do the locks themselves
 *   instances transfer   account 1 then account 2; account 2 then account 1: two locks of one class
 *   instances ascending  account 1 then 2, 2 then 3, 1 then 3: one class, and an order that all keep
 */
#include <pthread.h>
#include "baton.h"
#include <stdlib.h>
#include <string.h>

struct account {
	pthread_mutex_t lock;
	long balance;
};

struct branch {
	pthread_mutex_t lock;
	long clients;
};

static struct account *account_new(void)
{
	struct account *account = calloc(1, sizeof *account);
	pthread_mutex_init(&account->lock, NULL);
	return account;
}

static struct branch *branch_new(void)
{
	struct branch *branch = calloc(1, sizeof *branch);
	pthread_mutex_init(&branch->lock, NULL);
	return branch;
}

static struct meeting together;
static baton here;
static pthread_mutex_t *first[2], *second[2];

static void *nest(void *arg)
{
	long i = (long)arg;
	baton_pass(&here);
	meeting_wait(&together);
	if (i == 1) /* the other goes first */
		meeting_wait(&together);
	pthread_mutex_lock(first[i]);
	pthread_mutex_lock(second[i]);
	pthread_mutex_unlock(second[i]);
	pthread_mutex_unlock(first[i]);
	if (i == 0)
		meeting_wait(&together);
	meeting_wait(&together);
	return NULL;
}

static void both(pthread_mutex_t *a, pthread_mutex_t *b, pthread_mutex_t *c, pthread_mutex_t *d)
{
	pthread_t threads[2];
	first[0] = a, second[0] = b, first[1] = c, second[1] = d;
	for (long i = 0; i < 2; i++) {
		pthread_create(&threads[i], NULL, nest, (void *)i);
		baton_take(&here);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static int ascending(const void *a, const void *b)
{
	const struct account *const *x = a, *const *y = b;
	return *x < *y ? -1 : *x > *y;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "classes";
	struct account *accounts[3];
	struct branch *branches[2];

	for (int i = 0; i < 3; i++)
		accounts[i] = account_new();
	for (int i = 0; i < 2; i++)
		branches[i] = branch_new();
	qsort(accounts, 3, sizeof *accounts, ascending);
	atomic_init(&here, 0);
	together.size = 2;

	if (!strcmp(how, "classes")) {
		both(&accounts[0]->lock, &branches[0]->lock, &branches[1]->lock, &accounts[1]->lock);
	} else if (!strcmp(how, "same")) {
		both(&accounts[0]->lock, &branches[0]->lock, &branches[0]->lock, &accounts[0]->lock);
	} else if (!strcmp(how, "transfer")) {
		both(&accounts[0]->lock, &accounts[1]->lock, &accounts[1]->lock, &accounts[0]->lock);
	} else {
		both(&accounts[0]->lock, &accounts[1]->lock, &accounts[1]->lock, &accounts[2]->lock);
		both(&accounts[0]->lock, &accounts[2]->lock, &accounts[0]->lock, &accounts[2]->lock);
	}
	return 0;
}
