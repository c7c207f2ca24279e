/* Locks taken through functions made for taking locks, which are not inlined and have names that say nothing. Some
 * callers take a lock alone, others nest: what is shown must be those that nest, though they are never the first.
 *
 *   wrappers one    one function: seize
 *   wrappers two    two: seize_named calls seize
 *   wrappers held   the first lock ever taken is still held when the next is taken
 *   wrappers kept   a function that returns with the lock only if all goes well, and at first it does not
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "baton.h"

static pthread_mutex_t vault = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t ledger = PTHREAD_MUTEX_INITIALIZER;
static const char *how;
static baton second_may, first_may_leave;

/* Nothing is done last, so that no call becomes a jump. */
#define THE_END __asm__ volatile("")

__attribute__((noinline)) static void seize(pthread_mutex_t *m)
{
	pthread_mutex_lock(m);
	THE_END;
}

__attribute__((noinline)) static void yield_up(pthread_mutex_t *m)
{
	pthread_mutex_unlock(m);
	THE_END;
}

__attribute__((noinline)) static void seize_named(pthread_mutex_t *m, const char *name)
{
	if (!*name)
		puts("no name");
	seize(m);
	THE_END;
}

__attribute__((noinline)) static int seize_if(pthread_mutex_t *m, int good)
{
	pthread_mutex_lock(m);
	if (!good)
		pthread_mutex_unlock(m);
	return good;
}

/* No function: its caller is to call the wrapper itself. */
#define take(m)                                                                \
	(!strcmp(how, "two")	? seize_named(m, "a")                          \
	 : !strcmp(how, "kept") ? (void)seize_if(m, 1)                         \
				: seize(m))

__attribute__((noinline)) static void look_into_vault(void)
{
	take(&vault);
	yield_up(&vault);
	THE_END;
}

__attribute__((noinline)) static void look_into_ledger(void)
{
	take(&ledger);
	yield_up(&ledger);
	THE_END;
}

__attribute__((noinline)) static void deposit(void)
{
	take(&vault);
	take(&ledger);
	yield_up(&ledger);
	yield_up(&vault);
	THE_END;
}

__attribute__((noinline)) static void balance(void)
{
	take(&ledger);
	take(&vault);
	yield_up(&vault);
	yield_up(&ledger);
	THE_END;
}

static void warm_up(void)
{
	if (!strcmp(how, "held"))
		return;
	for (int i = 0; !strcmp(how, "kept") && i < 3; i++)
		if (seize_if(&vault, 0) || seize_if(&ledger, 0))
			puts("taken");
	for (int i = 0; i < 4; i++) {
		look_into_vault();
		look_into_ledger();
	}
}

static void *teller(void *arg)
{
	warm_up();
	deposit();
	look_into_vault();
	baton_pass(&second_may);
	baton_take(&first_may_leave);
	return arg;
}

static void *auditor(void *arg)
{
	baton_take(&second_may);
	warm_up();
	balance();
	look_into_ledger();
	baton_pass(&first_may_leave);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	how = argc > 1 ? argv[1] : "one";
	pthread_create(&threads[0], NULL, teller, NULL);
	pthread_create(&threads[1], NULL, auditor, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	puts("the end");
	return 0;
}
