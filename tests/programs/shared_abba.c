// Two processes that each hold a mutex which the other waits for; with an argument, the second waits for its input with its mutex
// held instead.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

struct shared {
	pthread_mutex_t mutexes[2];
	pthread_barrier_t both_hold;
};

int main(int argc, char **argv)
{
	struct shared *shared = mmap(0, sizeof *shared, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t of_mutex;
	pthread_barrierattr_t of_barrier;
	char byte;

	(void)argv;
	if (shared == MAP_FAILED)
		return 1;
	pthread_mutexattr_init(&of_mutex);
	pthread_mutexattr_setpshared(&of_mutex, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&shared->mutexes[0], &of_mutex);
	pthread_mutex_init(&shared->mutexes[1], &of_mutex);
	pthread_barrierattr_init(&of_barrier);
	pthread_barrierattr_setpshared(&of_barrier, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&shared->both_hold, &of_barrier, 2);

	int is_child = fork() == 0;
	if (is_child)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	pthread_mutex_lock(&shared->mutexes[is_child]);
	pthread_barrier_wait(&shared->both_hold);
	if (is_child && argc > 1)
		while (read(0, &byte, 1) != 0)
			;
	pthread_mutex_lock(&shared->mutexes[!is_child]);
	return 0;
}
