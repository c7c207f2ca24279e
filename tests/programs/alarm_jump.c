/* Gives up on a mutex that it holds itself by a long jump out of a signal's handler, an old form of time-out.
 *
 *   alarm_jump alarm     after an alarm of three seconds
 *   alarm_jump again     after three alarms of three seconds each, which the handler sets
 *   alarm_jump timer     after three seconds of a POSIX timer
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static sigjmp_buf back;
static volatile sig_atomic_t more;

static void give_up(int number)
{
	(void)number;
	if (more-- > 0)
		alarm(3);
	else
		siglongjmp(back, 1);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "alarm";
	const struct itimerspec soon = { .it_value.tv_sec = 3 };
	timer_t timer;

	signal(SIGALRM, give_up);
	pthread_mutex_lock(&mutex);
	if (sigsetjmp(back, 1) == 0) {
		more = strcmp(how, "again") ? 0 : 2;
		if (strcmp(how, "timer")) {
			alarm(3);
		} else {
			/* without an event: SIGALRM */
			timer_create(CLOCK_MONOTONIC, NULL, &timer);
			timer_settime(timer, 0, &soon, NULL);
		}
		pthread_mutex_lock(&mutex);
		puts("not reached");
	} else {
		puts("gave up");
	}
	pthread_mutex_unlock(&mutex);
	/* and all is as before */
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	return 0;
}
