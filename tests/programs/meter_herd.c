// Threads that wait for tickets, of which there is one at a time. The first way wakes all of them for it; the second, one. Prints
// how many threads were woken, and how many of them found none.
//
//     meter_herd broadcast|signal
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 8, TICKETS = 300 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static int tickets, closed, waiting;
static long signals, woken, in_vain;

static void *customer(void *unused) {
	for (;;) {
		pthread_mutex_lock(&mutex);
		waiting++;
		while (!tickets && !closed) {
			pthread_cond_wait(&ready, &mutex);
			woken++;
			if (!tickets && !closed)
				in_vain++;
		}
		waiting--;
		if (!tickets)
			break;
		tickets--;
		pthread_mutex_unlock(&mutex);
	}
	pthread_mutex_unlock(&mutex);
	return unused;
}

__attribute__((noinline)) static void sell(int to_all) {
	pthread_mutex_lock(&mutex);
	tickets++;
	signals += waiting > 0;
	if (to_all)
		pthread_cond_broadcast(&ready);
	else
		pthread_cond_signal(&ready);
	pthread_mutex_unlock(&mutex);
}

int main(int argc, char **argv) {
	int to_all = argc < 2 || !strcmp(argv[1], "broadcast");
	pthread_t thread[THREADS];
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, customer, NULL);
	for (int i = 0; i < TICKETS; i++) {
		sell(to_all);
		// Until all of them wait again.
		for (int all = 0; !all; usleep(300)) {
			pthread_mutex_lock(&mutex);
			all = waiting == THREADS && !tickets;
			pthread_mutex_unlock(&mutex);
		}
		usleep(500);
	}
	pthread_mutex_lock(&mutex);
	closed = 1;
	pthread_cond_broadcast(&ready);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("signals=%ld\nwoken=%ld\nin_vain=%ld\n", signals, woken, in_vain);
	return 0;
}
