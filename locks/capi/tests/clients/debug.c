/* Misuse of locks with checks: each is refused, and the lock stays as it is. */

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <lockwright.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define LOCK(what) JOIN(JOIN(lw_, NAME), what)

static LOCK(_t) lock, copy;

static void *unlocks(void *error)
{
	*(int *)error = LOCK(_unlock)(&lock);
	return NULL;
}

static void expect(const char *what, int error, int wanted)
{
	if (error != wanted)
		printf("%s: %d in place of %d\n", what, error, wanted);
}

int main(void)
{
	pthread_t thread;
	int of_other = 0;

	expect("zeros", LOCK(_lock)(&lock), EINVAL);
	expect("init", LOCK(_init)(&lock), 0);
	memcpy(&copy, &lock, sizeof copy);
	expect("a copy of its bytes", LOCK(_lock)(&copy), EINVAL);
	expect("already unlocked", LOCK(_unlock)(&lock), EALREADY);
	expect("lock", LOCK(_lock)(&lock), 0);
	expect("recursion", LOCK(_lock)(&lock), EDEADLK);
	expect("trylock", LOCK(_trylock)(&lock), EBUSY);
	memcpy(&copy, &lock, sizeof copy);
	expect("unlock of a copy", LOCK(_unlock)(&copy), EINVAL);
	expect("lock of a copy", LOCK(_lock)(&copy), EINVAL);
	expect("trylock of a copy", LOCK(_trylock)(&copy), EINVAL);
	expect("destroy of a copy", LOCK(_destroy)(&copy), EINVAL);
	expect("destroyed while held", LOCK(_destroy)(&lock), EBUSY);
	pthread_create(&thread, NULL, unlocks, &of_other);
	pthread_join(thread, NULL);
	expect("wrong owner", of_other, EPERM);
	expect("unlock", LOCK(_unlock)(&lock), 0);
	expect("trylock", LOCK(_trylock)(&lock), 0);
	expect("unlock", LOCK(_unlock)(&lock), 0);
	expect("destroy", LOCK(_destroy)(&lock), 0);
	expect("destroyed", LOCK(_lock)(&lock), EINVAL);
	puts("done");
	return 0;
}
