/* Has some objects of each sort, uses each more than once, and does so in a forked child as well. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t statics[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

static void use(void)
{
	for (int i = 0; i < 3; i++) {
		pthread_mutex_lock(&statics[i]);
		pthread_mutex_unlock(&statics[i]);
	}
	pthread_rwlock_rdlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
	pthread_cond_signal(&cond);
}

int main(void)
{
	use();
	use();
	pid_t child = fork();
	if (child == 0) {
		use();
		_exit(0);
	}
	waitpid(child, NULL, 0);
	pthread_mutexattr_t attr;
	pthread_mutex_t mutex;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&mutex, &attr);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&mutex, &attr);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&mutex, &attr);
	pthread_spinlock_t spin;
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	pthread_spin_init(&spin, PTHREAD_PROCESS_SHARED);
	return 7;
}
