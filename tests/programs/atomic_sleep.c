/* What may sleep, done with a spinning lock held. The argument says what: a row of `cases` below.
 *
 * Each case is run with the spinlock held. `free-NAME` runs the same after the spinlock has been released;
 * `own-NAME` inside a lock of the program's own that says that it spins, `quiet-NAME` in one that does not say. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <lockwright.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_spinlock_t spin, other_spin;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t lock_semaphore, event;
static atomic_int own;
static int ends[2], file;
static char byte = 'x';

static const struct timespec moment = { 0, 1000 };

static void check(int ok)
{
	if (!ok)
		abort();
}

static void *nothing(void *arg)
{
	return arg;
}

static void *arrive(void *arg)
{
	pthread_barrier_wait(&barrier);
	return arg;
}

static void do_nanosleep(void) { nanosleep(&moment, NULL); }
static void do_clock_nanosleep(void) { clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL); }
static void do_usleep(void) { usleep(1); }
static void do_sleep(void) { sleep(0); }
static void do_read(void) { check(read(ends[0], &byte, 1) == 1); }
static void do_write(void) { check(write(file, &byte, 1) == 1); }
static void do_fsync(void) { fsync(file); }
static void do_poll(void)
{
	struct pollfd wanted = { ends[0], POLLIN, 0 };
	poll(&wanted, 1, -1);
}
static void do_ppoll(void)
{
	struct pollfd wanted = { ends[0], POLLIN, 0 };
	ppoll(&wanted, 1, NULL, NULL);
}
static void do_select(void)
{
	struct timeval timeout = { 0, 1 };
	select(0, NULL, NULL, NULL, &timeout);
}
static void do_waitpid(void)
{
	pid_t child = fork();
	if (child == 0)
		_exit(0);
	check(waitpid(child, NULL, 0) == child);
}
static void do_mutex(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}
static void do_timedlock(void)
{
	struct timespec end = { 1L << 40, 0 };
	check(pthread_mutex_timedlock(&mutex, &end) == 0);
	pthread_mutex_unlock(&mutex);
}
static void do_rdlock(void)
{
	pthread_rwlock_rdlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
}
static void do_wrlock(void)
{
	pthread_rwlock_wrlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
}
static void do_semaphore(void)
{
	sem_wait(&lock_semaphore);
	sem_post(&lock_semaphore);
}
static void do_event(void) { sem_wait(&event); }
static void do_join(void)
{
	pthread_t thread;
	check(pthread_create(&thread, NULL, nothing, NULL) == 0);
	pthread_join(thread, NULL);
}
static void do_barrier(void)
{
	pthread_barrier_wait(&barrier);
}
static void do_cond(void)
{
	struct timespec end = { 1, 0 };
	/* The mutex was there first: what sleeps is the wait. */
	pthread_cond_timedwait(&cond, &mutex, &end);
}
static void handler(int signal)
{
	(void)signal;
	nanosleep(&moment, NULL);
}
static void do_handler(void)
{
	signal(SIGUSR1, handler);
	raise(SIGUSR1);
}

/* Not a fault. */
static void do_trylock(void)
{
	check(pthread_mutex_trylock(&mutex) == 0);
	pthread_mutex_unlock(&mutex);
}
static void do_tryrdlock(void)
{
	check(pthread_rwlock_tryrdlock(&rwlock) == 0);
	pthread_rwlock_unlock(&rwlock);
}
static void do_trywait(void)
{
	check(sem_trywait(&lock_semaphore) == 0);
	sem_post(&lock_semaphore);
}
static void do_spin(void)
{
	pthread_spin_lock(&other_spin);
	pthread_spin_unlock(&other_spin);
}
static void do_yield(void) { sched_yield(); }
static void do_memory(void)
{
	char *memory = malloc(1000);
	memset(memory, 1, 1000);
	free(memory);
}
static void do_nonblocking(void)
{
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	check(read(ends[0], &byte, 1) == 1);
	check(read(ends[0], &byte, 1) == -1);
}
static void do_dontwait(void)
{
	int pair[2];
	check(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	check(send(pair[0], &byte, 1, MSG_DONTWAIT) == 1);
	check(recv(pair[1], &byte, 1, MSG_DONTWAIT) == 1);
}
static void do_polls(void)
{
	struct pollfd wanted = { ends[0], POLLIN, 0 };
	struct timeval none = { 0, 0 };
	struct timespec neither = { 0, 0 };
	struct epoll_event event;
	int all = epoll_create1(0);
	poll(&wanted, 1, 0);
	ppoll(&wanted, 1, &neither, NULL);
	select(0, NULL, NULL, NULL, &none);
	epoll_wait(all, &event, 1, 0);
	waitpid(-1, NULL, WNOHANG);
	check(flock(file, LOCK_EX | LOCK_NB) == 0);
	flock(file, LOCK_UN);
}
static void do_tryjoin(void)
{
	pthread_t thread;
	check(pthread_create(&thread, NULL, nothing, NULL) == 0);
	while (pthread_tryjoin_np(thread, NULL) != 0)
		sched_yield();
}
static void do_post(void)
{
	sem_post(&event);
	pthread_cond_signal(&cond);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{ "nanosleep", do_nanosleep }, { "clock_nanosleep", do_clock_nanosleep }, { "usleep", do_usleep },
	{ "sleep", do_sleep }, { "read", do_read }, { "write", do_write }, { "fsync", do_fsync },
	{ "poll", do_poll }, { "ppoll", do_ppoll }, { "select", do_select }, { "waitpid", do_waitpid },
	{ "mutex", do_mutex }, { "timedlock", do_timedlock }, { "rdlock", do_rdlock }, { "wrlock", do_wrlock },
	{ "semaphore", do_semaphore }, { "event", do_event }, { "join", do_join }, { "barrier", do_barrier },
	{ "cond", do_cond }, { "handler", do_handler },
	{ "trylock", do_trylock }, { "tryrdlock", do_tryrdlock }, { "trywait", do_trywait }, { "spin", do_spin },
	{ "yield", do_yield }, { "memory", do_memory }, { "nonblocking", do_nonblocking },
	{ "dontwait", do_dontwait }, { "polls", do_polls }, { "tryjoin", do_tryjoin }, { "post", do_post },
};

static void own_lock(int says)
{
	if (says)
		lw_set_wait_type(&own, LW_WAIT_SPIN);
	lw_acquire(&own, LW_EXCLUSIVE);
	while (atomic_exchange(&own, 1))
		sched_yield();
	lw_acquired(&own);
}

static void own_unlock(void)
{
	lw_release(&own);
	atomic_store(&own, 0);
}

static int begins(const char **text, const char *with)
{
	size_t n = strlen(with);
	if (strncmp(*text, with, n) != 0)
		return 0;
	*text += n;
	return 1;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	int is_free = begins(&name, "free-");
	int is_own = begins(&name, "own-");
	int is_quiet = begins(&name, "quiet-");
	int is_cond = strcmp(name, "cond") == 0;
	int twice = argc > 2;
	char path[] = "/tmp/atomic_sleep-XXXXXX";
	pthread_t guest;

	file = mkstemp(path);
	check(file >= 0 && unlink(path) == 0 && pipe(ends) == 0 && write(ends[1], "xx", 1 + twice) > 0);
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	pthread_spin_init(&other_spin, PTHREAD_PROCESS_PRIVATE);
	pthread_barrier_init(&barrier, NULL, 2);
	sem_init(&lock_semaphore, 0, 1);
	sem_init(&event, 0, 0);
	sem_post(&event);
	sem_post(&event);
	if (strcmp(name, "barrier") == 0)
		check(pthread_create(&guest, NULL, arrive, NULL) == 0);

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (strcmp(cases[i].name, name) != 0)
			continue;
		for (int round = 0; round < 1 + twice; round++) {
			if (is_cond)
				pthread_mutex_lock(&mutex);
			if (is_own || is_quiet)
				own_lock(is_own);
			else
				pthread_spin_lock(&spin);
			if (is_free)
				pthread_spin_unlock(&spin);
			cases[i].run();
			if (is_own || is_quiet)
				own_unlock();
			else if (!is_free)
				pthread_spin_unlock(&spin);
			if (is_cond)
				pthread_mutex_unlock(&mutex);
		}
		if (strcmp(name, "barrier") == 0)
			pthread_join(guest, NULL);
		puts("done");
		return 0;
	}
	fprintf(stderr, "%s: what is %s?\n", argv[0], name);
	return 2;
}
