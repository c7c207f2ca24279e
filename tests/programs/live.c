/* Does what a report can show while the program runs, and goes on until somebody opens a named pipe for writing.
 *
 *   live WHAT PIPE   prints its process id first
 *
 *   both-orders      two threads take two locks in both orders, never at once
 *   one-order        the same in one order
 *   semaphore        a mutex and a semaphore in both orders; then the semaphore proves to be no lock
 *   held             a thread waits for a lock that another holds until the pipe is opened
 *   idle             a thread waits for a signal until then, and nobody waits for a lock
 *   joined           a thread waits for another's end until then; with a lock held: joined-holding
 *   busy             two threads take a lock all the time until then
 *   stubborn         as both-orders, and ignores SIGTERM
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t right = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static const char *pipe_name;
static atomic_int is_over;
static int is_ready;

static void await_pipe(void)
{
	int fd = open(pipe_name, O_RDONLY);
	if (fd >= 0)
		close(fd);
}

static void *left_first(void *arg)
{
	pthread_mutex_lock(&left);
	pthread_mutex_lock(&right);
	pthread_mutex_unlock(&right);
	pthread_mutex_unlock(&left);
	return arg;
}

static void *right_first(void *arg)
{
	pthread_mutex_lock(&right);
	pthread_mutex_lock(&left);
	pthread_mutex_unlock(&left);
	pthread_mutex_unlock(&right);
	return arg;
}

/* Nothing orders the two threads that the tool knows of. */
static void two_threads(void *(*second)(void *))
{
	pthread_t threads[2];

	pthread_create(&threads[0], NULL, left_first, NULL);
	usleep(20000);
	pthread_create(&threads[1], NULL, second, NULL);
	await_pipe();
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static sem_t seat;

static void *seat_first(void *arg)
{
	sem_wait(&seat);
	pthread_mutex_lock(&left);
	pthread_mutex_unlock(&left);
	sem_post(&seat);
	return arg;
}

static void *seat_last(void *arg)
{
	pthread_mutex_lock(&left);
	sem_wait(&seat);
	sem_post(&seat);
	pthread_mutex_unlock(&left);
	return arg;
}

static atomic_int has_left;

static void *holder(void *arg)
{
	pthread_setname_np(pthread_self(), "holder");
	pthread_mutex_lock(&left);
	atomic_store(&has_left, 1);
	await_pipe();
	pthread_mutex_unlock(&left);
	return arg;
}

static void *waiter(void *arg)
{
	pthread_setname_np(pthread_self(), "waiter");
	while (!atomic_load(&has_left))
		usleep(1000);
	pthread_mutex_lock(&left);
	pthread_mutex_unlock(&left);
	return arg;
}

static void *idler(void *arg)
{
	pthread_mutex_lock(&right);
	while (!is_ready)
		pthread_cond_wait(&ready, &right);
	pthread_mutex_unlock(&right);
	return arg;
}

static void *worker(void *arg)
{
	while (!atomic_load(&is_over)) {
		pthread_mutex_lock(&left);
		usleep(500);
		pthread_mutex_unlock(&left);
	}
	return arg;
}

static void *reader(void *arg)
{
	await_pipe();
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	if (argc != 3)
		return 2;
	pipe_name = argv[2];
	printf("%d\n", (int)getpid());
	fflush(stdout);
	if (!strcmp(argv[1], "stubborn"))
		signal(SIGTERM, SIG_IGN);
	if (!strcmp(argv[1], "both-orders") || !strcmp(argv[1], "stubborn")) {
		two_threads(right_first);
	} else if (!strcmp(argv[1], "one-order")) {
		two_threads(left_first);
	} else if (!strcmp(argv[1], "semaphore")) {
		sem_init(&seat, 0, 1);
		pthread_create(&threads[0], NULL, seat_first, NULL);
		usleep(20000);
		pthread_create(&threads[1], NULL, seat_last, NULL);
		await_pipe();
		pthread_join(threads[0], NULL);
		pthread_join(threads[1], NULL);
		sem_post(&seat);
	} else if (!strcmp(argv[1], "held")) {
		pthread_create(&threads[0], NULL, holder, NULL);
		pthread_create(&threads[1], NULL, waiter, NULL);
		pthread_join(threads[0], NULL);
		pthread_join(threads[1], NULL);
	} else if (!strcmp(argv[1], "idle")) {
		pthread_create(&threads[0], NULL, idler, NULL);
		await_pipe();
		pthread_mutex_lock(&right);
		is_ready = 1;
		pthread_cond_signal(&ready);
		pthread_mutex_unlock(&right);
		pthread_join(threads[0], NULL);
	} else if (!strcmp(argv[1], "joined")) {
		pthread_create(&threads[0], NULL, reader, NULL);
		pthread_join(threads[0], NULL);
	} else if (!strcmp(argv[1], "joined-holding")) {
		pthread_create(&threads[0], NULL, reader, NULL);
		pthread_mutex_lock(&left);
		pthread_join(threads[0], NULL);
		pthread_mutex_unlock(&left);
	} else if (!strcmp(argv[1], "busy")) {
		pthread_create(&threads[0], NULL, worker, NULL);
		pthread_create(&threads[1], NULL, worker, NULL);
		await_pipe();
		atomic_store(&is_over, 1);
		pthread_join(threads[0], NULL);
		pthread_join(threads[1], NULL);
	} else {
		return 2;
	}
	puts("the end");
	return 0;
}
