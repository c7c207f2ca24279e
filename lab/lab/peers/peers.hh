// Rows for C++ locks of the usual shapes.
#ifndef LOCKWRIGHT_PEERS_HH
#define LOCKWRIGHT_PEERS_HH

#include <new>

#include "peers.h"

namespace peers {

template <class Lock> void make(void *lock)
{
	new (lock) Lock;
}

template <class Lock> void destroy(void *lock)
{
	static_cast<Lock *>(lock)->~Lock();
}

// The row of a lock; `Use` has functions that take and release it.
template <class Lock, class Use> lock_functions exclusive(lock_waiting waiting)
{
	static_assert(alignof(Lock) <= 128, "where locks lie");
	return { sizeof(Lock), waiting, make<Lock>, destroy<Lock>, Use::take, Use::release, nullptr, nullptr };
}

// Likewise, with readers.
template <class Lock, class Use> lock_functions shared(lock_waiting waiting)
{
	static_assert(alignof(Lock) <= 128, "where locks lie");
	return { sizeof(Lock), waiting,      make<Lock>,     destroy<Lock>,
		 Use::take,    Use::release, Use::read_take, Use::read_release };
}

// A lock as the standard library's are: lock(), unlock().
template <class Lock> struct Plain {
	static void take(void *lock, void *)
	{
		static_cast<Lock *>(lock)->lock();
	}
	static void release(void *lock, void *)
	{
		static_cast<Lock *>(lock)->unlock();
	}
};

// With readers: lock_shared(), unlock_shared().
template <class Lock> struct PlainShared : Plain<Lock> {
	static void read_take(void *lock, void *)
	{
		static_cast<Lock *>(lock)->lock_shared();
	}
	static void read_release(void *lock, void *)
	{
		static_cast<Lock *>(lock)->unlock_shared();
	}
};

} // namespace peers

#endif
