/* Timers by the functions that programs were linked with before glibc 2.3.3. */
#include "case.h"

#define NEVER_FIRES (&(struct itimerspec){.it_value = {.tv_sec = 3600}})
#define FIRES_SOON (&(struct itimerspec){.it_value = {.tv_nsec = 1000000}})

static struct gate fired;

static void tell(union sigval value)
{
	if (value.sival_int == 42)
		open_gate(&fired);
}

/* A `timer_t` was an int then, and an index of a table. */
#define OLD(name, ...)                                                                                                 \
	extern int old_##name(__VA_ARGS__);                                                                            \
	__asm__(".symver old_" #name ", " #name "@GLIBC_2.2.5")

OLD(timer_create, clockid_t, struct sigevent *, int *);
OLD(timer_delete, int);
OLD(timer_settime, int, int, const struct itimerspec *, struct itimerspec *);
OLD(timer_gettime, int, struct itimerspec *);
OLD(timer_getoverrun, int);

static void used(int timer)
{
	struct itimerspec left = {0};
	SYS(old_timer_settime(timer, 0, NEVER_FIRES, &left));
	SYS(old_timer_gettime(timer, &left));
	say("is armed: %d", left.it_value.tv_sec > 3000);
	SYS(old_timer_getoverrun(timer));
	SYS(old_timer_delete(timer));
}

CASE(that_are_numbers)
{
	int timers[] = {-1, -1, -1, -1};
	struct sigevent event = {.sigev_notify = SIGEV_NONE};
	SYS(old_timer_create(CLOCK_MONOTONIC, &event, &timers[0]));
	say("%d %d", timers[0], timers[1]);
	event = (struct sigevent){.sigev_notify = SIGEV_THREAD, .sigev_value.sival_int = 42};
	event.sigev_notify_function = tell;
	SYS(old_timer_create(CLOCK_MONOTONIC, &event, &timers[2]));
	say("%d %d", timers[2], timers[3]);
	SYS(old_timer_settime(timers[2], 0, FIRES_SOON, NULL));
	pass(&fired);
	used(timers[0]);
	used(timers[2]);
}
