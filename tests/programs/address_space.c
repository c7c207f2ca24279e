/* A program that limits its address space (RLIMIT_AS), or locks what is mapped into memory, itself.
 *
 *   address_space HOW [WHERE]
 *
 * HOW: setrlimit, setrlimit64, prlimit, prlimit64, or syscall, which no function of the C library stands for; or mlockall
 * of what is there (current), or of what will be (future), as an ordinary user. WHERE: in the main thread while others
 * lock (main), in a `thread`, in a `child`. Says how many MiB it can have in one piece then, with `all` it takes them
 * before it locks.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB (1ul << 20)
#define LIMIT (1024 * MIB)

enum { MANY = 400 };
static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t many[MANY];
static atomic_int over, begun;
static int threads_wanted;
static const char *how;

static int set(void)
{
	struct rlimit limit = {LIMIT, RLIM_INFINITY};
	struct rlimit64 limit64 = {LIMIT, RLIM64_INFINITY};
	if (!strcmp(how, "setrlimit"))
		return setrlimit(RLIMIT_AS, &limit);
	if (!strcmp(how, "setrlimit64"))
		return setrlimit64(RLIMIT_AS, &limit64);
	if (!strcmp(how, "prlimit"))
		return prlimit(0, RLIMIT_AS, &limit, NULL);
	if (!strcmp(how, "prlimit64"))
		return prlimit64(0, RLIMIT_AS, &limit64, NULL);
	long answer;
	__asm__ volatile("syscall" : "=a"(answer) : "a"(SYS_setrlimit), "D"(RLIMIT_AS), "S"(&limit) : "rcx", "r11", "memory");
	return (int)answer;
}

/* The most that it can have in one piece, which it keeps. */
static unsigned long take_all(void)
{
	unsigned long least = 0, most = 2 * LIMIT / MIB;
	while (most - least > 1) {
		unsigned long half = (least + most) / 2;
		void *at = mmap(NULL, half * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (at == MAP_FAILED) {
			most = half;
		} else {
			munmap(at, half * MIB);
			least = half;
		}
	}
	if (least)
		mmap(NULL, least * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return least;
}

static void *in_order(void *unused)
{
	atomic_fetch_add(&begun, 1);
	while (!atomic_load(&over)) {
		pthread_mutex_lock(&left);
		pthread_mutex_lock(&right);
		pthread_mutex_unlock(&right);
		pthread_mutex_unlock(&left);
	}
	return unused;
}

/* More locks than the ledger has room for as it is. */
static void use_many(void)
{
	for (int i = 0; i < MANY; i++)
		pthread_mutex_init(&many[i], NULL);
	for (int outer = 0; outer < MANY; outer++) {
		pthread_mutex_lock(&many[outer]);
		for (int inner = outer + 1; inner < MANY; inner++) {
			pthread_mutex_lock(&many[inner]);
			pthread_mutex_unlock(&many[inner]);
		}
		pthread_mutex_unlock(&many[outer]);
	}
}

static void *limited(void *unused)
{
	/* Stacks take address space, too. */
	while (atomic_load(&begun) < threads_wanted)
		sched_yield();
	if (set()) {
		perror("limit");
		exit(1);
	}
	unsigned long most = take_all();
	printf("%lu\n", most);
	fflush(stdout);
	use_many();
	return unused;
}

static int locked(int flags)
{
	struct rlimit limit = {8 * MIB, 8 * MIB};
	pthread_mutex_lock(&left);
	pthread_mutex_unlock(&left);
	if (setrlimit(RLIMIT_MEMLOCK, &limit) || (getuid() == 0 && (setgid(65534) || setuid(65534)))) {
		perror("privileges");
		return 1;
	}
	int answer = mlockall(flags);
	printf("mlockall: %s\n", answer ? strerror(errno) : "0");
	if (!answer && flags & MCL_FUTURE) {
		unsigned long pages = 0;
		while (mmap(NULL, 16 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
			pages += 16;
		printf("%lu\n", pages * 4096 / MIB);
	}
	fflush(stdout);
	use_many();
	return answer != 0;
}

int main(int argc, char **argv)
{
	how = argc > 1 ? argv[1] : "setrlimit";
	const char *where = argc > 2 ? argv[2] : "alone";
	if (!strcmp(how, "current"))
		return locked(MCL_CURRENT);
	if (!strcmp(how, "future"))
		return locked(MCL_FUTURE);
	if (!strcmp(where, "child")) {
		int status = 0;
		pthread_mutex_lock(&left);
		pthread_mutex_unlock(&left);
		pid_t child = fork();
		if (child == 0) {
			limited(NULL);
			exit(0);
		}
		return waitpid(child, &status, 0) != child || status;
	}
	pthread_t threads[3];
	int count = !strcmp(where, "alone") ? 0 : 3;
	threads_wanted = !strcmp(where, "thread") ? 2 : count;
	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, !strcmp(where, "thread") && i == 1 ? limited : in_order, NULL);
	if (strcmp(where, "thread"))
		limited(NULL);
	else
		pthread_join(threads[1], NULL);
	atomic_store(&over, 1);
	for (int i = 0; i < count; i++)
		if (strcmp(where, "thread") || i != 1)
			pthread_join(threads[i], NULL);
	return 0;
}
