#include "arena.h"

#include <stdio.h>
#include <stdlib.h>

#include "count.h"

enum { ARENAS = 8, CLASSES = 8, SMALLEST = 64, BLOCKS_AT_ONCE = 64 };

/* Before each block. While it is free, `next` is the next in its list. */
struct block {
	struct block *next;
	unsigned short arena, class;
	_Alignas(16) char memory[];
};

/* Memory of many blocks, for the end. */
struct slab {
	struct slab *next;
	_Alignas(16) char memory[];
};

static struct arena {
	_Alignas(128) pthread_mutex_t lock;
	struct block *free[CLASSES];
	struct slab *slabs;
	size_t in_use;
} arenas[ARENAS];

static _Thread_local unsigned last;

void arenas_init(void)
{
	for (int i = 0; i < ARENAS; i++)
		pthread_mutex_init(&arenas[i].lock, NULL);
}

void arenas_destroy(void)
{
	for (int i = 0; i < ARENAS; i++) {
		if (arenas[i].in_use != 0) {
			fprintf(stderr, "arena %d: %zu blocks were not given back\n", i, arenas[i].in_use);
			abort();
		}
		while (arenas[i].slabs) {
			struct slab *slab = arenas[i].slabs;

			arenas[i].slabs = slab->next;
			free(slab);
		}
		pthread_mutex_destroy(&arenas[i].lock);
	}
}

static struct arena *lock_some_arena(void)
{
	for (int tried = 0; tried < ARENAS; tried++) {
		struct arena *arena = &arenas[(last + tried) % ARENAS];

		if (pthread_mutex_trylock(&arena->lock) == 0) {
			pairs++;
			last = arena - arenas;
			return arena;
		}
	}
	mutex_lock(&arenas[last].lock);
	return &arenas[last];
}

static void refill(struct arena *arena, int class)
{
	size_t size = sizeof(struct block) + ((size_t)SMALLEST << class);
	struct slab *slab = malloc(sizeof(*slab) + size * BLOCKS_AT_ONCE);

	if (!slab) {
		perror("malloc");
		exit(1);
	}
	slab->next = arena->slabs;
	arena->slabs = slab;
	for (int i = 0; i < BLOCKS_AT_ONCE; i++) {
		struct block *block = (struct block *)(slab->memory + i * size);

		block->next = arena->free[class];
		block->arena = arena - arenas;
		block->class = class;
		arena->free[class] = block;
	}
}

void *arena_alloc(size_t size)
{
	int class = 0;

	while (((size_t)SMALLEST << class) < size)
		class++;
	if (class >= CLASSES) {
		fprintf(stderr, "a block of %zu bytes is too large\n", size);
		abort();
	}
	struct arena *arena = lock_some_arena();

	if (!arena->free[class])
		refill(arena, class);
	struct block *block = arena->free[class];

	arena->free[class] = block->next;
	arena->in_use++;
	mutex_unlock(&arena->lock);
	return block->memory;
}

void arena_free(void *memory)
{
	struct block *block = (struct block *)((char *)memory - offsetof(struct block, memory));
	struct arena *arena = &arenas[block->arena];

	mutex_lock(&arena->lock);
	block->next = arena->free[block->class];
	arena->free[block->class] = block;
	arena->in_use--;
	mutex_unlock(&arena->lock);
}
