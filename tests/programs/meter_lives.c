/* Lives of processes, threads and locks, with counts that are known. Argument:
 *
 *   killed   counts, then is killed with one lock held and another waited for
 *   fork     the parent counts, forks with a lock held; the child counts on; both end
 *   exec     counts, and becomes another program that counts
 *   threads  N    so many threads, eight at a time, each with one acquisition
 *   mutexes  N    so many mutexes, made, taken, destroyed
 *   left          a thread ends with two locks held, one of them after a wait; the program goes on for longer
 */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include "meter.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static uint64_t begun;

SITE static void count(int n)
{
	for (int i = 0; i < n; i++) {
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
		NO_TAIL_CALL;
	}
}

SITE static void keep(void)
{
	pthread_mutex_lock(&other);
	begun = now();
	NO_TAIL_CALL;
}

static atomic_int waiter_id;

SITE static void wait_in_vain(void)
{
	atomic_store(&waiter_id, thread_id());
	pthread_mutex_lock(&other);
	NO_TAIL_CALL;
}

static void *waiter(void *arg)
{
	wait_in_vain();
	return arg;
}

static void killed(void)
{
	pthread_t thread;
	count(12345);
	keep();
	pthread_create(&thread, NULL, waiter, NULL);
	await_blocked(&waiter_id);
	spin_from(now(), 50000000);
	/* How long it lived is only known from slow events: one is a call that sleeps with a lock held. */
	usleep(1);
	truth("held", now() - begun);
	kill(getpid(), SIGKILL);
}

SITE static void in_child(int n)
{
	for (int i = 0; i < n; i++) {
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
		NO_TAIL_CALL;
	}
	pthread_mutex_unlock(&other);
	NO_TAIL_CALL;
}

static void forks(void)
{
	int status;
	count(100);
	keep();
	pid_t child = fork();
	if (child == 0) {
		in_child(50);
		exit(0);
	}
	waitpid(child, &status, 0);
	count(23);
	pthread_mutex_unlock(&other);
	truth("parent", (uint64_t)getpid());
	truth("child", (uint64_t)child);
}

SITE static void *once(void *arg)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	NO_TAIL_CALL;
	return arg;
}

static void threads(int n)
{
	pthread_t started[8];
	for (int i = 0; i < n; i += 8) {
		for (int j = 0; j < 8; j++)
			pthread_create(&started[j], NULL, once, NULL);
		for (int j = 0; j < 8; j++)
			pthread_join(started[j], NULL);
	}
}

SITE static void live(pthread_mutex_t *m)
{
	pthread_mutex_init(m, NULL);
	pthread_mutex_lock(m);
	pthread_mutex_unlock(m);
	pthread_mutex_destroy(m);
	NO_TAIL_CALL;
}

/* On the heap, so that lives of other memory come between. */
static void mutexes(int n)
{
	for (int i = 0; i < n; i++) {
		pthread_mutex_t *m = malloc(sizeof *m + (size_t)(i % 7) * 16);
		live(m);
		free(m);
	}
}

SITE static void leave_first(void)
{
	pthread_mutex_lock(&other);
	begun = now();
	NO_TAIL_CALL;
}

static void *leaver(void *arg)
{
	leave_first();
	atomic_store(&waiter_id, thread_id());
	pthread_mutex_lock(&lock);
	spin_from(now(), 20000000);
	truth("held", now() - begun);
	return arg;
}

static void left(void)
{
	pthread_t thread;
	pthread_mutex_lock(&lock);
	pthread_create(&thread, NULL, leaver, NULL);
	await_blocked(&waiter_id);
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
	spin_from(now(), 50000000);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 0;

	if (!strcmp(what, "killed")) {
		killed();
	} else if (!strcmp(what, "fork")) {
		forks();
	} else if (!strcmp(what, "exec")) {
		count(11);
		execl(argv[0], argv[0], "counts", "7", NULL);
	} else if (!strcmp(what, "counts")) {
		count(n);
	} else if (!strcmp(what, "threads")) {
		threads(n);
	} else if (!strcmp(what, "left")) {
		left();
	} else if (!strcmp(what, "mutexes")) {
		mutexes(n);
	} else {
		return 2;
	}
	return 0;
}
