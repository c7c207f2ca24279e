// Threads that wait for tickets, at a futex or a semaphore. Prints how often threads were woken in vain.
//
//     meter_woken futex all|one           wakes all threads for a ticket, or one
//     meter_woken semaphore taken|left    takes the post again before the woken thread can, a few times for each ticket; or never
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 6, TICKETS = 100, POSTS = 40, TAKEN = 5 };

static int tickets, served, waiting, closed, tids[THREADS];
static long in_vain;
static sem_t post;

static int get(int *word) { return __atomic_load_n(word, __ATOMIC_SEQ_CST); }

static int add(int *word, int n) { return __atomic_add_fetch(word, n, __ATOMIC_SEQ_CST); }

// True if the thread has one.
static int take(void) {
	for (int left = get(&tickets); left > 0;)
		if (__atomic_compare_exchange_n(&tickets, &left, left - 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			return 1;
	return 0;
}

static void *customer(void *number) {
	tids[(long)number] = syscall(SYS_gettid);
	while (!get(&closed)) {
		add(&waiting, 1);
		int is_woken = 0;
		while (!take() && !get(&closed)) {
			if (is_woken)
				__atomic_add_fetch(&in_vain, 1, __ATOMIC_SEQ_CST);
			is_woken = syscall(SYS_futex, &tickets, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0) == 0;
		}
		add(&waiting, -1);
		if (!get(&closed)) {
			// Longer than a look.
			usleep(2000);
			add(&served, 1);
		}
	}
	return number;
}

// Until the first threads sleep, as the kernel says.
static void await_sleepers(int count) {
	for (int i = 0; i < count; i++) {
		char path[64], text[256];
		const char *state = NULL;
		while (!state || state[2] != 'S') {
			usleep(100);
			snprintf(path, sizeof path, "/proc/self/task/%d/stat", get(&tids[i]));
			int file = open(path, O_RDONLY);
			ssize_t size = read(file, text, sizeof text - 1);
			close(file);
			text[size < 0 ? 0 : size] = 0;
			state = strrchr(text, ')');
		}
	}
}

__attribute__((noinline)) static void sell(int how_many) {
	add(&tickets, 1);
	syscall(SYS_futex, &tickets, FUTEX_WAKE_PRIVATE, how_many, NULL, NULL, 0);
}

static void at_futex(int wakes_all) {
	pthread_t thread[THREADS];
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, customer, (void *)(long)i);
	for (int i = 0; i < TICKETS; i++) {
		while (get(&waiting) < THREADS || get(&served) < i)
			usleep(100);
		await_sleepers(THREADS);
		sell(wakes_all ? INT_MAX : 1);
		while (get(&served) <= i)
			usleep(100);
	}
	add(&closed, 1);
	// What it waits for is not 0 any more.
	add(&tickets, 1000);
	syscall(SYS_futex, &tickets, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

// Both threads run on one processor, and a thread of this policy does not take it from the one that woke it.
static void *consumer(void *unused) {
	struct sched_param none = {0};
	pthread_setschedparam(pthread_self(), SCHED_BATCH, &none);
	tids[0] = syscall(SYS_gettid);
	for (int i = 0; i < POSTS; i++) {
		struct rusage before, after;
		getrusage(RUSAGE_THREAD, &before);
		sem_wait(&post);
		getrusage(RUSAGE_THREAD, &after);
		long sleeps = after.ru_nvcsw - before.ru_nvcsw;
		in_vain += sleeps > 1 ? sleeps - 1 : 0;
		add(&served, 1);
	}
	return unused;
}

static void at_semaphore(int takes) {
	pthread_t thread;
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof one, &one);
	sem_init(&post, 0, 0);
	pthread_create(&thread, NULL, consumer, NULL);
	for (int i = 0; i < POSTS; i++) {
		for (int left = takes ? TAKEN : 0;; left--) {
			await_sleepers(1);
			sem_post(&post);
			// Before the woken thread can, mostly.
			if (left == 0 || sem_trywait(&post) != 0)
				break;
		}
		while (get(&served) <= i)
			usleep(100);
	}
	pthread_join(thread, NULL);
}

int main(int argc, char **argv) {
	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "futex"))
		at_futex(!strcmp(argv[2], "all"));
	else
		at_semaphore(!strcmp(argv[2], "taken"));
	printf("in_vain=%ld\n", in_vain);
	return 0;
}
