/* Functions by their other names, which older programs and the C++ library call, and by names that macros hide. */
#include "case.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* A version that nothing is linked with any more. */
#define OLD(version, name, ...)                                                                                        \
	extern int old_##name(__VA_ARGS__);                                                                            \
	__asm__(".symver old_" #name ", " #name "@GLIBC_" version)

OLD("2.2.5", __pthread_mutexattr_init, pthread_mutexattr_t *);
OLD("2.2.5", __pthread_mutexattr_destroy, pthread_mutexattr_t *);
OLD("2.2.5", __pthread_mutexattr_settype, pthread_mutexattr_t *, int);
OLD("2.2.5", pthread_mutexattr_setkind_np, pthread_mutexattr_t *, int);
OLD("2.2.5", pthread_mutexattr_getkind_np, const pthread_mutexattr_t *, int *);
OLD("2.4", pthread_mutexattr_setrobust_np, pthread_mutexattr_t *, int);
OLD("2.4", pthread_mutexattr_getrobust_np, const pthread_mutexattr_t *, int *);
OLD("2.2.5", __pthread_once, pthread_once_t *, void (*)(void));
OLD("2.2.5", __pthread_key_create, pthread_key_t *, void (*)(void *));
OLD("2.2.5", __pthread_setspecific, pthread_key_t, const void *);
extern void *old___pthread_getspecific(pthread_key_t);
__asm__(".symver old___pthread_getspecific, __pthread_getspecific@GLIBC_2.2.5");
OLD("2.2.5", pthread_yield, void);
OLD("2.3.3", pthread_setaffinity_np, pthread_t, const cpu_set_t *);
OLD("2.3.3", pthread_getaffinity_np, pthread_t, cpu_set_t *);
OLD("2.3.3", pthread_attr_setaffinity_np, pthread_attr_t *, const cpu_set_t *);
OLD("2.3.3", pthread_attr_getaffinity_np, const pthread_attr_t *, cpu_set_t *);

/* One that is no macro and not built into the compiler. */
#define PLAIN(result, name, ...) extern result plain_##name(__VA_ARGS__) __asm__(#name)

PLAIN(int, pthread_equal, pthread_t, pthread_t);
PLAIN(int, thrd_equal, thrd_t, thrd_t);
PLAIN(int, __sigaction, int, const struct sigaction *, struct sigaction *);
PLAIN(int, __sigsuspend, const sigset_t *);
PLAIN(int, sigpause, int);
PLAIN(pid_t, __fork, void);
PLAIN(pid_t, __vfork, void);
PLAIN(int, __clone, int (*)(void *), void *, int, void *, ...);
PLAIN(int, setjmp, jmp_buf) __attribute__((returns_twice));
PLAIN(void, _longjmp, jmp_buf, int) __attribute__((noreturn));
PLAIN(void, __longjmp_chk, jmp_buf, int) __attribute__((noreturn));

static pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

CASE(attributes_of_mutexes)
{
	pthread_mutexattr_t attr;
	pthread_mutex_t made;
	int value = -1;
	RET(old___pthread_mutexattr_init(&attr));
	RET(old___pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE));
	RET(old___pthread_mutexattr_settype(&attr, 99));
	RET(old_pthread_mutexattr_getkind_np(&attr, &value));
	say("kind %d", value);
	RET(old_pthread_mutexattr_setkind_np(&attr, PTHREAD_MUTEX_ERRORCHECK));
	RET(old_pthread_mutexattr_setkind_np(&attr, 99));
	RET(old_pthread_mutexattr_setrobust_np(&attr, PTHREAD_MUTEX_ROBUST));
	RET(old_pthread_mutexattr_setrobust_np(&attr, 99));
	RET(old_pthread_mutexattr_getrobust_np(&attr, &value));
	say("robust %d", value);
	RET(pthread_mutex_init(&made, &attr));
	RET(pthread_mutex_lock(&made));
	RET(pthread_mutex_lock(&made));
	RET(pthread_mutex_unlock(&made));
	RET(old___pthread_mutexattr_destroy(&attr));
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void do_it(void)
{
	say("done");
	RET(pthread_mutex_lock(&mutex));
	RET(pthread_mutex_unlock(&mutex));
}

static void *once_more(void *unused)
{
	RET(old___pthread_once(&once, do_it));
	RET(pthread_once(&once, do_it));
	return unused;
}

CASE(once)
{
	once_more(NULL);
	in_thread(once_more, NULL);
}

static pthread_key_t key;

static void at_the_end(void *value)
{
	say("the end of %s", (const char *)value);
	do_it();
}

static void *with_storage(void *unused)
{
	RET(old___pthread_setspecific(key, "a thread"));
	say("%s", (const char *)old___pthread_getspecific(key));
	return unused;
}

CASE(storage)
{
	RET(old___pthread_key_create(&key, at_the_end));
	in_thread(with_storage, NULL);
	RET(old___pthread_setspecific(PTHREAD_KEYS_MAX, "none"));
}

CASE(identity)
{
	SYS(plain_pthread_equal(pthread_self(), pthread_self()) != 0);
	SYS(plain_thrd_equal(thrd_current(), thrd_current()) != 0);
	RET(old_pthread_yield());
}

static void *nothing(void *unused)
{
	return unused;
}

/* The versions that were not told how large a set is. */
CASE(processors)
{
	cpu_set_t set, same;
	pthread_attr_t attr;
	pthread_t thread;
	RET(old_pthread_getaffinity_np(pthread_self(), &set));
	RET(old_pthread_setaffinity_np(pthread_self(), &set));
	MUST(pthread_attr_init(&attr));
	RET(old_pthread_attr_setaffinity_np(&attr, &set));
	RET(old_pthread_attr_getaffinity_np(&attr, &same));
	say("the same: %d", memcmp(&set, &same, 128) == 0);
	MUST(pthread_create(&thread, &attr, nothing, NULL));
	RET(pthread_join(thread, NULL));
}

/* A stack by its higher end. */
CASE(stack)
{
	static char memory[1 << 17] __attribute__((aligned(4096)));
	pthread_attr_t attr;
	void *at = NULL;
	RET(pthread_attr_init(&attr));
	RET(pthread_attr_setstackaddr(&attr, memory + sizeof memory));
	RET(pthread_attr_getstackaddr(&attr, &at));
	say("the same: %d", at == memory + sizeof memory);
	RET(pthread_attr_setstacksize(&attr, sizeof memory));
	pthread_t thread;
	RET(pthread_key_create(&key, NULL));
	MUST(pthread_create(&thread, &attr, with_storage, NULL));
	MUST(pthread_join(thread, NULL));
	RET(pthread_attr_destroy(&attr));
}

static void handler(int number)
{
	say("handled: %s", sigabbrev_np(number));
}

CASE(signals)
{
	struct sigaction old, action = {.sa_handler = handler};
	sigset_t set;
	SYS(plain___sigaction(SIGUSR1, &action, NULL));
	SYS(plain___sigaction(SIGUSR1, NULL, &old));
	say("the same: %d", old.sa_handler == handler);
	SYS(plain___sigaction(SIGKILL, &action, NULL));
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	MUST(sigprocmask(SIG_BLOCK, &set, NULL));
	raise(SIGUSR1);
	sigemptyset(&set);
	SYS(plain___sigsuspend(&set));
	raise(SIGUSR1);
	SYS(plain_sigpause(0));
#if __GLIBC_PREREQ(2, 32)
	say("%s", sigdescr_np(SIGUSR1));
#endif
}

static int in_clone(void *argument)
{
	do_it();
	return *(int *)argument;
}

CASE(processes)
{
	static char stack[1 << 17] __attribute__((aligned(64)));
	int answer = 5, status;
	pid_t child = plain___fork();
	if (child == 0) {
		do_it();
		_exit(3);
	}
	waitpid(child, &status, 0);
	say("%s", ending(status));
	child = plain___clone(in_clone, stack + sizeof stack, SIGCHLD, &answer);
	waitpid(child, &status, 0);
	say("%s", ending(status));
	child = plain___vfork();
	if (child == 0)
		_exit(4);
	waitpid(child, &status, 0);
	say("%s", ending(status));
	do_it();
}

static jmp_buf back;

CASE(jumps)
{
	static volatile int times;
	int value = plain_setjmp(back);
	say("%d", value);
	do_it();
	if (times++ == 0)
		plain__longjmp(back, 7);
	if (times++ == 2)
		plain___longjmp_chk(back, 8);
}
