/* Two processes take process-shared locks in memory that they share. No process alone has a cycle. The argument says how:
 *
 * both     parent and child take two mutexes in the two orders, and nothing orders them
 * spins    so, with spinlocks
 * semaphores  so, with semaphores that begin at 1
 * posted   so, but a third process posts one of the semaphores, which it has not taken
 * array    so, but one line initialises all mutexes
 * rwlocks  so, with reader-writer locks
 * children so, but two children
 * file     so, but each child maps a file for itself, one of them further up
 * same     both take them in one order
 * gate     both hold a third mutex meanwhile
 * spins_same, semaphores_same  both take two of these in one order
 * spin_gate, semaphore_gate  both hold a third of these meanwhile
 * readers  both only read
 * objects  each child has an object of its own: equal bytes in two of them
 * again    each child initialises the mutexes again, in the same memory
 * after    the parent takes its order when it has waited for the child's end
 * before   the parent takes its order before it forks
 * turns    the parent waits for one child before it forks the next
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct memory {
	pthread_mutex_t a, b, gate;
	pthread_mutex_t all[2];
	pthread_rwlock_t r, s;
	pthread_spinlock_t spin[3];
	sem_t sem[3];
};

static void check(int error)
{
	if (error)
		abort();
}

static void *map(int fd, long offset)
{
	int flags = MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0);
	void *at = mmap(NULL, sizeof(struct memory), PROT_READ | PROT_WRITE, flags, fd, offset);

	if (at == MAP_FAILED)
		abort();
	return at;
}

static void init(struct memory *m)
{
	pthread_mutexattr_t attr;
	pthread_rwlockattr_t rwattr;
	int i;

	check(pthread_mutexattr_init(&attr));
	check(pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
	check(pthread_mutex_init(&m->a, &attr));
	check(pthread_mutex_init(&m->b, &attr));
	check(pthread_mutex_init(&m->gate, &attr));
	for (i = 0; i < 2; i++)
		check(pthread_mutex_init(&m->all[i], &attr));
	check(pthread_mutexattr_destroy(&attr));
	check(pthread_rwlockattr_init(&rwattr));
	check(pthread_rwlockattr_setpshared(&rwattr, PTHREAD_PROCESS_SHARED));
	check(pthread_rwlock_init(&m->r, &rwattr));
	check(pthread_rwlock_init(&m->s, &rwattr));
	check(pthread_rwlockattr_destroy(&rwattr));
	for (i = 0; i < 3; i++) {
		check(pthread_spin_init(&m->spin[i], PTHREAD_PROCESS_SHARED));
		check(sem_init(&m->sem[i], 1, 1));
	}
}

static void mutexes(pthread_mutex_t *first, pthread_mutex_t *second)
{
	check(pthread_mutex_lock(first));
	check(pthread_mutex_lock(second));
	check(pthread_mutex_unlock(second));
	check(pthread_mutex_unlock(first));
}

static void rwlocks(pthread_rwlock_t *first, pthread_rwlock_t *second, int (*lock)(pthread_rwlock_t *))
{
	check(lock(first));
	check(lock(second));
	check(pthread_rwlock_unlock(second));
	check(pthread_rwlock_unlock(first));
}

static void spins(pthread_spinlock_t *first, pthread_spinlock_t *second)
{
	check(pthread_spin_lock(first));
	check(pthread_spin_lock(second));
	check(pthread_spin_unlock(second));
	check(pthread_spin_unlock(first));
}

static void semaphores(sem_t *first, sem_t *second)
{
	check(sem_wait(first));
	check(sem_wait(second));
	check(sem_post(second));
	check(sem_post(first));
}

/* What one of the two does: the one with `other` set takes the other order. */
static void take(const char *how, struct memory *m, int other)
{
	if (strstr(how, "same"))
		other = 0;
	if (!strncmp(how, "spin", 4)) {
		if (!strcmp(how, "spin_gate"))
			check(pthread_spin_lock(&m->spin[2]));
		spins(&m->spin[other], &m->spin[!other]);
		if (!strcmp(how, "spin_gate"))
			check(pthread_spin_unlock(&m->spin[2]));
		return;
	}
	if (!strncmp(how, "semaphore", 9) || !strcmp(how, "posted")) {
		if (!strcmp(how, "semaphore_gate"))
			check(sem_wait(&m->sem[2]));
		semaphores(&m->sem[other], &m->sem[!other]);
		if (!strcmp(how, "semaphore_gate"))
			check(sem_post(&m->sem[2]));
		return;
	}
	if (!strcmp(how, "array"))
		mutexes(&m->all[other], &m->all[!other]);
	else if (!strcmp(how, "rwlocks"))
		other ? rwlocks(&m->s, &m->r, pthread_rwlock_wrlock) : rwlocks(&m->r, &m->s, pthread_rwlock_wrlock);
	else if (!strcmp(how, "readers"))
		other ? rwlocks(&m->s, &m->r, pthread_rwlock_rdlock) : rwlocks(&m->r, &m->s, pthread_rwlock_rdlock);
	else if (!strcmp(how, "gate")) {
		check(pthread_mutex_lock(&m->gate));
		other ? mutexes(&m->b, &m->a) : mutexes(&m->a, &m->b);
		check(pthread_mutex_unlock(&m->gate));
	} else {
		other ? mutexes(&m->b, &m->a) : mutexes(&m->a, &m->b);
	}
}

static pid_t start(const char *how, struct memory *m, int other, int fd)
{
	pid_t child = fork();

	if (child < 0)
		abort();
	if (child)
		return child;
	if (!strcmp(how, "file")) {
		if (other)
			map(-1, 0);
		m = map(fd, 0);
	}
	if (!strcmp(how, "objects")) {
		fd = memfd_create("own", 0);
		if (fd < 0 || ftruncate(fd, sizeof *m))
			abort();
		m = map(fd, 0);
		init(m);
	}
	if (!strcmp(how, "again"))
		init(m);
	/* Both children are there when the first of them takes its locks. */
	usleep(other ? 200000 : 50000);
	take(how, m, other);
	/* And when the other does. */
	usleep(other ? 0 : 300000);
	exit(0);
}

static void end(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child || status)
		abort();
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "both";
	int fd = memfd_create("shared", 0);
	struct memory *m;
	pid_t one, two;

	if (fd < 0 || ftruncate(fd, sizeof *m))
		abort();
	m = strcmp(how, "file") ? map(-1, 0) : map(fd, 0);
	init(m);
	if (!strcmp(how, "turns")) {
		end(start(how, m, 0, fd));
		end(start(how, m, 1, fd));
	} else if (!strcmp(how, "children") || !strcmp(how, "file") || !strcmp(how, "objects") || !strcmp(how, "again")) {
		one = start(how, m, 0, fd);
		two = start(how, m, 1, fd);
		end(one);
		end(two);
	} else if (!strcmp(how, "before")) {
		take(how, m, 0);
		end(start(how, m, 1, fd));
	} else if (!strcmp(how, "after")) {
		end(start(how, m, 1, fd));
		take(how, m, 0);
	} else {
		one = start(how, m, 1, fd);
		take(how, m, 0);
		end(one);
		if (!strcmp(how, "posted")) {
			one = fork();
			if (one < 0)
				abort();
			if (!one) {
				check(sem_post(&m->sem[0]));
				exit(0);
			}
			end(one);
		}
	}
	return 0;
}
