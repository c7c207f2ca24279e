/* Parsed headers: a hash table under a reader-writer lock, with a mutex for each bucket and each entry. The first
 * thread that wants a missing header parses it; others that want it wait. If there are too many headers, unused ones
 * are dropped, and parsed again when a thread wants them. */
#ifndef HEADER_CACHE_H
#define HEADER_CACHE_H

#include <stdint.h>

/* Keeps about `capacity` headers; their text follows from the seed. */
void headers_init(uint64_t seed, unsigned capacity);
/* Returns how many headers were parsed. Nobody may use one any more. */
uint64_t headers_destroy(void);

/* What is in a header. */
uint64_t header_read(uint32_t id);

#endif
