/* A server that creates each thread with the lock A held, which the thread then takes itself: N
 * threads, one after the other. So a thread does all that follows after its creator has released A.
 *
 * Then two more are created in the same way. With "inverted" both are threads: one takes B and then C, the
 * other takes C and then B, at the same time as far as anything orders them. With "ordered" the
 * creator takes B and then C before it releases A, and the thread takes C and then B after it has
 * had A: they never meet. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER, c = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t work = PTHREAD_MUTEX_INITIALIZER;
/* One of the two waits without a lock until the other is done: the run itself does not deadlock. */
static int turn;

static void have_started(void)
{
	pthread_mutex_lock(&a);
	pthread_mutex_unlock(&a);
}

static void take(pthread_mutex_t *outer, pthread_mutex_t *inner)
{
	pthread_mutex_lock(outer);
	pthread_mutex_lock(inner);
	pthread_mutex_unlock(inner);
	pthread_mutex_unlock(outer);
}

static void *serve(void *unused)
{
	have_started();
	pthread_mutex_lock(&work);
	pthread_mutex_unlock(&work);
	return unused;
}

static void *b_then_c(void *unused)
{
	have_started();
	take(&b, &c);
	__atomic_store_n(&turn, 1, __ATOMIC_RELEASE);
	return unused;
}

static void *c_then_b(void *unused)
{
	have_started();
	while (!__atomic_load_n(&turn, __ATOMIC_ACQUIRE))
		;
	take(&c, &b);
	return unused;
}

static pthread_t create(void *(*routine)(void *))
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, routine, NULL))
		abort();
	return thread;
}

int main(int argc, char **argv)
{
	pthread_t first, second;
	long count = argc > 2 ? atol(argv[2]) : 0;
	for (long i = 0; i < count; i++) {
		pthread_mutex_lock(&a);
		first = create(serve);
		pthread_mutex_unlock(&a);
		pthread_join(first, NULL);
	}
	if (argc > 1 && !strcmp(argv[1], "inverted")) {
		pthread_mutex_lock(&a);
		first = create(b_then_c);
		second = create(c_then_b);
		pthread_mutex_unlock(&a);
		pthread_join(first, NULL);
		pthread_join(second, NULL);
	} else {
		pthread_mutex_lock(&a);
		second = create(c_then_b);
		take(&b, &c);
		__atomic_store_n(&turn, 1, __ATOMIC_RELEASE);
		pthread_mutex_unlock(&a);
		pthread_join(second, NULL);
	}
	printf("%ld\n", count);
	return 0;
}
