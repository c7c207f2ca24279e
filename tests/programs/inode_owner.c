// One thread writes much to a file, another little to the same, a third to a file of its own: the second waits for the
// first, which has the inode's lock, and the third has none that anybody waits for.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { MUCH = 8 << 20, TIMES = 100 };

static int shared_file, own_file;
static atomic_int is_over;
static char *bytes;

static void *own(void *unused)
{
	prctl(PR_SET_NAME, "inode_owner_");
	for (int i = 0; i < TIMES; i++)
		if (pwrite(shared_file, bytes, MUCH, 0) != MUCH)
			abort();
	atomic_store(&is_over, 1);
	return unused;
}

static void *wait_for_it(void *unused)
{
	prctl(PR_SET_NAME, "inode_waiter_");
	while (!atomic_load(&is_over))
		if (pwrite(shared_file, bytes, 1, 0) != 1)
			abort();
	return unused;
}

static void *keep_away(void *unused)
{
	prctl(PR_SET_NAME, "inode_other_");
	while (!atomic_load(&is_over))
		if (pwrite(own_file, bytes, MUCH / 8, 0) != MUCH / 8)
			abort();
	return unused;
}

int main(void)
{
	void *(*const routines[])(void *) = { own, wait_for_it, keep_away };
	pthread_t threads[3];

	shared_file = memfd_create("shared", 0);
	own_file = memfd_create("own", 0);
	bytes = calloc(1, MUCH);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], 0, routines[i], 0);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], 0);
	return 0;
}
