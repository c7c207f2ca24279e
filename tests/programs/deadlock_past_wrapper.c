/* Two threads come to a deadlock with locks that a function took for them: begin() has returned with each, and nothing ever
 * unlocks them. That is the deadlock's doing. begin() has an unlock on another way, so it could have
 * forgotten one.
 */
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static volatile int sections;

__attribute__((noipa)) static void begin(pthread_mutex_t *lock)
{
	pthread_mutex_lock(lock);
	if (++sections < 0)
		pthread_mutex_unlock(lock);
}

__attribute__((noipa)) static void end(pthread_mutex_t *lock)
{
	sections--;
	pthread_mutex_unlock(lock);
}

static void nest(pthread_mutex_t *outer, pthread_mutex_t *inner)
{
	begin(outer);
	pthread_barrier_wait(&both);
	begin(inner);
	end(inner);
	end(outer);
}

static void *there(void *nothing)
{
	nest(&a, &b);
	return nothing;
}

static void *back(void *nothing)
{
	nest(&b, &a);
	return nothing;
}

int main(void)
{
	pthread_t threads[2];

	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&threads[0], NULL, there, NULL);
	pthread_create(&threads[1], NULL, back, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	return 0;
}
