/* What OCaml's runtime does with its master lock, in functions and with a lock that are named as the runtime's; with -DOWN, the
 * lock has another name. A thread waits for the master lock with a lock of its own held, which the signaller takes as well.
 */
#include <pthread.h>

#ifdef OWN
#define caml_master_lock own_lock
#endif

static pthread_mutex_t caml_master_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_free = PTHREAD_COND_INITIALIZER;
static int busy, waiters;

static pthread_mutex_t mine = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noipa)) void caml_thread_leave_blocking_section(void)
{
	pthread_mutex_lock(&caml_master_lock);
	while (busy) {
		waiters++;
		pthread_cond_wait(&is_free, &caml_master_lock);
		waiters--;
	}
	busy = 1;
	pthread_mutex_unlock(&caml_master_lock);
}

__attribute__((noipa)) void caml_thread_enter_blocking_section(void)
{
	pthread_mutex_lock(&caml_master_lock);
	busy = 0;
	pthread_mutex_unlock(&caml_master_lock);
	pthread_cond_signal(&is_free);
}

static void *locks(void *nothing)
{
	pthread_mutex_lock(&mine);
	caml_thread_leave_blocking_section();
	pthread_mutex_unlock(&mine);
	caml_thread_enter_blocking_section();
	return nothing;
}

static int has_waiter(void)
{
	int count;

	pthread_mutex_lock(&caml_master_lock);
	count = waiters;
	pthread_mutex_unlock(&caml_master_lock);
	return count;
}

int main(void)
{
	pthread_t thread;

	caml_thread_leave_blocking_section();
	/* The signaller needs that lock, but not while it owns the master lock and another waits. */
	pthread_mutex_lock(&mine);
	pthread_mutex_unlock(&mine);
	pthread_create(&thread, NULL, locks, NULL);
	while (!has_waiter())
		;
	caml_thread_enter_blocking_section();
	pthread_join(thread, NULL);
	return 0;
}
