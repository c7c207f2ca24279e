/* Has locks that differ in every sort of name, and uses each in several ways. The content of the mutexes shows which
 * locks the C library has taken; prints those, which are none if the right ones are replaced. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t other_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

static void must(int error, const char *what)
{
	if (error == 0)
		return;
	printf("%s: %d\n", what, error);
	exit(1);
}

/* The kind of a mutex of the C library that no pattern chooses has the bit PTHREAD_MUTEX_NO_ELISION_NP. */
static void tell(const char *name, pthread_mutex_t *mutex)
{
	printf("%s %s\n", name, mutex->__data.__kind & 512 ? "left" : "replaced");
}

/* The only place that makes heap locks. */
__attribute__((noinline)) static pthread_mutex_t *make_lock(void)
{
	pthread_mutex_t *mutex = malloc(sizeof *mutex);
	must(pthread_mutex_init(mutex, NULL), "init");
	return mutex;
}

static pthread_mutex_t *mutexes[4];
static long counts[4];
static int ready;

static void *work(void *unused)
{
	(void)unused;
	struct timespec time = {.tv_sec = 0x7fffffff};
	for (int round = 0; round < 2000; round++)
		for (int i = 0; i < 4; i++) {
			switch (round % 4) {
			case 0:
				while (pthread_mutex_trylock(mutexes[i]) != 0)
					sched_yield();
				break;
			case 1:
				must(pthread_mutex_timedlock(mutexes[i], &time), "timedlock");
				break;
			default:
				must(pthread_mutex_lock(mutexes[i]), "lock");
			}
			counts[i]++;
			must(pthread_mutex_unlock(mutexes[i]), "unlock");
		}
	return NULL;
}

static void *wait_for_it(void *mutex)
{
	must(pthread_mutex_lock(mutex), "lock");
	while (!ready)
		must(pthread_cond_wait(&cond, mutex), "wait");
	must(pthread_mutex_unlock(mutex), "unlock");
	return NULL;
}

/* A condition variable takes a mutex of either sort, one after the other. */
static void waits(pthread_mutex_t *mutex)
{
	pthread_t thread;
	ready = 0;
	must(pthread_create(&thread, NULL, wait_for_it, mutex), "create");
	must(pthread_mutex_lock(mutex), "lock");
	ready = 1;
	must(pthread_cond_broadcast(&cond), "broadcast");
	must(pthread_mutex_unlock(mutex), "unlock");
	pthread_join(thread, NULL);
}

static void *read_it(void *lock)
{
	must(pthread_rwlock_rdlock(lock), "rdlock");
	must(pthread_rwlock_unlock(lock), "unlock");
	return NULL;
}

int main(int argc, char **argv)
{
	mutexes[0] = &cache_lock;
	mutexes[1] = &queue_lock;
	mutexes[2] = &other_lock;
	mutexes[3] = make_lock();
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		must(pthread_create(&threads[i], NULL, work, NULL), "create");
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 4; i++) {
		if (counts[i] != 4 * 2000)
			printf("%d: %ld\n", i, counts[i]);
		waits(mutexes[i]);
	}
	pthread_t reader;
	must(pthread_rwlock_wrlock(&table_lock), "wrlock");
	must(pthread_create(&reader, NULL, read_it, &table_lock), "create");
	must(pthread_rwlock_unlock(&table_lock), "unlock");
	pthread_join(reader, NULL);
	pthread_spinlock_t spin;
	must(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE), "spin");
	must(pthread_spin_lock(&spin), "spin");
	must(pthread_spin_unlock(&spin), "spin");

	/* A child has them all as its parent had. */
	must(pthread_mutex_lock(&queue_lock), "lock");
	pid_t child = fork();
	if (child == 0) {
		must(pthread_mutex_unlock(&queue_lock), "unlock");
		for (int i = 0; i < 4; i++) {
			must(pthread_mutex_lock(mutexes[i]), "lock");
			must(pthread_mutex_unlock(mutexes[i]), "unlock");
		}
		_exit(0);
	}
	int status;
	waitpid(child, &status, 0);
	must(status, "child");
	must(pthread_mutex_unlock(&queue_lock), "unlock");

	tell("cache_lock", &cache_lock);
	tell("queue_lock", &queue_lock);
	tell("other_lock", &other_lock);
	tell("heap", mutexes[3]);
	if (argc > 1) {
		void *library = dlopen(argv[1], RTLD_NOW);
		pthread_mutex_t *(*use)(void) = library ? (pthread_mutex_t * (*)(void)) dlsym(library, "plugin_use") : NULL;
		if (!use)
			return 1;
		tell("plugin_lock", use());
	}
	/* A destroyed one can be made again, and is chosen again then. */
	must(pthread_mutex_destroy(mutexes[3]), "destroy");
	must(pthread_mutex_init(mutexes[3], NULL), "init");
	tell("heap, again", mutexes[3]);
	return 0;
}
