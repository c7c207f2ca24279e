/*
 * Two threads take two locks in opposite orders, one a while after the other: they deadlock only if the first is held up
 * between its two locks. What steers threads proves itself with this program.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t right = PTHREAD_MUTEX_INITIALIZER;

static void *left_first(void *unused)
{
	pthread_mutex_lock(&left);
	pthread_mutex_lock(&right);
	pthread_mutex_unlock(&right);
	pthread_mutex_unlock(&left);
	return unused;
}

static void *right_first(void *unused)
{
	usleep(20000);
	pthread_mutex_lock(&right);
	pthread_mutex_lock(&left);
	pthread_mutex_unlock(&left);
	pthread_mutex_unlock(&right);
	return unused;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, left_first, NULL);
	pthread_create(&b, NULL, right_first, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
