/* Two threads, one after the other, that take two locks in both orders. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static pthread_mutex_t stock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t orders = PTHREAD_MUTEX_INITIALIZER;
/* So that the program always ends. lockwright does not see it, and it could come out the other way. */
static atomic_int sold;

static void *sell(void *unused)
{
	pthread_mutex_lock(&stock);
	pthread_mutex_lock(&orders);
	pthread_mutex_unlock(&orders);
	pthread_mutex_unlock(&stock);
	sold = 1;
	return unused;
}

static void *cancel(void *unused)
{
	while (!sold)
		sched_yield();
	pthread_mutex_lock(&orders);
	pthread_mutex_lock(&stock);
	pthread_mutex_unlock(&stock);
	pthread_mutex_unlock(&orders);
	return unused;
}

int main(void)
{
	pthread_t seller, canceller;

	pthread_create(&seller, NULL, sell, NULL);
	pthread_create(&canceller, NULL, cancel, NULL);
	pthread_join(seller, NULL);
	pthread_join(canceller, NULL);
	return 0;
}
