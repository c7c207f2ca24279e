#include <lockwright.h>
#include <stdio.h>
#include <stdlib.h>

struct timer {
	bool is_running;
};

static bool stop_first(void *addr, enum lw_object_state state);

static const struct lw_object_descr timer_type = {
	.name = "timer",
	.fixup_free = stop_first,
};

static struct timer *timer_new(void)
{
	struct timer *timer = calloc(1, sizeof *timer);

	lw_object_init(timer, &timer_type);
	return timer;
}

static void timer_start(struct timer *timer)
{
	lw_object_activate(timer, &timer_type);
	timer->is_running = true;
}

static void timer_stop(struct timer *timer)
{
	timer->is_running = false;
	lw_object_deactivate(timer, &timer_type);
}

/* The memory of a timer that runs is about to go. */
static bool stop_first(void *addr, enum lw_object_state state)
{
	if (state != LW_OBJECT_ACTIVE)
		return false;
	timer_stop(addr);
	lw_object_free(addr, &timer_type);
	puts("stopped just in time");
	return true;
}

int main(void)
{
	struct timer *timer = timer_new();

	timer_start(timer);
	free(timer);
	return 0;
}
