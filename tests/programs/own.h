/* A lock of the program's own, which the tool knows by annotations: a futex, so that waiters sleep. */
#ifndef OWN_H
#define OWN_H
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "lockwright.h"

#define OWN_INLINE static inline __attribute__((always_inline, unused))

/* 0 free, 1 held, 2 held and waited for. */
struct own {
	atomic_int word;
};

OWN_INLINE int own_try(struct own *l)
{
	int was = 0;
	return atomic_compare_exchange_strong(&l->word, &was, 1);
}

OWN_INLINE void own_lock(struct own *l)
{
	lw_acquire(l, LW_EXCLUSIVE);
	if (!own_try(l)) {
		lw_contended(l);
		while (atomic_exchange(&l->word, 2) != 0)
			syscall(SYS_futex, &l->word, FUTEX_WAIT_PRIVATE, 2, NULL);
	}
	lw_acquired(l);
}

OWN_INLINE int own_trylock(struct own *l)
{
	int had = own_try(l);
	lw_acquire(l, had ? LW_TRY : LW_TRY | LW_FAILED);
	return had;
}

OWN_INLINE void own_unlock(struct own *l)
{
	lw_release(l);
	if (atomic_exchange(&l->word, 0) == 2)
		syscall(SYS_futex, &l->word, FUTEX_WAKE_PRIVATE, 1);
}
#endif
