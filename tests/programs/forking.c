/* The child takes the locks in both orders, the parent in one only: the finding belongs to the child. */
#include <pthread.h>
#include "baton.h"
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t right = PTHREAD_MUTEX_INITIALIZER;
static baton forward_done, backward_done;

static void *forward(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&left);
	pthread_mutex_lock(&right);
	pthread_mutex_unlock(&right);
	pthread_mutex_unlock(&left);
	baton_pass(&forward_done);
	baton_take(&backward_done);
	return NULL;
}

static void *backward(void *arg)
{
	(void)arg;
	baton_take(&forward_done);
	pthread_mutex_lock(&right);
	pthread_mutex_lock(&left);
	pthread_mutex_unlock(&left);
	pthread_mutex_unlock(&right);
	baton_pass(&backward_done);
	return NULL;
}

int main(void)
{
	int status = 0;
	atomic_init(&forward_done, 0);
	atomic_init(&backward_done, 0);
	pthread_mutex_lock(&left);
	pid_t child = fork();
	pthread_mutex_unlock(&left); /* in both: the child inherits what the forking thread holds */
	if (child == 0) {
		pthread_t threads[2];
		pthread_create(&threads[0], NULL, forward, NULL);
		pthread_create(&threads[1], NULL, backward, NULL);
		pthread_join(threads[0], NULL);
		pthread_join(threads[1], NULL);
		return 5;
	}
	waitpid(child, &status, 0);
	printf("child %d exited with %d\n", (int)child, WEXITSTATUS(status));
	return 0;
}
