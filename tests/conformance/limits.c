/* What runs out: keys, descriptors, memory, threads, the size of files. */
#include "case.h"

#include <sys/resource.h>

static pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

static void limit(int resource, rlim_t most)
{
	struct rlimit limit;
	MUST(getrlimit(resource, &limit));
	limit.rlim_cur = most;
	MUST(setrlimit(resource, &limit));
}

/* More locks, at more places, than a page of anything has room for. */
static void *use_many_locks(void *argument)
{
	enum { MANY = 3000 };
	static pthread_mutex_t mutexes[MANY];
	static pthread_rwlock_t rwlocks[MANY];
	int errors = 0;
	for (int i = 0; i < MANY; i++) {
		errors += pthread_mutex_init(&mutexes[i], NULL) != 0;
		errors += pthread_rwlock_init(&rwlocks[i], NULL) != 0;
	}
	for (int i = 1; i < MANY; i++) {
		errors += pthread_mutex_lock(&mutexes[i]) != 0;
		errors += pthread_rwlock_rdlock(&rwlocks[i * 7 % MANY]) != 0;
		errors += pthread_mutex_lock(&mutexes[i - 1]) != 0;
		errors += pthread_mutex_unlock(&mutexes[i - 1]) != 0;
		errors += pthread_rwlock_unlock(&rwlocks[i * 7 % MANY]) != 0;
		errors += pthread_mutex_unlock(&mutexes[i]) != 0;
	}
	say("%d errors", errors);
	return argument;
}

static int return_at_once(void *unused)
{
	(void)unused;
	return 0;
}

static void *end_at_once(void *argument)
{
	return argument;
}

CASE(keys)
{
	static pthread_key_t key;
	tss_t storage;
	int made = 0, error;
	while ((error = pthread_key_create(&key, NULL)) == 0)
		made++;
	say("%s", error_name(error));
	say("%d", made);
	C11(tss_create(&storage, NULL));
	RET(pthread_key_delete(key));
	C11(tss_create(&storage, NULL));
	in_thread(use_many_locks, NULL);
}

CASE(descriptors)
{
	char name[64];
	snprintf(name, sizeof name, "/lockwright-limit-%d", getpid());
	limit(RLIMIT_NOFILE, 3);
	errno = SENTINEL;
	sem_t *sem = sem_open(name, O_CREAT, 0600, 1);
	say("%d%s", sem == SEM_FAILED, errno_after(errno));
	in_thread(use_many_locks, NULL);
}

/* There is none for another stack. */
CASE(memory)
{
	struct rlimit before;
	pthread_t thread;
	thrd_t other;
	in_thread(end_at_once, NULL);
	/* Stacks that are kept for later are too small for this one. */
	pthread_attr_t attr;
	MUST(pthread_attr_init(&attr));
	MUST(pthread_attr_setstacksize(&attr, 64 << 20));
	MUST(pthread_setattr_default_np(&attr));
	MUST(getrlimit(RLIMIT_AS, &before));
	limit(RLIMIT_AS, 1 << 20);
	RET(pthread_create(&thread, &attr, end_at_once, NULL));
	RET(pthread_create(&thread, NULL, end_at_once, NULL));
	C11(thrd_create(&other, return_at_once, NULL));
	use_many_locks(NULL);
	RET(pthread_mutex_lock(&mutex));
	RET(pthread_mutex_unlock(&mutex));
	MUST(setrlimit(RLIMIT_AS, &before));
	RET(pthread_create(&thread, &attr, end_at_once, NULL));
	RET(pthread_join(thread, NULL));
	C11(thrd_create(&other, return_at_once, NULL));
	C11(thrd_join(other, NULL));
}

/* A process that makes a file larger than this gets a signal, which ends it. What the case says has room. */
#define SMALL (1 << 16)

CASE(size_of_files)
{
	limit(RLIMIT_FSIZE, SMALL);
	use_many_locks(NULL);
	in_thread(use_many_locks, NULL);
	RET(pthread_mutex_lock(&mutex));
	RET(pthread_mutex_unlock(&mutex));
}

static void *use_few(void *argument)
{
	RET(pthread_mutex_lock(&mutex));
	RET(pthread_mutex_unlock(&mutex));
	return argument;
}

CASE(size_of_a_childs_files)
{
	limit(RLIMIT_FSIZE, SMALL);
	in_child(use_few, NULL);
	in_child(use_many_locks, NULL);
}

static void on_limit(int number)
{
	say("a file is too large: %s", sigabbrev_np(number));
}

CASE(size_of_files_handled)
{
	FILE *file = tmpfile();
	signal(SIGXFSZ, on_limit);
	limit(RLIMIT_FSIZE, SMALL);
	use_many_locks(NULL);
	SYS(pwrite(fileno(file), "x", 1, SMALL));
	use_many_locks(NULL);
	SYS(ftruncate(fileno(file), SMALL + 1));
}

CASE(pending_signal_of_a_file)
{
	sigset_t set, pending;
	sigemptyset(&set);
	sigaddset(&set, SIGXFSZ);
	RET(pthread_sigmask(SIG_BLOCK, &set, NULL));
	limit(RLIMIT_FSIZE, SMALL);
	use_many_locks(NULL);
	MUST(sigpending(&pending));
	say("pending: %d", sigismember(&pending, SIGXFSZ));
	raise(SIGXFSZ);
	use_many_locks(NULL);
	MUST(sigpending(&pending));
	say("pending: %d", sigismember(&pending, SIGXFSZ));
}

/* Neither memory to lock nor a place in a queue of signals. */
CASE(the_rest)
{
	limit(RLIMIT_MEMLOCK, 0);
	limit(RLIMIT_SIGPENDING, 0);
	limit(RLIMIT_MSGQUEUE, 0);
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_DATA, 1 << 20);
	use_many_locks(NULL);
	RET(pthread_mutex_lock(&mutex));
	RET(pthread_mutex_unlock(&mutex));
}

CASE(small_main_stack)
{
	if (!getenv("AGAIN")) {
		MUST(setenv("AGAIN", "1", 1));
		limit(RLIMIT_STACK, 256 << 10);
		execl("/proc/self/exe", "again", "small_main_stack", (char *)NULL);
	}
	use_many_locks(NULL);
	in_thread(use_many_locks, NULL);
}
