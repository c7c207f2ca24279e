#include "job.h"

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#include "arena.h"
#include "count.h"
#include "header_cache.h"
#include "log.h"
#include "random.h"
#include "text.h"

/* A unit keeps so many symbols of a step for the end. */
enum { KEPT = 16 };

/* A scope of a unit: created where it begins, destroyed with the unit's job. */
struct scope {
	struct scope *outer;
	pthread_mutex_t lock;
	uint64_t symbols;
};

static struct job_options options;

/* The job server. */
static sem_t tokens;

void jobs_init(const struct job_options *wanted)
{
	options = *wanted;
	sem_init(&tokens, 0, options.tokens);
}

void jobs_destroy(void)
{
	sem_destroy(&tokens);
}

static void open_scope(struct node *node, uint64_t symbols)
{
	struct scope *scope = malloc(sizeof(*scope));

	if (!scope) {
		perror("malloc");
		exit(1);
	}
	pthread_mutex_init(&scope->lock, NULL);
	mutex_lock(&scope->lock);
	scope->outer = node->scopes;
	scope->symbols = symbols;
	mutex_unlock(&scope->lock);
	node->scopes = scope;
}

static uint64_t close_scopes(struct node *node)
{
	uint64_t sum = 0;

	while (node->scopes) {
		struct scope *scope = node->scopes;

		mutex_lock(&scope->lock);
		sum += scope->symbols;
		node->scopes = scope->outer;
		mutex_unlock(&scope->lock);
		pthread_mutex_destroy(&scope->lock);
		free(scope);
	}
	return sum;
}

/* Reads some of a unit's text, and what it includes. */
static void compile(struct node *unit)
{
	uint64_t place = mix2(options.seed, (uint64_t)unit->id << 32 | unit->step);
	/* Some are included often, most are not. */
	uint64_t header = (place >> 8 & 0xffff) * (place >> 24 & 0xffff) * options.headers >> 32;
	uint64_t included = header_read(header);
	char *text = arena_alloc(options.bytes);
	uint32_t *symbols = arena_alloc(TEXT_SYMBOLS(options.bytes) * sizeof(*symbols));

	text_make(text, options.bytes, place);
	size_t count = text_symbols(text, options.bytes, symbols);

	mutex_lock(&unit->user->lock);
	for (size_t i = 0; i < count; i += KEPT)
		unit->user->table[symbols[i] % TABLE_SIZE]++;
	mutex_unlock(&unit->user->lock);

	count = symbols_sort(symbols, count);
	unit->output = mix2(unit->output, included ^ symbols_hash(symbols, count));
	for (size_t i = 0; i < KEPT; i++)
		unit->symbols[unit->symbols_count++] = symbols[mix2(place, i) % count];
	for (unsigned i = 0; i < options.scopes; i++)
		open_scope(unit, count + i);
	arena_free(symbols);
	arena_free(text);
	log_line("read", unit->id, unit->output);
}

/* Sorts what a unit has kept. */
static void assemble(struct node *unit)
{
	pairs++;
	sem_wait(&tokens);
	size_t count = symbols_sort(unit->symbols, unit->symbols_count);

	sem_post(&tokens);
	unit->output = mix2(unit->output, symbols_hash(unit->symbols, count) ^ close_scopes(unit));
	arena_free(unit->symbols);
	log_line("unit", unit->id, unit->output);
}

/* Puts a library together of its units, or the program of its libraries. */
static void put_together(struct node *node)
{
	pairs++;
	sem_wait(&tokens);
	for (size_t i = 0; i < node->needs_count; i++)
		node->output = mix2(node->output, node->needs[i]->output);
	for (size_t i = 0; node->table && i < TABLE_SIZE; i++)
		node->output = mix2(node->output, node->table[i]);
	sem_post(&tokens);
	log_line("link", node->id, node->output);
}

int job_step(struct node *node)
{
	if (node->kind != UNIT) {
		put_together(node);
		return 1;
	}
	if (node->step == 0)
		node->symbols = arena_alloc(options.steps * KEPT * sizeof(*node->symbols));
	if (node->step == options.steps) {
		assemble(node);
		return 1;
	}
	compile(node);
	node->step++;
	return 0;
}
