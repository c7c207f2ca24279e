/* Threads: created with and without attributes, joined in every form, named, and what runs at their ends. */
#include "case.h"

#include <dlfcn.h>
#include <execinfo.h>

static pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static struct gate gate, begun, ended;

/* Open unless the creation of a thread is yet to be said: what the thread says comes after that. */
static struct gate told = {1};

#define CREATE(call)                                                                                                   \
	({                                                                                                             \
		told.is_open = 0;                                                                                      \
		RET(call);                                                                                             \
		open_gate(&told);                                                                                      \
	})

static void *take_and_give(void *argument)
{
	pass(&told);
	RET(pthread_mutex_lock(&mutex));
	RET(pthread_mutex_unlock(&mutex));
	return argument;
}

static void *stay(void *argument)
{
	open_gate(&begun);
	pass(&gate);
	return argument;
}

/* ---- Creation ---- */

CASE(created_and_joined)
{
	for (long i = 0; i < 5; i++) {
		pthread_t thread;
		void *value = NULL;
		CREATE(pthread_create(&thread, NULL, take_and_give, (void *)i));
		RET(pthread_join(thread, &value));
		say("%ld", (long)value);
	}
}

CASE(many_at_once)
{
	static pthread_t threads[600];
	int failures = 0;
	pthread_attr_t attr;
	MUST(pthread_attr_init(&attr));
	MUST(pthread_attr_setstacksize(&attr, 1 << 16));
	for (int i = 0; i < 600; i++)
		failures += pthread_create(&threads[i], &attr, stay, (void *)(long)i) != 0;
	open_gate(&gate);
	for (int i = 0; i < 600; i++) {
		void *value;
		failures += pthread_join(threads[i], &value) != 0 || value != (void *)(long)i;
	}
	say("%d failures", failures);
}

CASE(one_after_the_other)
{
	int failures = 0;
	for (int i = 0; i < 600; i++) {
		pthread_t thread;
		failures += pthread_create(&thread, NULL, stay, NULL) != 0;
		open_gate(&gate);
		failures += pthread_join(thread, NULL) != 0;
	}
	say("%d failures", failures);
}

static void *own_attributes(void *argument)
{
	pthread_attr_t attr;
	size_t stack_size, guard_size;
	void *at;
	int state;
	char here;
	pass(&told);
	RET(pthread_getattr_np(pthread_self(), &attr));
	RET(pthread_attr_getstack(&attr, &at, &stack_size));
	RET(pthread_attr_getguardsize(&attr, &guard_size));
	RET(pthread_attr_getdetachstate(&attr, &state));
	say("stack %zu guard %zu state %d inside %d", stack_size, guard_size, state,
	    &here >= (char *)at && &here < (char *)at + stack_size);
	RET(pthread_attr_destroy(&attr));
	take_and_give(NULL);
	open_gate(&ended);
	return argument;
}

CASE(with_stack_size)
{
	pthread_attr_t attr;
	pthread_t thread;
	MUST(pthread_attr_init(&attr));
	RET(pthread_attr_setstacksize(&attr, 1 << 18));
	RET(pthread_attr_setguardsize(&attr, 1 << 14));
	CREATE(pthread_create(&thread, &attr, own_attributes, NULL));
	RET(pthread_join(thread, NULL));
}

CASE(with_smallest_stack)
{
	pthread_attr_t attr;
	pthread_t thread;
	MUST(pthread_attr_init(&attr));
	/* What the program says in it takes some, too. */
	RET(pthread_attr_setstacksize(&attr, (size_t)PTHREAD_STACK_MIN + 8192));
	CREATE(pthread_create(&thread, &attr, take_and_give, NULL));
	RET(pthread_join(thread, NULL));
}

CASE(with_own_stack)
{
	static char memory[1 << 17] __attribute__((aligned(4096)));
	pthread_attr_t attr;
	pthread_t thread;
	MUST(pthread_attr_init(&attr));
	RET(pthread_attr_setstack(&attr, memory, sizeof memory));
	for (int i = 0; i < 3; i++) {
		CREATE(pthread_create(&thread, &attr, own_attributes, NULL));
		RET(pthread_join(thread, NULL));
	}
}

CASE(detached_by_attribute)
{
	pthread_attr_t attr;
	pthread_t thread;
	MUST(pthread_attr_init(&attr));
	RET(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED));
	CREATE(pthread_create(&thread, &attr, stay, NULL));
	pass(&begun);
	RET(pthread_join(thread, NULL));
	RET(pthread_tryjoin_np(thread, NULL));
	RET(pthread_detach(thread));
	open_gate(&gate);
}

CASE(with_scheduling)
{
	pthread_attr_t attr;
	pthread_t thread;
	struct sched_param param = {.sched_priority = 0};
	MUST(pthread_attr_init(&attr));
	MUST(pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED));
	MUST(pthread_attr_setschedpolicy(&attr, SCHED_OTHER));
	MUST(pthread_attr_setschedparam(&attr, &param));
	CREATE(pthread_create(&thread, &attr, take_and_give, NULL));
	RET(pthread_join(thread, NULL));
	cpu_set_t none;
	CPU_ZERO(&none);
	MUST(pthread_attr_setaffinity_np(&attr, sizeof none, &none));
	CREATE(pthread_create(&thread, &attr, take_and_give, NULL));
}

CASE(with_stack_too_large)
{
	pthread_attr_t attr;
	pthread_t thread;
	MUST(pthread_attr_init(&attr));
	MUST(pthread_attr_setstacksize(&attr, 1ul << 46));
	CREATE(pthread_create(&thread, &attr, take_and_give, NULL));
	CREATE(pthread_create(&thread, &attr, take_and_give, NULL));
	take_and_give(NULL);
}

static void *own_mask(void *argument)
{
	sigset_t set;
	pass(&told);
	RET(pthread_sigmask(SIG_SETMASK, NULL, &set));
	say("USR1 %d USR2 %d", sigismember(&set, SIGUSR1), sigismember(&set, SIGUSR2));
	return argument;
}

CASE(with_signal_mask)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	RET(pthread_sigmask(SIG_BLOCK, &set, NULL));
	in_thread(own_mask, NULL);
	sigaddset(&set, SIGUSR2);
	MUST(pthread_attr_init(&attr));
#if __GLIBC_PREREQ(2, 32)
	RET(pthread_attr_setsigmask_np(&attr, &set));
#endif
	CREATE(pthread_create(&thread, &attr, own_mask, NULL));
	RET(pthread_join(thread, NULL));
}

/* ---- Old and new versions of the functions ---- */

#define OLD(name, ...)                                                                                                 \
	extern int old_##name(__VA_ARGS__);                                                                            \
	__asm__(".symver old_" #name ", " #name "@GLIBC_2.2.5")

OLD(pthread_create, pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
OLD(pthread_join, pthread_t, void **);
OLD(pthread_detach, pthread_t);
OLD(pthread_once, pthread_once_t *, void (*)(void));

static void say_once(void)
{
	say("once");
}

CASE(old_versions)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_t thread;
	void *value = NULL;
	CREATE(old_pthread_create(&thread, NULL, take_and_give, &mutex));
	RET(old_pthread_join(thread, &value));
	say("%d", value == &mutex);
	CREATE(old_pthread_create(&thread, NULL, stay, NULL));
	RET(old_pthread_detach(thread));
	open_gate(&gate);
	RET(old_pthread_once(&once, say_once));
	RET(old_pthread_once(&once, say_once));
}

/* ---- Joins ---- */

CASE(joins_that_fail)
{
	struct worker worker;
	start(&worker, stay, NULL);
	RET(pthread_join(pthread_self(), NULL));
	RET(pthread_tryjoin_np(worker.thread, NULL));
	RET(pthread_timedjoin_np(worker.thread, NULL, PAST));
	RET(pthread_timedjoin_np(worker.thread, NULL, SOON(CLOCK_REALTIME)));
	RET(pthread_clockjoin_np(worker.thread, NULL, CLOCK_MONOTONIC, PAST));
	RET(pthread_clockjoin_np(worker.thread, NULL, CLOCK_MONOTONIC, SOON(CLOCK_MONOTONIC)));
	RET(pthread_clockjoin_np(worker.thread, NULL, CLOCK_REALTIME, PAST));
	RET(pthread_clockjoin_np(worker.thread, NULL, NO_CLOCK, PAST));
#if __GLIBC_PREREQ(2, 36)
	/* glibc 2.31 waits by this clock, and so for ever. */
	RET(pthread_clockjoin_np(worker.thread, NULL, CLOCK_BOOTTIME, NEVER(CLOCK_BOOTTIME)));
#endif
	RET(pthread_tryjoin_np(pthread_self(), NULL));
	open_gate(&gate);
	finish(&worker);
}

/* Waits until a thread is over, but not joined. */
static void await_end(pthread_t thread, pid_t tid)
{
	(void)thread;
	while (syscall(SYS_tgkill, getpid(), tid, 0) == 0)
		syscall(SYS_sched_yield);
}

CASE(joins_of_ended_threads)
{
	for (int way = 0; way < 5; way++) {
		struct worker worker;
		void *value = NULL;
		start(&worker, take_and_give, &mutex);
		await_end(worker.thread, worker.tid);
		switch (way) {
		case 0:
			RET(pthread_join(worker.thread, &value));
			break;
		case 1:
			RET(pthread_tryjoin_np(worker.thread, &value));
			break;
		case 2:
			RET(pthread_timedjoin_np(worker.thread, &value, PAST));
			break;
		case 3:
			RET(pthread_clockjoin_np(worker.thread, &value, CLOCK_MONOTONIC, PAST));
			break;
		case 4:
			RET(pthread_timedjoin_np(worker.thread, &value, NULL));
			break;
		}
		say("%d", value == &mutex);
		print_said(&worker);
	}
}

static pthread_t first;

static void *join_first(void *argument)
{
	RET(pthread_join(first, NULL));
	return argument;
}

CASE(joins_in_a_circle)
{
	struct worker worker;
	first = pthread_self();
	start(&worker, join_first, NULL);
	await_futex(getpid(), worker.tid, NULL, 0);
	RET(pthread_timedjoin_np(worker.thread, NULL, PAST));
	RET(pthread_tryjoin_np(worker.thread, NULL));
}

CASE(joined_by_two)
{
	struct worker target, one;
	start(&target, stay, NULL);
	first = target.thread;
	start(&one, join_first, NULL);
	await_futex(getpid(), one.tid, NULL, 0);
	RET(pthread_tryjoin_np(first, NULL));
	RET(pthread_timedjoin_np(first, NULL, PAST));
	open_gate(&gate);
	finish(&one);
}

/* ---- Names ---- */

CASE(names)
{
	char name[64] = "";
	struct worker worker;
	RET(pthread_setname_np(pthread_self(), "first"));
	RET(pthread_getname_np(pthread_self(), name, sizeof name));
	say("%s", name);
#if __GLIBC_PREREQ(2, 42)
	say("%d", pthread_gettid_np(pthread_self()) == gettid());
#endif
	RET(pthread_setname_np(pthread_self(), "exactly15bytes!"));
	RET(pthread_getname_np(pthread_self(), name, 16));
	say("%s", name);
	RET(pthread_setname_np(pthread_self(), "exactly16bytes!!"));
	RET(pthread_getname_np(pthread_self(), name, 15));
	RET(pthread_setname_np(pthread_self(), ""));
	RET(pthread_getname_np(pthread_self(), name, sizeof name));
	say("%s.", name);
	start(&worker, stay, NULL);
	RET(pthread_setname_np(worker.thread, "another"));
	RET(pthread_getname_np(worker.thread, name, sizeof name));
	say("%s", name);
	open_gate(&gate);
	finish(&worker);
	RET(prctl(PR_SET_NAME, "by prctl"));
	RET(pthread_getname_np(pthread_self(), name, sizeof name));
	say("%s", name);
}

/* ---- What runs at a thread's end ---- */

static pthread_key_t key, other_key;

static void lock_at_the_end(void *value)
{
	static _Thread_local int rounds;
	say("a destructor of %s, round %d", (const char *)value, ++rounds);
	RET(pthread_mutex_lock(&mutex));
	RET(pthread_mutex_unlock(&mutex));
	RET(pthread_setspecific(key, value));
}

static void say_other(void *value)
{
	say("the other's of %s", (const char *)value);
	RET(pthread_mutex_lock(&mutex));
	RET(pthread_mutex_unlock(&mutex));
}

static void *with_keys(void *argument)
{
	RET(pthread_setspecific(key, "one"));
	RET(pthread_setspecific(other_key, "two"));
	say("%s", (const char *)pthread_getspecific(key));
	return argument;
}

CASE(key_destructors)
{
	RET(pthread_key_create(&key, lock_at_the_end));
	RET(pthread_key_create(&other_key, say_other));
	in_thread(with_keys, NULL);
	RET(pthread_key_delete(other_key));
	RET(pthread_key_delete(other_key));
	RET(pthread_setspecific(other_key, "gone"));
}

CASE(all_keys)
{
	static pthread_key_t keys[PTHREAD_KEYS_MAX];
	int made = 0;
	while (made < PTHREAD_KEYS_MAX && pthread_key_create(&keys[made], NULL) == 0)
		made++;
	say("%d keys", made);
	in_thread(take_and_give, NULL);
}

static void *hold_to_the_end(void *argument)
{
	RET(pthread_setspecific(key, argument));
	RET(pthread_mutex_lock(&mutex));
	return argument;
}

static void unlock_at_the_end(void *value)
{
	(void)value;
	RET(pthread_mutex_trylock(&mutex));
	RET(pthread_mutex_unlock(&mutex));
}

CASE(unlocked_by_a_destructor)
{
	RET(pthread_key_create(&key, unlock_at_the_end));
	in_thread(hold_to_the_end, &mutex);
	RET(pthread_mutex_trylock(&mutex));
}

static void *with_every_key(void *keys)
{
	for (int i = 0; i < PTHREAD_KEYS_MAX; i++)
		if (pthread_setspecific(((pthread_key_t *)keys)[i], &mutex) || pthread_getspecific(((pthread_key_t *)keys)[i]) != &mutex)
			say("key %d", i);
	return keys;
}

static void count_end(void *value)
{
	static int ends;
	if (++ends % PTHREAD_KEYS_MAX)
		return;
	say("%d", ends);
	RET(pthread_mutex_lock(value));
	RET(pthread_mutex_unlock(value));
}

CASE(values_of_all_keys)
{
	static pthread_key_t keys[PTHREAD_KEYS_MAX];
	int made = 0;
	in_thread(take_and_give, NULL);
	while (made < PTHREAD_KEYS_MAX && (made % 2 ? tss_create(&keys[made], count_end) == thrd_success : pthread_key_create(&keys[made], count_end) == 0))
		made++;
	say("%d keys", made);
	tss_t none;
	pthread_key_t neither;
	C11(tss_create(&none, NULL));
	RET(pthread_key_create(&neither, NULL));
	in_thread(with_every_key, keys);
	in_thread(with_every_key, keys);
}

static void *say_backtrace(void *argument)
{
	void *frames[64];
	int n = backtrace(frames, 64);
	say("%d frames", n);
	for (int i = 0; i < n; i++) {
		Dl_info info;
		if (dladdr(frames[i], &info))
			say("%s", strrchr(info.dli_fname, '/'));
	}
	return argument;
}

static int say_backtrace_of_c11(void *argument)
{
	say_backtrace(argument);
	return 7;
}

static void say_backtrace_at_the_end(void *value)
{
	say_backtrace(value);
}

static void *exit_with_backtrace(void *argument)
{
	pthread_cleanup_push(say_backtrace_at_the_end, argument);
	pthread_setspecific(key, argument);
	pthread_exit(argument);
	pthread_cleanup_pop(0);
}

/* No frame of the thread's call stack is ours. */
CASE(backtrace_in_a_thread)
{
	thrd_t thread;
	int answer = 0;
	void *frames[64];
	say("%d", backtrace(frames, 64) > 0);
	RET(pthread_key_create(&key, say_backtrace_at_the_end));
	in_thread(say_backtrace, NULL);
	in_thread(exit_with_backtrace, &mutex);
	int created = thrd_create(&thread, say_backtrace_of_c11, NULL);
	C11(thrd_join(thread, &answer));
	C11(created);
	say("%d", answer);
}

extern int __cxa_thread_atexit_impl(void (*)(void *), void *, void *);
extern void *__dso_handle __attribute__((visibility("hidden")));

static void *with_thread_local(void *argument)
{
	RET(__cxa_thread_atexit_impl(say_other, "a thread-local", &__dso_handle));
	return argument;
}

CASE(thread_local_destructors)
{
	in_thread(with_thread_local, NULL);
}

CASE(the_main_thread_leaves_first)
{
	pthread_t thread;
	CREATE(pthread_create(&thread, NULL, stay, NULL));
	pass(&begun);
	open_gate(&gate);
	RET(pthread_detach(thread));
	say("the main thread leaves");
	pthread_exit(NULL);
}

/* As programs do that take 0 for no key. */
CASE(key_that_was_never_made)
{
	static pthread_key_t none, one, other;
	RET(pthread_setspecific(none, "nothing"));
	say("%d", pthread_getspecific(none) == NULL);
	RET(pthread_key_delete(none));
	RET(pthread_key_create(&one, NULL));
	RET(pthread_key_create(&other, NULL));
	say("the first %u, the next %u", one, other);
	RET(pthread_key_delete(one));
	RET(pthread_setspecific(one, "deleted"));
	in_thread(take_and_give, NULL);
}
