// A shared object for `lockwright-lab bench locks --peers`: a lock that is none, which must be found.
#include "../../lab/lab/peers/peers.h"

static void nothing(void *lock)
{
	(void)lock;
}

static void pass(void *lock, void *own)
{
	(void)lock;
	(void)own;
}

const struct lock_peer lockwright_peers[] = {
	{ "planted", { 1, SPINS, nothing, nothing, pass, pass, NULL, NULL } },
	{ "planted rw", { 1, SPINS, nothing, nothing, pass, pass, pass, pass } },
	{ NULL, { 0, SLEEPS, NULL, NULL, NULL, NULL, NULL, NULL } },
};

#ifdef OTHER_VERSION
const size_t lockwright_peer_size = 1;
#else
const size_t lockwright_peer_size = sizeof(struct lock_peer);
#endif
