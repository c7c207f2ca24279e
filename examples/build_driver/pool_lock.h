/* The lock of the pool's queue: the C library's, or, where this is built with lockwright, one of its spinlocks. */
#ifndef POOL_LOCK_H
#define POOL_LOCK_H

/* One lock of a kind. */
struct pool_lock {
	const char *name;
	void (*init)(void);
	void (*lock)(void);
	void (*unlock)(void);
	void (*destroy)(void);
};

/* All kinds; the last has no name. */
extern const struct pool_lock pool_locks[];

/* The kind of that name, or NULL. */
const struct pool_lock *pool_lock_find(const char *name);

#endif
