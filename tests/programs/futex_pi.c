/* A lock that is a priority-inheriting futex, as a library makes one: its word has its holder's thread id. The holder
 * gives it up only when the other thread sleeps for it. `hang`: it is never given up. */
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ROUNDS 20

static atomic_uint word;
static atomic_int waiter, round_of, done;

static unsigned own_id(void)
{
	return (unsigned)syscall(SYS_gettid);
}

__attribute__((noinline)) static void pi_lock(void)
{
	unsigned unlocked = 0;
	if (!atomic_compare_exchange_strong(&word, &unlocked, own_id()))
		syscall(SYS_futex, &word, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0);
}

__attribute__((noinline)) static void pi_unlock(void)
{
	unsigned locked = own_id();
	if (!atomic_compare_exchange_strong(&word, &locked, 0))
		syscall(SYS_futex, &word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0);
}

__attribute__((noinline)) static void wants(void)
{
	pi_lock();
	pi_unlock();
	atomic_fetch_add(&done, 1);
}

static void *other(void *argument)
{
	(void)argument;
	atomic_store(&waiter, (int)own_id());
	for (int i = 1; i <= ROUNDS; i++) {
		while (atomic_load(&round_of) < i)
			usleep(100);
		wants();
	}
	return NULL;
}

/* Waits until the other thread sleeps in a futex call. */
static void await_asleep(void)
{
	char path[64], text[64];
	snprintf(path, sizeof path, "/proc/self/task/%d/syscall", atomic_load(&waiter));
	for (;;) {
		FILE *f = fopen(path, "r");
		int is_futex = f && fgets(text, sizeof text, f) && !strncmp(text, "202 ", 4);
		if (f)
			fclose(f);
		if (is_futex)
			return;
		usleep(100);
	}
}

__attribute__((noinline)) static void gives_up(void)
{
	pi_unlock();
	atomic_fetch_add(&done, 0);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	(void)argv;
	pthread_create(&thread, NULL, other, NULL);
	while (!atomic_load(&waiter))
		usleep(100);
	for (int i = 1; i <= ROUNDS; i++) {
		pi_lock();
		atomic_store(&round_of, i);
		await_asleep();
		if (argc > 1) {
			printf("%d\n", getpid());
			fflush(stdout);
			for (;;)
				pause();
		}
		gives_up();
		while (atomic_load(&done) < i)
			usleep(100);
	}
	pthread_join(thread, NULL);
	puts("the end");
}
