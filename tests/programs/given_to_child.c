/* A process-shared mutex that a process locks before it forks. "child": its child unlocks it, so that the process can lock it
   again at once. "nobody": nobody does, so the process waits for itself. */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int by_child = argc > 1 && !strcmp(argv[1], "child");
	pthread_mutex_t *mutex = mmap(NULL, sizeof *mutex, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_t attr;
	pid_t child;

	if (mutex == MAP_FAILED)
		return 1;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(mutex, &attr);
	pthread_mutexattr_destroy(&attr);
	pthread_mutex_lock(mutex);
	child = fork();
	if (child == 0) {
		if (by_child)
			pthread_mutex_unlock(mutex);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	pthread_mutex_lock(mutex);
	pthread_mutex_unlock(mutex);
	pthread_mutex_destroy(mutex);
	return 0;
}
