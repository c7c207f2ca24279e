/* Threads that are cancelled, or leave, while they wait: what their clean-up handlers find held, and what is left. */
#include "case.h"

struct story {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	sem_t sem;
	pthread_rwlock_t rwlock;
	pthread_barrier_t barrier;
	struct gate gate, other;
	struct worker *target;
	int way;
};

static struct story *new_story(int type)
{
	struct story *story = shared_memory(sizeof *story);
	pthread_mutexattr_t attr;
	MUST(pthread_mutexattr_init(&attr));
	MUST(pthread_mutexattr_settype(&attr, type));
	MUST(pthread_mutex_init(&story->mutex, &attr));
	MUST(pthread_cond_init(&story->cond, NULL));
	MUST(sem_init(&story->sem, 0, 0));
	MUST(pthread_rwlock_init(&story->rwlock, NULL));
	return story;
}

static void say_end(struct worker *worker)
{
	void *value = finish(worker);
	say("%s", value == PTHREAD_CANCELED ? "cancelled" : value ? "another value" : "returned");
}

/* ---- Condition waits ---- */

/* Whose mutex it is tells the mutex itself. */
static void find_it_held(void *argument)
{
	struct story *story = argument;
	say("cleaning up");
	RET(pthread_mutex_trylock(&story->mutex));
	RET(pthread_mutex_unlock(&story->mutex));
	RET(pthread_mutex_unlock(&story->mutex));
}

static void *wait_in_condition(void *argument)
{
	struct story *story = argument;
	pthread_cleanup_push(find_it_held, story);
	RET(pthread_mutex_lock(&story->mutex));
	open_gate(&story->gate);
	if (story->way == 0)
		pthread_cond_wait(&story->cond, &story->mutex);
	else if (story->way == 1)
		pthread_cond_timedwait(&story->cond, &story->mutex, NEVER(CLOCK_REALTIME));
	else
		pthread_cond_clockwait(&story->cond, &story->mutex, CLOCK_MONOTONIC, NEVER(CLOCK_MONOTONIC));
	say("never here");
	pthread_cleanup_pop(0);
	return NULL;
}

static void cancel_condition(int type, int way)
{
	struct story *story = new_story(type);
	struct worker worker;
	story->way = way;
	start(&worker, wait_in_condition, story);
	await_blocked(&worker, &story->cond);
	RET(pthread_cancel(worker.thread));
	say_end(&worker);
	RET(pthread_mutex_trylock(&story->mutex));
	RET(pthread_mutex_unlock(&story->mutex));
	/* Nobody waits any more. */
	RET(pthread_cond_signal(&story->cond));
	RET(pthread_cond_destroy(&story->cond));
}

CASE(condition)
{
	cancel_condition(PTHREAD_MUTEX_ERRORCHECK, 0);
}

CASE(condition_timed)
{
	cancel_condition(PTHREAD_MUTEX_ERRORCHECK, 1);
}

CASE(condition_by_clock)
{
	cancel_condition(PTHREAD_MUTEX_ERRORCHECK, 2);
}

CASE(condition_recursive)
{
	cancel_condition(PTHREAD_MUTEX_RECURSIVE, 0);
}

/* The mutex is another's when the wait is cancelled: it is taken back before clean-up handlers run. */
CASE(condition_while_mutex_is_taken)
{
	struct story *story = new_story(PTHREAD_MUTEX_ERRORCHECK);
	struct worker worker;
	start(&worker, wait_in_condition, story);
	await_blocked(&worker, &story->cond);
	RET(pthread_mutex_lock(&story->mutex));
	RET(pthread_cancel(worker.thread));
	await_blocked(&worker, &story->mutex);
	say("nothing said yet: %d", strstr(worker.said->text, "cleaning") == NULL);
	RET(pthread_mutex_unlock(&story->mutex));
	say_end(&worker);
}

static void unlock_both(void *argument)
{
	struct story *story = argument;
	RET(pthread_mutex_unlock(&story->mutex));
	RET(pthread_rwlock_unlock(&story->rwlock));
}

static void *wait_with_two(void *argument)
{
	struct story *story = argument;
	RET(pthread_rwlock_wrlock(&story->rwlock));
	RET(pthread_mutex_lock(&story->mutex));
	pthread_cleanup_push(unlock_both, story);
	pthread_cond_wait(&story->cond, &story->mutex);
	pthread_cleanup_pop(0);
	return NULL;
}

CASE(condition_with_second_lock)
{
	struct story *story = new_story(PTHREAD_MUTEX_ERRORCHECK);
	struct worker worker;
	start(&worker, wait_with_two, story);
	await_blocked(&worker, &story->cond);
	RET(pthread_cancel(worker.thread));
	say_end(&worker);
	RET(pthread_rwlock_trywrlock(&story->rwlock));
	RET(pthread_mutex_trylock(&story->mutex));
}

/* Cancelled in one wait, and one more wait is done by the clean-up handler, as it may. */
static void wait_once_more(void *argument)
{
	struct story *story = argument;
	RET(pthread_cond_timedwait(&story->cond, &story->mutex, SOON(CLOCK_REALTIME)));
	RET(pthread_mutex_unlock(&story->mutex));
	RET(pthread_mutex_lock(&story->mutex));
	RET(pthread_mutex_unlock(&story->mutex));
}

static void *wait_and_wait(void *argument)
{
	struct story *story = argument;
	RET(pthread_mutex_lock(&story->mutex));
	pthread_cleanup_push(wait_once_more, story);
	pthread_cond_wait(&story->cond, &story->mutex);
	pthread_cleanup_pop(0);
	return NULL;
}

CASE(condition_waited_for_in_cleanup)
{
	struct story *story = new_story(PTHREAD_MUTEX_ERRORCHECK);
	struct worker worker;
	start(&worker, wait_and_wait, story);
	await_blocked(&worker, &story->cond);
	RET(pthread_cancel(worker.thread));
	say_end(&worker);
}

/* ---- Other waits ---- */

static void clean_up(void *argument)
{
	struct story *story = argument;
	say("cleaning up");
	RET(pthread_mutex_unlock(&story->mutex));
}

#define WAIT(name, call)                                                                                               \
	static void *name(void *argument)                                                                              \
	{                                                                                                              \
		struct story *story = argument;                                                                        \
		RET(pthread_mutex_lock(&story->mutex));                                                                \
		pthread_cleanup_push(clean_up, story);                                                                 \
		call;                                                                                                  \
		say("never here");                                                                                     \
		pthread_cleanup_pop(0);                                                                                \
		return NULL;                                                                                           \
	}

WAIT(in_sem, sem_wait(&story->sem))
WAIT(in_sem_timed, sem_timedwait(&story->sem, NEVER(CLOCK_REALTIME)))
WAIT(in_sem_clock, sem_clockwait(&story->sem, CLOCK_MONOTONIC, NEVER(CLOCK_MONOTONIC)))

static void cancel_sem(void *(*wait)(void *), unsigned value)
{
	struct story *story = new_story(PTHREAD_MUTEX_ERRORCHECK);
	struct worker worker;
	MUST(sem_init(&story->sem, 0, value));
	for (unsigned i = 0; i < value; i++)
		SYS(sem_wait(&story->sem));
	start(&worker, wait, story);
	await_blocked(&worker, &story->sem);
	RET(pthread_cancel(worker.thread));
	say_end(&worker);
	RET(pthread_mutex_trylock(&story->mutex));
	SYS(sem_trywait(&story->sem));
	SYS(sem_post(&story->sem));
	SYS(sem_wait(&story->sem));
}

CASE(semaphore)
{
	cancel_sem(in_sem, 0);
}

CASE(semaphore_that_is_a_lock)
{
	cancel_sem(in_sem, 1);
}

CASE(semaphore_timed)
{
	cancel_sem(in_sem_timed, 1);
}

CASE(semaphore_by_clock)
{
	cancel_sem(in_sem_clock, 0);
}

/* Waits for the end of another, which then can be waited for again. */
static void *stay(void *argument)
{
	pass(argument);
	return NULL;
}

WAIT(in_join, pthread_join(story->target->thread, NULL))
WAIT(in_timed_join, pthread_timedjoin_np(story->target->thread, NULL, NEVER(CLOCK_REALTIME)))
WAIT(in_clock_join, pthread_clockjoin_np(story->target->thread, NULL, CLOCK_MONOTONIC, NEVER(CLOCK_MONOTONIC)))

static void cancel_join(void *(*wait)(void *))
{
	struct story *story = new_story(PTHREAD_MUTEX_ERRORCHECK);
	struct worker target, worker;
	start(&target, stay, &story->gate);
	story->target = &target;
	start(&worker, wait, story);
	await_blocked(&worker, (char (*)[4096])target.thread);
	RET(pthread_cancel(worker.thread));
	say_end(&worker);
	RET(pthread_tryjoin_np(target.thread, NULL));
	open_gate(&story->gate);
	say_end(&target);
}

CASE(join)
{
	cancel_join(in_join);
}

CASE(join_timed)
{
	cancel_join(in_timed_join);
}

CASE(join_by_clock)
{
	cancel_join(in_clock_join);
}

/* Whatever waits for a lock is not cancelled. */
#define NO_POINT(name, call, give_up)                                                                                  \
	static void *name(void *argument)                                                                              \
	{                                                                                                              \
		struct story *story = argument;                                                                        \
		open_gate(&story->gate);                                                                               \
		RET(call);                                                                                             \
		RET(give_up);                                                                                          \
		pthread_testcancel();                                                                                  \
		say("never here");                                                                                     \
		return NULL;                                                                                           \
	}

NO_POINT(in_mutex, pthread_mutex_lock(&story->mutex), pthread_mutex_unlock(&story->mutex))
NO_POINT(in_mutex_timed, pthread_mutex_timedlock(&story->mutex, NEVER(CLOCK_REALTIME)), pthread_mutex_unlock(&story->mutex))
NO_POINT(in_rdlock, pthread_rwlock_rdlock(&story->rwlock), pthread_rwlock_unlock(&story->rwlock))
NO_POINT(in_wrlock, pthread_rwlock_wrlock(&story->rwlock), pthread_rwlock_unlock(&story->rwlock))

CASE(mutex_is_no_point)
{
	void *(*ways[])(void *) = {in_mutex, in_mutex_timed};
	for (int i = 0; i < 2; i++) {
		struct story *story = new_story(PTHREAD_MUTEX_NORMAL);
		struct worker worker;
		MUST(pthread_mutex_lock(&story->mutex));
		start(&worker, ways[i], story);
		await_blocked(&worker, &story->mutex);
		RET(pthread_cancel(worker.thread));
		RET(pthread_mutex_unlock(&story->mutex));
		say_end(&worker);
	}
}

CASE(rwlock_is_no_point)
{
	void *(*ways[])(void *) = {in_rdlock, in_wrlock};
	for (int i = 0; i < 2; i++) {
		struct story *story = new_story(PTHREAD_MUTEX_NORMAL);
		struct worker worker;
		MUST(pthread_rwlock_wrlock(&story->rwlock));
		start(&worker, ways[i], story);
		await_blocked(&worker, &story->rwlock);
		RET(pthread_cancel(worker.thread));
		RET(pthread_rwlock_unlock(&story->rwlock));
		say_end(&worker);
	}
}

static void *in_barrier(void *argument)
{
	struct story *story = argument;
	pthread_barrier_wait(&story->barrier);
	say("past the barrier");
	pthread_testcancel();
	say("never here");
	return NULL;
}

CASE(barrier_is_no_point)
{
	struct story *story = new_story(PTHREAD_MUTEX_NORMAL);
	struct worker worker;
	MUST(pthread_barrier_init(&story->barrier, NULL, 2));
	start(&worker, in_barrier, story);
	await_blocked(&worker, &story->barrier);
	RET(pthread_cancel(worker.thread));
	pthread_barrier_wait(&story->barrier);
	say_end(&worker);
}

/* ---- Pending, disabled, asynchronous ---- */

static void *cancelled_before_the_wait(void *argument)
{
	struct story *story = argument;
	RET(pthread_mutex_lock(&story->mutex));
	pthread_cleanup_push(clean_up, story);
	pthread_cancel(pthread_self());
	RET(pthread_mutex_trylock(&story->mutex));
	if (story->way == 0)
		pthread_cond_wait(&story->cond, &story->mutex);
	else if (story->way == 1)
		sem_wait(&story->sem);
	else
		pthread_testcancel();
	say("never here");
	pthread_cleanup_pop(0);
	return NULL;
}

static void pending(unsigned semaphore)
{
	for (int way = 0; way < 3; way++) {
		struct story *story = new_story(PTHREAD_MUTEX_ERRORCHECK);
		struct worker worker;
		story->way = way;
		/* A wait that need not wait is a point, too. */
		SYS(sem_init(&story->sem, 0, semaphore));
		if (!semaphore)
			SYS(sem_post(&story->sem));
		start(&worker, cancelled_before_the_wait, story);
		say_end(&worker);
		int value;
		sem_getvalue(&story->sem, &value);
		say("value %d", value);
		RET(pthread_mutex_trylock(&story->mutex));
	}
}

CASE(pending)
{
	pending(0);
}

CASE(pending_at_a_semaphore_that_is_a_lock)
{
	pending(1);
}

static void *not_now(void *argument)
{
	struct story *story = argument;
	int before;
	RET(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before));
	say("before: %d", before == PTHREAD_CANCEL_ENABLE);
	RET(pthread_setcancelstate(99, &before));
	RET(pthread_setcanceltype(99, &before));
	open_gate(&story->gate);
	SYS(sem_wait(&story->sem));
	pthread_testcancel();
	RET(pthread_mutex_lock(&story->mutex));
	RET(pthread_cond_timedwait(&story->cond, &story->mutex, PAST));
	RET(pthread_mutex_unlock(&story->mutex));
	RET(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL));
	pthread_testcancel();
	say("never here");
	return NULL;
}

CASE(disabled)
{
	struct story *story = new_story(PTHREAD_MUTEX_ERRORCHECK);
	struct worker worker;
	start(&worker, not_now, story);
	pass(&story->gate);
	await_blocked(&worker, &story->sem);
	RET(pthread_cancel(worker.thread));
	SYS(sem_post(&story->sem));
	say_end(&worker);
}

static void *run_in_circles(void *argument)
{
	struct story *story = argument;
	RET(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
	open_gate(&story->gate);
	for (;;)
		atomic_load(&story->other.is_open);
	return NULL;
}

CASE(asynchronous)
{
	struct story *story = new_story(PTHREAD_MUTEX_NORMAL);
	struct worker worker;
	start(&worker, run_in_circles, story);
	pass(&story->gate);
	RET(pthread_cancel(worker.thread));
	say_end(&worker);
	in_thread(stay, (open_gate(&story->other), &story->other));
}

static void *wait_asynchronously(void *argument)
{
	struct story *story = argument;
	RET(pthread_mutex_lock(&story->mutex));
	pthread_cleanup_push(clean_up, story);
	RET(pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL));
	pthread_cond_wait(&story->cond, &story->mutex);
	pthread_cleanup_pop(0);
	return NULL;
}

CASE(asynchronous_in_condition)
{
	struct story *story = new_story(PTHREAD_MUTEX_ERRORCHECK);
	struct worker worker;
	start(&worker, wait_asynchronously, story);
	await_blocked(&worker, &story->cond);
	RET(pthread_cancel(worker.thread));
	say_end(&worker);
	RET(pthread_mutex_trylock(&story->mutex));
}

/* ---- Leaving ---- */

static void *leave_with_it(void *argument)
{
	struct story *story = argument;
	RET(pthread_mutex_lock(&story->mutex));
	pthread_cleanup_push(clean_up, story);
	pthread_exit(story);
	pthread_cleanup_pop(0);
	return NULL;
}

CASE(exit)
{
	struct story *story = new_story(PTHREAD_MUTEX_ERRORCHECK);
	struct worker worker;
	start(&worker, leave_with_it, story);
	say_end(&worker);
	RET(pthread_mutex_trylock(&story->mutex));
}

static void leave_from_handler(int number)
{
	(void)number;
	pthread_exit(NULL);
}

static void *wait_to_be_told(void *argument)
{
	struct story *story = argument;
	RET(pthread_mutex_lock(&story->mutex));
	pthread_cleanup_push(clean_up, story);
	if (story->way == 0)
		sem_wait(&story->sem);
	else
		pthread_cond_wait(&story->cond, &story->mutex);
	say("never here");
	pthread_cleanup_pop(0);
	return NULL;
}

CASE(exit_from_a_handler_in_a_wait)
{
	struct story *story = new_story(PTHREAD_MUTEX_NORMAL);
	struct worker worker;
	signal(SIGUSR1, leave_from_handler);
	start(&worker, wait_to_be_told, story);
	await_blocked(&worker, &story->sem);
	RET(pthread_kill(worker.thread, SIGUSR1));
	say_end(&worker);
	RET(pthread_mutex_trylock(&story->mutex));
}
