// Three threads, one of which takes a mutex three times as often as each other. Each sleeps with it. Prints how long each had it and
// waited for it: `held_0`, `waited_0`.
#include "meter.h"

enum { THREADS = 3, EACH = 20 };

static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;
static uint64_t held[THREADS], waited[THREADS];

SITE static void takes(size_t of)
{
	uint64_t begun = now();
	pthread_mutex_lock(&shared);
	uint64_t has = now();
	usleep(1000);
	held[of] += now() - has;
	waited[of] += has - begun;
	pthread_mutex_unlock(&shared);
	NO_TAIL_CALL;
}

static void *work(void *number)
{
	size_t of = (size_t)number;
	for (int i = 0; i < (of == 0 ? 3 : 1) * EACH; i++)
		takes(of);
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (size_t i = 0; i < THREADS; i++) {
		char name[16];
		snprintf(name, sizeof name, "held_%zu", i);
		truth(name, held[i]);
		snprintf(name, sizeof name, "waited_%zu", i);
		truth(name, waited[i]);
	}
	return 0;
}
