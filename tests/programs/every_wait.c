/* Waits for locks of three sorts: a mutex, a futex with its holder's id in its word, and the kernel's mmap_lock, which
 * threads that map and unmap memory contend for. Each of the first two is given up only when the other thread sleeps. */
#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "asleep.h"

enum { ROUNDS = 10, MAPPERS = 4, TIMES = 20000, SIZE = 1 << 16 };

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint word;
static atomic_int waiter;

__attribute__((noinline)) static void takes_table(void)
{
	pthread_mutex_lock(&table);
	pthread_mutex_unlock(&table);
}

__attribute__((noinline)) static void takes_word(void)
{
	syscall(SYS_futex, &word, FUTEX_LOCK_PI_PRIVATE, 0, NULL, NULL, 0);
	syscall(SYS_futex, &word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0);
}

static void *wants(void *take)
{
	atomic_store(&waiter, thread_id());
	((void (*)(void))take)();
	return NULL;
}

static void one_waits(void (*take)(void))
{
	pthread_t thread;

	atomic_store(&waiter, 0);
	pthread_mutex_lock(&table);
	atomic_store(&word, (unsigned)thread_id());
	pthread_create(&thread, NULL, wants, (void *)take);
	await_blocked(&waiter);
	syscall(SYS_futex, &word, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL, NULL, 0);
	pthread_mutex_unlock(&table);
	pthread_join(thread, NULL);
}

static void *maps(void *unused)
{
	for (int i = 0; i < TIMES; i++) {
		char *memory = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (memory == MAP_FAILED)
			abort();
		memory[0] = 1;
		munmap(memory, SIZE);
	}
	return unused;
}

int main(void)
{
	pthread_t threads[MAPPERS];

	for (int i = 0; i < ROUNDS; i++) {
		one_waits(takes_table);
		one_waits(takes_word);
	}
	for (int i = 0; i < MAPPERS; i++)
		pthread_create(&threads[i], 0, maps, 0);
	for (int i = 0; i < MAPPERS; i++)
		pthread_join(threads[i], 0);
	return 0;
}
