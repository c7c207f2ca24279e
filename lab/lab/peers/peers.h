/* The interface of a shared object of locks for `lockwright-lab bench locks --peers`: a table of functions, one row
 * for each lock. `Functions` in lab/lab/src/bench/peers/table.rs is the same structure. */
#ifndef LOCKWRIGHT_PEERS_H
#define LOCKWRIGHT_PEERS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What waiters do. */
enum lock_waiting {
	/* They sleep, if they wait for long. */
	SLEEPS,
	/* They spin or yield, and any of them may be first. */
	SPINS,
	/* They spin in a queue, without giving way: not for more threads than CPUs. */
	SPINS_IN_QUEUE,
};

/* `lock` is memory for a lock, at a multiple of 128. `own` is 256 bytes of the calling thread's, also at a multiple of
 * 128, which are left alone from taking to releasing: for a queue's node, or a C++ guard. */
struct lock_functions {
	size_t size;
	enum lock_waiting waiting;
	void (*make)(void *lock);
	void (*destroy)(void *lock);
	void (*lock)(void *lock, void *own);
	void (*unlock)(void *lock, void *own);
	/* NULL: it has no readers. */
	void (*read_lock)(void *lock, void *own);
	void (*read_unlock)(void *lock, void *own);
};

struct lock_peer {
	/* NULL ends the table. */
	const char *name;
	struct lock_functions functions;
};

extern const struct lock_peer lockwright_peers[];

/* It shows a reader of the table that both mean the same structure. */
extern const size_t lockwright_peer_size;

#ifdef __cplusplus
}
#endif

#define OWN_SIZE 256

#endif
