/* Source text: made from a seed, and read as a compiler's first pass would. */
#ifndef TEXT_H
#define TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of text that a step may read, from and to; at most so many symbols are in them. */
enum { LEAST_BYTES = 64, MOST_BYTES = 4096 };
#define TEXT_SYMBOLS(bytes) ((bytes) / 2)

/* Writes text that depends on the seed alone. */
void text_make(char *text, size_t bytes, uint64_t seed);

/* Hashes of the identifiers in it, in their order. Returns how many there are. */
size_t text_symbols(const char *text, size_t bytes, uint32_t *symbols);

/* Sorts, leaves out what is there twice, and returns how many are left. */
size_t symbols_sort(uint32_t *symbols, size_t count);

uint64_t symbols_hash(const uint32_t *symbols, size_t count);

#endif
