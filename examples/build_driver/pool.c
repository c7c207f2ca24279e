#include "pool.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "count.h"
#include "job.h"

enum { MOST_THREADS = 256 };

_Thread_local uint64_t pairs;

static struct {
	struct pool_options options;
	/* The queue, which the lock protects: a heap, on top of which is the job that matters most. */
	struct node **heap;
	size_t count;

	/* A thread that finds the queue empty sleeps here. Taken before the lock, never after. */
	pthread_mutex_t idle;
	pthread_cond_t pushed;
	atomic_uint sleepers;
	/* Of `idle`. */
	int is_done;
	uint64_t pairs;
} pool;

static void lock_queue(void)
{
	pairs++;
	pool.options.lock->lock();
}

static void unlock_queue(void)
{
	pool.options.lock->unlock();
}

/* Libraries are finished in their order, units within them as well: what is begun is done first. */
static int matters_more(const struct node *a, const struct node *b)
{
	return a->id < b->id;
}

static void swap(size_t i, size_t j)
{
	struct node *node = pool.heap[i];

	pool.heap[i] = pool.heap[j];
	pool.heap[j] = node;
}

static void heap_add(struct node *node)
{
	size_t at = pool.count++;

	for (pool.heap[at] = node; at > 0; at = (at - 1) / 2) {
		size_t above = (at - 1) / 2;

		if (!matters_more(pool.heap[at], pool.heap[above]))
			return;
		swap(at, above);
	}
}

static struct node *heap_take(void)
{
	if (pool.count == 0)
		return NULL;
	struct node *node = pool.heap[0];

	pool.heap[0] = pool.heap[--pool.count];
	for (size_t at = 0, below; (below = 2 * at + 1) < pool.count; at = below) {
		if (below + 1 < pool.count && matters_more(pool.heap[below + 1], pool.heap[below]))
			below++;
		if (!matters_more(pool.heap[below], pool.heap[at]))
			break;
		swap(at, below);
	}
	return node;
}

static void push(struct node *node)
{
	lock_queue();
	heap_add(node);
	unlock_queue();
	/* A thread that sleeps, or is about to, counted itself before it looked into the queue. */
	if (atomic_load(&pool.sleepers) == 0)
		return;
	mutex_lock(&pool.idle);
	pthread_cond_signal(&pool.pushed);
	mutex_unlock(&pool.idle);
}

static struct node *pop(void)
{
	lock_queue();
	struct node *node = heap_take();

	unlock_queue();
	return node;
}

/* A job, or NULL if all are done. */
static struct node *next_job(void)
{
	struct node *node = pop();

	if (node)
		return node;
	mutex_lock(&pool.idle);
	atomic_fetch_add(&pool.sleepers, 1);
	while (!(node = pop()) && !pool.is_done)
		pthread_cond_wait(&pool.pushed, &pool.idle);
	atomic_fetch_sub(&pool.sleepers, 1);
	mutex_unlock(&pool.idle);
	return node;
}

/* The node's job is done: so may be another one's last need. */
static void finish(struct node *node)
{
	struct node *user = node->user;
	int is_ready;

	if (!user) {
		mutex_lock(&pool.idle);
		pool.is_done = 1;
		pthread_cond_broadcast(&pool.pushed);
		mutex_unlock(&pool.idle);
		return;
	}
	mutex_lock(&user->lock);
	is_ready = --user->waits_for == 0;
	mutex_unlock(&user->lock);
	if (is_ready)
		push(user);
}

static void *work(void *unused)
{
	struct node *node;

	while ((node = next_job())) {
		unsigned steps = 0;
		int is_last = 0;

		while (steps++ < pool.options.slice && !is_last)
			is_last = job_step(node);
		if (is_last)
			finish(node);
		else
			push(node);
	}
	mutex_lock(&pool.idle);
	pool.pairs += pairs;
	mutex_unlock(&pool.idle);
	return unused;
}

uint64_t pool_run(struct graph *graph, const struct pool_options *options)
{
	pthread_t workers[MOST_THREADS];

	if (options->threads < 1 || options->threads > MOST_THREADS) {
		fprintf(stderr, "%u threads: 1 to %d\n", options->threads, MOST_THREADS);
		exit(2);
	}
	pool.options = *options;
	pool.heap = calloc(graph->count, sizeof(*pool.heap));
	if (!pool.heap) {
		perror("calloc");
		exit(1);
	}
	options->lock->init();
	pthread_mutex_init(&pool.idle, NULL);
	pthread_cond_init(&pool.pushed, NULL);
	for (size_t i = 0; i < graph->count; i++) {
		if (graph->nodes[i].waits_for == 0)
			push(&graph->nodes[i]);
	}
	for (unsigned i = 0; i < options->threads; i++) {
		int error = pthread_create(&workers[i], NULL, work, NULL);

		if (error) {
			fprintf(stderr, "thread %u: %s\n", i, strerror(error));
			exit(1);
		}
	}
	for (unsigned i = 0; i < options->threads; i++)
		pthread_join(workers[i], NULL);
	pthread_cond_destroy(&pool.pushed);
	pthread_mutex_destroy(&pool.idle);
	options->lock->destroy();
	free(pool.heap);
	return pool.pairs;
}
