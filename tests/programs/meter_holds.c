/* One mutex is held for 10 us, 100 us and 1 ms, from three sites. Argument: rounds of all three (default 100). A round
 * has ten of the shortest. Another thread sleeps meanwhile, so that glibc uses atomic instructions.
 *
 * With a second argument: that many holds at one site of 10, 20, 30 and 40 us in turn; those that took more than 1 ms,
 * because the processor was taken away, are not in the truth. */
#include "meter.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t held[3];

SITE static void hold_10us(void)
{
	pthread_mutex_lock(&lock);
	uint64_t begun = now();
	held[0] += spin_from(begun, 10000) - begun;
	pthread_mutex_unlock(&lock);
	NO_TAIL_CALL;
}

SITE static void hold_100us(void)
{
	pthread_mutex_lock(&lock);
	uint64_t begun = now();
	held[1] += spin_from(begun, 100000) - begun;
	pthread_mutex_unlock(&lock);
	NO_TAIL_CALL;
}

SITE static void hold_1ms(void)
{
	pthread_mutex_lock(&lock);
	uint64_t begun = now();
	held[2] += spin_from(begun, 1000000) - begun;
	pthread_mutex_unlock(&lock);
	NO_TAIL_CALL;
}

SITE static uint64_t hold_in_turn(int i)
{
	pthread_mutex_lock(&lock);
	uint64_t begun = now();
	uint64_t ended = spin_from(begun, 10000 * (uint64_t)(1 + i % 4));
	pthread_mutex_unlock(&lock);
	NO_TAIL_CALL;
	return ended - begun;
}

static void in_turn(int n)
{
	uint64_t sum = 0, count = 0;
	for (int i = 0; i < n; i++) {
		uint64_t ns = hold_in_turn(i);
		if (ns < 1000000) {
			sum += ns;
			count++;
		}
	}
	truth("mean", sum / count);
}

static void *sleeper(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 100;
	pthread_t thread;

	pthread_create(&thread, NULL, sleeper, NULL);
	if (argc > 2) {
		in_turn(atoi(argv[2]));
		return 0;
	}
	for (int i = 0; i < rounds; i++) {
		for (int j = 0; j < 10; j++)
			hold_10us();
		hold_100us();
		hold_1ms();
	}
	truth("hold_10us", held[0]);
	truth("hold_100us", held[1]);
	truth("hold_1ms", held[2]);
	return 0;
}
