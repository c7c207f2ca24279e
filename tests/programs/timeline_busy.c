// Main computes for two milliseconds with `desk` held, ROUNDS times, while nobody waits for it, and sleeps in none of them.
#include <pthread.h>
#include <time.h>

enum { ROUNDS = 5, NANOSECONDS = 2000000 };

static pthread_mutex_t desk = PTHREAD_MUTEX_INITIALIZER;

static long long now(void) {
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int main(void) {
	// Several short ones first: how a lock is taken and released for the first time is another path.
	for (int i = 0; i < 1000 + ROUNDS; i++) {
		pthread_mutex_lock(&desk);
		for (long long begin = now(); i >= 1000 && now() - begin < NANOSECONDS;)
			;
		pthread_mutex_unlock(&desk);
	}
	return 0;
}
