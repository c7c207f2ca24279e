// What is known to happen in which order, for the timeline: ROUNDS times main takes `gate`, waits until `worker` waits for it, sleeps
// with it and lets it go; ROUNDS times it signals `worker`, which waits on a condition. Once they meet at a barrier, once `worker`
// waits for a semaphore, and it waits once for each of two `twins`, which are initialised at one place. At the end main joins it, and then
// takes `gate` and each of the twins once more for long, when nobody waits for them. `worker` names itself when it has done all. The program
// prints its process id and that of its thread, and how often it did each.
// With `fork` a child does all that, too; with `kill` the program kills itself while `worker` waits for `gate`.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 12 };

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t *twins[2];
static pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t meeting;
static sem_t posted;
static int is_held, rounds_done, is_waiting, is_open, worker_tid, kills;

static int is_waited_for(pthread_mutex_t *mutex)
{
	return __atomic_load_n(&mutex->__data.__lock, __ATOMIC_SEQ_CST) == 2;
}

static void await(int *word, int value) {
	while (__atomic_load_n(word, __ATOMIC_SEQ_CST) != value)
		usleep(100);
}

// Until main sleeps, and after its post it does so in a join alone.
static void await_join(void) {
	char path[64], text[256];
	const char *state = NULL;
	snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)getpid());
	while (!state || state[2] != 'S') {
		int file = open(path, O_RDONLY);
		ssize_t size = read(file, text, sizeof text - 1);
		close(file);
		text[size < 0 ? 0 : size] = 0;
		state = strrchr(text, ')');
		usleep(100);
	}
}

static void *worker(void *unused) {
	worker_tid = syscall(SYS_gettid);
	for (int i = 0; i < ROUNDS + 2; i++) {
		pthread_mutex_t *mutex = i < ROUNDS ? &gate : twins[i - ROUNDS];
		await(&is_held, i + 1);
		pthread_mutex_lock(mutex);
		pthread_mutex_unlock(mutex);
		__atomic_store_n(&rounds_done, i + 1, __ATOMIC_SEQ_CST);
	}
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&door);
		is_waiting = i + 1;
		while (is_open != i + 1)
			pthread_cond_wait(&opened, &door);
		pthread_mutex_unlock(&door);
	}
	pthread_barrier_wait(&meeting);
	sem_wait(&posted);
	await_join();
	pthread_setname_np(pthread_self(), "the worker");
	return unused;
}

static void play(void) {
	pthread_t thread;
	pthread_barrier_init(&meeting, NULL, 2);
	sem_init(&posted, 0, 0);
	for (int i = 0; i < 2; i++) {
		twins[i] = malloc(sizeof *twins[i]);
		pthread_mutex_init(twins[i], NULL);
	}
	pthread_create(&thread, NULL, worker, NULL);
	for (int i = 0; i < ROUNDS + 2; i++) {
		pthread_mutex_t *mutex = i < ROUNDS ? &gate : twins[i - ROUNDS];
		pthread_mutex_lock(mutex);
		__atomic_store_n(&is_held, i + 1, __ATOMIC_SEQ_CST);
		while (!is_waited_for(mutex))
			usleep(100);
		if (kills && i + 1 == ROUNDS)
			kill(getpid(), SIGKILL);
		usleep(2000);
		pthread_mutex_unlock(mutex);
		await(&rounds_done, i + 1);
	}
	for (int i = 0; i < ROUNDS;) {
		usleep(1000);
		pthread_mutex_lock(&door);
		if (is_waiting == i + 1) {
			is_open = ++i;
			pthread_cond_signal(&opened);
		}
		pthread_mutex_unlock(&door);
	}
	pthread_barrier_wait(&meeting);
	usleep(2000);
	sem_post(&posted);
	pthread_join(thread, NULL);
	for (int i = 0; i < 3; i++) {
		pthread_mutex_t *mutex = i < 2 ? twins[i] : &gate;
		pthread_mutex_lock(mutex);
		usleep(2000);
		pthread_mutex_unlock(mutex);
	}
	printf("process %d worker %d rounds %d\n", (int)getpid(), worker_tid, ROUNDS);
	fflush(stdout);
}

int main(int argc, char **argv) {
	kills = argc > 1 && !strcmp(argv[1], "kill");
	if (argc > 1 && !strcmp(argv[1], "fork")) {
		pid_t child = fork();
		if (child == 0) {
			play();
			return 0;
		}
		waitpid(child, NULL, 0);
	}
	play();
	return 0;
}
