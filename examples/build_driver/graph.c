#include "graph.h"

#include <stdio.h>
#include <stdlib.h>

#include "random.h"

/* A library has so many units at least, and less than twice as many. */
enum { UNITS = 24 };

static void *allocate(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (!memory) {
		perror("calloc");
		exit(1);
	}
	return memory;
}

static struct node *add(struct graph *graph, enum kind kind, size_t needs)
{
	struct node *node = &graph->nodes[graph->count];

	pthread_mutex_init(&node->lock, NULL);
	node->kind = kind;
	node->id = graph->count++;
	if (needs)
		node->needs = allocate(needs, sizeof(*node->needs));
	return node;
}

static void need(struct node *user, struct node *needed)
{
	user->needs[user->needs_count++] = needed;
	user->waits_for++;
	needed->user = user;
}

void graph_init(struct graph *graph, size_t units, uint64_t seed)
{
	size_t libraries = units / UNITS + 1;

	graph->nodes = allocate(units + libraries + 1, sizeof(*graph->nodes));
	graph->count = 0;
	struct node *program = add(graph, PROGRAM, libraries);

	for (size_t done = 0; done < units;) {
		size_t size = UNITS + mix2(seed, done) % UNITS;

		if (size > units - done)
			size = units - done;
		struct node *library = add(graph, LIBRARY, size);

		library->table = allocate(TABLE_SIZE, sizeof(*library->table));
		need(program, library);
		for (size_t i = 0; i < size; i++)
			need(library, add(graph, UNIT, 0));
		done += size;
	}
	graph->program = program;
}

void graph_destroy(struct graph *graph)
{
	for (size_t i = 0; i < graph->count; i++) {
		pthread_mutex_destroy(&graph->nodes[i].lock);
		free(graph->nodes[i].needs);
		free(graph->nodes[i].table);
	}
	free(graph->nodes);
}
