/* A thread that forbids itself all system calls but read, write, exit and sigreturn (SECCOMP_MODE_STRICT). It locks before
 * and after, in a way that natively makes none.
 *
 *   seccomp_strict HOW [thread]
 *
 * HOW: prctl; seccomp or syscall, which is prctl by its number. With `thread` a thread does it, while the main thread goes
 * on as before.
 */
#define _GNU_SOURCE
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t known = PTHREAD_MUTEX_INITIALIZER, unknown = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static atomic_int is_over;
static const char *how;

static __attribute__((noinline)) void use(pthread_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
	pthread_mutex_unlock(mutex);
}

static void say(const char *text)
{
	if (write(1, text, strlen(text)) < 0)
		syscall(SYS_exit, 9);
}

static void *strictly(void *unused)
{
	use(&known);
	pthread_mutex_lock(&outer);
	long answer;
	if (!strcmp(how, "prctl"))
		answer = prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	else if (!strcmp(how, "seccomp"))
		answer = syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL);
	else
		answer = syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	if (answer)
		say("no strict mode\n");
	use(&known);
	say("a lock that was used before\n");
	use(&unknown);
	say("a lock that was not\n");
	pthread_mutex_unlock(&outer);
	if (pthread_mutex_trylock(&unknown) == 0)
		pthread_mutex_unlock(&unknown);
	pthread_rwlock_rdlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
	pthread_mutex_t initialised;
	pthread_mutex_init(&initialised, NULL);
	use(&initialised);
	pthread_mutex_destroy(&initialised);
	sem_t semaphore;
	sem_init(&semaphore, 0, 1);
	sem_wait(&semaphore);
	sem_post(&semaphore);
	sem_destroy(&semaphore);
	pthread_cond_t condition;
	pthread_cond_init(&condition, NULL);
	pthread_cond_signal(&condition);
	pthread_cond_destroy(&condition);
	say("the end\n");
	atomic_store(&is_over, 1);
	syscall(SYS_exit, 0);
	return unused;
}

int main(int argc, char **argv)
{
	how = argc > 1 ? argv[1] : "prctl";
	if (argc < 3) {
		strictly(NULL);
		return 1;
	}
	pthread_t thread;
	if (pthread_create(&thread, NULL, strictly, NULL))
		return 1;
	while (!atomic_load(&is_over))
		usleep(1000);
	pthread_mutex_lock(&unknown);
	use(&known);
	pthread_mutex_unlock(&unknown);
	return 0;
}
