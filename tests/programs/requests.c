/* A server that makes a thread for each request: N of them, up to 8 at a time; without N, for ever.
 * Each takes two locks in one order, and a lock of its own request around a third. With N = -1 it
 * serves for ever, one request at a time. With "both" these take two more locks, in both orders: that is
 * safe, since each thread is joined before the next is created. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AT_A_TIME 8

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER, row = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static int in_both_orders;
static long done;

struct request {
	pthread_t thread;
	pthread_mutex_t own;
};

static void *serve(void *of)
{
	struct request *request = of;
	pthread_mutex_lock(&table);
	pthread_mutex_lock(&row);
	done++;
	pthread_mutex_unlock(&row);
	pthread_mutex_unlock(&table);
	pthread_mutex_lock(&request->own);
	pthread_mutex_lock(&row);
	pthread_mutex_unlock(&row);
	pthread_mutex_unlock(&request->own);
	if (in_both_orders) {
		pthread_mutex_lock(done % 2 ? &left : &right);
		pthread_mutex_lock(done % 2 ? &right : &left);
		pthread_mutex_unlock(&left);
		pthread_mutex_unlock(&right);
	}
	/* The creator may still hold it. */
	pthread_mutex_lock(&starting);
	pthread_mutex_unlock(&starting);
	return NULL;
}

static struct request *begin(int is_held)
{
	struct request *request = malloc(sizeof *request);
	pthread_mutex_init(&request->own, NULL);
	if (is_held)
		pthread_mutex_lock(&starting);
	if (pthread_create(&request->thread, NULL, serve, request))
		abort();
	if (is_held)
		pthread_mutex_unlock(&starting);
	return request;
}

static void end(struct request *request)
{
	pthread_join(request->thread, NULL);
	pthread_mutex_destroy(&request->own);
	free(request);
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : -1;
	int is_held = argc > 2 && !strcmp(argv[2], "held");
	int at_a_time = count < 0 ? 1 : AT_A_TIME;
	in_both_orders = argc > 2 && !strcmp(argv[2], "both");
	struct request *under_way[AT_A_TIME] = {0};
	if (count < 0) {
		printf("%d\n", getpid());
		fflush(stdout);
	}
	for (long i = 0; i != count; i++) {
		struct request **slot = &under_way[i % at_a_time];
		if (*slot)
			end(*slot);
		*slot = begin(is_held);
		if (count < 0 && i % 1000 == 999) {
			putchar('.');
			fflush(stdout);
		}
	}
	for (int i = 0; i < at_a_time; i++)
		if (under_way[i])
			end(under_way[i]);
	printf("%ld\n", done);
	return 0;
}
