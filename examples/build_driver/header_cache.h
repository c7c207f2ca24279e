/* Parsed headers: a hash table under a reader-writer lock, with a mutex for each bucket and each entry. Who wants a
 * header that is not there parses it; others that want it wait meanwhile. What nobody uses is forgotten if there is
 * too much of it, and parsed again when it is wanted again. */
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
