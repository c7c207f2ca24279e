/* Attribute objects: what can be set, what can be read back, what is refused. */
#include "case.h"

/* Sets each of `values`, and reads back what is there then. */
#define SWEEP(attr, set, get, type, ...)                                                                               \
	do {                                                                                                           \
		const type values_[] = {__VA_ARGS__};                                                                  \
		for (size_t i_ = 0; i_ < sizeof values_ / sizeof *values_; i_++) {                                     \
			type value_ = 0;                                                                               \
			say("value %ld", (long)values_[i_]);                                                           \
			RET(set(attr, values_[i_]));                                                                   \
			RET(get(attr, &value_));                                                                       \
			say("has %ld", (long)value_);                                                                  \
		}                                                                                                      \
	} while (0)

CASE(mutex_type)
{
	pthread_mutexattr_t attr;
	RET(pthread_mutexattr_init(&attr));
	SWEEP(&attr, pthread_mutexattr_settype, pthread_mutexattr_gettype, int, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
	      PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP, 4, -1, INT_MAX, PTHREAD_MUTEX_DEFAULT);
	RET(pthread_mutexattr_destroy(&attr));
}

CASE(mutex_protocol)
{
	pthread_mutexattr_t attr;
	RET(pthread_mutexattr_init(&attr));
	SWEEP(&attr, pthread_mutexattr_setprotocol, pthread_mutexattr_getprotocol, int, PTHREAD_PRIO_NONE,
	      PTHREAD_PRIO_INHERIT, PTHREAD_PRIO_PROTECT, 3, -1);
	RET(pthread_mutexattr_destroy(&attr));
}

CASE(mutex_robust)
{
	pthread_mutexattr_t attr;
	RET(pthread_mutexattr_init(&attr));
	SWEEP(&attr, pthread_mutexattr_setrobust, pthread_mutexattr_getrobust, int, PTHREAD_MUTEX_ROBUST,
	      PTHREAD_MUTEX_STALLED, 2, -1);
	RET(pthread_mutexattr_destroy(&attr));
}

CASE(mutex_pshared)
{
	pthread_mutexattr_t attr;
	RET(pthread_mutexattr_init(&attr));
	SWEEP(&attr, pthread_mutexattr_setpshared, pthread_mutexattr_getpshared, int, PTHREAD_PROCESS_SHARED,
	      PTHREAD_PROCESS_PRIVATE, 2, -1);
	RET(pthread_mutexattr_destroy(&attr));
}

CASE(mutex_prioceiling)
{
	pthread_mutexattr_t attr;
	RET(pthread_mutexattr_init(&attr));
	SWEEP(&attr, pthread_mutexattr_setprioceiling, pthread_mutexattr_getprioceiling, int, 1, 50, 99, 0, 100, -1);
	RET(pthread_mutexattr_destroy(&attr));
}

/* All that can be asked for at once, and whether a mutex can be made so. */
CASE(mutex_combinations)
{
	int made = 0;
	for (int type = 0; type < 4; type++) {
		for (int protocol = 0; protocol < 3; protocol++) {
			for (int robust = 0; robust < 2; robust++) {
				for (int shared = 0; shared < 2; shared++) {
					pthread_mutexattr_t attr;
					pthread_mutex_t mutex;
					MUST(pthread_mutexattr_init(&attr));
					MUST(pthread_mutexattr_settype(&attr, type));
					MUST(pthread_mutexattr_setprotocol(&attr, protocol));
					MUST(pthread_mutexattr_setrobust(&attr, robust));
					MUST(pthread_mutexattr_setpshared(&attr, shared));
					int result = pthread_mutex_init(&mutex, &attr);
					say("%d %d %d %d: %s, kind %x", type, protocol, robust, shared,
					    error_name(result), result ? 0 : mutex.__data.__kind);
					made += result == 0;
				}
			}
		}
	}
	say("%d made", made);
}

CASE(rwlock_kind)
{
	pthread_rwlockattr_t attr;
	RET(pthread_rwlockattr_init(&attr));
	SWEEP(&attr, pthread_rwlockattr_setkind_np, pthread_rwlockattr_getkind_np, int, PTHREAD_RWLOCK_PREFER_READER_NP,
	      PTHREAD_RWLOCK_PREFER_WRITER_NP, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP, 3, -1);
	RET(pthread_rwlockattr_destroy(&attr));
}

CASE(rwlock_pshared)
{
	pthread_rwlockattr_t attr;
	RET(pthread_rwlockattr_init(&attr));
	SWEEP(&attr, pthread_rwlockattr_setpshared, pthread_rwlockattr_getpshared, int, PTHREAD_PROCESS_SHARED,
	      PTHREAD_PROCESS_PRIVATE, 2, -1);
	RET(pthread_rwlockattr_destroy(&attr));
}

CASE(cond_clock)
{
	pthread_condattr_t attr;
	RET(pthread_condattr_init(&attr));
	SWEEP(&attr, pthread_condattr_setclock, pthread_condattr_getclock, clockid_t, CLOCK_REALTIME, CLOCK_MONOTONIC,
	      CLOCK_BOOTTIME, CLOCK_PROCESS_CPUTIME_ID, CLOCK_MONOTONIC_RAW, -1, NO_CLOCK);
	RET(pthread_condattr_destroy(&attr));
}

CASE(cond_pshared)
{
	pthread_condattr_t attr;
	RET(pthread_condattr_init(&attr));
	SWEEP(&attr, pthread_condattr_setpshared, pthread_condattr_getpshared, int, PTHREAD_PROCESS_SHARED,
	      PTHREAD_PROCESS_PRIVATE, 2, -1);
	RET(pthread_condattr_destroy(&attr));
}

CASE(barrier_pshared)
{
	pthread_barrierattr_t attr;
	RET(pthread_barrierattr_init(&attr));
	SWEEP(&attr, pthread_barrierattr_setpshared, pthread_barrierattr_getpshared, int, PTHREAD_PROCESS_SHARED,
	      PTHREAD_PROCESS_PRIVATE, 2, -1);
	RET(pthread_barrierattr_destroy(&attr));
}

CASE(thread_detachstate)
{
	pthread_attr_t attr;
	RET(pthread_attr_init(&attr));
	SWEEP(&attr, pthread_attr_setdetachstate, pthread_attr_getdetachstate, int, PTHREAD_CREATE_JOINABLE,
	      PTHREAD_CREATE_DETACHED, 2, -1);
	RET(pthread_attr_destroy(&attr));
}

CASE(thread_guardsize)
{
	pthread_attr_t attr;
	RET(pthread_attr_init(&attr));
	SWEEP(&attr, pthread_attr_setguardsize, pthread_attr_getguardsize, size_t, 0, 1, 4096, 65536);
	RET(pthread_attr_destroy(&attr));
}

CASE(thread_stacksize)
{
	pthread_attr_t attr;
	RET(pthread_attr_init(&attr));
	SWEEP(&attr, pthread_attr_setstacksize, pthread_attr_getstacksize, size_t, 1, (size_t)PTHREAD_STACK_MIN - 1,
	      (size_t)PTHREAD_STACK_MIN, 1 << 20, (1 << 20) + 1);
	RET(pthread_attr_destroy(&attr));
}

CASE(thread_scheduling)
{
	pthread_attr_t attr;
	RET(pthread_attr_init(&attr));
	SWEEP(&attr, pthread_attr_setinheritsched, pthread_attr_getinheritsched, int, PTHREAD_INHERIT_SCHED,
	      PTHREAD_EXPLICIT_SCHED, 2, -1);
	SWEEP(&attr, pthread_attr_setschedpolicy, pthread_attr_getschedpolicy, int, SCHED_OTHER, SCHED_FIFO, SCHED_RR,
	      SCHED_BATCH, 99, -1);
	SWEEP(&attr, pthread_attr_setscope, pthread_attr_getscope, int, PTHREAD_SCOPE_SYSTEM, PTHREAD_SCOPE_PROCESS, 2);
	RET(pthread_attr_setschedpolicy(&attr, SCHED_FIFO));
	for (int priority = -1; priority < 101; priority += 17) {
		struct sched_param param = {.sched_priority = priority};
		say("priority %d", priority);
		RET(pthread_attr_setschedparam(&attr, &param));
		RET(pthread_attr_getschedparam(&attr, &param));
		say("has %d", param.sched_priority);
	}
	RET(pthread_attr_destroy(&attr));
}

CASE(thread_stack)
{
	pthread_attr_t attr;
	RET(pthread_attr_init(&attr));
	static char memory[1 << 17] __attribute__((aligned(4096)));
	RET(pthread_attr_setstack(&attr, memory, 1));
	RET(pthread_attr_setstack(&attr, memory, sizeof memory));
	void *at;
	size_t size;
	RET(pthread_attr_getstack(&attr, &at, &size));
	say("the same: %d, size %zu", at == memory, size);
	RET(pthread_attr_destroy(&attr));
}

CASE(thread_affinity)
{
	pthread_attr_t attr;
	cpu_set_t set;
	RET(pthread_attr_init(&attr));
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	RET(pthread_attr_setaffinity_np(&attr, sizeof set, &set));
	CPU_ZERO(&set);
	RET(pthread_attr_getaffinity_np(&attr, sizeof set, &set));
	say("%d, %d", CPU_COUNT(&set), CPU_ISSET(0, &set));
	RET(pthread_attr_destroy(&attr));
}

#if __GLIBC_PREREQ(2, 32)
CASE(thread_sigmask)
{
	pthread_attr_t attr;
	sigset_t set;
	RET(pthread_attr_init(&attr));
	sigemptyset(&set);
	RET(pthread_attr_getsigmask_np(&attr, &set));
	sigaddset(&set, SIGUSR1);
	RET(pthread_attr_setsigmask_np(&attr, &set));
	sigemptyset(&set);
	RET(pthread_attr_getsigmask_np(&attr, &set));
	say("%d %d", sigismember(&set, SIGUSR1), sigismember(&set, SIGUSR2));
	RET(pthread_attr_destroy(&attr));
}
#endif

CASE(default_attributes)
{
	pthread_attr_t attr;
	size_t size;
	RET(pthread_getattr_default_np(&attr));
	RET(pthread_attr_setstacksize(&attr, 1 << 19));
	RET(pthread_setattr_default_np(&attr));
	RET(pthread_attr_destroy(&attr));
	RET(pthread_getattr_default_np(&attr));
	RET(pthread_attr_getstacksize(&attr, &size));
	say("%zu", size);
}
