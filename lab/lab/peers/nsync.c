/* nsync: one lock of two words, with readers. */
#include <nsync.h>

#include "peers.h"

static void make(void *lock)
{
	nsync_mu_init(lock);
}

static void destroy(void *lock)
{
	(void)lock;
}

static void take(void *lock, void *own)
{
	(void)own;
	nsync_mu_lock(lock);
}

static void release(void *lock, void *own)
{
	(void)own;
	nsync_mu_unlock(lock);
}

static void read_take(void *lock, void *own)
{
	(void)own;
	nsync_mu_rlock(lock);
}

static void read_release(void *lock, void *own)
{
	(void)own;
	nsync_mu_runlock(lock);
}

const struct lock_peer lockwright_peers[] = {
	{ "nsync_mu", { sizeof(nsync_mu), SLEEPS, make, destroy, take, release, NULL, NULL } },
	{ "nsync_mu rw", { sizeof(nsync_mu), SLEEPS, make, destroy, take, release, read_take, read_release } },
	{ NULL, { 0, SLEEPS, NULL, NULL, NULL, NULL, NULL, NULL } },
};

const size_t lockwright_peer_size = sizeof(struct lock_peer);
