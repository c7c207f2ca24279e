/* Has one lock, which is for other processes, too. */
#include <pthread.h>

int main(void)
{
	static pthread_mutex_t lock;
	pthread_mutexattr_t attribute;
	pthread_mutexattr_init(&attribute);
	pthread_mutexattr_setpshared(&attribute, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&lock, &attribute);
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	return 0;
}
