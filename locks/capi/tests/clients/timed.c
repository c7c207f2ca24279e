/* The timed lock, -DNAME=mutex say: in time, too late, never, and no time at all. */
#include <lockwright.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#define JOIN_(a, b, c) a##b##c
#define JOIN(a, b, c) JOIN_(a, b, c)
#define OF(what) JOIN(lw_, NAME, what)

static OF(_t) lock;
static long got[4];

static void *wait_in_vain(void *unused)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += 20 * 1000 * 1000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	errno = EXDEV;
	got[0] = OF(_timedlock)(&lock, &until);
	until.tv_nsec = 1000000000;
	got[1] = OF(_timedlock)(&lock, &until);
	got[2] = errno;
	return unused;
}

int main(void)
{
	pthread_t thread;
	OF(_lock)(&lock);
	pthread_create(&thread, NULL, wait_in_vain, NULL);
	pthread_join(thread, NULL);
	OF(_unlock)(&lock);
	got[3] = OF(_timedlock)(&lock, NULL);
	OF(_unlock)(&lock);
	puts(got[0] == ETIMEDOUT && got[1] == EINVAL && got[2] == EXDEV && got[3] == 0 ? "in time" : "wrong");
	return 0;
}
