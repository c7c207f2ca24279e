#include "text.h"

#include <stdlib.h>
#include <string.h>

#include "random.h"

static const char *const words[] = {
	"static", "struct", "inode", "return", "if", "else", "while", "unsigned", "int", "lock", "unlock",
	"buffer", "page", "node", "next", "head", "count", "size", "sum", "flags", "device", "request",
	"queue", "timer", "task", "signal", "map", "table", "entry", "cache", "free", "alloc",
};

void text_make(char *text, size_t bytes, uint64_t seed)
{
	static const char between[] = " \n\t(){};=+-*/<>";
	size_t at = 0;

	while (at + 24 < bytes) {
		uint64_t n = mix(seed++);
		const char *word = words[n % 32];
		size_t length = strlen(word);

		memcpy(text + at, word, length);
		at += length;
		/* A third of them are names of their own. */
		if (n >> 8 & 1) {
			text[at++] = '_';
			for (uint64_t digits = n >> 16 & 0xfff; digits; digits >>= 4)
				text[at++] = 'a' + (digits & 15);
		}
		text[at++] = between[(n >> 40) % (sizeof(between) - 1)];
	}
	memset(text + at, ' ', bytes - at);
}

static int is_name(char c)
{
	return (c >= 'a' && c <= 'z') || c == '_';
}

size_t text_symbols(const char *text, size_t bytes, uint32_t *symbols)
{
	size_t count = 0;

	for (size_t at = 0; at < bytes; at++) {
		uint32_t hash = 2166136261;

		if (!is_name(text[at]))
			continue;
		for (; at < bytes && is_name(text[at]); at++)
			hash = (hash ^ (unsigned char)text[at]) * 16777619;
		symbols[count++] = hash;
	}
	return count;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

size_t symbols_sort(uint32_t *symbols, size_t count)
{
	size_t kept = 0;

	qsort(symbols, count, sizeof(*symbols), compare);
	for (size_t i = 0; i < count; i++) {
		if (kept == 0 || symbols[kept - 1] != symbols[i])
			symbols[kept++] = symbols[i];
	}
	return kept;
}

uint64_t symbols_hash(const uint32_t *symbols, size_t count)
{
	uint64_t hash = count;

	for (size_t i = 0; i < count; i++)
		hash = mix2(hash, symbols[i]);
	return hash;
}
