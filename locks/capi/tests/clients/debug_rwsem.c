/* Misuse of a reader-writer semaphore with checks: each is refused, and the lock stays as it is. */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <lockwright.h>

static lw_debug_rwsem_t lock, copy;
static const struct timespec past;

static void expect(const char *what, int error, int wanted)
{
	if (error != wanted)
		printf("%s: %d in place of %d\n", what, error, wanted);
}

static void *stranger(void *nothing)
{
	expect("wrong owner", lw_debug_rwsem_up_write(&lock), EPERM);
	expect("wrong owner downgrades", lw_debug_rwsem_downgrade(&lock), EPERM);
	expect("not read", lw_debug_rwsem_up_read(&lock), EPERM);
	expect("trydown_read", lw_debug_rwsem_trydown_read(&lock), EBUSY);
	expect("trydown_write", lw_debug_rwsem_trydown_write(&lock), EBUSY);
	expect("timeddown_read", lw_debug_rwsem_timeddown_read(&lock, &past), ETIMEDOUT);
	expect("timeddown_write", lw_debug_rwsem_timeddown_write(&lock, &past), ETIMEDOUT);
	return nothing;
}

int main(void)
{
	const struct timespec none = {0, 1000000000};
	pthread_t thread;

	expect("zeros", lw_debug_rwsem_down_read(&lock), EINVAL);
	expect("zeros", lw_debug_rwsem_up_write(&lock), EINVAL);
	expect("init", lw_debug_rwsem_init(&lock), 0);
	memcpy(&copy, &lock, sizeof copy);
	expect("a copy of its bytes", lw_debug_rwsem_down_read(&copy), EINVAL);
	expect("a copy of its bytes", lw_debug_rwsem_trydown_read(&copy), EINVAL);
	expect("already unlocked", lw_debug_rwsem_up_read(&lock), EALREADY);
	expect("already unlocked", lw_debug_rwsem_up_write(&lock), EALREADY);
	expect("already unlocked", lw_debug_rwsem_downgrade(&lock), EALREADY);
	expect("no time", lw_debug_rwsem_timeddown_write(&lock, &none), EINVAL);

	expect("write", lw_debug_rwsem_down_write(&lock), 0);
	memcpy(&copy, &lock, sizeof copy);
	expect("release of a copy", lw_debug_rwsem_up_write(&copy), EINVAL);
	expect("recursion", lw_debug_rwsem_down_write(&lock), EDEADLK);
	expect("reading it", lw_debug_rwsem_down_read(&lock), EDEADLK);
	expect("destroyed while held", lw_debug_rwsem_destroy(&lock), EBUSY);
	pthread_create(&thread, NULL, stranger, NULL);
	pthread_join(thread, NULL);
	expect("downgrade", lw_debug_rwsem_downgrade(&lock), 0);
	expect("a reader is no writer", lw_debug_rwsem_up_write(&lock), EPERM);
	expect("another reader", lw_debug_rwsem_timeddown_read(&lock, NULL), 0);
	expect("destroyed while read", lw_debug_rwsem_destroy(&lock), EBUSY);
	expect("up_read", lw_debug_rwsem_up_read(&lock), 0);
	expect("up_read", lw_debug_rwsem_up_read(&lock), 0);
	expect("already unlocked", lw_debug_rwsem_up_read(&lock), EALREADY);
	expect("write again", lw_debug_rwsem_trydown_write(&lock), 0);
	expect("up_write", lw_debug_rwsem_up_write(&lock), 0);
	expect("destroy", lw_debug_rwsem_destroy(&lock), 0);
	expect("destroyed", lw_debug_rwsem_down_write(&lock), EINVAL);
	puts("done");
	return 0;
}
