/* The big kernel lock: as deep after a sleep as before, and another's meanwhile. */
#include <lockwright.h>

#include <pthread.h>
#include <stdio.h>

static lw_bkl_t lock;
static long count;

static void *run(void *unused)
{
	lw_bkl_lock(&lock);
	count++;
	lw_bkl_unlock(&lock);
	return unused;
}

static void sleep_while_it_runs(void *thread)
{
	pthread_create(thread, NULL, run, NULL);
	pthread_join(*(pthread_t *)thread, NULL);
}

int main(void)
{
	pthread_t thread;
	lw_bkl_lock(&lock);
	lw_bkl_lock(&lock);
	count++;
	lw_bkl_schedule(&lock, sleep_while_it_runs, &thread);
	count++;
	int depth = lw_bkl_depth(&lock);
	lw_bkl_unlock(&lock);
	lw_bkl_unlock(&lock);
	lw_bkl_schedule(&lock, sleep_while_it_runs, &thread);
	printf("%ld, %d deep, then %d\n", count, depth, lw_bkl_depth(&lock));
	return 0;
}
