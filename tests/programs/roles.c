/* Locks that one function initialises, or that lie in one array, and are for different things. Thread A nests two of
 * them in descending order of address, thread B two others in ascending order. As one class they would seem to be
 * nested in no fixed order.
 *
 *   made     nothing is wrong: part_begin initialises locks of four purposes
 *   both     ... but two of them are taken in both orders
 *   array    nothing is wrong: elements of a static array, each with a purpose
 *   buckets  elements of a static array that one function takes in any order */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "baton.h"

static struct server { pthread_mutex_t table, queue, log, disk; } *server;
static pthread_mutex_t locks[4] = {
	PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
};
static pthread_mutex_t *table, *queue, *log_, *disk;
static const char *how;
static int parts;
static baton first_is_done;
static struct meeting end = { .size = 2 };

__attribute__((noinline)) static void part_begin(pthread_mutex_t *part)
{
	pthread_mutex_init(part, NULL);
	parts++;
}

__attribute__((noinline)) static void server_begin(void)
{
	server = malloc(sizeof *server);
	part_begin(table = &server->table);
	part_begin(queue = &server->queue);
	part_begin(log_ = &server->log);
	part_begin(disk = &server->disk);
}

__attribute__((noinline)) static void enqueue(void)
{
	pthread_mutex_lock(queue);
	pthread_mutex_lock(table);
	pthread_mutex_unlock(table);
	pthread_mutex_unlock(queue);
}

__attribute__((noinline)) static void look(void)
{
	pthread_mutex_lock(queue);
	pthread_mutex_unlock(queue);
	pthread_mutex_lock(table);
	pthread_mutex_unlock(table);
}

__attribute__((noinline)) static void dequeue_all(void)
{
	pthread_mutex_lock(table);
	pthread_mutex_lock(queue);
	pthread_mutex_unlock(queue);
	pthread_mutex_unlock(table);
}

__attribute__((noinline)) static void append(void)
{
	pthread_mutex_lock(log_);
	pthread_mutex_lock(disk);
	pthread_mutex_unlock(disk);
	pthread_mutex_unlock(log_);
}

__attribute__((noinline)) static void rotate(void)
{
	pthread_mutex_lock(log_);
	pthread_mutex_unlock(log_);
	pthread_mutex_lock(disk);
	pthread_mutex_unlock(disk);
}

__attribute__((noinline)) static void move(int from, int to)
{
	pthread_mutex_lock(&locks[from]);
	pthread_mutex_lock(&locks[to]);
	pthread_mutex_unlock(&locks[to]);
	pthread_mutex_unlock(&locks[from]);
}

static void *a(void *arg)
{
	if (!strcmp(how, "buckets")) {
		move(1, 0);
	} else {
		enqueue();
		look();
	}
	baton_pass(&first_is_done);
	meeting_wait(&end);
	return arg;
}

static void *b(void *arg)
{
	baton_take(&first_is_done);
	if (!strcmp(how, "buckets")) {
		move(2, 3);
	} else {
		append();
		rotate();
	}
	if (!strcmp(how, "both"))
		dequeue_all();
	meeting_wait(&end);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	how = argc > 1 ? argv[1] : "made";
	if (!strcmp(how, "array")) {
		table = &locks[0];
		queue = &locks[1];
		log_ = &locks[2];
		disk = &locks[3];
	} else {
		server_begin();
	}
	pthread_create(&threads[0], NULL, a, NULL);
	pthread_create(&threads[1], NULL, b, NULL);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	puts("the end");
	return 0;
}
