/* Three functions, a thread for each, hold one lock for milliseconds: nearly every acquisition waits. */
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define PLACE(name)                                                            \
	__attribute__((noinline)) static void *name(void *unused)              \
	{                                                                      \
		for (int i = 0; i < 10; i++) {                                 \
			pthread_mutex_lock(&lock);                             \
			usleep(3000);                                          \
			pthread_mutex_unlock(&lock);                           \
		}                                                              \
		return unused;                                                 \
	}

PLACE(one)
PLACE(two)
PLACE(three)

int main(void)
{
	void *(*const places[])(void *) = {one, two, three};
	pthread_t threads[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, places[i], NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
