/* POSIX timers, used as they may be and as they may not. Argument:
 *
 *   clean      all sorts, made, armed, let fire, disarmed and deleted; a forked child's own
 *   read       read after it was deleted
 *   armed      armed after it was deleted
 *   thread     one that calls a function, read after it was deleted
 *   twice      deleted twice
 *   never      read, and never made
 *   inherited  a forked child reads its parent's, which it has not
 *   left       armed at the end of the process
 *   expired    fired long before the end of the process, and was never deleted
 */
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct itimerspec in_an_hour = { .it_value = { 3600, 0 } }, soon = { .it_value = { 0, 1 } }, never;
static sem_t fired;

static void fires(union sigval value)
{
	(void)value;
	sem_post(&fired);
}

static timer_t make(int how)
{
	struct sigevent event = { .sigev_notify = how, .sigev_signo = SIGUSR1, .sigev_notify_function = fires };
	timer_t timer;
	if (timer_create(CLOCK_MONOTONIC, &event, &timer))
		exit(3);
	return timer;
}

static void delete(timer_t timer)
{
	if (timer_delete(timer))
		exit(4);
}

static void read_it(timer_t timer)
{
	struct itimerspec left;
	timer_gettime(timer, &left);
}

static void arm(timer_t timer, const struct itimerspec *when)
{
	timer_settime(timer, 0, when, NULL);
}

static void use(timer_t timer)
{
	arm(timer, &in_an_hour);
	arm(timer, &in_an_hour);
	read_it(timer);
	arm(timer, &never);
	timer_getoverrun(timer);
	arm(timer, &in_an_hour);
	delete(timer);
}

static void clean(void)
{
	for (int i = 0; i < 3; i++) {
		use(make(SIGEV_NONE));
		use(make(SIGEV_SIGNAL));
		use(make(SIGEV_THREAD));
	}
	timer_t once = make(SIGEV_THREAD), mine = make(SIGEV_NONE);
	arm(once, &soon);
	sem_wait(&fired);
	arm(once, &soon);
	sem_wait(&fired);
	delete(once);
	arm(mine, &in_an_hour);
	pid_t child = fork();
	if (child == 0) {
		use(make(SIGEV_NONE));
		exit(0);
	}
	waitpid(child, NULL, 0);
	use(mine);
	/* Not a timer's fault. */
	struct itimerspec nonsense = { .it_value = { 0, -1 } };
	mine = make(SIGEV_NONE);
	arm(mine, &nonsense);
	delete(mine);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	timer_t timer;

	sem_init(&fired, 0, 0);
	if (!strcmp(what, "clean")) {
		clean();
	} else if (!strcmp(what, "read")) {
		timer = make(SIGEV_NONE);
		delete(timer);
		read_it(timer);
	} else if (!strcmp(what, "armed")) {
		timer = make(SIGEV_SIGNAL);
		arm(timer, &in_an_hour);
		delete(timer);
		arm(timer, &in_an_hour);
	} else if (!strcmp(what, "thread")) {
		timer = make(SIGEV_THREAD);
		delete(timer);
		read_it(timer);
	} else if (!strcmp(what, "twice")) {
		timer = make(SIGEV_NONE);
		delete(timer);
		timer_delete(timer);
	} else if (!strcmp(what, "never")) {
		read_it((timer_t)(long)4711);
	} else if (!strcmp(what, "inherited")) {
		timer = make(SIGEV_NONE);
		pid_t child = fork();
		if (child == 0) {
			read_it(timer);
			exit(0);
		}
		waitpid(child, NULL, 0);
		delete(timer);
	} else if (!strcmp(what, "left")) {
		arm(make(SIGEV_NONE), &in_an_hour);
	} else if (!strcmp(what, "expired")) {
		arm(make(SIGEV_THREAD), &soon);
		sem_wait(&fired);
	} else {
		return 2;
	}
	sem_destroy(&fired);
	return 0;
}
