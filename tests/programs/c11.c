/* Threads, mutexes and condition variables as C11 has them. Argument:
 *
 *   threads    two locks in both orders, by threads that live at the same time
 *   ordered    the same, and the first thread is joined before the second is created
 *   wrapped    as threads, through a function that locks
 *   join       hangs: joins a thread that wants a lock which the joiner holds
 *   counts     known numbers of acquisitions, rejects, timeouts and waits
 *   codes      what every function answers, printed
 */
#define _GNU_SOURCE
#include <errno.h>
#include <threads.h>
#include "meter.h"
#include "baton.h"
#include <string.h>

static mtx_t accounts, journal, nested, timed;
static cnd_t changed;

/* --- orders ---------------------------------------------------------------------------------- */

static baton here, go, gone, leave;
static int wrapped;

SITE static void enter(mtx_t *lock)
{
	mtx_lock(lock);
	NO_TAIL_CALL;
}

SITE static void take(mtx_t *lock)
{
	if (wrapped)
		enter(lock);
	else
		mtx_lock(lock);
	NO_TAIL_CALL;
}

SITE static int deposit(void *arg)
{
	baton_pass(&here);
	baton_take(&go);
	if (wrapped) {
		take(&accounts);
		take(&journal);
	} else {
		mtx_lock(&accounts);
		mtx_lock(&journal);
	}
	mtx_unlock(&journal);
	mtx_unlock(&accounts);
	baton_pass(&gone);
	baton_take(&leave);
	return arg ? -17 : 0;
}

SITE static int balance(void *arg)
{
	baton_pass(&here);
	baton_take(&go);
	if (wrapped) {
		take(&journal);
		take(&accounts);
	} else {
		mtx_lock(&journal);
		mtx_lock(&accounts);
	}
	mtx_unlock(&accounts);
	mtx_unlock(&journal);
	baton_pass(&gone);
	baton_take(&leave);
	thrd_exit(arg ? 1 << 30 : 0);
}

/* Lets the thread that waits for it go, until it is done with the locks. */
static void let_go(void)
{
	baton_pass(&go);
	baton_take(&gone);
}

static void orders(int ordered)
{
	thrd_t threads[2];
	int results[2];

	thrd_create(&threads[0], deposit, &accounts);
	baton_take(&here);
	if (ordered) {
		let_go();
		baton_pass(&leave);
		thrd_join(threads[0], &results[0]);
	}
	thrd_create(&threads[1], balance, &accounts);
	baton_take(&here);
	for (int i = ordered; i < 2; i++)
		let_go();
	for (int i = ordered; i < 2; i++)
		baton_pass(&leave);
	for (int i = ordered; i < 2; i++)
		thrd_join(threads[i], &results[i]);
	printf("%d %d\n", results[0], results[1]);
}

static int wants_accounts(void *arg)
{
	(void)arg;
	mtx_lock(&accounts);
	mtx_unlock(&accounts);
	return 0;
}

static void joins(void)
{
	thrd_t thread;
	mtx_lock(&accounts);
	thrd_create(&thread, wants_accounts, NULL);
	thrd_join(thread, NULL);
	mtx_unlock(&accounts);
}

/* --- counts ---------------------------------------------------------------------------------- */

enum { ROUNDS = 20 };

static atomic_int awaited;
static int turn;

SITE static void plainly(int n)
{
	for (int i = 0; i < n; i++) {
		mtx_lock(&accounts);
		mtx_unlock(&accounts);
		NO_TAIL_CALL;
	}
}

SITE static void again(int n)
{
	for (int i = 0; i < n; i++) {
		mtx_lock(&nested);
		mtx_lock(&nested);
		mtx_trylock(&nested);
		mtx_unlock(&nested);
		mtx_unlock(&nested);
		mtx_unlock(&nested);
		NO_TAIL_CALL;
	}
}

SITE static int tries(void)
{
	int result = mtx_trylock(&timed);
	if (result == thrd_success)
		mtx_unlock(&timed);
	NO_TAIL_CALL;
	return result;
}

SITE static int gives_up(void)
{
	struct timespec long_ago = { 1, 0 };
	int result = mtx_timedlock(&timed, &long_ago);
	if (result == thrd_success)
		mtx_unlock(&timed);
	NO_TAIL_CALL;
	return result;
}

static int attempts(void *arg)
{
	int *wrong = arg;
	for (int i = 0; i < ROUNDS; i++) {
		*wrong += tries() != thrd_busy;
		*wrong += gives_up() != thrd_timedout;
	}
	return 0;
}

SITE static void awaits(int is)
{
	mtx_lock(&journal);
	atomic_store(&awaited, is);
	while (turn != is)
		cnd_wait(&changed, &journal);
	mtx_unlock(&journal);
	NO_TAIL_CALL;
}

static int waiter(void *arg)
{
	for (int i = 1; i <= ROUNDS; i++)
		awaits(i);
	(void)arg;
	return 0;
}

SITE static void awaits_the_end(thrd_t thread)
{
	thrd_join(thread, NULL);
	NO_TAIL_CALL;
}

static void counts(void)
{
	thrd_t thread;
	int wrong = 0;

	plainly(1000);
	again(30);
	mtx_lock(&timed);
	thrd_create(&thread, attempts, &wrong);
	thrd_join(thread, NULL);
	mtx_unlock(&timed);
	for (int i = 0; i < 3; i++) {
		wrong += tries() != thrd_success;
		wrong += gives_up() != thrd_success;
	}
	thrd_create(&thread, waiter, NULL);
	for (int i = 1; i <= ROUNDS; i++) {
		while (atomic_load(&awaited) != i)
			sched_yield();
		/* It is free only once the waiter waits. */
		mtx_lock(&journal);
		turn = i;
		cnd_signal(&changed);
		mtx_unlock(&journal);
	}
	awaits_the_end(thread);
	truth("wrong", (uint64_t)wrong);
}

/* --- codes ----------------------------------------------------------------------------------- */

#define SHOW(call)                                                                                                     \
	do {                                                                                                           \
		errno = 4711;                                                                                          \
		int answer = (call);                                                                                   \
		printf("%-50s %d%s\n", #call, answer, errno == 4711 ? "" : " errno");                                  \
	} while (0)

static int contend(void *arg)
{
	struct timespec long_ago = { 1, 0 }, nonsense = { 1, -1 };
	SHOW(mtx_trylock(arg));
	SHOW(mtx_timedlock(arg, &long_ago));
	SHOW(mtx_timedlock(arg, &nonsense));
	SHOW(mtx_unlock(arg) == thrd_success);
	return 0;
}

static int exits(void *arg)
{
	(void)arg;
	thrd_exit(-2);
}

static void in_thread(int (*fn)(void *), void *arg)
{
	thrd_t thread;
	int result = 99, created = thrd_create(&thread, fn, arg);
	SHOW(thrd_join(thread, &result));
	SHOW(created);
	printf("result %d\n", result);
}

static void once(void)
{
	puts("once");
}

static void codes(void)
{
	static once_flag flag = ONCE_FLAG_INIT;
	struct timespec long_ago = { 1, 0 }, nonsense = { 1, -1 };
	mtx_t lock;
	cnd_t cond;

	SHOW(mtx_init(&lock, mtx_recursive));
	SHOW(mtx_unlock(&lock));
	SHOW(mtx_lock(&lock));
	SHOW(mtx_lock(&lock));
	SHOW(mtx_trylock(&lock));
	/* It is not the other thread's to unlock. */
	in_thread(contend, &lock);
	SHOW(mtx_unlock(&lock));
	SHOW(mtx_unlock(&lock));
	SHOW(mtx_unlock(&lock));
	mtx_destroy(&lock);
	SHOW(mtx_init(&lock, mtx_recursive | mtx_timed));
	SHOW(mtx_timedlock(&lock, &long_ago));
	SHOW(mtx_timedlock(&lock, &long_ago));
	SHOW(mtx_unlock(&lock));
	SHOW(mtx_unlock(&lock));
	mtx_destroy(&lock);
	SHOW(mtx_init(&lock, 77));
	mtx_destroy(&lock);
	SHOW(mtx_lock(&lock));
	SHOW(mtx_trylock(&lock));

	SHOW(mtx_init(&lock, mtx_plain));
	SHOW(cnd_init(&cond));
	SHOW(mtx_lock(&lock));
	SHOW(mtx_trylock(&lock));
	SHOW(cnd_timedwait(&cond, &lock, &long_ago));
	SHOW(cnd_timedwait(&cond, &lock, &nonsense));
	SHOW(mtx_unlock(&lock));
	SHOW(cnd_signal(&cond));
	SHOW(cnd_broadcast(&cond));
	cnd_destroy(&cond);
	mtx_destroy(&lock);

	in_thread(exits, NULL);
	SHOW(thrd_join(thrd_current(), NULL));
	call_once(&flag, once);
	call_once(&flag, once);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	mtx_init(&accounts, mtx_plain);
	mtx_init(&journal, mtx_plain);
	mtx_init(&nested, mtx_recursive);
	mtx_init(&timed, mtx_timed);
	cnd_init(&changed);
	if (!strcmp(what, "threads") || !strcmp(what, "wrapped") || !strcmp(what, "ordered")) {
		wrapped = !strcmp(what, "wrapped");
		orders(!strcmp(what, "ordered"));
	} else if (!strcmp(what, "join")) {
		joins();
	} else if (!strcmp(what, "counts")) {
		counts();
	} else if (!strcmp(what, "codes")) {
		codes();
	} else {
		return 2;
	}
	cnd_destroy(&changed);
	mtx_destroy(&timed);
	mtx_destroy(&nested);
	mtx_destroy(&journal);
	mtx_destroy(&accounts);
	return 0;
}
