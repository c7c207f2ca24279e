/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * lockwright/objects.h: what a program can tell lockwright of the lives of its objects: timers, requests,
 * connections, whatever is initialised, comes into use, goes out of it and is destroyed. After the Linux kernel's
 * debugobjects, and by its rules.
 *
 * Nothing to link, in C11 and C++11; lockwright.h includes it if it is installed. `lockwright check` reports each use
 * of an object in the wrong state, with the places that initialised, last used and destroyed it. Without the tool each
 * function costs a load and a branch, and does nothing.
 *
 * docs/objects.md has the table of states, and whole programs.
 */
#ifndef LOCKWRIGHT_OBJECTS_H
#define LOCKWRIGHT_OBJECTS_H

#include "../lockwright.h"

#include <stdbool.h>
#include <stddef.h>

/* The state that an object is in. */
enum lw_object_state {
	LW_OBJECT_NONE = 0,        /* not tracked */
	LW_OBJECT_INIT = 1,        /* initialised, has done nothing yet */
	LW_OBJECT_INACTIVE = 2,    /* not in use */
	LW_OBJECT_ACTIVE = 3,      /* in use: armed, queued, running */
	LW_OBJECT_DESTROYED = 4,   /* destroyed */
	LW_OBJECT_NOTAVAILABLE = 5 /* never initialised, and is_static_object has said no, or is not there */
};

/* Rules beyond the kernel's: lw_object_descr's flags. */
enum {
	LW_OBJECT_INIT_ONCE = 1,   /* initialising what is initialised and not in use is an error, too */
	LW_OBJECT_REINIT = 2,      /* what was destroyed may be initialised again */
	LW_OBJECT_MUST_DESTROY = 4 /* memory must not go with an object in it that was not destroyed */
};

/* A type of objects. All but the name may be left 0. The tool copies it when it first meets it; it must stay
 * unchanged as long as one of its functions can be called, which is until its module is unloaded.
 *
 * A fixup is called after its operation has been reported, by the thread that is in the operation, with none of
 * the tool's locks held. It may call any function of this file. It returns whether it has put right what was wrong:
 * lw_object_activate then succeeds. */
struct lw_object_descr {
	/* Its name in reports. */
	const char *name;
	/* An address that tells such objects apart, as that of a timer's function: reports name it. */
	void *(*debug_hint)(void *addr);
	/* Whether this object, which the tool has not met, need not be initialised: a static one, say. */
	bool (*is_static_object)(void *addr);
	/* An active object is initialised. */
	bool (*fixup_init)(void *addr, enum lw_object_state state);
	/* An active object is activated, or an unknown one that is not static. */
	bool (*fixup_activate)(void *addr, enum lw_object_state state);
	/* An active object is destroyed. */
	bool (*fixup_destroy)(void *addr, enum lw_object_state state);
	/* The memory of an active object goes: lw_object_free, free, munmap and their like. */
	bool (*fixup_free)(void *addr, enum lw_object_state state);
	/* An unknown object that is not static is asserted to be initialised. */
	bool (*fixup_assert_init)(void *addr, enum lw_object_state state);
	/* LW_OBJECT_INIT_ONCE and its siblings. */
	unsigned flags;
};

/* Initialises a descriptor of a name alone. In C others are written as {.name = "timer", .fixup_free = stop}, in C++
 * before C++20 with all fields in their order. */
#define LW_OBJECT_DESCR(name) {name, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0}

/* The operation: the tool's side of the functions below. */
enum {
	LW_OBJECT_DO_INIT_ = 1,
	LW_OBJECT_DO_INIT_ON_STACK_ = 2,
	LW_OBJECT_DO_ACTIVATE_ = 3,
	LW_OBJECT_DO_DEACTIVATE_ = 4,
	LW_OBJECT_DO_DESTROY_ = 5,
	LW_OBJECT_DO_FREE_ = 6,
	LW_OBJECT_DO_ASSERT_INIT_ = 7,
	LW_OBJECT_DO_ACTIVE_STATE_ = 8,
	LW_OBJECT_DO_CHECK_FREED_ = 9
};

#ifdef __cplusplus
extern "C" {
#endif

/* The tool's side. Weak: null without the tool. `what` is one of the above, and how large a descriptor is for the
 * caller, in its upper 24 bits: a later one may be larger. */
int lockwright_object(void *addr, const struct lw_object_descr *descr, unsigned what, size_t first,
		      size_t second) __attribute__((weak));

#ifdef __cplusplus
} /* extern "C" */
#endif

#define LW_OBJECT_INLINE_ static inline __attribute__((always_inline, unused))

LW_OBJECT_INLINE_ int lw_object_tell_(void *addr, const struct lw_object_descr *descr, unsigned what,
				      size_t first, size_t second)
{
	__typeof__(&lockwright_object) tell;
	LW_FIND_(lockwright_object, tell);
	if (__builtin_expect(tell != NULL, 0))
		return tell(addr, descr, what | (unsigned)sizeof *descr << 8, first, second);
	return 0;
}

/* The object was initialised. */
LW_OBJECT_INLINE_ void lw_object_init(void *addr, const struct lw_object_descr *descr)
{
	(void)lw_object_tell_(addr, descr, LW_OBJECT_DO_INIT_, 0, 0);
}

/* The same of one on the calling thread's stack. It must not be in use when its function returns. */
LW_OBJECT_INLINE_ void lw_object_init_on_stack(void *addr, const struct lw_object_descr *descr)
{
	(void)lw_object_tell_(addr, descr, LW_OBJECT_DO_INIT_ON_STACK_, 0, 0);
}

/* It comes into use. To be called before it does: returns -EINVAL if it is in no state for that and no fixup has
 * helped, otherwise, and always without the tool, 0. */
LW_OBJECT_INLINE_ int lw_object_activate(void *addr, const struct lw_object_descr *descr)
{
	return lw_object_tell_(addr, descr, LW_OBJECT_DO_ACTIVATE_, 0, 0);
}

/* It is in use no more. */
LW_OBJECT_INLINE_ void lw_object_deactivate(void *addr, const struct lw_object_descr *descr)
{
	(void)lw_object_tell_(addr, descr, LW_OBJECT_DO_DEACTIVATE_, 0, 0);
}

/* It must not be used again. Its memory stays, and with it what is known of it: later uses are found. */
LW_OBJECT_INLINE_ void lw_object_destroy(void *addr, const struct lw_object_descr *descr)
{
	(void)lw_object_tell_(addr, descr, LW_OBJECT_DO_DESTROY_, 0, 0);
}

/* Its life is over, and its memory is used for something else. */
LW_OBJECT_INLINE_ void lw_object_free(void *addr, const struct lw_object_descr *descr)
{
	(void)lw_object_tell_(addr, descr, LW_OBJECT_DO_FREE_, 0, 0);
}

/* It must be initialised here, in whatever state. */
LW_OBJECT_INLINE_ void lw_object_assert_init(void *addr, const struct lw_object_descr *descr)
{
	(void)lw_object_tell_(addr, descr, LW_OBJECT_DO_ASSERT_INIT_, 0, 0);
}

/* While an object is active, its user may count states of his own. They begin with 0, and an object that is
 * deactivated must be in that. Here it must be in `expect`, and `next` comes after it. */
LW_OBJECT_INLINE_ void lw_object_active_state(void *addr, const struct lw_object_descr *descr, unsigned expect,
					      unsigned next)
{
	(void)lw_object_tell_(addr, descr, LW_OBJECT_DO_ACTIVE_STATE_, expect, next);
}

/* For allocators: the memory goes back to the program's own pool. The tool itself sees memory that free, realloc and
 * munmap give back. */
LW_OBJECT_INLINE_ void lw_check_no_obj_freed(void *addr, size_t size)
{
	(void)lw_object_tell_(addr, NULL, LW_OBJECT_DO_CHECK_FREED_, size, 0);
}

#endif /* LOCKWRIGHT_OBJECTS_H */
