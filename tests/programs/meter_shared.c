// A mutex that three processes share, each of which holds it for some time. Prints how often it was taken, and how long it was waited
// for.
#include "meter.h"
#include <sys/mman.h>
#include <sys/wait.h>

struct shared {
	pthread_mutex_t mutex;
	_Atomic uint64_t taken, waited;
};

SITE static void takes(struct shared *shared)
{
	uint64_t begun = now();
	pthread_mutex_lock(&shared->mutex);
	shared->waited += now() - begun;
	usleep(2000);
	pthread_mutex_unlock(&shared->mutex);
	shared->taken++;
}

int main(void)
{
	struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t attributes;
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&shared->mutex, &attributes);
	for (int i = 0; i < 3; i++)
		if (!fork()) {
			// The tool begins to watch a child at its first lock, which takes milliseconds on some machines.
			pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
			pthread_mutex_lock(&own);
			pthread_mutex_unlock(&own);
			for (int turn = 0; turn < 20; turn++) {
				takes(shared);
				usleep(turn % 4 ? 0 : 3000);
			}
			return 0;
		}
	while (wait(NULL) > 0)
		;
	truth("taken", shared->taken);
	truth("waited", shared->waited);
	return 0;
}
