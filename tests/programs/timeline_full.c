// Two threads fight for one mutex for some time, and sleep with it now and then: more waits and holds than a small timeline keeps.
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t fought_for = PTHREAD_MUTEX_INITIALIZER;

static void *fights(void *unused) {
	for (int i = 0; i < 2500; i++) {
		pthread_mutex_lock(&fought_for);
		usleep(60);
		pthread_mutex_unlock(&fought_for);
	}
	return unused;
}

int main(void) {
	pthread_t other;
	pthread_create(&other, NULL, fights, NULL);
	fights(NULL);
	pthread_join(other, NULL);
	return 0;
}
