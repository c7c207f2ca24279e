/* A thread that takes one lock. */
#include <pthread.h>

static pthread_mutex_t stock = PTHREAD_MUTEX_INITIALIZER;

int main(void)
{
	pthread_mutex_lock(&stock);
	pthread_mutex_unlock(&stock);
	return 0;
}
