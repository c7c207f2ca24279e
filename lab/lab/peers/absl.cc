// Abseil's mutex, which has readers.
#include "peers.hh"

#include <absl/synchronization/mutex.h>

namespace {

struct Use {
	static absl::Mutex *at(void *lock)
	{
		return static_cast<absl::Mutex *>(lock);
	}
	static void take(void *lock, void *)
	{
		at(lock)->Lock();
	}
	static void release(void *lock, void *)
	{
		at(lock)->Unlock();
	}
	static void read_take(void *lock, void *)
	{
		at(lock)->ReaderLock();
	}
	static void read_release(void *lock, void *)
	{
		at(lock)->ReaderUnlock();
	}
};

} // namespace

const lock_peer lockwright_peers[] = {
	{ "absl::Mutex", peers::exclusive<absl::Mutex, Use>(SLEEPS) },
	{ "absl::Mutex rw", peers::shared<absl::Mutex, Use>(SLEEPS) },
	{ nullptr, {} },
};

const size_t lockwright_peer_size = sizeof(lock_peer);
