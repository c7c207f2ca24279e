/* What is to be built, and what of it needs what: translation units, libraries of some of them each, and the program.
 * (Headers are no jobs: they are parsed when a unit includes them.) */
#ifndef GRAPH_H
#define GRAPH_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum { TABLE_SIZE = 1024 };

enum kind { UNIT, LIBRARY, PROGRAM };

struct node {
	/* Protects all but what never changes, and what is the business of its job. */
	pthread_mutex_t lock;
	/* Jobs that must be done before. */
	unsigned waits_for;
	/* A library's symbols, of all its units: how often each. */
	uint32_t *table;

	/* Never change. */
	enum kind kind;
	uint32_t id;
	struct node *user;
	struct node **needs;
	size_t needs_count;

	/* Its job's business. */
	uint32_t step;
	uint64_t output;
	struct scope *scopes;
	uint32_t *symbols;
	size_t symbols_count;
};

struct graph {
	struct node *nodes;
	size_t count;
	/* The last of them: the program. */
	struct node *program;
};

/* Makes a graph with so many units, libraries of a number that the seed decides. */
void graph_init(struct graph *graph, size_t units, uint64_t seed);
void graph_destroy(struct graph *graph);

#endif
