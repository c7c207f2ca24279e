/* Condition variables by the functions that programs were linked with before glibc 2.3.2. */
#include "case.h"

struct story {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	struct gate entered;
	int is_set;
};

static void init_mutex(pthread_mutex_t *mutex, int type)
{
	pthread_mutexattr_t attr;
	MUST(pthread_mutexattr_init(&attr));
	MUST(pthread_mutexattr_settype(&attr, type));
	MUST(pthread_mutex_init(mutex, &attr));
}

#define OLD(name, ...)                                                                                                 \
	extern int old_##name(__VA_ARGS__);                                                                            \
	__asm__(".symver old_" #name ", " #name "@GLIBC_2.2.5")

OLD(pthread_cond_init, pthread_cond_t *, const pthread_condattr_t *);
OLD(pthread_cond_destroy, pthread_cond_t *);
OLD(pthread_cond_wait, pthread_cond_t *, pthread_mutex_t *);
OLD(pthread_cond_timedwait, pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
OLD(pthread_cond_signal, pthread_cond_t *);
OLD(pthread_cond_broadcast, pthread_cond_t *);

static void *wait_old(void *argument)
{
	struct story *story = argument;
	MUST(pthread_mutex_lock(&story->mutex));
	open_gate(&story->entered);
	while (!story->is_set)
		RET(old_pthread_cond_wait(&story->cond, &story->mutex));
	RET(pthread_mutex_unlock(&story->mutex));
	RET(pthread_mutex_unlock(&story->mutex));
	return NULL;
}

static void *wait_old_timed(void *argument)
{
	struct story *story = argument;
	MUST(pthread_mutex_lock(&story->mutex));
	open_gate(&story->entered);
	while (!story->is_set)
		RET(old_pthread_cond_timedwait(&story->cond, &story->mutex, NEVER(CLOCK_REALTIME)));
	RET(pthread_mutex_unlock(&story->mutex));
	RET(pthread_mutex_unlock(&story->mutex));
	return NULL;
}

static void old_abi(void *(*wait)(void *), int (*wake)(pthread_cond_t *), int is_static)
{
	struct story *story = shared_memory(sizeof *story);
	init_mutex(&story->mutex, PTHREAD_MUTEX_ERRORCHECK);
	if (!is_static)
		RET(old_pthread_cond_init(&story->cond, NULL));
	struct worker worker;
	start(&worker, wait, story);
	pass(&story->entered);
	/* Given up by the wait: so the wait has begun. */
	RET(pthread_mutex_lock(&story->mutex));
	await_futex(getpid(), worker.tid, NULL, 0);
	story->is_set = 1;
	RET(pthread_mutex_unlock(&story->mutex));
	RET(wake(&story->cond));
	finish(&worker);
	MUST(pthread_mutex_lock(&story->mutex));
	RET(old_pthread_cond_timedwait(&story->cond, &story->mutex, PAST));
	RET(pthread_mutex_unlock(&story->mutex));
	RET(old_pthread_cond_destroy(&story->cond));
}

CASE(signal)
{
	old_abi(wait_old, old_pthread_cond_signal, 0);
}

CASE(broadcast)
{
	old_abi(wait_old, old_pthread_cond_broadcast, 0);
}

CASE(timed)
{
	old_abi(wait_old_timed, old_pthread_cond_signal, 0);
}

CASE(static)
{
	old_abi(wait_old, old_pthread_cond_signal, 1);
}

CASE(static_broadcast)
{
	old_abi(wait_old_timed, old_pthread_cond_broadcast, 1);
}
