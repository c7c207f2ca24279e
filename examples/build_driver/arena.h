/* An allocator of blocks: several arenas, each with free lists under a mutex. A thread begins with the arena that it
 * had last, and goes on to the next if somebody is in it. */
#ifndef ARENA_H
#define ARENA_H

#include <stddef.h>

void arenas_init(void);
/* All blocks must have been given back. */
void arenas_destroy(void);

/* Never NULL: the program ends if there is no memory. */
void *arena_alloc(size_t size);
void arena_free(void *block);

#endif
