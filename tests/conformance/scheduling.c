/* Where and how threads run: policies, priorities, processors, clocks. */
#include "case.h"

static struct gate gate;

static void *stay(void *argument)
{
	pass(&gate);
	return argument;
}

static void policy_of(pthread_t thread)
{
	int policy = -1;
	struct sched_param param = {.sched_priority = -1};
	RET(pthread_getschedparam(thread, &policy, &param));
	say("policy %d priority %d", policy, param.sched_priority);
}

CASE(policies)
{
	struct worker worker;
	start(&worker, stay, NULL);
	int policies[] = {SCHED_OTHER, SCHED_BATCH, SCHED_IDLE, SCHED_FIFO, SCHED_RR, 99, -1};
	for (int i = 0; i < 7; i++) {
		for (int priority = 0; priority < 101; priority += 50) {
			struct sched_param param = {.sched_priority = priority};
			say("policy %d priority %d", policies[i], priority);
			RET(pthread_setschedparam(worker.thread, policies[i], &param));
			policy_of(worker.thread);
		}
	}
	RET(pthread_setschedprio(worker.thread, 0));
	RET(pthread_setschedprio(worker.thread, 51));
	RET(pthread_setschedprio(worker.thread, -1));
	RET(pthread_setschedprio(worker.thread, 1000));
	policy_of(worker.thread);
	open_gate(&gate);
	finish(&worker);
}

static pthread_mutex_t protected;
static pthread_mutex_t inherited;

/* A thread whose priority a mutex raises, and the value that the thread then reads as its own. */
static void *change_while_it_holds(void *argument)
{
	int outcome = RET(pthread_mutex_lock(&protected));
	policy_of(pthread_self());
	struct sched_param param = {.sched_priority = 0};
	RET(pthread_setschedparam(pthread_self(), SCHED_OTHER, &param));
	RET(pthread_setschedprio(pthread_self(), 0));
	if (outcome == 0)
		RET(pthread_mutex_unlock(&protected));
	RET(pthread_mutex_lock(&inherited));
	RET(pthread_setschedparam(pthread_self(), SCHED_BATCH, &param));
	RET(pthread_mutex_unlock(&inherited));
	policy_of(pthread_self());
	return argument;
}

CASE(changed_while_a_mutex_is_held)
{
	pthread_mutexattr_t attr;
	MUST(pthread_mutexattr_init(&attr));
	MUST(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_PROTECT));
	MUST(pthread_mutexattr_setprioceiling(&attr, 5));
	MUST(pthread_mutex_init(&protected, &attr));
	MUST(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT));
	MUST(pthread_mutex_init(&inherited, &attr));
	in_thread(change_while_it_holds, NULL);
}

static void *raise_ceiling(void *argument)
{
	int old = -1;
	RET(pthread_mutex_setprioceiling(&protected, 7, &old));
	say("before %d", old);
	return argument;
}

/* Changing the ceiling takes the mutex, and waits for it. */
CASE(ceiling_while_another_holds_the_mutex)
{
	pthread_mutexattr_t attr;
	struct worker worker;
	int value = -1;
	MUST(pthread_mutexattr_init(&attr));
	MUST(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_PROTECT));
	MUST(pthread_mutexattr_setprioceiling(&attr, 5));
	MUST(pthread_mutex_init(&protected, &attr));
	if (RET(pthread_mutex_lock(&protected))) {
		in_thread(raise_ceiling, NULL);
		return;
	}
	start(&worker, raise_ceiling, NULL);
	await_blocked(&worker, &protected);
	RET(pthread_mutex_unlock(&protected));
	finish(&worker);
	RET(pthread_mutex_getprioceiling(&protected, &value));
	say("now %d", value);
	RET(pthread_mutex_trylock(&protected));
	RET(pthread_mutex_unlock(&protected));
}

CASE(processors)
{
	struct worker worker;
	cpu_set_t set, before;
	start(&worker, stay, NULL);
	RET(pthread_getaffinity_np(worker.thread, sizeof before, &before));
	say("some: %d", CPU_COUNT(&before) > 0);
	RET(pthread_setaffinity_np(worker.thread, sizeof before, &before));
	CPU_ZERO(&set);
	RET(pthread_setaffinity_np(worker.thread, sizeof set, &set));
	RET(pthread_getaffinity_np(worker.thread, 1, &set));
	RET(pthread_getaffinity_np(worker.thread, sizeof set, &set));
	say("as before: %d", CPU_EQUAL(&set, &before));
	open_gate(&gate);
	finish(&worker);
}

static void *where_it_runs(void *argument)
{
	cpu_set_t set;
	RET(pthread_getaffinity_np(pthread_self(), sizeof set, &set));
	say("one: %d", CPU_COUNT(&set) == 1 && CPU_EQUAL(&set, (cpu_set_t *)argument));
	return NULL;
}

CASE(processors_by_attribute)
{
	pthread_attr_t attr;
	pthread_t thread;
	cpu_set_t set, one;
	MUST(sched_getaffinity(0, sizeof set, &set));
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++) {
		if (CPU_ISSET(i, &set))
			CPU_SET(i, &one);
	}
	MUST(pthread_attr_init(&attr));
	RET(pthread_attr_setaffinity_np(&attr, sizeof one, &one));
	MUST(pthread_create(&thread, &attr, where_it_runs, &one));
	MUST(pthread_join(thread, NULL));
	RET(pthread_attr_getaffinity_np(&attr, 1, &set));
	/* Takes back what was set. */
	RET(pthread_attr_setaffinity_np(&attr, 0, &one));
	RET(pthread_attr_getaffinity_np(&attr, sizeof set, &set));
	say("all: %d", CPU_COUNT(&set) == CPU_SETSIZE);
	RET(pthread_attr_destroy(&attr));
}

CASE(clocks)
{
	struct worker worker;
	clockid_t clock;
	struct timespec time;
	start(&worker, stay, NULL);
	RET(pthread_getcpuclockid(worker.thread, &clock));
	SYS(clock_gettime(clock, &time));
	RET(pthread_getcpuclockid(pthread_self(), &clock));
	SYS(clock_gettime(clock, &time));
	open_gate(&gate);
	finish(&worker);
}

CASE(concurrency)
{
	SYS(pthread_getconcurrency());
	RET(pthread_setconcurrency(7));
	SYS(pthread_getconcurrency());
	RET(pthread_setconcurrency(-1));
	SYS(pthread_getconcurrency());
}

static void *end_at_once(void *argument)
{
	return argument;
}

/* A thread that has ended, and has not been joined. */
CASE(of_a_thread_that_has_ended)
{
	pthread_t thread;
	int policy;
	struct sched_param param = {0};
	char name[16];
	cpu_set_t set;
	clockid_t clock;
	struct worker worker;
	start(&worker, end_at_once, NULL);
	while (syscall(SYS_tgkill, getpid(), worker.tid, 0) == 0)
		syscall(SYS_sched_yield);
	thread = worker.thread;
	RET(pthread_setschedparam(thread, SCHED_OTHER, &param));
	RET(pthread_getschedparam(thread, &policy, &param));
	RET(pthread_setschedprio(thread, 0));
	RET(pthread_setname_np(thread, "name"));
	RET(pthread_getname_np(thread, name, sizeof name));
	RET(pthread_getaffinity_np(thread, sizeof set, &set));
	RET(pthread_getcpuclockid(thread, &clock));
	RET(pthread_kill(thread, 0));
	RET(pthread_cancel(thread));
	finish(&worker);
}

CASE(equal)
{
	SYS(pthread_equal(pthread_self(), pthread_self()) != 0);
	struct worker worker;
	start(&worker, stay, NULL);
	SYS(pthread_equal(pthread_self(), worker.thread) != 0);
	open_gate(&gate);
	finish(&worker);
	RET(sched_yield());
}
