/* Concurrency Kit: spinlocks, which never sleep. Those that wait in a queue say so. */
#include <ck_rwlock.h>
#include <ck_spinlock.h>

#include "peers.h"

static void destroy(void *lock)
{
	(void)lock;
}

/* A lock of which a holder keeps nothing. */
#define PLAIN(name, take, release)                                                                                     \
	static void name##_make(void *lock)                                                                            \
	{                                                                                                              \
		name##_init(lock);                                                                                     \
	}                                                                                                              \
	static void name##_take(void *lock, void *own)                                                                 \
	{                                                                                                              \
		(void)own;                                                                                             \
		take(lock);                                                                                            \
	}                                                                                                              \
	static void name##_release(void *lock, void *own)                                                              \
	{                                                                                                              \
		(void)own;                                                                                             \
		release(lock);                                                                                         \
	}

PLAIN(ck_spinlock_fas, ck_spinlock_fas_lock, ck_spinlock_fas_unlock)
PLAIN(ck_spinlock_ticket, ck_spinlock_ticket_lock, ck_spinlock_ticket_unlock)
PLAIN(ck_rwlock, ck_rwlock_write_lock, ck_rwlock_write_unlock)

static void ck_rwlock_read_take(void *lock, void *own)
{
	(void)own;
	ck_rwlock_read_lock(lock);
}

static void ck_rwlock_read_release(void *lock, void *own)
{
	(void)own;
	ck_rwlock_read_unlock(lock);
}

/* The lock is the queue's tail; the node is the holder's. */
static void mcs_make(void *lock)
{
	*(struct ck_spinlock_mcs **)lock = NULL;
}

static void mcs_take(void *lock, void *own)
{
	_Static_assert(sizeof(struct ck_spinlock_mcs) <= OWN_SIZE, "room for a node");
	ck_spinlock_mcs_lock(lock, own);
}

static void mcs_release(void *lock, void *own)
{
	ck_spinlock_mcs_unlock(lock, own);
}

const struct lock_peer lockwright_peers[] = {
	{ "ck fas",
	  { sizeof(ck_spinlock_fas_t), SPINS, ck_spinlock_fas_make, destroy, ck_spinlock_fas_take,
	    ck_spinlock_fas_release, NULL, NULL } },
	{ "ck ticket",
	  { sizeof(ck_spinlock_ticket_t), SPINS_IN_QUEUE, ck_spinlock_ticket_make, destroy, ck_spinlock_ticket_take,
	    ck_spinlock_ticket_release, NULL, NULL } },
	{ "ck mcs",
	  { sizeof(struct ck_spinlock_mcs *), SPINS_IN_QUEUE, mcs_make, destroy, mcs_take, mcs_release, NULL, NULL } },
	{ "ck rwlock",
	  { sizeof(ck_rwlock_t), SPINS, ck_rwlock_make, destroy, ck_rwlock_take, ck_rwlock_release,
	    ck_rwlock_read_take, ck_rwlock_read_release } },
	{ NULL, { 0, SLEEPS, NULL, NULL, NULL, NULL, NULL, NULL } },
};

const size_t lockwright_peer_size = sizeof(struct lock_peer);
