// Waits for a lock within the C library whose number is known: a thread sleeps in a write to a full pipe with the
// stream's lock, which another thread then waits for; no function that takes that lock is called by its name.
#define _GNU_SOURCE
#include "asleep.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 10, MUCH = 1 << 17 };

static FILE *stream;
static char *bytes;
static atomic_int writer, waiter, round_of_writer, round_of_waiter, done;

static void await(atomic_int *value, int least)
{
	while (atomic_load(value) < least)
		usleep(200);
}

static void *write_much(void *unused)
{
	atomic_store(&writer, thread_id());
	for (int i = 1; i <= ROUNDS; i++) {
		await(&round_of_writer, i);
		fputs(bytes, stream);
		atomic_fetch_add(&done, 1);
	}
	return unused;
}

__attribute__((noinline)) static void writes_little(void)
{
	fputs("x", stream);
	__asm__ volatile("" ::: "memory");
}

static void *write_little(void *unused)
{
	atomic_store(&waiter, thread_id());
	for (int i = 1; i <= ROUNDS; i++) {
		await(&round_of_waiter, i);
		writes_little();
		atomic_fetch_add(&done, 1);
	}
	return unused;
}

/* Waits until the thread sleeps in this call. */
static void await_call(atomic_int *tid, const char *call)
{
	char path[64], text[64];

	for (;;) {
		FILE *file;
		int is_it;

		snprintf(path, sizeof path, "/proc/self/task/%d/syscall", atomic_load(tid));
		file = fopen(path, "r");
		is_it = file && fgets(text, sizeof text, file) && !strncmp(text, call, strlen(call));
		if (file)
			fclose(file);
		if (is_it)
			return;
		usleep(200);
	}
}

int main(void)
{
	static char read_bytes[MUCH];
	pthread_t threads[2];
	int ends[2];

	if (pipe(ends))
		return 1;
	stream = fdopen(ends[1], "w");
	setvbuf(stream, 0, _IONBF, 0);
	bytes = malloc(MUCH + 1);
	memset(bytes, 'x', MUCH);
	bytes[MUCH] = 0;
	pthread_create(&threads[0], 0, write_much, 0);
	pthread_create(&threads[1], 0, write_little, 0);
	await(&writer, 1);
	await(&waiter, 1);
	for (int i = 1; i <= ROUNDS; i++) {
		atomic_store(&round_of_writer, i);
		await_call(&writer, "1 ");
		atomic_store(&round_of_waiter, i);
		await_call(&waiter, "202 ");
		for (long left = MUCH + 1; left > 0;) {
			long n = read(ends[0], read_bytes, left < MUCH ? left : MUCH);
			if (n <= 0)
				return 1;
			left -= n;
		}
		await(&done, 2 * i);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], 0);
	return 0;
}
