/* Waiting until another thread waits, which is seen from outside: neither the thread nor a tool needs to help. */
#ifndef ASLEEP_H
#define ASLEEP_H
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline int thread_id(void)
{
	return (int)syscall(SYS_gettid);
}

/* Whether a thread of this process sleeps in the kernel. */
static inline int sleeps(int tid)
{
	char path[64], line[512], *state = NULL;
	FILE *f;
	size_t n;

	snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	n = fread(line, 1, sizeof line - 1, f);
	fclose(f);
	line[n] = 0;
	for (char *c = line; *c; c++)
		if (*c == ')')
			state = c + 2;
	return state && *state == 'S';
}

/* Waits until the thread that stores its id in `tid` sleeps, and goes on sleeping: it is blocked for good. */
static inline void await_blocked(atomic_int *tid)
{
	for (int seen = 0; seen < 5;) {
		int id = atomic_load(tid);
		seen = id && sleeps(id) ? seen + 1 : 0;
		usleep(500);
	}
}
#endif
