/* Lock events: what there is of them, of a lock that some threads want at once. */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <lockwright.h>

static lw_rtmutex_t lock = LW_RTMUTEX_INIT;

static uint64_t count(const char *name)
{
	uint64_t count = 0;
	return lw_lock_event_count(name, &count) == 0 ? count : 0;
}

static void *waits(void *unused)
{
	lw_rtmutex_lock(&lock);
	lw_rtmutex_unlock(&lock);
	return unused;
}

int main(void)
{
	uint64_t unused;
	pthread_t thread;
	int error = lw_lock_events_reset();

	if (error) {
		printf("not counted: %s\n", error == ENOTSUP ? "ENOTSUP" : strerror(error));
		return lw_lock_events_write(1) != error;
	}
	lw_rtmutex_lock(&lock);
	pthread_create(&thread, NULL, waits, NULL);
	while (count("rtmutex_slow_block") == 0)
		;
	lw_rtmutex_unlock(&lock);
	pthread_join(thread, NULL);
	printf("acq3 %d, unknown %d, closed %d\n", (int)count("rtmutex_slow_acq3"),
	       lw_lock_event_count("no_such_event", &unused) == EINVAL,
	       lw_lock_events_write(-1) == EBADF);
	fflush(stdout);
	return lw_lock_events_write(1);
}
