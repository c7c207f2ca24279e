#include "header_cache.h"

#include <stdatomic.h>

#include "arena.h"
#include "count.h"
#include "random.h"
#include "text.h"

enum { BUCKETS = 64, HEADER_BYTES = 2048 };

struct header {
	/* Guarded by the bucket's lock. */
	struct header *next;
	uint32_t id, users;
	/* Held while it is parsed; what follows is its own. */
	pthread_mutex_t lock;
	int is_parsed;
	uint64_t contents;
};

static struct {
	/* Written only to forget headers. */
	pthread_rwlock_t lock;
	struct bucket {
		pthread_mutex_t lock;
		struct header *headers;
	} buckets[BUCKETS];
	uint64_t seed;
	unsigned capacity;
	atomic_uint count;
	atomic_ullong parsed;
} table;

void headers_init(uint64_t seed, unsigned capacity)
{
	pthread_rwlock_init(&table.lock, NULL);
	for (int i = 0; i < BUCKETS; i++)
		pthread_mutex_init(&table.buckets[i].lock, NULL);
	table.seed = seed;
	table.capacity = capacity;
}

/* Forgets headers that nobody uses until `keep` are left. The table is written by the caller. */
static void forget(unsigned keep)
{
	for (int i = 0; i < BUCKETS; i++) {
		struct header **link = &table.buckets[i].headers;

		while (*link && atomic_load(&table.count) > keep) {
			struct header *header = *link;

			if (header->users > 0) {
				link = &header->next;
				continue;
			}
			*link = header->next;
			pthread_mutex_destroy(&header->lock);
			arena_free(header);
			atomic_fetch_sub(&table.count, 1);
		}
	}
}

uint64_t headers_destroy(void)
{
	forget(0);
	for (int i = 0; i < BUCKETS; i++)
		pthread_mutex_destroy(&table.buckets[i].lock);
	pthread_rwlock_destroy(&table.lock);
	return atomic_load(&table.parsed);
}

static struct header *find(struct bucket *bucket, uint32_t id)
{
	struct header *header = bucket->headers;

	while (header && header->id != id)
		header = header->next;
	return header;
}

/* The header, which the caller uses from now on. */
static struct header *header_get(uint32_t id)
{
	struct bucket *bucket = &table.buckets[id % BUCKETS];

	pairs++;
	pthread_rwlock_rdlock(&table.lock);
	mutex_lock(&bucket->lock);
	struct header *header = find(bucket, id);

	if (!header) {
		header = arena_alloc(sizeof(*header));
		*header = (struct header){.id = id, .next = bucket->headers};
		pthread_mutex_init(&header->lock, NULL);
		bucket->headers = header;
		atomic_fetch_add(&table.count, 1);
	}
	header->users++;
	mutex_unlock(&bucket->lock);
	pthread_rwlock_unlock(&table.lock);
	return header;
}

static void header_put(struct header *header)
{
	struct bucket *bucket = &table.buckets[header->id % BUCKETS];

	mutex_lock(&bucket->lock);
	header->users--;
	mutex_unlock(&bucket->lock);
	if (atomic_load(&table.count) <= table.capacity)
		return;
	pairs++;
	pthread_rwlock_wrlock(&table.lock);
	forget(table.capacity - table.capacity / 8);
	pthread_rwlock_unlock(&table.lock);
}

static uint64_t parse(uint32_t id)
{
	char *text = arena_alloc(HEADER_BYTES);
	uint32_t *symbols = arena_alloc(TEXT_SYMBOLS(HEADER_BYTES) * sizeof(*symbols));

	text_make(text, HEADER_BYTES, mix2(table.seed, ~(uint64_t)id));
	size_t count = text_symbols(text, HEADER_BYTES, symbols);
	uint64_t contents = symbols_hash(symbols, symbols_sort(symbols, count));

	arena_free(symbols);
	arena_free(text);
	return contents;
}

uint64_t header_read(uint32_t id)
{
	struct header *header = header_get(id);

	mutex_lock(&header->lock);
	if (!header->is_parsed) {
		header->contents = parse(id);
		header->is_parsed = 1;
		atomic_fetch_add(&table.parsed, 1);
	}
	uint64_t contents = header->contents;

	mutex_unlock(&header->lock);
	header_put(header);
	return contents;
}
