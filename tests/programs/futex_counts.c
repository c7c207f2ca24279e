// Calls futex(2) itself, from two threads that hand a word to and fro, and counts what the calls
// say: what `meter --system` counts of it must be the same.
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { TURNS = 5000 };

static atomic_uint turn;
static atomic_uint never;
static atomic_ulong waits, refused, timed_out, wakes, woken;

static long futex(atomic_uint *word, int operation, unsigned value, const struct timespec *timeout)
{
	return syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, timeout, 0, 0);
}

__attribute__((noinline)) static void await_turn(unsigned mine)
{
	unsigned seen;

	while ((seen = atomic_load(&turn)) % 2 != mine) {
		if (futex(&turn, FUTEX_WAIT, seen, 0) == 0)
			atomic_fetch_add(&waits, 1);
		else
			atomic_fetch_add(&refused, 1);
	}
}

__attribute__((noinline)) static void hand_over(void)
{
	long n;

	atomic_fetch_add(&turn, 1);
	n = futex(&turn, FUTEX_WAKE, 1, 0);
	atomic_fetch_add(&wakes, 1);
	atomic_fetch_add(&woken, n);
}

static void *play(void *which)
{
	unsigned mine = which != 0;

	for (int i = 0; i < TURNS; i++) {
		await_turn(mine);
		hand_over();
	}
	return 0;
}

int main(int argc, char **argv)
{
	const struct timespec soon = { .tv_nsec = 1000 };
	pthread_t other;

	(void)argv;
	// A word: begin at a sign.
	if (argc > 1 && read(0, &(char){ 0 }, 1) != 1)
		return 1;
	for (int i = 0; i < 10; i++)
		if (futex(&never, FUTEX_WAIT, 0, &soon) != 0)
			atomic_fetch_add(&timed_out, 1);
	pthread_create(&other, 0, play, &turn);
	play(0);
	pthread_join(other, 0);
	printf("%p %lu %lu %lu %lu %lu %p\n", (void *)&turn, waits, refused, wakes, woken, timed_out,
	       (void *)&never);
	return 0;
}
