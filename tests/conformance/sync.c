/* Spinlocks, barriers, and what is to be done once. */
#include "case.h"

/* ---- Spinlocks ---- */

static void *try_spin(void *argument)
{
	pthread_spinlock_t *spin = argument;
	if (RET(pthread_spin_trylock(spin)) == 0)
		RET(pthread_spin_unlock(spin));
	return NULL;
}

static void spin_script(int shared)
{
	pthread_spinlock_t *spin = shared_memory(sizeof *spin);
	RET(pthread_spin_init(spin, shared));
	RET(pthread_spin_lock(spin));
	RET(pthread_spin_trylock(spin));
	in_thread(try_spin, (void *)spin);
	RET(pthread_spin_unlock(spin));
	in_thread(try_spin, (void *)spin);
	RET(pthread_spin_trylock(spin));
	RET(pthread_spin_unlock(spin));
	RET(pthread_spin_unlock(spin));
	in_thread(try_spin, (void *)spin);
	RET(pthread_spin_destroy(spin));
	RET(pthread_spin_init(spin, shared));
	RET(pthread_spin_lock(spin));
	RET(pthread_spin_init(spin, shared));
	RET(pthread_spin_trylock(spin));
	LOOKS_INSIDE();
	say("word %d", *spin);
}

CASE(spin)
{
	spin_script(PTHREAD_PROCESS_PRIVATE);
}

CASE(spin_shared)
{
	spin_script(PTHREAD_PROCESS_SHARED);
}

CASE(spin_of_no_sharing)
{
	spin_script(17);
}

static pthread_spinlock_t counted_spin;
static int count;

static void *count_up(void *unused)
{
	for (int i = 0; i < 20000; i++) {
		pthread_spin_lock(&counted_spin);
		count++;
		pthread_spin_unlock(&counted_spin);
	}
	return unused;
}

CASE(spin_keeps_others_out)
{
	MUST(pthread_spin_init(&counted_spin, 0));
	struct worker one, other;
	start(&one, count_up, NULL);
	start(&other, count_up, NULL);
	finish(&one);
	finish(&other);
	say("%d", count);
}

static void *unlock_spin(void *argument)
{
	RET(pthread_spin_unlock((pthread_spinlock_t *)argument));
	return NULL;
}

CASE(spin_unlocked_by_another)
{
	pthread_spinlock_t spin;
	MUST(pthread_spin_init(&spin, 0));
	RET(pthread_spin_lock(&spin));
	in_thread(unlock_spin, (void *)&spin);
	RET(pthread_spin_trylock(&spin));
}

/* One is four bytes, and its neighbours are others'. */
CASE(spins_side_by_side)
{
	unsigned words[5] = {0xaaaaaaaa, 0, 0xbbbbbbbb, 0, 0xcccccccc};
	pthread_spinlock_t *one = (pthread_spinlock_t *)&words[1], *other = (pthread_spinlock_t *)&words[3];
	MUST(pthread_spin_init(one, 0));
	MUST(pthread_spin_init(other, 0));
	RET(pthread_spin_lock(one));
	RET(pthread_spin_lock(other));
	RET(pthread_spin_unlock(one));
	RET(pthread_spin_trylock(one));
	RET(pthread_spin_unlock(other));
	RET(pthread_spin_unlock(one));
	say("%x %x %x", words[0], words[2], words[4]);
}

/* ---- Barriers ---- */

static pthread_barrier_t barrier;
static atomic_int serial, others, wrong;

static void *arrive(void *unused)
{
	for (int i = 0; i < 50; i++) {
		errno = SENTINEL;
		int result = pthread_barrier_wait(&barrier);
		atomic_int *which = result == PTHREAD_BARRIER_SERIAL_THREAD ? &serial : result ? &wrong : &others;
		atomic_fetch_add(which, 1);
		if (errno != SENTINEL)
			atomic_fetch_add(&wrong, 1);
	}
	return unused;
}

static void barrier_of(unsigned threads)
{
	struct worker workers[8];
	RET(pthread_barrier_init(&barrier, NULL, threads));
	for (unsigned i = 0; i < threads; i++)
		start(&workers[i], arrive, NULL);
	for (unsigned i = 0; i < threads; i++)
		finish(&workers[i]);
	say("%d serial, %d others, %d wrong", serial, others, wrong);
	RET(pthread_barrier_destroy(&barrier));
}

CASE(barrier_of_one)
{
	barrier_of(1);
}

CASE(barrier_of_two)
{
	barrier_of(2);
}

CASE(barrier_of_eight)
{
	barrier_of(8);
}

CASE(barrier_of_none)
{
	RET(pthread_barrier_init(&barrier, NULL, 0));
	RET(pthread_barrier_init(&barrier, NULL, UINT_MAX));
	RET(pthread_barrier_init(&barrier, NULL, INT_MAX));
}

CASE(barrier_shared)
{
	pthread_barrier_t *shared = shared_memory(sizeof *shared);
	pthread_barrierattr_t attr;
	MUST(pthread_barrierattr_init(&attr));
	MUST(pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED));
	RET(pthread_barrier_init(shared, &attr, 2));
	pid_t child = fork();
	int sum = 0;
	for (int i = 0; i < 10; i++)
		sum += pthread_barrier_wait(shared) != 0;
	if (child == 0)
		_exit(sum);
	int status;
	waitpid(child, &status, 0);
	say("%d serial", sum + WEXITSTATUS(status));
	RET(pthread_barrier_destroy(shared));
}

static void *arrive_once(void *unused)
{
	pthread_barrier_wait(&barrier);
	return unused;
}

CASE(barrier_initialised_again)
{
	for (int i = 0; i < 3; i++) {
		struct worker worker;
		RET(pthread_barrier_init(&barrier, NULL, 2));
		start(&worker, arrive_once, NULL);
		await_blocked(&worker, &barrier);
		pthread_barrier_wait(&barrier);
		/* Waits for threads that are still on their way out. */
		RET(pthread_barrier_destroy(&barrier));
		memset(&barrier, 0xee, sizeof barrier);
		finish(&worker);
	}
}

/* ---- Once ---- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void do_it(void)
{
	say("done");
	RET(pthread_mutex_lock(&mutex));
	RET(pthread_mutex_unlock(&mutex));
}

static void *once_more(void *unused)
{
	RET(pthread_once(&once, do_it));
	return unused;
}

CASE(once)
{
	RET(pthread_once(&once, do_it));
	RET(pthread_once(&once, do_it));
	in_thread(once_more, NULL);
}

static struct gate begun, go_on;

static void do_it_slowly(void)
{
	open_gate(&begun);
	pass(&go_on);
}

static void *once_slowly(void *unused)
{
	RET(pthread_once(&once, do_it_slowly));
	return unused;
}

CASE(once_while_another_does_it)
{
	struct worker one, other;
	start(&one, once_slowly, NULL);
	pass(&begun);
	start(&other, once_more, NULL);
	await_blocked(&other, &once);
	open_gate(&go_on);
	finish(&one);
	finish(&other);
}

static void is_cancelled(void)
{
	say("is cancelled");
	pthread_cancel(pthread_self());
	pthread_testcancel();
}

static void *once_cancelled(void *unused)
{
	pthread_once(&once, is_cancelled);
	say("never here");
	return unused;
}

/* Then it has not been done. */
CASE(once_cancelled)
{
	say("cancelled: %d", in_thread(once_cancelled, NULL) == PTHREAD_CANCELED);
	RET(pthread_once(&once, do_it));
}

static void do_it_once_inside(void)
{
	static pthread_once_t inner = PTHREAD_ONCE_INIT;
	RET(pthread_once(&inner, do_it));
}

CASE(once_inside_once)
{
	RET(pthread_once(&once, do_it_once_inside));
}

/* A child that was forked from the middle of it does it itself. */
static void fork_inside(void)
{
	static int depth;
	if (depth++)
		return;
	pid_t child = fork();
	if (child == 0) {
		RET(pthread_once(&once, do_it));
		_exit(0);
	}
	int status;
	waitpid(child, &status, 0);
	say("the child %s", ending(status));
}

CASE(once_across_fork)
{
	RET(pthread_once(&once, fork_inside));
}
