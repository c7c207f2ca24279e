// Threads, as many as the argument says, that map and unmap memory: the kernel's mmap_lock, which
// is one of the process, is contended by more than one.
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { TIMES = 30000, SIZE = 1 << 16 };

static void *maps(void *unused)
{
	for (int i = 0; i < TIMES; i++) {
		char *memory = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (memory == MAP_FAILED)
			return unused;
		memory[0] = 1;
		munmap(memory, SIZE);
	}
	return unused;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t threads[16];

	if (n < 1 || n > 16)
		return 1;
	for (int i = 0; i < n; i++)
		pthread_create(&threads[i], 0, maps, 0);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], 0);
	return 0;
}
