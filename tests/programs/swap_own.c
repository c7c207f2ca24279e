/* Has a pthread_mutex_lock of its own, which everybody in the process calls. */
#include <pthread.h>

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	return pthread_mutex_trylock(mutex);
}

int main(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	return pthread_mutex_lock(&mutex);
}
