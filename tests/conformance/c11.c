/* C11's threads: mtx_*, cnd_*, thrd_*, call_once and tss_*. */
#include "case.h"

static void *lock_from_outside(void *argument)
{
	mtx_t *mutex = argument;
	C11(mtx_trylock(mutex));
	C11(mtx_timedlock(mutex, PAST));
	C11(mtx_timedlock(mutex, SOON(CLOCK_REALTIME)));
	C11(mtx_timedlock(mutex, NSEC_TOO_LARGE));
	C11(mtx_timedlock(mutex, NSEC_NEGATIVE));
	return NULL;
}

static void *take_and_give(void *argument)
{
	mtx_t *mutex = argument;
	C11(mtx_lock(mutex));
	C11(mtx_unlock(mutex));
	return NULL;
}

static void mutex_script(int type)
{
	mtx_t mutex;
	if (C11(mtx_init(&mutex, type)) != thrd_success)
		return;
	C11(mtx_lock(&mutex));
	C11(mtx_trylock(&mutex));
	C11(mtx_timedlock(&mutex, PAST));
	if (type & mtx_recursive)
		C11(mtx_lock(&mutex));
	in_thread(lock_from_outside, &mutex);
	for (int i = 0; i < (type & mtx_recursive ? 4 : 1); i++)
		C11(mtx_unlock(&mutex));
	if (type & mtx_recursive)
		C11(mtx_unlock(&mutex));
	in_thread(take_and_give, &mutex);
	C11(mtx_timedlock(&mutex, PAST));
	C11(mtx_unlock(&mutex));
	C11(mtx_timedlock(&mutex, NSEC_TOO_LARGE));
	C11(mtx_unlock(&mutex));
	mtx_destroy(&mutex);
}

CASE(mutex_plain)
{
	mutex_script(mtx_plain);
}

CASE(mutex_timed)
{
	mutex_script(mtx_timed);
}

CASE(mutex_recursive)
{
	mutex_script(mtx_plain | mtx_recursive);
}

CASE(mutex_timed_recursive)
{
	mutex_script(mtx_timed | mtx_recursive);
}

CASE(mutex_of_no_type)
{
	mtx_t mutex;
	C11(mtx_init(&mutex, 99));
	C11(mtx_init(&mutex, -1));
	C11(mtx_init(&mutex, mtx_timed | mtx_recursive | 4));
}

static void *wait_for_mutex(void *argument)
{
	C11(mtx_lock((mtx_t *)argument));
	C11(mtx_unlock((mtx_t *)argument));
	return NULL;
}

static void *wait_for_mutex_timed(void *argument)
{
	C11(mtx_timedlock((mtx_t *)argument, NEVER(CLOCK_REALTIME)));
	C11(mtx_unlock((mtx_t *)argument));
	return NULL;
}

CASE(mutex_contended)
{
	static mtx_t mutex;
	void *(*ways[])(void *) = {wait_for_mutex, wait_for_mutex_timed};
	C11(mtx_init(&mutex, mtx_timed));
	for (int i = 0; i < 2; i++) {
		struct worker worker;
		C11(mtx_lock(&mutex));
		start(&worker, ways[i], &mutex);
		await_blocked(&worker, &mutex);
		C11(mtx_unlock(&mutex));
		finish(&worker);
	}
	mtx_destroy(&mutex);
}

CASE(mutex_overflow)
{
	mtx_t mutex;
	C11(mtx_init(&mutex, mtx_recursive));
	C11(mtx_lock(&mutex));
	((pthread_mutex_t *)&mutex)->__data.__count = UINT_MAX;
	C11(mtx_lock(&mutex));
	C11(mtx_trylock(&mutex));
	C11(mtx_timedlock(&mutex, PAST));
}

/* glibc has one mutex for both. */
CASE(mutex_by_both_names)
{
	mtx_t mutex;
	C11(mtx_init(&mutex, mtx_plain));
	pthread_mutex_t *same = (pthread_mutex_t *)&mutex;
	C11(mtx_lock(&mutex));
	RET(pthread_mutex_trylock(same));
	RET(pthread_mutex_unlock(same));
	RET(pthread_mutex_lock(same));
	C11(mtx_trylock(&mutex));
	C11(mtx_unlock(&mutex));
	RET(pthread_mutex_trylock(same));
	C11(mtx_unlock(&mutex));
	mtx_destroy(&mutex);
}

CASE(mutex_lives)
{
	mtx_t mutex;
	for (int i = 0; i < 3; i++) {
		C11(mtx_init(&mutex, i & 1 ? mtx_recursive : mtx_plain));
		C11(mtx_lock(&mutex));
		C11(mtx_unlock(&mutex));
		if (i)
			mtx_destroy(&mutex);
	}
	C11(mtx_trylock(&mutex));
}

/* ---- Conditions ---- */

struct story {
	mtx_t mutex;
	cnd_t cond;
	int is_set;
};

static void *wait_plain(void *argument)
{
	struct story *story = argument;
	C11(mtx_lock(&story->mutex));
	while (!story->is_set)
		C11(cnd_wait(&story->cond, &story->mutex));
	C11(mtx_unlock(&story->mutex));
	return NULL;
}

static void *wait_timed(void *argument)
{
	struct story *story = argument;
	C11(mtx_lock(&story->mutex));
	while (!story->is_set)
		C11(cnd_timedwait(&story->cond, &story->mutex, NEVER(CLOCK_REALTIME)));
	C11(mtx_unlock(&story->mutex));
	return NULL;
}

static void woken(int (*wake)(cnd_t *), void *(*wait)(void *))
{
	struct story *story = shared_memory(sizeof *story);
	C11(mtx_init(&story->mutex, mtx_timed));
	C11(cnd_init(&story->cond));
	struct worker worker;
	start(&worker, wait, story);
	await_blocked(&worker, &story->cond);
	C11(mtx_lock(&story->mutex));
	story->is_set = 1;
	C11(wake(&story->cond));
	C11(mtx_unlock(&story->mutex));
	finish(&worker);
	cnd_destroy(&story->cond);
	mtx_destroy(&story->mutex);
}

CASE(condition_signalled)
{
	woken(cnd_signal, wait_plain);
}

CASE(condition_broadcast)
{
	woken(cnd_broadcast, wait_plain);
}

CASE(condition_timed_signalled)
{
	woken(cnd_signal, wait_timed);
}

CASE(condition_timed_broadcast)
{
	woken(cnd_broadcast, wait_timed);
}

CASE(condition_deadlines)
{
	struct story story;
	C11(mtx_init(&story.mutex, mtx_timed));
	C11(cnd_init(&story.cond));
	C11(mtx_lock(&story.mutex));
	C11(cnd_timedwait(&story.cond, &story.mutex, PAST));
	C11(cnd_timedwait(&story.cond, &story.mutex, BEFORE_ALL_TIMES));
	C11(cnd_timedwait(&story.cond, &story.mutex, SOON(CLOCK_REALTIME)));
	C11(cnd_timedwait(&story.cond, &story.mutex, NSEC_TOO_LARGE));
	C11(cnd_timedwait(&story.cond, &story.mutex, NSEC_NEGATIVE));
	C11(mtx_trylock(&story.mutex));
	C11(mtx_unlock(&story.mutex));
	C11(cnd_signal(&story.cond));
	C11(cnd_broadcast(&story.cond));
	cnd_destroy(&story.cond);
}

/* A wait that ends while the mutex is another's comes back with it. */
static void *hold_and_signal(void *argument)
{
	struct story *story = argument;
	C11(mtx_lock(&story->mutex));
	story->is_set = 1;
	C11(cnd_signal(&story->cond));
	C11(mtx_trylock(&story->mutex));
	C11(mtx_unlock(&story->mutex));
	C11(mtx_unlock(&story->mutex));
	return NULL;
}

CASE(condition_gives_the_mutex_back)
{
	struct story *story = shared_memory(sizeof *story);
	C11(mtx_init(&story->mutex, mtx_recursive));
	C11(cnd_init(&story->cond));
	struct worker worker;
	start(&worker, wait_plain, story);
	await_blocked(&worker, &story->cond);
	in_thread(hold_and_signal, story);
	finish(&worker);
	C11(mtx_trylock(&story->mutex));
	C11(mtx_unlock(&story->mutex));
}

/* ---- Threads ---- */

static mtx_t global;

static int answer(void *argument)
{
	mtx_lock(&global);
	int value = *(int *)argument;
	mtx_unlock(&global);
	return value;
}

static int leave(void *argument)
{
	thrd_exit(*(int *)argument);
}

CASE(thread_results)
{
	int values[] = {0, 1, -1, INT_MAX, INT_MIN};
	MUST(mtx_init(&global, mtx_plain));
	for (int i = 0; i < 5; i++) {
		thrd_t thread;
		int result = 4;
		C11(thrd_create(&thread, i & 1 ? answer : leave, &values[i]));
		C11(thrd_join(thread, &result));
		say("%d", result);
	}
	thrd_t thread;
	C11(thrd_create(&thread, answer, &values[1]));
	C11(thrd_join(thread, NULL));
}

static struct gate detached;

static int open_it(void *unused)
{
	(void)unused;
	mtx_lock(&global);
	mtx_unlock(&global);
	open_gate(&detached);
	return 0;
}

CASE(thread_detached)
{
	thrd_t thread;
	MUST(mtx_init(&global, mtx_plain));
	C11(thrd_create(&thread, open_it, NULL));
	C11(thrd_detach(thread));
	pass(&detached);
}

static int is_current(void *argument)
{
	/* Written by the creator, perhaps after this begins. */
	pass(&detached);
	return thrd_equal(thrd_current(), *(thrd_t *)argument) != 0;
}

CASE(thread_identity)
{
	static thrd_t thread;
	int result = 4;
	C11(thrd_create(&thread, is_current, &thread));
	open_gate(&detached);
	say("equal: %d", thrd_equal(thrd_current(), thread) != 0);
	C11(thrd_join(thread, &result));
	say("%d", result);
}

CASE(thread_sleep)
{
	struct timespec rest = {9, 9};
	SYS(thrd_sleep(&(struct timespec){.tv_nsec = 1000000}, &rest));
	say("rest %ld %ld", (long)rest.tv_sec, rest.tv_nsec);
	SYS(thrd_sleep(NSEC_TOO_LARGE, NULL));
	thrd_yield();
}

static void handler(int number)
{
	(void)number;
}

static void *sleep_long(void *argument)
{
	struct timespec rest;
	open_gate(argument);
	SYS(thrd_sleep(&(struct timespec){.tv_sec = 3600}, &rest));
	say("time is left: %d", rest.tv_sec > 3000);
	return NULL;
}

CASE(thread_sleep_interrupted)
{
	static struct gate gate;
	struct worker worker;
	struct sigaction action = {.sa_handler = handler};
	MUST(sigaction(SIGUSR1, &action, NULL));
	start(&worker, sleep_long, &gate);
	pass(&gate);
	/* Until it sleeps: a signal before that is lost. */
	while (!worker.said->length) {
		pthread_kill(worker.thread, SIGUSR1);
		syscall(SYS_sched_yield);
	}
	finish(&worker);
}

/* ---- Once, and storage ---- */

static once_flag flag = ONCE_FLAG_INIT;

static void do_it(void)
{
	say("done");
	mtx_init(&global, mtx_plain);
}

static void *once_more(void *unused)
{
	call_once(&flag, do_it);
	return unused;
}

CASE(once)
{
	call_once(&flag, do_it);
	call_once(&flag, do_it);
	in_thread(once_more, NULL);
}

static tss_t key;

static void lock_at_the_end(void *value)
{
	static _Thread_local int rounds;
	say("the end of %s", (const char *)value);
	C11(mtx_lock(&global));
	C11(mtx_unlock(&global));
	if (rounds++ < 2)
		C11(tss_set(key, value));
}

static void *with_storage(void *unused)
{
	C11(tss_set(key, "a thread"));
	say("%s", (const char *)tss_get(key));
	return unused;
}

CASE(storage)
{
	MUST(mtx_init(&global, mtx_plain));
	C11(tss_create(&key, lock_at_the_end));
	in_thread(with_storage, NULL);
	say("%d", tss_get(key) == NULL);
	tss_delete(key);
	C11(tss_set(key, "deleted"));
}
