/* The header as a user includes it, in C and in C++. */
#include <lockwright.h>

lw_mutex_t in_zeroed_memory;
lw_mutex_t initialised = LW_MUTEX_INIT;

int taken_twice(void)
{
	lw_set_name(&initialised, "initialised");
	return lw_mutex_lock(&initialised) + lw_mutex_trylock(&initialised);
}

static const struct lw_object_descr timer = LW_OBJECT_DESCR("timer");

int armed_on_stack(void)
{
	int object, armed;

	lw_object_init_on_stack(&object, &timer);
	lw_object_assert_init(&object, &timer);
	armed = lw_object_activate(&object, &timer);
	lw_object_active_state(&object, &timer, 0, 1);
	lw_object_active_state(&object, &timer, 1, 0);
	lw_object_deactivate(&object, &timer);
	lw_object_destroy(&object, &timer);
	lw_object_free(&object, &timer);
	lw_check_no_obj_freed(&object, sizeof object);
	return armed;
}
