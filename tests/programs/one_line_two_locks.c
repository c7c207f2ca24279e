/* Two locks that one line takes, and two that one function takes for its callers. */
#include <pthread.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t third = PTHREAD_MUTEX_INITIALIZER, fourth = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void touch(pthread_mutex_t *lock)
{
	volatile int work = 0;

	pthread_mutex_lock(lock);
	work++;
	pthread_mutex_unlock(lock);
	work++;
}

__attribute__((noinline)) static void both(void)
{
	pthread_mutex_lock(&first), pthread_mutex_lock(&second);
	pthread_mutex_unlock(&second);
	pthread_mutex_unlock(&first);
}

int main(void)
{
	for (int i = 0; i < 10; i++) {
		both();
		touch(&third);
		touch(&fourth);
	}
	return 0;
}
