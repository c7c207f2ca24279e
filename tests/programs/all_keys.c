/* A program that has all keys of thread-specific data that there are.
 *
 *   all_keys [held|destructors|detached]...
 *
 * held: a thread ends with a lock held. destructors: two threads' destructors take two locks in both orders. detached:
 * threads that nobody joins come and go, and the last but one ends with a lock held. Says how many keys it has.
 */
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t kept = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t keys[PTHREAD_KEYS_MAX];
static atomic_int ended, first_is_over;

static void both(pthread_mutex_t *outer, pthread_mutex_t *inner)
{
	pthread_mutex_lock(outer);
	pthread_mutex_lock(inner);
	pthread_mutex_unlock(inner);
	pthread_mutex_unlock(outer);
}

/* A value is the lock to be taken first. Nobody waits for a lock, and nothing that is known orders the two. */
static void lock_both(void *value)
{
	while (value == &b && !atomic_load(&first_is_over))
		sched_yield();
	both(value, value == &a ? &b : &a);
	if (value == &a)
		atomic_store(&first_is_over, 1);
}

static void *with_destructor(void *outer)
{
	pthread_setspecific(keys[PTHREAD_KEYS_MAX - 1], outer);
	return NULL;
}

static void *end_with(void *mutex)
{
	pthread_mutex_lock(mutex);
	return NULL;
}

static void *end_unseen(void *mutex)
{
	pthread_mutex_lock(&a);
	pthread_mutex_unlock(&a);
	if (mutex)
		pthread_mutex_lock(mutex);
	atomic_fetch_add(&ended, 1);
	return NULL;
}

static void in_thread(void *(*run)(void *), void *argument)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, run, argument) == 0)
		pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	int made = 0;
	pthread_key_t key;
	in_thread(end_unseen, NULL);
	while (pthread_key_create(&key, lock_both) == 0)
		keys[made++] = key;
	printf("%d\n", made);
	fflush(stdout);
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "held"))
			in_thread(end_with, &kept);
		if (!strcmp(argv[i], "destructors")) {
			pthread_t threads[2];
			if (pthread_create(&threads[0], NULL, with_destructor, &a) || pthread_create(&threads[1], NULL, with_destructor, &b))
				return 1;
			pthread_join(threads[0], NULL);
			pthread_join(threads[1], NULL);
		}
		if (!strcmp(argv[i], "detached")) {
			atomic_store(&ended, 0);
			for (int n = 0; n < 50; n++) {
				pthread_t thread;
				if (pthread_create(&thread, NULL, end_unseen, n == 48 ? &kept : NULL))
					return 1;
				pthread_detach(thread);
				while (atomic_load(&ended) <= n)
					sched_yield();
			}
		}
	}
	return made != PTHREAD_KEYS_MAX;
}
