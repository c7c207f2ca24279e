/* How C11's objects live and end. Argument:
 *
 *   clean        all sorts, initialised, used, destroyed, and initialised again
 *   held         a mutex is destroyed by its holder
 *   used         a mutex is locked after it was destroyed
 *   waited       a condition variable is destroyed while a thread waits on it
 *   mtx-twice    a mutex is destroyed twice
 *   cnd-twice    a condition variable is destroyed twice
 *   mtx-again    a mutex is initialised twice
 *   cnd-again    a condition variable is initialised twice
 *   mtx-garbage  a mutex is locked that was never initialised
 *   once-garbage a flag is called on that was never initialised
 *   left         neither is destroyed
 */
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include "asleep.h"

#define NO_TAIL_CALL __asm__ volatile("" ::: "memory")

static mtx_t lock;
static cnd_t changed;
static int has_changed;
static atomic_int waiter_id, destroyer_id;

static void nothing(void)
{
}

static int waits(void *arg)
{
	(void)arg;
	mtx_lock(&lock);
	atomic_store(&waiter_id, thread_id());
	while (!has_changed)
		cnd_wait(&changed, &lock);
	mtx_unlock(&lock);
	return 0;
}

/* What is destroyed waits for those that wait. */
static int rescues(void *arg)
{
	(void)arg;
	await_blocked(&destroyer_id);
	mtx_lock(&lock);
	has_changed = 1;
	cnd_broadcast(&changed);
	mtx_unlock(&lock);
	return 0;
}

static void clean(void)
{
	static once_flag once = ONCE_FLAG_INIT;
	thrd_t thread;

	for (int i = 0; i < 3; i++) {
		mtx_init(&lock, i == 1 ? mtx_recursive : mtx_plain);
		cnd_init(&changed);
		has_changed = 0;
		thrd_create(&thread, waits, NULL);
		await_blocked(&waiter_id);
		mtx_lock(&lock);
		has_changed = 1;
		cnd_signal(&changed);
		mtx_unlock(&lock);
		thrd_join(thread, NULL);
		atomic_store(&waiter_id, 0);
		cnd_destroy(&changed);
		mtx_destroy(&lock);
		call_once(&once, nothing);
	}
}

static void waited(void)
{
	thrd_t threads[2];

	thrd_create(&threads[0], waits, NULL);
	await_blocked(&waiter_id);
	thrd_create(&threads[1], rescues, NULL);
	atomic_store(&destroyer_id, thread_id());
	cnd_destroy(&changed);
	for (int i = 0; i < 2; i++)
		thrd_join(threads[i], NULL);
	mtx_destroy(&lock);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "clean")) {
		clean();
		return 0;
	}
	if (!strcmp(what, "mtx-garbage")) {
		mtx_t garbage;
		memset(&garbage, 0x55, sizeof garbage);
		return mtx_lock(&garbage) == thrd_success;
	}
	if (!strcmp(what, "once-garbage")) {
		once_flag garbage;
		memset(&garbage, 0x54, sizeof garbage);
		call_once(&garbage, nothing);
		return 0;
	}
	if (!strcmp(what, "left")) {
		mtx_t *left_lock = malloc(sizeof *left_lock);
		cnd_t *left_changed = malloc(sizeof *left_changed);
		mtx_init(left_lock, mtx_plain);
		cnd_init(left_changed);
		/* Nothing else is expected of variables like these two. */
		mtx_init(&lock, mtx_plain);
		cnd_init(&changed);
		return 0;
	}
	mtx_init(&lock, mtx_plain);
	cnd_init(&changed);
	if (!strcmp(what, "held")) {
		mtx_lock(&lock);
		mtx_destroy(&lock);
		mtx_unlock(&lock);
		mtx_destroy(&lock);
		cnd_destroy(&changed);
	} else if (!strcmp(what, "used")) {
		cnd_destroy(&changed);
		mtx_destroy(&lock);
		mtx_lock(&lock);
	} else if (!strcmp(what, "waited")) {
		waited();
	} else if (!strcmp(what, "mtx-twice")) {
		cnd_destroy(&changed);
		mtx_destroy(&lock);
		mtx_destroy(&lock);
	} else if (!strcmp(what, "cnd-twice")) {
		mtx_destroy(&lock);
		cnd_destroy(&changed);
		cnd_destroy(&changed);
	} else if (!strcmp(what, "mtx-again")) {
		mtx_init(&lock, mtx_plain);
		mtx_destroy(&lock);
		cnd_destroy(&changed);
	} else if (!strcmp(what, "cnd-again")) {
		cnd_init(&changed);
		mtx_destroy(&lock);
		cnd_destroy(&changed);
	} else {
		return 2;
	}
	NO_TAIL_CALL;
	return 0;
}
