/* What the Linux kernel's debugobjects does to one object to test itself, step by step (debug_objects_selftest in its
 * lib/debugobjects.c tells what has to come of it): six warnings, three of them repaired. The results of activations go
 * to stdout. */
#include <lockwright.h>
#include <stdio.h>

static struct object {
	bool is_static;
} object;

static bool is_static(void *addr)
{
	return ((struct object *)addr)->is_static;
}

static bool fixup_init(void *addr, enum lw_object_state state);
static bool fixup_activate(void *addr, enum lw_object_state state);
static bool fixup_destroy(void *addr, enum lw_object_state state);
static bool fixup_free(void *addr, enum lw_object_state state);

static const struct lw_object_descr selftest = {
	.name = "selftest",
	.is_static_object = is_static,
	.fixup_init = fixup_init,
	.fixup_activate = fixup_activate,
	.fixup_destroy = fixup_destroy,
	.fixup_free = fixup_free,
};

/* An active object is stopped, and then what was meant is done. */
static bool stops(void *addr, enum lw_object_state state)
{
	if (state != LW_OBJECT_ACTIVE)
		return false;
	lw_object_deactivate(addr, &selftest);
	return true;
}

static bool fixup_init(void *addr, enum lw_object_state state)
{
	if (!stops(addr, state))
		return false;
	lw_object_init(addr, &selftest);
	return true;
}

static bool fixup_activate(void *addr, enum lw_object_state state)
{
	/* An unknown object has nothing to repair. */
	if (state == LW_OBJECT_NOTAVAILABLE)
		return true;
	return stops(addr, state) && lw_object_activate(addr, &selftest) == 0;
}

static bool fixup_destroy(void *addr, enum lw_object_state state)
{
	if (!stops(addr, state))
		return false;
	lw_object_destroy(addr, &selftest);
	return true;
}

static bool fixup_free(void *addr, enum lw_object_state state)
{
	if (!stops(addr, state))
		return false;
	lw_object_free(addr, &selftest);
	return true;
}

int main(void)
{
	int results[4];

	lw_object_init(&object, &selftest);
	results[0] = lw_object_activate(&object, &selftest);
	results[1] = lw_object_activate(&object, &selftest); /* a warning, repaired */
	lw_object_deactivate(&object, &selftest);
	lw_object_destroy(&object, &selftest);
	lw_object_init(&object, &selftest);                  /* a warning */
	results[2] = lw_object_activate(&object, &selftest); /* a warning */
	lw_object_deactivate(&object, &selftest);            /* a warning */
	lw_object_free(&object, &selftest);

	object.is_static = true;
	results[3] = lw_object_activate(&object, &selftest);
	lw_object_init(&object, &selftest); /* a warning, repaired */
	lw_object_free(&object, &selftest);

	lw_object_init(&object, &selftest);
	lw_object_activate(&object, &selftest);
	lw_check_no_obj_freed(&object, sizeof object); /* a warning, repaired */

	printf("%d %d %d %d\n", results[0], results[1], results[2], results[3]);
	return 0;
}
