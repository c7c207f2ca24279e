// oneTBB's locks. Waiters spin for a while; those of `mutex` and `rw_mutex` sleep then, the others yield.
#include "peers.hh"

#include <oneapi/tbb/mutex.h>
#include <oneapi/tbb/queuing_mutex.h>
#include <oneapi/tbb/queuing_rw_mutex.h>
#include <oneapi/tbb/rw_mutex.h>
#include <oneapi/tbb/spin_mutex.h>
#include <oneapi/tbb/spin_rw_mutex.h>

namespace {

// A lock that is taken by making a guard, which is the queue's node.
template <class Lock> struct Queuing {
	using Guard = typename Lock::scoped_lock;
	static_assert(sizeof(Guard) <= OWN_SIZE && alignof(Guard) <= 128, "room for a guard");

	static void take(void *lock, void *own)
	{
		new (own) Guard(*static_cast<Lock *>(lock));
	}
	static void release(void *, void *own)
	{
		static_cast<Guard *>(own)->~Guard();
	}
};

struct QueuingShared : Queuing<tbb::queuing_rw_mutex> {
	static void read_take(void *lock, void *own)
	{
		new (own) Guard(*static_cast<tbb::queuing_rw_mutex *>(lock), false);
	}
	static void read_release(void *lock, void *own)
	{
		release(lock, own);
	}
};

} // namespace

using peers::Plain;
using peers::PlainShared;

const lock_peer lockwright_peers[] = {
	{ "tbb::mutex", peers::exclusive<tbb::mutex, Plain<tbb::mutex>>(SLEEPS) },
	{ "tbb::spin_mutex", peers::exclusive<tbb::spin_mutex, Plain<tbb::spin_mutex>>(SPINS) },
	{ "tbb::queuing_mutex", peers::exclusive<tbb::queuing_mutex, Queuing<tbb::queuing_mutex>>(SPINS) },
	{ "tbb::rw_mutex", peers::shared<tbb::rw_mutex, PlainShared<tbb::rw_mutex>>(SLEEPS) },
	{ "tbb::spin_rw_mutex", peers::shared<tbb::spin_rw_mutex, PlainShared<tbb::spin_rw_mutex>>(SPINS) },
	{ "tbb::queuing_rw_mutex", peers::shared<tbb::queuing_rw_mutex, QueuingShared>(SPINS) },
	{ nullptr, {} },
};

const size_t lockwright_peer_size = sizeof(lock_peer);
