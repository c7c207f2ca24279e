/* Timers: every way that they tell, and what is refused. */
#include "case.h"

#define NEVER_FIRES (&(struct itimerspec){.it_value = {.tv_sec = 3600}})
#define FIRES_SOON (&(struct itimerspec){.it_value = {.tv_nsec = 1000000}})
#define OFF (&(struct itimerspec){.it_value = {0}})

static pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static struct gate fired;

static void lock_and_tell(union sigval value)
{
	if (pthread_mutex_lock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0 && value.sival_int == 42)
		open_gate(&fired);
}

static void handler(int number)
{
	(void)number;
	if (pthread_mutex_trylock(&mutex) == 0 && pthread_mutex_unlock(&mutex) == 0)
		open_gate(&fired);
}

static void used(timer_t timer)
{
	struct itimerspec left = {0};
	SYS(timer_settime(timer, 0, NEVER_FIRES, NULL));
	SYS(timer_settime(timer, 0, NEVER_FIRES, &left));
	say("was armed: %d", left.it_value.tv_sec > 3000);
	SYS(timer_gettime(timer, &left));
	say("is armed: %d", left.it_value.tv_sec > 3000);
	SYS(timer_getoverrun(timer));
	SYS(timer_settime(timer, 0, OFF, NULL));
	SYS(timer_gettime(timer, &left));
	say("is armed: %d", left.it_value.tv_sec != 0 || left.it_value.tv_nsec != 0);
	SYS(timer_settime(timer, 0, &(struct itimerspec){.it_value = {.tv_nsec = 1000000000}}, NULL));
	SYS(timer_settime(timer, 0, &(struct itimerspec){.it_value = {.tv_sec = -1}}, NULL));

}

CASE(that_tells_nobody)
{
	timer_t timer;
	struct sigevent event = {.sigev_notify = SIGEV_NONE};
	SYS(timer_create(CLOCK_MONOTONIC, &event, &timer));
	used(timer);
	SYS(timer_delete(timer));
	SYS(timer_delete(timer));
	SYS(timer_gettime(timer, &(struct itimerspec){0}));
	SYS(timer_settime(timer, 0, NEVER_FIRES, NULL));
	SYS(timer_getoverrun(timer));
}

CASE(that_signals)
{
	timer_t timer;
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	signal(SIGUSR1, handler);
	SYS(timer_create(CLOCK_REALTIME, &event, &timer));
	SYS(timer_settime(timer, 0, FIRES_SOON, NULL));
	pass(&fired);
	SYS(timer_delete(timer));
}

CASE(that_signals_a_thread)
{
	timer_t timer;
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
	event._sigev_un._tid = (int)syscall(SYS_gettid);
	signal(SIGUSR1, handler);
	SYS(timer_create(CLOCK_MONOTONIC, &event, &timer));
	SYS(timer_settime(timer, 0, FIRES_SOON, NULL));
	pass(&fired);
	SYS(timer_delete(timer));
}

CASE(that_calls)
{
	timer_t timer;
	struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_value.sival_int = 42};
	event.sigev_notify_function = lock_and_tell;
	SYS(timer_create(CLOCK_MONOTONIC, &event, &timer));
	SYS(timer_settime(timer, 0, FIRES_SOON, NULL));
	pass(&fired);
	used(timer);
	SYS(timer_delete(timer));
}

/* The default: SIGALRM. */
CASE(of_no_event)
{
	timer_t timer;
	signal(SIGALRM, handler);
	SYS(timer_create(CLOCK_MONOTONIC, NULL, &timer));
	SYS(timer_settime(timer, 0, FIRES_SOON, NULL));
	pass(&fired);
	SYS(timer_delete(timer));
}

CASE(that_cannot_be)
{
	timer_t timer;
	struct sigevent event = {.sigev_notify = 99};
	SYS(timer_create(NO_CLOCK, NULL, &timer));
	SYS(timer_create(CLOCK_MONOTONIC, &event, &timer));
	event = (struct sigevent){.sigev_notify = SIGEV_SIGNAL, .sigev_signo = 99};
	SYS(timer_create(CLOCK_MONOTONIC, &event, &timer));
	event = (struct sigevent){.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
	event._sigev_un._tid = 0x3fffffff;
	SYS(timer_create(CLOCK_MONOTONIC, &event, &timer));
}

CASE(of_every_clock)
{
	clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID,
			      CLOCK_BOOTTIME, CLOCK_MONOTONIC_RAW, CLOCK_TAI};
	struct sigevent event = {.sigev_notify = SIGEV_NONE};
	for (int i = 0; i < 7; i++) {
		timer_t timer;
		if (SYS(timer_create(clocks[i], &event, &timer)) == 0)
			SYS(timer_delete(timer));
	}
}

/* A child has none of its parent's. */
CASE(across_fork)
{
	timer_t timer, other;
	struct sigevent event = {.sigev_notify = SIGEV_NONE};
	SYS(timer_create(CLOCK_MONOTONIC, &event, &timer));
	SYS(timer_settime(timer, 0, NEVER_FIRES, NULL));
	pid_t child = fork();
	if (child == 0) {
		SYS(timer_gettime(timer, &(struct itimerspec){0}));
		SYS(timer_delete(timer));
		SYS(timer_create(CLOCK_MONOTONIC, &event, &other));
		SYS(timer_delete(other));
		_exit(0);
	}
	int status;
	waitpid(child, &status, 0);
	say("the child %s", ending(status));
	SYS(timer_delete(timer));
}
