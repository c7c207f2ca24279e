/* Each pointer that a function takes, where there is no memory: the call fails as natively, or the process dies of the
 * same signal. A case has functions of one sort; each call is made in a child of its own. */
#include "case.h"

#include <dlfcn.h>
#include <linux/sched.h>
#include <link.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

#pragma GCC diagnostic ignored "-Wnonnull"
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

/* In the middle of pages of each sort, as a function may look before and behind. */
enum { NOTHING, NO_ACCESS, READ_ONLY, NULL_POINTER, SORTS };
static const char *const sorts[SORTS] = {"nothing", "no access", "read only", "null"};
static void *places[SORTS];

static void *region(int protection)
{
	enum { PAGES = 9, PAGE = 4096 };
	char *at = mmap(NULL, PAGES * PAGE, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		syscall(SYS_exit_group, 98);
	return at + PAGES / 2 * PAGE + 64;
}

static void make_places(void)
{
	places[NO_ACCESS] = region(PROT_NONE);
	places[READ_ONLY] = region(PROT_READ);
	/* In the hole that the kernel leaves at the end of the address space. */
	places[NOTHING] = (void *)0x7ffffffff040;
	struct rlimit none = {0, 0};
	MUST(setrlimit(RLIMIT_CORE, &none));
	fflush(stdout);
}

/* `call`, which uses `bad`, with a pointer of each sort but the last `skipped`; what it returns is said by `SAY`. */
#define WITH_BAD(SAY, skipped, call)                                                                                   \
	do {                                                                                                           \
		if (!places[NOTHING])                                                                                  \
			make_places();                                                                                 \
		for (int sort_ = 0; sort_ < SORTS - (skipped); sort_++) {                                              \
			void *bad = places[sort_];                                                                     \
			pid_t child_ = fork();                                                                         \
			if (child_ == 0) {                                                                             \
				say("%s", sorts[sort_]);                                                               \
				SAY(call);                                                                             \
				syscall(SYS_exit_group, 0);                                                            \
			}                                                                                              \
			int status_ = 0;                                                                               \
			if (child_ < 0 || waitpid(child_, &status_, 0) != child_)                                      \
				say("no child");                                                                       \
			if (status_)                                                                                   \
				say("%s: %s", #call, ending(status_));                                                 \
		}                                                                                                      \
	} while (0)

/* What functions of pthread return, what sets errno, what C11's return, and what returns a pointer or nothing. */
#define E(call) WITH_BAD(RET, 0, call)
#define S(call) WITH_BAD(SYS, 0, call)
#define T(call) WITH_BAD(C11, 0, call)
#define IS_NULL(call) SYS((call) == NULL)
#define P(call) WITH_BAD(IS_NULL, 0, call)
#define NOTHING_OF(call) SYS(((call), 0))
#define V(call) WITH_BAD(NOTHING_OF, 0, call)
/* Null is another call, which may wait for ever. */
#define E_NOT_NULL(call) WITH_BAD(RET, 1, call)
#define S_NOT_NULL(call) WITH_BAD(SYS, 1, call)
#define T_NOT_NULL(call) WITH_BAD(C11, 1, call)

static struct timespec past = {.tv_sec = 1}, no_time;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

static pthread_mutex_t *locked(void)
{
	static pthread_mutex_t other = PTHREAD_MUTEX_INITIALIZER;
	MUST(pthread_mutex_lock(&other));
	return &other;
}

static pthread_rwlock_t *read_locked(void)
{
	MUST(pthread_rwlock_rdlock(&rwlock));
	return &rwlock;
}

static pthread_rwlock_t *write_locked(void)
{
	static pthread_rwlock_t other = PTHREAD_RWLOCK_INITIALIZER;
	MUST(pthread_rwlock_rdlock(&other));
	return &other;
}

CASE(mutexes)
{
	int old;
	pthread_mutex_t new;
	E(pthread_mutex_init(bad, NULL));
	E(pthread_mutex_init(&new, bad));
	E(pthread_mutex_destroy(bad));
	E(pthread_mutex_lock(bad));
	E(pthread_mutex_trylock(bad));
	E(pthread_mutex_timedlock(bad, &past));
	E(pthread_mutex_timedlock(&mutex, bad));
	E_NOT_NULL(pthread_mutex_timedlock(locked(), bad));
	E(pthread_mutex_clocklock(bad, CLOCK_MONOTONIC, &past));
	E(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, bad));
	E_NOT_NULL(pthread_mutex_clocklock(locked(), CLOCK_MONOTONIC, bad));
	E(pthread_mutex_clocklock(bad, NO_CLOCK, &past));
	E(pthread_mutex_clocklock(&mutex, NO_CLOCK, bad));
	E(pthread_mutex_timedlock(bad, NSEC_TOO_LARGE));
	E(pthread_mutex_unlock(bad));
	E(pthread_mutex_consistent(bad));
	E(pthread_mutex_setprioceiling(bad, 1, &old));
	E(pthread_mutex_setprioceiling(bad, 9999, &old));
	E(pthread_mutex_setprioceiling(&mutex, 1, bad));
}

CASE(rwlocks)
{
	pthread_rwlock_t new;
	E(pthread_rwlock_init(bad, NULL));
	E(pthread_rwlock_init(&new, bad));
	E(pthread_rwlock_destroy(bad));
	E(pthread_rwlock_rdlock(bad));
	E(pthread_rwlock_wrlock(bad));
	E(pthread_rwlock_tryrdlock(bad));
	E(pthread_rwlock_trywrlock(bad));
	E(pthread_rwlock_timedrdlock(bad, &past));
	E(pthread_rwlock_timedrdlock(bad, NSEC_TOO_LARGE));
	E(pthread_rwlock_timedrdlock(read_locked(), bad));
	E(pthread_rwlock_timedwrlock(bad, &past));
	E(pthread_rwlock_timedwrlock(bad, NSEC_TOO_LARGE));
	E(pthread_rwlock_timedwrlock(&rwlock, bad));
	E_NOT_NULL(pthread_rwlock_timedwrlock(write_locked(), bad));
	E(pthread_rwlock_clockrdlock(bad, CLOCK_MONOTONIC, &past));
	E(pthread_rwlock_clockrdlock(bad, NO_CLOCK, &past));
	E(pthread_rwlock_clockrdlock(bad, CLOCK_MONOTONIC, NSEC_TOO_LARGE));
	E(pthread_rwlock_clockrdlock(read_locked(), CLOCK_MONOTONIC, bad));
	E(pthread_rwlock_clockwrlock(bad, CLOCK_MONOTONIC, &past));
	E(pthread_rwlock_clockwrlock(bad, NO_CLOCK, &past));
	E(pthread_rwlock_clockwrlock(bad, CLOCK_MONOTONIC, NSEC_TOO_LARGE));
	E(pthread_rwlock_clockwrlock(&rwlock, CLOCK_MONOTONIC, bad));
	E_NOT_NULL(pthread_rwlock_clockwrlock(write_locked(), CLOCK_MONOTONIC, bad));
	E(pthread_rwlock_unlock(bad));
}

CASE(spinlocks)
{
	E(pthread_spin_init(bad, 0));
	E(pthread_spin_destroy(bad));
	E(pthread_spin_lock(bad));
	E(pthread_spin_trylock(bad));
	E(pthread_spin_unlock(bad));
}

CASE(conditions)
{
	pthread_cond_t new;
	E(pthread_cond_init(bad, NULL));
	E(pthread_cond_init(&new, bad));
	E(pthread_cond_destroy(bad));
	E(pthread_cond_wait(bad, &mutex));
	E(pthread_cond_wait(&cond, bad));
	E(pthread_cond_timedwait(bad, locked(), &past));
	E(pthread_cond_timedwait(bad, locked(), NSEC_TOO_LARGE));
	E(pthread_cond_timedwait(&cond, bad, NSEC_TOO_LARGE));
	E(pthread_cond_timedwait(&cond, bad, &past));
	E(pthread_cond_timedwait(&cond, locked(), bad));
	E(pthread_cond_clockwait(bad, locked(), CLOCK_MONOTONIC, &past));
	E(pthread_cond_clockwait(bad, locked(), NO_CLOCK, &past));
	E(pthread_cond_clockwait(&cond, bad, NO_CLOCK, &past));
	E(pthread_cond_clockwait(&cond, locked(), NO_CLOCK, bad));
	E(pthread_cond_clockwait(bad, locked(), CLOCK_MONOTONIC, NSEC_TOO_LARGE));
	E(pthread_cond_clockwait(&cond, bad, CLOCK_MONOTONIC, &past));
	E(pthread_cond_clockwait(&cond, locked(), CLOCK_MONOTONIC, bad));
	E(pthread_cond_signal(bad));
	E(pthread_cond_broadcast(bad));
}

static void routine(void)
{
}

CASE(barriers_and_onces)
{
	pthread_barrier_t new;
	E(pthread_barrier_init(bad, NULL, 1));
	E(pthread_barrier_init(bad, NULL, 0));
	E(pthread_barrier_init(bad, NULL, UINT_MAX));
	E(pthread_barrier_init(&new, bad, 1));
	E(pthread_barrier_init(&new, bad, 0));
	E(pthread_barrier_destroy(bad));
	E(pthread_barrier_wait(bad));
	E(pthread_once(bad, routine));
	V(call_once(bad, routine));
}

static sem_t *posted(void)
{
	static sem_t sem;
	MUST(sem_init(&sem, 0, 1));
	return &sem;
}

static sem_t *empty(void)
{
	static sem_t sem;
	MUST(sem_init(&sem, 0, 0));
	return &sem;
}

CASE(semaphores)
{
	S(sem_init(bad, 0, 1));
	S(sem_init(bad, 0, UINT_MAX));
	S(sem_destroy(bad));
	S(sem_post(bad));
	S(sem_wait(bad));
	S(sem_trywait(bad));
	S(sem_timedwait(bad, &past));
	S(sem_timedwait(bad, NSEC_TOO_LARGE));
	S(sem_timedwait(posted(), bad));
	S(sem_timedwait(empty(), bad));
	S(sem_clockwait(bad, CLOCK_MONOTONIC, &past));
	S(sem_clockwait(bad, NO_CLOCK, &past));
	S(sem_clockwait(bad, CLOCK_MONOTONIC, NSEC_TOO_LARGE));
	S(sem_clockwait(posted(), NO_CLOCK, bad));
	S(sem_clockwait(posted(), CLOCK_MONOTONIC, bad));
	S(sem_clockwait(empty(), CLOCK_MONOTONIC, bad));
}

static mtx_t *free_mtx(void)
{
	static mtx_t made;
	MUST(mtx_init(&made, mtx_timed));
	return &made;
}

static mtx_t *locked_mtx(void)
{
	mtx_t *made = free_mtx();
	MUST(mtx_lock(made));
	return made;
}

static cnd_t *new_cnd(void)
{
	static cnd_t made;
	MUST(cnd_init(&made));
	return &made;
}

static int return_one(void *unused)
{
	(void)unused;
	return 1;
}

static thrd_t other_thrd(void)
{
	thrd_t made;
	MUST(thrd_create(&made, return_one, NULL));
	return made;
}

CASE(threads_of_c11)
{
	T(mtx_init(bad, mtx_plain));
	T(mtx_init(bad, 99));
	V(mtx_destroy(bad));
	T(mtx_lock(bad));
	T(mtx_trylock(bad));
	T(mtx_timedlock(bad, &past));
	T(mtx_timedlock(bad, NSEC_TOO_LARGE));
	T(mtx_timedlock(free_mtx(), bad));
	T_NOT_NULL(mtx_timedlock(locked_mtx(), bad));
	T(mtx_unlock(bad));
	T(cnd_init(bad));
	V(cnd_destroy(bad));
	T(cnd_wait(bad, locked_mtx()));
	T(cnd_wait(new_cnd(), bad));
	T(cnd_timedwait(bad, locked_mtx(), &past));
	T(cnd_timedwait(bad, locked_mtx(), NSEC_TOO_LARGE));
	T(cnd_timedwait(new_cnd(), bad, &past));
	T(cnd_timedwait(new_cnd(), locked_mtx(), bad));
	T(cnd_signal(bad));
	T(cnd_broadcast(bad));
	T(thrd_create(bad, return_one, NULL));
	T(thrd_join(other_thrd(), bad));
	T(thrd_join((thrd_t)bad, NULL));
	T(tss_create(bad, NULL));
}

static void *return_it(void *argument)
{
	return argument;
}

static pthread_t other(void)
{
	pthread_t made;
	MUST(pthread_create(&made, NULL, return_it, NULL));
	return made;
}

static pthread_t *new_thread(void)
{
	static pthread_t made;
	return &made;
}

CASE(threads)
{
	E(pthread_create(bad, NULL, return_it, NULL));
	E(pthread_create(new_thread(), bad, return_it, NULL));
	E(pthread_create(new_thread(), NULL, return_it, bad));
	E(pthread_join(other(), bad));
	E(pthread_join((pthread_t)bad, NULL));
	E(pthread_tryjoin_np((pthread_t)bad, NULL));
	E(pthread_tryjoin_np(pthread_self(), bad));
	E(pthread_timedjoin_np(other(), bad, NULL));
	E(pthread_timedjoin_np((pthread_t)bad, NULL, &past));
	E(pthread_clockjoin_np(other(), bad, CLOCK_MONOTONIC, NULL));
	E(pthread_clockjoin_np((pthread_t)bad, NULL, CLOCK_MONOTONIC, &past));
	E(pthread_clockjoin_np((pthread_t)bad, NULL, NO_CLOCK, &past));
	E(pthread_timedjoin_np(pthread_self(), NULL, bad));
	E(pthread_clockjoin_np(pthread_self(), NULL, CLOCK_MONOTONIC, bad));
	E(pthread_setname_np(pthread_self(), bad));
	E(pthread_setname_np((pthread_t)bad, "name"));
	E(pthread_cancel((pthread_t)bad));
	E(pthread_key_create(bad, NULL));
}

/* The linker warns of its name. */
extern int plain_pthread_attr_setstackaddr(pthread_attr_t *, void *);
__asm__(".symver plain_pthread_attr_setstackaddr, pthread_attr_setstackaddr@GLIBC_2.2.5");

CASE(attributes)
{
	pthread_attr_t attr;
	struct sched_param param = {0};
	MUST(pthread_attr_init(&attr));
	E(pthread_attr_init(bad));
	E(pthread_attr_destroy(bad));
	E(pthread_attr_setdetachstate(bad, PTHREAD_CREATE_DETACHED));
	E(pthread_attr_setguardsize(bad, 4096));
	E(pthread_attr_setinheritsched(bad, PTHREAD_EXPLICIT_SCHED));
	E(pthread_attr_setschedparam(bad, &param));
	E(pthread_attr_setschedparam(&attr, bad));
	E(pthread_attr_setschedpolicy(bad, SCHED_OTHER));
	E(pthread_attr_setscope(bad, PTHREAD_SCOPE_SYSTEM));
#if __GLIBC_PREREQ(2, 32)
	E(pthread_attr_setsigmask_np(bad, NULL));
	E(pthread_attr_setsigmask_np(&attr, bad));
#endif
	E(pthread_attr_setstack(bad, NULL, 1 << 20));
	E(plain_pthread_attr_setstackaddr(bad, NULL));
	E(pthread_attr_setstacksize(bad, 1 << 20));
	E(pthread_attr_setstacksize(bad, 0));
	E(pthread_getattr_default_np(bad));
	E(pthread_getattr_np(pthread_self(), bad));
	E(pthread_getattr_np((pthread_t)bad, &attr));
	E(pthread_mutexattr_init(bad));
	E(pthread_mutexattr_destroy(bad));
	E(pthread_mutexattr_setprioceiling(bad, 1));
	E(pthread_mutexattr_setprotocol(bad, PTHREAD_PRIO_INHERIT));
	E(pthread_mutexattr_setprotocol(bad, 99));
	E(pthread_mutexattr_setpshared(bad, PTHREAD_PROCESS_SHARED));
	E(pthread_mutexattr_setrobust(bad, PTHREAD_MUTEX_ROBUST));
	E(pthread_mutexattr_settype(bad, PTHREAD_MUTEX_RECURSIVE));
	E(pthread_rwlockattr_init(bad));
	E(pthread_rwlockattr_destroy(bad));
	E(pthread_rwlockattr_setkind_np(bad, PTHREAD_RWLOCK_PREFER_WRITER_NP));
	E(pthread_rwlockattr_setpshared(bad, PTHREAD_PROCESS_SHARED));
	E(pthread_condattr_init(bad));
	E(pthread_condattr_destroy(bad));
	E(pthread_condattr_setclock(bad, CLOCK_MONOTONIC));
	E(pthread_condattr_setpshared(bad, PTHREAD_PROCESS_SHARED));
	E(pthread_barrierattr_init(bad));
	E(pthread_barrierattr_destroy(bad));
	E(pthread_barrierattr_setpshared(bad, PTHREAD_PROCESS_SHARED));
}

static timer_t made_timer(void)
{
	timer_t made;
	struct sigevent event = {.sigev_notify = SIGEV_NONE};
	MUST(timer_create(CLOCK_MONOTONIC, &event, &made));
	return made;
}

CASE(timers)
{
	timer_t timer;
	struct itimerspec never = {0};
	S_NOT_NULL(timer_create(CLOCK_MONOTONIC, bad, &timer));
	S(timer_create(CLOCK_MONOTONIC, NULL, bad));
	S(timer_settime(made_timer(), 0, bad, NULL));
	S(timer_settime(made_timer(), 0, &never, bad));
	S(timer_gettime(made_timer(), bad));
	/* The C library's own encoding of a timer: it keeps such a timer where the number says. */
	S(timer_delete((timer_t)((unsigned long)bad / 2 | 1ul << 63)));
	S(timer_getoverrun((timer_t)((unsigned long)bad / 2 | 1ul << 63)));
	S(timer_gettime((timer_t)((unsigned long)bad / 2 | 1ul << 63), &never));
	S(timer_settime((timer_t)((unsigned long)bad / 2 | 1ul << 63), 0, &never, NULL));
}

CASE(signals)
{
	S(sigaction(SIGUSR1, bad, NULL));
	S(sigaction(SIGUSR1, NULL, bad));
	S(sigaction(SIGKILL, bad, NULL));
	S(sigaction(SIGKILL, NULL, bad));
	S(sigaction(99, bad, NULL));
	S(sigaction(99, NULL, bad));
	E(pthread_sigmask(SIG_BLOCK, bad, NULL));
	E(pthread_sigmask(SIG_BLOCK, NULL, bad));
	E(pthread_sigmask(99, bad, NULL));
	S(sigprocmask(SIG_BLOCK, bad, NULL));
	S(sigprocmask(SIG_BLOCK, NULL, bad));
	S(sigprocmask(99, bad, NULL));
	/* An empty mask waits for ever. */
	WITH_BAD(SYS, 2, sigsuspend(bad));
	WITH_BAD(SYS, 2, (locked(), sigsuspend(bad)));
	V(longjmp(bad, 1));
	V(siglongjmp(bad, 1));
}

#define LOCKED(call) (locked(), (call))

CASE(waits)
{
	struct pollfd none = {.fd = -1};
	struct timeval no_time_at_all = {0};
	struct epoll_event event;
	int epoll = epoll_create1(0);
	static fd_set set;
	S(ppoll(bad, 1, &no_time, NULL));
	S_NOT_NULL(ppoll(&none, 1, bad, NULL));
	S(ppoll(&none, 1, &no_time, bad));
	S_NOT_NULL(LOCKED(ppoll(&none, 1, bad, NULL)));
	S(LOCKED(ppoll(&none, 1, &no_time, bad)));
	S(pselect(1, bad, NULL, NULL, &no_time, NULL));
	S(pselect(1, NULL, bad, NULL, &no_time, NULL));
	S(pselect(1, NULL, NULL, bad, &no_time, NULL));
	S_NOT_NULL(pselect(1, &set, NULL, NULL, bad, NULL));
	S(pselect(1, &set, NULL, NULL, &no_time, bad));
	S_NOT_NULL(LOCKED(pselect(1, &set, NULL, NULL, bad, NULL)));
	S(LOCKED(pselect(1, &set, NULL, NULL, &no_time, bad)));
	S(select(1, bad, NULL, NULL, &no_time_at_all));
	S(select(1, NULL, bad, NULL, &no_time_at_all));
	S(select(1, NULL, NULL, bad, &no_time_at_all));
	S_NOT_NULL(select(1, &set, NULL, NULL, bad));
	S_NOT_NULL(LOCKED(select(1, &set, NULL, NULL, bad)));
	S(epoll_wait(epoll, bad, 1, 0));
	S(epoll_pwait(epoll, bad, 1, 0, NULL));
	S(epoll_pwait(epoll, &event, 1, 0, bad));
	S(LOCKED(epoll_pwait(epoll, &event, 1, 0, bad)));
#if __GLIBC_PREREQ(2, 35)
	S(epoll_pwait2(epoll, bad, 1, &no_time, NULL));
	S_NOT_NULL(epoll_pwait2(epoll, &event, 1, bad, NULL));
	S_NOT_NULL(LOCKED(epoll_pwait2(epoll, &event, 1, bad, NULL)));
	S(epoll_pwait2(epoll, &event, 1, &no_time, bad));
#endif
	S(poll(bad, 1, 0));
	S(nanosleep(bad, NULL));
	S(LOCKED(nanosleep(bad, NULL)));
	S(nanosleep(&no_time, bad));
	E(clock_nanosleep(CLOCK_MONOTONIC, 0, bad, NULL));
	E(clock_nanosleep(CLOCK_MONOTONIC, 0, &no_time, bad));
	S(waitpid(-1, bad, 0));
	S(wait(bad));
	S(wait3(bad, WNOHANG, NULL));
	S(wait3(NULL, WNOHANG, bad));
	S(wait4(-1, bad, WNOHANG, NULL));
	S(wait4(-1, NULL, WNOHANG, bad));
	S(waitid(P_ALL, 0, bad, WEXITED | WNOHANG));
}

static int two_ends[2];

static int readable_end(void)
{
	MUST(pipe(two_ends));
	MUST(write(two_ends[1], "text", 4) != 4);
	return two_ends[0];
}

static int writable_end(void)
{
	MUST(pipe(two_ends));
	return two_ends[1];
}

static int socket_end(void)
{
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, two_ends));
	MUST(write(two_ends[1], "text", 4) != 4);
	return two_ends[0];
}

/* Somebody has connected to it. */
static int listener(void)
{
	struct sockaddr_un own = {.sun_family = AF_UNIX};
	socklen_t size = sizeof(sa_family_t);
	int at = socket(AF_UNIX, SOCK_STREAM, 0), from = socket(AF_UNIX, SOCK_STREAM, 0);
	MUST(bind(at, (struct sockaddr *)&own, size));
	MUST(listen(at, 1));
	size = sizeof own;
	MUST(getsockname(at, (struct sockaddr *)&own, &size));
	MUST(connect(from, (struct sockaddr *)&own, size));
	return at;
}

CASE(input_and_output)
{
	int file = open("/proc/self/exe", O_RDONLY), memory = memfd_create("memory", 0);
	struct sockaddr_un address;
	socklen_t size = sizeof address;
	S(read(readable_end(), bad, 4));
	S(write(writable_end(), bad, 4));
	S(pread(file, bad, 4, 0));
	S(pread64(file, bad, 4, 0));
	S(pwrite(memory, bad, 4, 0));
	S(pwrite64(memory, bad, 4, 0));
	S(readv(readable_end(), bad, 1));
	S(readv(readable_end(), (&(struct iovec){bad, 4}), 1));
	S(writev(writable_end(), bad, 1));
	S(writev(writable_end(), (&(struct iovec){bad, 4}), 1));
	S(preadv(file, bad, 1, 0));
	S(preadv64(file, bad, 1, 0));
	S(pwritev(memory, bad, 1, 0));
	S(pwritev64(memory, bad, 1, 0));
	S(msync((void *)((unsigned long)bad & ~4095ul), 4096, MS_SYNC));
	S(recv(socket_end(), bad, 4, 0));
	S(recvmsg(socket_end(), bad, 0));
	S(send(socket_end(), bad, 4, MSG_NOSIGNAL));
	S(sendmsg(socket_end(), bad, MSG_NOSIGNAL));
	/* Null asks for no address. */
	S((accept(listener(), bad, &size), errno == SENTINEL));
	S((accept(listener(), (struct sockaddr *)&address, bad), errno == SENTINEL));
	S((accept4(listener(), bad, &size, 0), errno == SENTINEL));
	S((accept4(listener(), (struct sockaddr *)&address, bad, 0), errno == SENTINEL));
	S(connect(socket(AF_UNIX, SOCK_STREAM, 0), bad, sizeof address));
}

#pragma GCC diagnostic ignored "-Wformat-security"
#pragma GCC diagnostic ignored "-Wfree-nonheap-object"

CASE(memory_and_streams)
{
	S(munmap((void *)((unsigned long)bad & ~4095ul), 4096));
	P(mremap((void *)((unsigned long)bad & ~4095ul), 4096, 8192, 0));
	P(mremap((void *)((unsigned long)bad & ~4095ul), 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, places[NO_ACCESS]));
	V(free(bad));
	P(realloc(bad, 100));
	E(posix_memalign(bad, 64, 64));
	S(printf(bad));
	S(fputs(bad, stdout));
	S(puts(bad));
	S(fwrite(bad, 4, 1, stdout));
	S(fputs("", bad));
	S(fputc('x', bad));
	/* Null is all streams. */
	S(fflush(bad));
	S(fprintf(bad, "text"));
}

static int see_object(struct dl_phdr_info *info, size_t size, void *data)
{
	(void)info, (void)size, (void)data;
	return 3;
}

CASE(loading)
{
	/* Null is the program. */
	P(dlopen(bad, RTLD_NOW));
	S(dlclose(bad));
	S(dl_iterate_phdr(bad, NULL));
	S(dl_iterate_phdr(see_object, bad));
}

extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *);
static char stack[1 << 16] __attribute__((aligned(16)));
#define STACK (stack + sizeof stack)

static int exit_child(void *unused)
{
	(void)unused;
	syscall(SYS_exit, 7);
	return 0;
}

/* Whether it made a child. */
static int made(long pid)
{
	if (pid == 0)
		syscall(SYS_exit_group, 7);
	if (pid > 0)
		waitpid((pid_t)pid, NULL, __WALL);
	return pid > 0;
}

static char *const arguments[] = {"true", NULL};
#define TRUE "/bin/true"
/* A list for the tests below, in which one pointer is bad. */
#define LIST(...) ((char *const[]){__VA_ARGS__, NULL})

CASE(execute)
{
	int program = open(TRUE, O_RDONLY | O_CLOEXEC);
	S(execve(bad, arguments, environ));
	S(execve(TRUE, bad, environ));
	S(execve(TRUE, arguments, bad));
	S(execve(TRUE, LIST("true", bad), environ));
	S(execve(TRUE, arguments, LIST("A=b", bad)));
	S(execve("/nowhere/at/all", bad, bad));
	S(execv(bad, arguments));
	S(execv(TRUE, bad));
	S(execvp(bad, arguments));
	S(execvp("true", bad));
	S(execvpe(bad, arguments, environ));
	S(execvpe("true", bad, environ));
	S(execvpe("true", arguments, bad));
	S(fexecve(program, bad, environ));
	S(fexecve(program, arguments, bad));
	S(execveat(AT_FDCWD, bad, arguments, environ, 0));
	S(execveat(AT_FDCWD, TRUE, bad, environ, 0));
	S(execveat(AT_FDCWD, TRUE, arguments, bad, 0));
	S(execveat(program, "", arguments, bad, AT_EMPTY_PATH));
	S(execl(bad, "true", NULL));
	S(execl(TRUE, "true", bad, NULL));
	S(execlp(bad, "true", NULL));
	S(execlp("true", "true", bad, NULL));
	S(execle(bad, "true", NULL, environ));
	S(execle(TRUE, "true", bad, NULL, environ));
	S(execle(TRUE, "true", NULL, bad));
}

static int status_of(int error, pid_t child)
{
	int status = 0;
	if (error == 0 && waitpid(child, &status, 0) == child)
		say("the child %s", ending(status));
	return error;
}

/* How the child at the other end of a stream has ended, if there is one. */
static int ended(FILE *stream)
{
	return stream ? pclose(stream) : -1;
}

CASE(spawn)
{
	pid_t child = 0;
	int error;
	E(posix_spawn(bad, TRUE, NULL, NULL, arguments, environ));
	E((error = posix_spawn(&child, bad, NULL, NULL, arguments, environ), status_of(error, child)));
	E((error = posix_spawn(&child, TRUE, bad, NULL, arguments, environ), status_of(error, child)));
	E((error = posix_spawn(&child, TRUE, NULL, bad, arguments, environ), status_of(error, child)));
	E((error = posix_spawn(&child, TRUE, NULL, NULL, bad, environ), status_of(error, child)));
	E((error = posix_spawn(&child, TRUE, NULL, NULL, arguments, bad), status_of(error, child)));
	E(posix_spawnp(bad, "true", NULL, NULL, arguments, environ));
	E((error = posix_spawnp(&child, bad, NULL, NULL, arguments, environ), status_of(error, child)));
	E((error = posix_spawnp(&child, "true", NULL, NULL, bad, environ), status_of(error, child)));
	E((error = posix_spawnp(&child, "true", NULL, NULL, arguments, bad), status_of(error, child)));
	S(system(bad));
	S(ended(popen(bad, "r")));
	S(ended(popen("true", bad)));
}

CASE(forks)
{
	pid_t tid;
	S(made(clone(exit_child, STACK, SIGCHLD | CLONE_PARENT_SETTID, NULL, bad)));
	S(made(clone(exit_child, STACK, SIGCHLD | CLONE_CHILD_SETTID, NULL, &tid, NULL, bad)));
	S(clone(NULL, STACK, SIGCHLD, bad));
	S(made(clone(exit_child, bad, 1 << 29, NULL)));
	S(made(syscall(SYS_clone, SIGCHLD | CLONE_PARENT_SETTID, NULL, bad, NULL, 0)));
	S(made(syscall(SYS_clone3, bad, sizeof(struct clone_args))));
	S(made(syscall(SYS_clone3, bad, 8)));
	S(made(syscall(SYS_clone3, bad, 1 << 20)));
	S(made(syscall(SYS_clone3, (&(struct clone_args){.exit_signal = SIGCHLD, .flags = CLONE_PARENT_SETTID,
							 .parent_tid = (unsigned long)bad}),
		       sizeof(struct clone_args))));
	S(__register_atfork(NULL, NULL, NULL, bad));
}

CASE(system_calls)
{
	static unsigned word;
	struct {
		unsigned short length;
		void *filter;
	} program;
	S(syscall(SYS_futex, bad, FUTEX_WAIT, 0, &past, NULL, 0));
	S_NOT_NULL(syscall(SYS_futex, &word, FUTEX_WAIT, 0, bad, NULL, 0));
	S(syscall(SYS_futex, bad, FUTEX_WAKE, 1, NULL, NULL, 0));
	S(syscall(SYS_futex, bad, FUTEX_LOCK_PI, 0, &past, NULL, 0));
	S(syscall(SYS_futex, bad, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0));
	S(syscall(SYS_futex, bad, FUTEX_WAIT_BITSET, 0, &past, NULL, 1));
	S(syscall(SYS_futex, bad, FUTEX_WAIT_REQUEUE_PI, 0, &past, &word, 1));
	S(syscall(SYS_futex, &word, FUTEX_WAIT_REQUEUE_PI, 0, &past, bad, 1));
	S(syscall(SYS_futex, bad, FUTEX_REQUEUE, 1, 1L, &word, 0));
	S(syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE, 1, 1L, bad, 0));
	S(syscall(SYS_futex, &word, FUTEX_WAKE_OP, 1, 1L, bad, 0));
	S(syscall(SYS_futex_waitv, bad, 1, 0, &past, CLOCK_MONOTONIC));
	S(syscall(SYS_seccomp, 1 /* SECCOMP_SET_MODE_FILTER */, 0, bad));
	S(syscall(SYS_prctl, PR_SET_NAME, bad));
	S(syscall(SYS_prctl, PR_SET_SECCOMP, 2, bad));
	S(prctl(PR_SET_NAME, bad));
	S(prctl(PR_SET_SECCOMP, 2 /* SECCOMP_MODE_FILTER */, bad));
	S((program.length = 1, program.filter = bad, prctl(PR_SET_SECCOMP, 2, &program)));
	S(syscall(SYS_getrandom, bad, 8, 0));
}
