/* What a forked child has of the locks that its parent holds at the fork.
 *
 *   fork_inherited unmapped    the child unmaps the memory that the lock is in, and takes another: clean
 *   fork_inherited freed       it frees that, and has its own data there: clean
 *   fork_inherited returned    it returns from the function in whose frame the lock is: clean
 *   fork_inherited left-out    the memory is not there in the child (MADV_DONTFORK): clean
 *   fork_inherited renewed     it has a new lock there: clean
 *   fork_inherited mutex       the lock is shared by the two processes, and the parent releases it while the child waits:
 *                              clean; also checking, robust, read, written, spinlock
 *   fork_inherited another     as mutex, but another thread of the parent holds it
 *   fork_inherited relock      the child takes a lock once more that it has from its parent, in vain; also relock-checking,
 *                              relock-recursive, whose owner is the parent's thread by their own word
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t inherited = PTHREAD_MUTEX_INITIALIZER;

static struct {
	pthread_mutex_t mutex;
	pthread_rwlock_t rwlock;
	pthread_spinlock_t spinlock;
	sem_t is_there;
} *shared;

static void use_own(void)
{
	pthread_mutex_lock(&own);
	pthread_mutex_unlock(&own);
}

static int end(pid_t child)
{
	int status = 1;

	waitpid(child, &status, 0);
	if (status)
		printf("the child's status is %#x\n", status);
	puts("the end");
	return status != 0;
}

/* ---- The child's own memory ---- */

static pthread_mutex_t *locked(void *memory)
{
	pthread_mutex_t *mutex = memory;

	pthread_mutex_init(mutex, NULL);
	pthread_mutex_lock(mutex);
	return mutex;
}

static void unmap(void *memory)
{
	munmap(memory, 4096);
	use_own();
}

static void reuse(void *memory)
{
	unsigned before[32], *data;

	free(memory);
	data = malloc(sizeof before);
	memset(data, 0x41, sizeof before);
	data[4] = 0; /* where a mutex has its kind */
	memcpy(before, data, sizeof before);
	use_own();
	if (memcmp(before, data, sizeof before))
		_exit(1);
}

static void renew(void *memory)
{
	pthread_mutex_t *mutex = memory;

	memset(mutex, 0, sizeof *mutex);
	for (int i = 0; i < 2; i++) {
		pthread_mutex_lock(mutex);
		use_own();
		pthread_mutex_unlock(mutex);
		pthread_mutex_lock(&own);
		pthread_mutex_unlock(&own);
	}
}

static void only_lock(void *memory)
{
	(void)memory;
	use_own();
}

static int in_child(void (*act)(void *), void *memory)
{
	pid_t child = fork();

	if (child == 0) {
		act(memory);
		_exit(0);
	}
	return end(child);
}

__attribute__((noinline)) static pid_t fork_in_frame(void)
{
	pthread_mutex_t here = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&here);
	return fork();
}

__attribute__((noinline)) static int other_frame(void)
{
	volatile unsigned long words[64];
	int changed = 0;

	for (int i = 0; i < 64; i++)
		words[i] = 0;
	use_own();
	for (int i = 0; i < 64; i++)
		changed += words[i] != 0;
	return changed;
}

static int in_frame(void)
{
	pid_t child = fork_in_frame();

	if (child == 0)
		_exit(other_frame());
	return end(child);
}

/* ---- What both have ---- */

static void share(int type, int robust)
{
	pthread_mutexattr_t attr;
	pthread_rwlockattr_t rwlockattr;

	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_settype(&attr, type);
	pthread_mutexattr_setrobust(&attr, robust);
	pthread_mutex_init(&shared->mutex, &attr);
	pthread_rwlockattr_init(&rwlockattr);
	pthread_rwlockattr_setpshared(&rwlockattr, PTHREAD_PROCESS_SHARED);
	pthread_rwlock_init(&shared->rwlock, &rwlockattr);
	pthread_spin_init(&shared->spinlock, PTHREAD_PROCESS_SHARED);
	sem_init(&shared->is_there, 1, 0);
}

static void lock_shared(const char *how)
{
	if (!strcmp(how, "read"))
		pthread_rwlock_rdlock(&shared->rwlock);
	else if (!strcmp(how, "written"))
		pthread_rwlock_wrlock(&shared->rwlock);
	else if (!strcmp(how, "spinlock"))
		pthread_spin_lock(&shared->spinlock);
	else
		pthread_mutex_lock(&shared->mutex);
}

static void unlock_shared(const char *how)
{
	if (!strcmp(how, "read") || !strcmp(how, "written"))
		pthread_rwlock_unlock(&shared->rwlock);
	else if (!strcmp(how, "spinlock"))
		pthread_spin_unlock(&shared->spinlock);
	else
		pthread_mutex_unlock(&shared->mutex);
}

static sem_t holds, leave;

static void *hold(void *how)
{
	lock_shared(how);
	sem_post(&holds);
	sem_wait(&leave);
	unlock_shared(how);
	return NULL;
}

static int sharing(const char *how)
{
	int is_anothers = !strcmp(how, "another");
	pthread_t thread;
	pid_t child;

	share(strcmp(how, "checking") ? PTHREAD_MUTEX_NORMAL : PTHREAD_MUTEX_ERRORCHECK,
	      strcmp(how, "robust") ? PTHREAD_MUTEX_STALLED : PTHREAD_MUTEX_ROBUST);
	if (is_anothers) {
		sem_init(&holds, 0, 0);
		sem_init(&leave, 0, 0);
		pthread_create(&thread, NULL, hold, (void *)how);
		sem_wait(&holds);
	} else {
		lock_shared(how);
	}
	child = fork();
	if (child == 0) {
		use_own();
		sem_post(&shared->is_there);
		/* A writer waits for readers, too. */
		lock_shared(strcmp(how, "read") ? how : "written");
		unlock_shared(how);
		exit(0);
	}
	sem_wait(&shared->is_there);
	/* Longer than it takes until a deadlock ends a program. */
	usleep(1000 * 1000);
	if (is_anothers) {
		sem_post(&leave);
		pthread_join(thread, NULL);
	} else {
		unlock_shared(how);
	}
	return end(child);
}

/* ---- What the child cannot have ---- */

__attribute__((noinline)) static void take_inherited(void)
{
	pthread_mutex_lock(&inherited);
}

__attribute__((noinline)) static void take_again(void)
{
	pthread_mutex_lock(&inherited);
}

static int relock(int type)
{
	pthread_mutexattr_t attr;
	pid_t child;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, type);
	pthread_mutex_init(&inherited, &attr);
	take_inherited();
	child = fork();
	if (child == 0) {
		use_own();
		/* Nobody else ends it. */
		alarm(2);
		take_again();
		_exit(0);
	}
	waitpid(child, NULL, 0);
	pthread_mutex_unlock(&inherited);
	puts("the end");
	return 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "unmapped";
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (!strcmp(how, "left-out"))
		madvise(page, 4096, MADV_DONTFORK);
	if (!strcmp(how, "unmapped"))
		return in_child(unmap, locked(page));
	if (!strcmp(how, "left-out"))
		return in_child(only_lock, locked(page));
	if (!strcmp(how, "freed"))
		return in_child(reuse, locked(malloc(128)));
	if (!strcmp(how, "renewed"))
		return in_child(renew, locked(malloc(128)));
	if (!strcmp(how, "returned"))
		return in_frame();
	if (!strcmp(how, "relock"))
		return relock(PTHREAD_MUTEX_NORMAL);
	if (!strcmp(how, "relock-checking"))
		return relock(PTHREAD_MUTEX_ERRORCHECK);
	if (!strcmp(how, "relock-recursive"))
		return relock(PTHREAD_MUTEX_RECURSIVE);
	return sharing(how);
}
