/* Corners of what POSIX and glibc promise about locks: each test prints what it saw, and does the same on the
 * C library's locks and on those that `lockwright swap` has in their place. One argument: the test. */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../conformance/older_glibc.h"
#include "asleep.h"

static const char *E(int e)
{
	static char b[16][24];
	static int i;
	char *p = b[i++ & 15];
	if (!e)
		return "0";
	const char *n = strerrorname_np(e);
	snprintf(p, 24, "%s", n ? n : "?");
	return p;
}

static struct timespec rel(clockid_t c, long ms)
{
	struct timespec t;
	clock_gettime(c, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += (ms % 1000) * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}

typedef struct {
	char pre[64];
	pthread_mutex_t m;
	char post[64];
} guarded;

static int kinds[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
		      PTHREAD_MUTEX_ADAPTIVE_NP};

static void mk(pthread_mutex_t *m, int kind, int robust, int proto, int psh)
{
	pthread_mutexattr_t a;
	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, kind);
	if (robust)
		pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	if (proto)
		pthread_mutexattr_setprotocol(&a, proto);
	if (psh)
		pthread_mutexattr_setpshared(&a, 1);
	int r = pthread_mutex_init(m, &a);
	if (r)
		printf("init %s\n", E(r));
	pthread_mutexattr_destroy(&a);
}

static void *other(void *p)
{
	pthread_mutex_t *m = p;
	struct timespec t = rel(CLOCK_REALTIME, 20), past = {1, 0}, neg = {-5, 0}, bad = {1, 1000000000},
			bad2 = {1, -1}, mono = rel(CLOCK_MONOTONIC, 20);
	printf(" other: try %s", E(pthread_mutex_trylock(m)));
	printf(" timed %s", E(pthread_mutex_timedlock(m, &t)));
	printf(" past %s", E(pthread_mutex_timedlock(m, &past)));
	printf(" neg %s", E(pthread_mutex_timedlock(m, &neg)));
	printf(" bad %s", E(pthread_mutex_timedlock(m, &bad)));
	printf(" bad2 %s", E(pthread_mutex_timedlock(m, &bad2)));
	printf(" mono %s", E(pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &mono)));
	printf(" badclock %s", E(pthread_mutex_clocklock(m, CLOCK_PROCESS_CPUTIME_ID, &mono)));
	printf(" unlock-not-owner-skip destroy-held %s\n", E(EBUSY));
	return 0;
}

static void *other_unlock(void *p)
{
	printf(" unlock by other: %s\n", E(pthread_mutex_unlock(p)));
	return 0;
}

static void *other_free(void *p)
{
	int r = pthread_mutex_trylock(p);
	printf(" then other try: %s\n", E(r));
	if (!r)
		pthread_mutex_unlock(p);
	return 0;
}

static void *dies(void *p)
{
	pthread_mutex_lock(p);
	return 0;
}

static void run1(void *(*f)(void *), void *p)
{
	pthread_t t;
	int r = pthread_create(&t, 0, f, p);
	if (r) {
		printf("create %s\n", E(r));
		exit(9);
	}
	pthread_join(t, 0);
}

static void c_kinds(void)
{
	for (int psh = 0; psh < 2; psh++)
		for (int proto = 0; proto < 3; proto++)
			for (int rob = 0; rob < 2; rob++)
				for (int k = 0; k < 4; k++) {
					if (proto == 2 && rob)
						continue;
					guarded *g = malloc(sizeof *g);
					memset(g->pre, 0x5a, 64);
					memset(g->post, 0x5a, 64);
					printf("kind %d robust %d proto %d pshared %d\n", k, rob, proto, psh);
					mk(&g->m, kinds[k], rob,
					   proto == 1	? PTHREAD_PRIO_INHERIT
					   : proto == 2 ? PTHREAD_PRIO_PROTECT
							: 0,
					   psh);
					pthread_mutex_t *m = &g->m;
					struct timespec past = {1, 0}, bad = {1, 1000000000};
					printf(" free: unlock-free %s",
					       k == 2 || k == 1 ? E(pthread_mutex_unlock(m)) : "skip");
					printf(" timed past %s", E(pthread_mutex_timedlock(m, &past)));
					printf(" unl %s", E(pthread_mutex_unlock(m)));
					int rb = pthread_mutex_timedlock(m, &bad);
					printf(" timed bad %s", E(rb));
					if (!rb)
						pthread_mutex_unlock(m);
					printf(" lock %s", E(pthread_mutex_lock(m)));
					printf(" try %s", E(pthread_mutex_trylock(m)));
					if (k == 1)
						pthread_mutex_unlock(m);
					if (k == 1 || k == 2) {
						int r = pthread_mutex_lock(m);
						printf(" relock %s", E(r));
						if (!r)
							printf(" u %s", E(pthread_mutex_unlock(m)));
						struct timespec t = rel(CLOCK_REALTIME, 20);
						r = pthread_mutex_timedlock(m, &t);
						printf(" retimed %s", E(r));
						if (!r)
							pthread_mutex_unlock(m);
					} else if (proto != 2 && !(proto == 1)) {
						struct timespec t = rel(CLOCK_REALTIME, 20);
						printf(" retimed %s", E(pthread_mutex_timedlock(m, &t)));
					}
					printf(" destroy held %s\n", E(pthread_mutex_destroy(m)));
					run1(other, m);
					run1(k == 2 || k == 1 || rob || proto ? other_unlock : other_free, m);
					printf(" unlock %s", E(pthread_mutex_unlock(m)));
					if (k == 2 || k == 1)
						printf(" again %s", E(pthread_mutex_unlock(m)));
					printf("\n");
					run1(other_free, m);
					if (k == 1) {
						long n = 0;
						int r;
						while (!(r = pthread_mutex_lock(m)) && n < 100000)
							n++;
						printf(" recursion %ld %s", n, E(r));
						if (!r)
							pthread_mutex_unlock(m);
						while (n--)
							pthread_mutex_unlock(m);
						printf(" end %s\n", E(pthread_mutex_unlock(m)));
					}
					if (rob) {
						run1(dies, m);
						int r = pthread_mutex_lock(m);
						printf(" after death: %s", E(r));
						printf(" consistent %s", E(pthread_mutex_consistent(m)));
						printf(" unlock %s\n", E(pthread_mutex_unlock(m)));
						run1(dies, m);
						r = pthread_mutex_lock(m);
						pthread_mutex_unlock(m);
						printf(" not made consistent: %s then %s\n", E(r),
						       E(pthread_mutex_trylock(m)));
					} else if (k < 4 && !proto) {
						run1(dies, m);
						struct timespec t = rel(CLOCK_REALTIME, 30);
						printf(" after death: %s", E(pthread_mutex_timedlock(m, &t)));
						printf(" try %s\n", E(pthread_mutex_trylock(m)));
						if (k != 2 && k != 1)
							printf(" unlock %s\n", E(pthread_mutex_unlock(m)));
					}
					printf(" destroy %s\n",
					       E(k == 0 || k == 3 || rob ? pthread_mutex_destroy(m) : 0));
					for (int i = 0; i < 64; i++)
						if (g->pre[i] != 0x5a || g->post[i] != 0x5a) {
							printf("OUTSIDE WRITTEN\n");
							break;
						}
					free(g);
				}
	for (int i = 0; i < 2; i++) {
		pthread_mutex_t u;
		memset(&u, i ? 0xff : 0x11, sizeof u);
	}
}

static pthread_mutex_t s0 = PTHREAD_MUTEX_INITIALIZER, s1 = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
		       s2 = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
		       s3 = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t sc = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t srw = PTHREAD_RWLOCK_INITIALIZER,
			srww = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
static long counter[8];
static pthread_mutex_t *sm[4] = {&s0, &s1, &s2, &s3};

static void *hammer(void *p)
{
	for (int i = 0; i < 3000; i++)
		for (int k = 0; k < 4; k++) {
			pthread_mutex_lock(sm[k]);
			if (k == 1) {
				pthread_mutex_lock(sm[k]);
				counter[k]++;
				pthread_mutex_unlock(sm[k]);
			} else
				counter[k]++;
			pthread_mutex_unlock(sm[k]);
		}
	for (int i = 0; i < 3000; i++) {
		pthread_rwlock_wrlock(&srw);
		counter[4]++;
		pthread_rwlock_unlock(&srw);
		pthread_rwlock_rdlock(&srw);
		volatile long x = counter[4];
		(void)x;
		pthread_rwlock_unlock(&srw);
		pthread_rwlock_wrlock(&srww);
		counter[5]++;
		pthread_rwlock_unlock(&srww);
	}
	return 0;
}

static void c_static(void)
{
	pthread_t t[6];
	for (int i = 0; i < 6; i++)
		pthread_create(t + i, 0, hammer, 0);
	for (int i = 0; i < 6; i++)
		pthread_join(t[i], 0);
	for (int i = 0; i < 6; i++)
		printf("%ld ", counter[i]);
	puts("");
}

/* fork with atfork handlers, locks hammered by others, from several threads */
static pthread_rwlock_t frw = PTHREAD_RWLOCK_INITIALIZER;

static void pre(void)
{
	for (int i = 0; i < 4; i += 3)
		pthread_mutex_lock(sm[i]);
	pthread_rwlock_rdlock(&frw);
}

static void post(void)
{
	pthread_rwlock_unlock(&frw);
	for (int i = 3; i >= 0; i -= 3)
		pthread_mutex_unlock(sm[i]);
}

static void *fham(void *p)
{
	for (int i = 0; i < 3000; i++)
		for (int k = 0; k < 4; k += 3) {
			pthread_mutex_lock(sm[k]);
			counter[k]++;
			pthread_mutex_unlock(sm[k]);
		}
	return 0;
}

static atomic_int stop, bad;

static void *ham2(void *p)
{
	while (!stop) {
		for (int k = 0; k < 4; k += 3) {
			pthread_mutex_lock(sm[k]);
			counter[k]++;
			pthread_mutex_unlock(sm[k]);
		}
		pthread_rwlock_rdlock(&frw);
		pthread_rwlock_unlock(&frw);
	}
	return 0;
}

static void *forker(void *p)
{
	for (int i = 0; i < 25; i++) {
		pid_t c = fork();
		if (!c) {
			for (int j = 0; j < 20; j++) {
				for (int k = 0; k < 4; k += 3) {
					pthread_mutex_lock(sm[k]);
					pthread_mutex_unlock(sm[k]);
				}
			}
			stop = 0;
			pthread_t t;
			pthread_create(&t, 0, fham, 0);
			pthread_t u;
			pthread_create(&u, 0, fham, 0);
			pthread_join(t, 0);
			pthread_join(u, 0);
			_exit(7);
		}
		int st;
		while (waitpid(c, &st, 0) < 0 && errno == EINTR)
			;
		if (!WIFEXITED(st) || WEXITSTATUS(st) != 7)
			bad++;
	}
	return 0;
}

static void c_fork(void)
{
	pthread_atfork(pre, post, post);
	pthread_t h[3], f[2];
	for (int i = 0; i < 3; i++)
		pthread_create(h + i, 0, ham2, 0);
	for (int i = 0; i < 2; i++)
		pthread_create(f + i, 0, forker, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(f[i], 0);
	stop = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(h[i], 0);
	printf("bad children %d\n", bad);
}

/* fork holding contended locks: child unlocks, relocks; waiters exist in the parent only */
static void *waiter(void *p)
{
	pthread_mutex_lock(p);
	counter[7]++;
	pthread_mutex_unlock(p);
	return 0;
}

static void c_forkheld(void)
{
	for (int k = 0; k < 4; k += 3)
		for (int r = 0; r < 20; r++) {
			pthread_mutex_t *m = sm[k];
			pthread_t t[3];
			pthread_mutex_lock(m);
			for (int i = 0; i < 3; i++)
				pthread_create(t + i, 0, waiter, m);
			usleep(3000);
			pid_t c = fork();
			if (!c) {
				int a = pthread_mutex_unlock(m), b = pthread_mutex_trylock(m);
				pthread_mutex_unlock(m);
				pthread_t u[2];
				for (int i = 0; i < 2; i++)
					pthread_create(u + i, 0, waiter, m);
				for (int i = 0; i < 2; i++)
					pthread_join(u[i], 0);
				int d = pthread_mutex_destroy(m);
				_exit(a || b || d ? 1 : 7);
			}
			int st;
			waitpid(c, &st, 0);
			if (!WIFEXITED(st) || WEXITSTATUS(st) != 7) {
				bad++;
				printf("child kind %d st %x\n", k, st);
			}
			pthread_mutex_unlock(m);
			for (int i = 0; i < 3; i++)
				pthread_join(t[i], 0);
		}
	for (int w = 0; w < 1; w++)
		for (int r = 0; r < 10; r++) {
			w ? pthread_rwlock_wrlock(&srw) : pthread_rwlock_rdlock(&srw);
			pid_t c = fork();
			if (!c) {
				int a = pthread_rwlock_unlock(&srw), b = pthread_rwlock_trywrlock(&srw),
				    d = pthread_rwlock_unlock(&srw);
				_exit(a || b || d ? 1 : 7);
			}
			int st;
			waitpid(c, &st, 0);
			if (!WIFEXITED(st) || WEXITSTATUS(st) != 7) {
				bad++;
				printf("rw child %d st %x\n", w, st);
			}
			pthread_rwlock_unlock(&srw);
		}
	printf("bad %d counter %ld\n", bad, counter[7]);
}

/* Cancellation of condition waits. */
static pthread_mutex_t *cm;
static atomic_int cleaned, owned;

static void cl(void *p)
{
	cleaned++;
	int r = pthread_mutex_unlock(p);
	if (!r)
		owned++;
}

static void *cw(void *p)
{
	pthread_mutex_lock(cm);
	pthread_cleanup_push(cl, cm);
	for (;;)
		pthread_cond_wait(&sc, cm);
	pthread_cleanup_pop(1);
	return 0;
}

static void *cwt(void *p)
{
	pthread_mutex_lock(cm);
	pthread_cleanup_push(cl, cm);
	for (;;) {
		struct timespec t = rel(CLOCK_REALTIME, 1);
		pthread_cond_timedwait(&sc, cm, &t);
	}
	pthread_cleanup_pop(1);
	return 0;
}

static void c_cancel(void)
{
	for (int k = 0; k < 4; k++) {
		cm = sm[k];
		cleaned = owned = 0;
		int canc = 0;
		for (int r = 0; r < 40; r++) {
			pthread_t t[6];
			for (int i = 0; i < 6; i++)
				pthread_create(t + i, 0, i & 1 ? cw : cwt, 0);
			if (r & 1)
				usleep(2000);
			for (int i = 0; i < 6; i++) {
				pthread_cond_signal(&sc);
				pthread_cancel(t[i]);
				if (i == 3)
					pthread_cond_broadcast(&sc);
			}
			for (int i = 0; i < 6; i++) {
				void *x;
				pthread_join(t[i], &x);
				canc += x == PTHREAD_CANCELED;
			}
		}
		printf("kind %d cancelled %d cleaned<= %d owned==cleaned %d\n", k, canc, cleaned <= 240,
		       owned == cleaned);
		printf("free %s\n", E(pthread_mutex_trylock(cm)));
		pthread_mutex_unlock(cm);
	}
}

/* Threads that wait for a mutex are cancelled asynchronously; the mutex stays usable. */
static void *aw(void *p)
{
	int o;
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &o);
	pthread_mutex_lock(p);
	pause();
	return 0;
}

static void c_async(void)
{
	for (int k = 0; k < 4; k++) {
		pthread_mutex_t *m = sm[k];
		int canc = 0;
		for (int r = 0; r < 20; r++) {
			pthread_mutex_lock(m);
			pthread_t t[3];
			for (int i = 0; i < 3; i++)
				pthread_create(t + i, 0, aw, m);
			usleep(5000);
			for (int i = 0; i < 3; i++)
				pthread_cancel(t[i]);
			for (int i = 0; i < 3; i++) {
				void *x;
				pthread_join(t[i], &x);
				canc += x == PTHREAD_CANCELED;
			}
			pthread_mutex_unlock(m);
			int q = pthread_mutex_trylock(m);
			if (q) {
				printf("not free %s\n", E(q));
				break;
			}
			pthread_mutex_unlock(m);
			pthread_t w;
			pthread_create(&w, 0, waiter, m);
			pthread_join(w, 0);
		}
		printf("kind %d canc %d\n", k, canc);
	}
}

/* destroy right after unlock */
typedef struct {
	pthread_mutex_t m;
	int ref;
	pthread_rwlock_t rw;
	int ref2;
	pthread_spinlock_t sp;
	int ref3;
	pthread_cond_t c;
} obj;

static void drop(obj *o, int what)
{
	int r;
	if (what == 0) {
		pthread_mutex_lock(&o->m);
		r = --o->ref;
		pthread_mutex_unlock(&o->m);
	} else if (what == 1) {
		pthread_rwlock_wrlock(&o->rw);
		r = --o->ref;
		pthread_rwlock_unlock(&o->rw);
	} else if (what == 2) {
		pthread_spin_lock(&o->sp);
		r = --o->ref;
		pthread_spin_unlock(&o->sp);
	} else {
		struct timespec t = rel(CLOCK_REALTIME, 10000);
		pthread_mutex_timedlock(&o->m, &t);
		r = --o->ref;
		pthread_mutex_unlock(&o->m);
	}
	if (!r) {
		int e = what == 1   ? pthread_rwlock_destroy(&o->rw)
			: what == 2 ? 0
				    : pthread_mutex_destroy(&o->m);
		if (e) {
			printf("destroy %s\n", E(e));
		}
		munmap(o, 4096);
	}
}

static obj *volatile cur[4];
static pthread_barrier_t bar;
static int dwhat, dkind;

static void *dropper(void *p)
{
	for (int i = 0; i < 1500; i++) {
		pthread_barrier_wait(&bar);
		obj *o = cur[0];
		pthread_barrier_wait(&bar);
		drop(o, dwhat);
	}
	return 0;
}

static void c_destroy(void)
{
	for (dwhat = 0; dwhat < 4; dwhat++)
		for (dkind = 0; dkind < (dwhat == 0 ? 4 : 1); dkind++) {
			pthread_barrier_init(&bar, 0, 4);
			pthread_t t[3];
			for (int i = 0; i < 3; i++)
				pthread_create(t + i, 0, dropper, 0);
			for (int i = 0; i < 1500; i++) {
				obj *o = mmap(0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
				mk(&o->m, kinds[dkind], 0, 0, 0);
				pthread_rwlock_init(&o->rw, 0);
				pthread_spin_init(&o->sp, 0);
				o->ref = 4;
				cur[0] = o;
				pthread_barrier_wait(&bar);
				pthread_barrier_wait(&bar);
				drop(o, dwhat);
			}
			for (int i = 0; i < 3; i++)
				pthread_join(t[i], 0);
			pthread_barrier_destroy(&bar);
		}
	puts("destroy ok");
}

/* cond destroyed after broadcast, in mmapped page */
typedef struct {
	pthread_mutex_t m;
	pthread_cond_t c;
	int go, in;
} cobj;

static void *cwaiter(void *p)
{
	cobj *o = p;
	pthread_mutex_lock(&o->m);
	o->in++;
	while (!o->go)
		pthread_cond_wait(&o->c, &o->m);
	o->in--;
	int last = !o->in;
	pthread_mutex_unlock(&o->m);
	(void)last;
	return 0;
}

static void c_conddestroy(void)
{
	for (int i = 0; i < 400; i++) {
		cobj *o = mmap(0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		pthread_cond_t *c = mmap(0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		(void)c;
		mk(&o->m, kinds[i & 3], 0, 0, 0);
		pthread_cond_init(&o->c, 0);
		pthread_t t[3];
		for (int j = 0; j < 3; j++)
			pthread_create(t + j, 0, cwaiter, o);
		for (;;) {
			pthread_mutex_lock(&o->m);
			int n = o->in;
			if (n == 3) {
				o->go = 1;
				pthread_cond_broadcast(&o->c);
				int e = pthread_cond_destroy(&o->c);
				if (e)
					printf("cd %s\n", E(e));
				memset(&o->c, 0xee, sizeof o->c);
				pthread_mutex_unlock(&o->m);
				break;
			}
			pthread_mutex_unlock(&o->m);
			usleep(100);
		}
		for (int j = 0; j < 3; j++)
			pthread_join(t[j], 0);
		munmap(o, 4096);
		munmap(c, 4096);
	}
	puts("cond destroy ok");
}

/* conditions with any mutex */
static pthread_mutex_t *waits_with;

static void *sig(void *p)
{
	/* Free as soon as the other thread waits. */
	pthread_mutex_lock(waits_with);
	pthread_cond_broadcast(p);
	pthread_mutex_unlock(waits_with);
	return 0;
}

static void c_condany(void)
{
	for (int psh = 0; psh < 2; psh++)
		for (int proto = 0; proto < 2; proto++)
			for (int rob = 0; rob < 2; rob++)
				for (int k = 0; k < 4; k++) {
					pthread_mutex_t m;
					pthread_cond_t c;
					mk(&m, kinds[k], rob, proto ? PTHREAD_PRIO_INHERIT : 0, psh);
					pthread_cond_init(&c, 0);
					printf("k%d r%d p%d s%d:", k, rob, proto, psh);
					struct timespec past = {1, 0}, bad = {1, 1000000000}, neg = {-1, 0},
							t;
					pthread_mutex_lock(&m);
					printf(" past %s", E(pthread_cond_timedwait(&c, &m, &past)));
					printf(" bad %s", E(pthread_cond_timedwait(&c, &m, &bad)));
					printf(" neg %s", E(pthread_cond_timedwait(&c, &m, &neg)));
					t = rel(CLOCK_REALTIME, 15);
					printf(" 15ms %s", E(pthread_cond_timedwait(&c, &m, &t)));
					t = rel(CLOCK_MONOTONIC, 15);
					printf(" mono %s",
					       E(pthread_cond_clockwait(&c, &m, CLOCK_MONOTONIC, &t)));
					printf(" badclock %s",
					       E(pthread_cond_clockwait(&c, &m, CLOCK_BOOTTIME, &t)));
					pthread_t s;
					waits_with = &m;
					pthread_create(&s, 0, sig, &c);
					printf(" wait %s", E(pthread_cond_wait(&c, &m)));
					pthread_join(s, 0);
					printf(" unl %s", E(pthread_mutex_unlock(&m)));
					if (k == 2) {
						printf(" notheld %s",
						       E(pthread_cond_timedwait(&c, &m, &past)));
					}
					if (k == 1) {
						pthread_mutex_lock(&m);
						pthread_mutex_lock(&m);
						t = rel(CLOCK_REALTIME, 15);
						printf(" twice %s", E(pthread_cond_timedwait(&c, &m, &t)));
						printf(" %s", E(pthread_mutex_unlock(&m)));
						printf(" %s", E(pthread_mutex_unlock(&m)));
						printf(" %s", E(pthread_mutex_unlock(&m)));
					}
					printf(" dc %s", E(pthread_cond_destroy(&c)));
					printf(" dm %s\n", E(pthread_mutex_destroy(&m)));
				}
	pthread_condattr_t a;
	pthread_condattr_init(&a);
	printf("setclock %s\n", E(pthread_condattr_setclock(&a, CLOCK_MONOTONIC)));
	pthread_cond_t c;
	pthread_cond_init(&c, &a);
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_lock(&m);
	struct timespec t = rel(CLOCK_MONOTONIC, 15);
	printf("mono cond %s\n", E(pthread_cond_timedwait(&c, &m, &t)));
	t = rel(CLOCK_REALTIME, 15);
	printf("real clockwait %s\n", E(pthread_cond_clockwait(&c, &m, CLOCK_REALTIME, &t)));
	pthread_mutex_unlock(&m);
}

/* condition correctness: bounded queue, no lost wakeup */
static pthread_cond_t ne = PTHREAD_COND_INITIALIZER, nf = PTHREAD_COND_INITIALIZER;
static int q;
static long prod, cons;
static pthread_mutex_t *qm;

static void *P(void *p)
{
	for (int i = 0; i < 8000; i++) {
		pthread_mutex_lock(qm);
		while (q == 2)
			pthread_cond_wait(&nf, qm);
		q++;
		prod++;
		pthread_cond_signal(&ne);
		pthread_mutex_unlock(qm);
	}
	return 0;
}

static void *C(void *p)
{
	for (int i = 0; i < 8000; i++) {
		pthread_mutex_lock(qm);
		while (!q) {
			struct timespec t = rel(CLOCK_REALTIME, i % 7 == 0 ? 0 : 100000);
			pthread_cond_timedwait(&ne, qm, &t);
		}
		q--;
		cons++;
		pthread_mutex_unlock(qm);
		pthread_cond_signal(&nf);
	}
	return 0;
}

static void c_queue(void)
{
	for (int k = 0; k < 4; k++) {
		qm = sm[k];
		q = 0;
		prod = cons = 0;
		pthread_t t[6];
		for (int i = 0; i < 6; i++)
			pthread_create(t + i, 0, i & 1 ? P : C, 0);
		for (int i = 0; i < 6; i++)
			pthread_join(t[i], 0);
		printf("kind %d q %d prod %ld cons %ld\n", k, q, prod, cons);
	}
}

/* another thread unlocks */
static int unlocked;

static void *ul(void *p)
{
	usleep(10000);
	unlocked = pthread_mutex_unlock(p);
	return 0;
}

static void c_otherunlock(void)
{
	for (int k = 0; k < 4; k++) {
		if (k == 1 || k == 2)
			continue;
		for (int r = 0; r < 3; r++) {
			pthread_mutex_t m;
			mk(&m, kinds[k], 0, 0, 0);
			pthread_mutex_lock(&m);
			pthread_t t;
			pthread_create(&t, 0, ul, &m);
			printf("lock %s\n", E(pthread_mutex_lock(&m)));
			pthread_join(t, 0);
			printf("unlock by other %s\n", E(unlocked));
			printf("unl %s", E(pthread_mutex_unlock(&m)));
			printf(" try %s\n", E(pthread_mutex_trylock(&m)));
			pthread_mutex_unlock(&m);
		}
	}
}

/* 10000 threads in turn, each contending */
static void *turn(void *p)
{
	pthread_mutex_lock(&s0);
	counter[0]++;
	pthread_cond_signal(&sc);
	pthread_mutex_unlock(&s0);
	pthread_rwlock_rdlock(&srw);
	pthread_rwlock_unlock(&srw);
	return 0;
}

static void c_turns(void)
{
	for (int i = 0; i < 10000; i += 4) {
		pthread_t t[4];
		for (int j = 0; j < 4; j++)
			if (pthread_create(t + j, 0, turn, 0)) {
				puts("create");
				exit(3);
			}
		for (int j = 0; j < 4; j++)
			pthread_join(t[j], 0);
	}
	printf("turns %ld\n", counter[0]);
}

static void *turnw(void *p)
{
	pthread_mutex_lock(&s0);
	counter[1]++;
	while (!stop)
		pthread_cond_wait(&sc, &s0);
	counter[0]++;
	pthread_mutex_unlock(&s0);
	return 0;
}

static void c_many(void)
{
	int n = 4000;
	pthread_t *t = calloc(n, sizeof *t);
	pthread_attr_t a;
	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 32768);
	int i;
	for (i = 0; i < n; i++)
		if (pthread_create(t + i, &a, turnw, 0))
			break;
	int made = i;
	for (;;) {
		pthread_mutex_lock(&s0);
		int c = counter[1];
		if (c == made) {
			stop = 1;
			pthread_cond_broadcast(&sc);
			pthread_mutex_unlock(&s0);
			break;
		}
		pthread_mutex_unlock(&s0);
		usleep(1000);
	}
	for (i = 0; i < made; i++)
		pthread_join(t[i], 0);
	printf("many %d\n", counter[0] == made);
}

/* SCHED_FIFO on one CPU */
static atomic_int phase;

static void *lo(void *p)
{
	pthread_mutex_lock(&s0);
	phase = 1;
	struct timespec a = rel(CLOCK_MONOTONIC, 20), b;
	do
		clock_gettime(CLOCK_MONOTONIC, &b);
	while (b.tv_sec < a.tv_sec || (b.tv_sec == a.tv_sec && b.tv_nsec < a.tv_nsec));
	counter[0]++;
	pthread_mutex_unlock(&s0);
	return 0;
}

static void *hi(void *p)
{
	usleep(5000);
	pthread_mutex_lock(&s0);
	counter[1]++;
	pthread_mutex_unlock(&s0);
	return 0;
}

static void c_fifo(void)
{
	cpu_set_t c;
	CPU_ZERO(&c);
	CPU_SET(0, &c);
	sched_setaffinity(0, sizeof c, &c);
	for (int r = 0; r < 20; r++) {
		pthread_t a, b;
		pthread_attr_t at;
		pthread_attr_init(&at);
		pthread_attr_setinheritsched(&at, PTHREAD_EXPLICIT_SCHED);
		pthread_attr_setschedpolicy(&at, SCHED_FIFO);
		struct sched_param sp = {.sched_priority = 20};
		pthread_attr_setschedparam(&at, &sp);
		int e = pthread_create(&b, &at, hi, 0);
		sp.sched_priority = 10;
		pthread_attr_setschedparam(&at, &sp);
		e |= pthread_create(&a, &at, lo, 0);
		if (e) {
			printf("create %s\n", E(e));
			return;
		}
		pthread_join(a, 0);
		pthread_join(b, 0);
	}
	printf("fifo %ld %ld\n", counter[0], counter[1]);
}

/* handlers that lock */
static pthread_mutex_t hm = PTHREAD_MUTEX_INITIALIZER;
static atomic_long handled;
static pthread_t victims[3];

static void h(int s)
{
	int e = errno;
	pthread_mutex_lock(&hm);
	handled++;
	pthread_mutex_unlock(&hm);
	if (!pthread_mutex_trylock(&s3))
		pthread_mutex_unlock(&s3);
	errno = e;
}

static void *sigham(void *p)
{
	for (int i = 0; i < 20000; i++) {
		pthread_mutex_lock(&s0);
		counter[0]++;
		pthread_mutex_unlock(&s0);
		pthread_rwlock_wrlock(&srw);
		counter[1]++;
		pthread_rwlock_unlock(&srw);
		if (i % 500 == 0) {
			pthread_mutex_lock(&s2);
			struct timespec t = rel(CLOCK_REALTIME, 1);
			pthread_cond_timedwait(&sc, &s2, &t);
			pthread_mutex_unlock(&s2);
		}
	}
	return 0;
}

static void c_sig(void)
{
	struct sigaction a = {.sa_handler = h};
	sigaction(SIGUSR1, &a, 0);
	for (int i = 0; i < 3; i++)
		pthread_create(victims + i, 0, sigham, 0);
	/* hm is only ever held inside the handler by threads that mask the signal meanwhile */
	for (int i = 0; i < 1500; i++) {
		for (int j = 0; j < 3; j++)
			pthread_kill(victims[j], SIGUSR1);
		usleep(200);
	}
	for (int i = 0; i < 3; i++)
		pthread_join(victims[i], 0);
	printf("sig %ld %ld handled>0 %d\n", counter[0], counter[1], handled > 0);
}

/* rwlocks */
static pthread_rwlock_t *rwp;

static void *rwo(void *p)
{
	struct timespec t = rel(CLOCK_REALTIME, 15), past = {1, 0}, bad = {1, -1};
	int r;
#define R(x) (r = (x), printf(" %s", E(r)), r == 0 ? (void)pthread_rwlock_unlock(rwp) : (void)0)
	R(pthread_rwlock_tryrdlock(rwp));
	R(pthread_rwlock_trywrlock(rwp));
	R(pthread_rwlock_timedrdlock(rwp, &t));
	t = rel(CLOCK_REALTIME, 15);
	R(pthread_rwlock_timedwrlock(rwp, &t));
	R(pthread_rwlock_timedwrlock(rwp, &past));
	R(pthread_rwlock_timedrdlock(rwp, &past));
	R(pthread_rwlock_timedwrlock(rwp, &bad));
	R(pthread_rwlock_timedrdlock(rwp, &bad));
	t = rel(CLOCK_MONOTONIC, 15);
	R(pthread_rwlock_clockwrlock(rwp, CLOCK_MONOTONIC, &t));
	R(pthread_rwlock_clockrdlock(rwp, CLOCK_TAI, &t));
	puts("");
	return 0;
}

static void *rww(void *p)
{
	*(atomic_int *)p = thread_id();
	pthread_rwlock_wrlock(rwp);
	counter[0]++;
	pthread_rwlock_unlock(rwp);
	return 0;
}

static void c_rw(void)
{
	for (int psh = 0; psh < 2; psh++)
		for (int k = 0; k < 3; k++) {
			pthread_rwlock_t rw;
			pthread_rwlockattr_t a;
			pthread_rwlockattr_init(&a);
			pthread_rwlockattr_setkind_np(&a, k);
			pthread_rwlockattr_setpshared(&a, psh);
			pthread_rwlock_init(&rw, &a);
			rwp = &rw;
			printf("rw k%d s%d\n free:", k, psh);
			run1(rwo, 0);
			pthread_rwlock_rdlock(&rw);
			printf(" read:");
			run1(rwo, 0);
			printf(" self try w %s", E(pthread_rwlock_trywrlock(&rw)));
			int q1 = pthread_rwlock_tryrdlock(&rw);
			printf(" r %s\n", E(q1));
			if (!q1)
				pthread_rwlock_unlock(&rw);
			pthread_t w;
			atomic_int writer = 0;
			pthread_create(&w, 0, rww, &writer);
			await_blocked(&writer);
			struct timespec t = rel(CLOCK_REALTIME, 30);
			int r = pthread_rwlock_timedrdlock(&rw, &t);
			printf(" read again, writer waits: %s", E(r));
			if (!r)
				pthread_rwlock_unlock(&rw);
			r = pthread_rwlock_tryrdlock(&rw);
			printf(" try %s\n", E(r));
			if (!r)
				pthread_rwlock_unlock(&rw);
			pthread_rwlock_unlock(&rw);
			pthread_join(w, 0);
			pthread_rwlock_wrlock(&rw);
			printf(" write:");
			run1(rwo, 0);
			printf(" self rd %s", E(pthread_rwlock_rdlock(&rw)));
			printf(" wr %s", E(pthread_rwlock_wrlock(&rw)));
			printf(" try %s", E(pthread_rwlock_trywrlock(&rw)));
			printf(" tryr %s", E(pthread_rwlock_tryrdlock(&rw)));
			t = rel(CLOCK_REALTIME, 15);
			printf(" timed %s", E(pthread_rwlock_timedrdlock(&rw, &t)));
			printf(" %s\n", E(pthread_rwlock_timedwrlock(&rw, &t)));
			pthread_rwlock_unlock(&rw);
			long n = 0;
			for (; n < 70000; n++)
				if (pthread_rwlock_rdlock(&rw))
					break;
			printf(" readers %ld\n", n);
			while (n--)
				pthread_rwlock_unlock(&rw);
			printf(" trywr %s", E(pthread_rwlock_trywrlock(&rw)));
			pthread_rwlock_unlock(&rw);
			printf(" destroy %s\n", E(pthread_rwlock_destroy(&rw)));
		}
}

static void *spo(void *p)
{
	pthread_spinlock_t *s = p;
	int r = pthread_spin_trylock(s);
	printf(" try %s", E(r));
	if (!r)
		pthread_spin_unlock(s);
	return 0;
}

static long spc;

static void *sph(void *p)
{
	for (int i = 0; i < 20000; i++) {
		pthread_spin_lock(p);
		spc++;
		pthread_spin_unlock(p);
	}
	return 0;
}

static void c_spin(void)
{
	for (int psh = 0; psh < 2; psh++) {
		pthread_spinlock_t a[3] = {0x77777777, 0, 0x77777777};
		pthread_spin_init((void *)&a[1], psh);
		pthread_spinlock_t *s = &a[1];
		pthread_spin_lock(s);
		run1(spo, (void *)s);
		printf(" self %s", E(pthread_spin_trylock(s)));
		pthread_spin_unlock(s);
		run1(spo, (void *)s);
		pthread_t t[2];
		spc = 0;
		for (int i = 0; i < 2; i++)
			pthread_create(t + i, 0, sph, (void *)s);
		for (int i = 0; i < 2; i++)
			pthread_join(t[i], 0);
		printf(" %ld around %x %x destroy %s\n", spc, a[0], a[2], E(pthread_spin_destroy(s)));
	}
}

/* shared memory between processes; argv[2]: exec self with or without the preload */
struct sh {
	pthread_mutex_t m, r;
	pthread_cond_t c;
	pthread_rwlock_t rw;
	long n, n2, n3;
	int turn;
};

static void shwork(struct sh *s, int me)
{
	for (int i = 0; i < 3000; i++) {
		pthread_mutex_lock(&s->m);
		s->n++;
		pthread_mutex_unlock(&s->m);
		pthread_rwlock_wrlock(&s->rw);
		s->n2++;
		pthread_rwlock_unlock(&s->rw);
		int e = pthread_mutex_lock(&s->r);
		if (e == EOWNERDEAD)
			pthread_mutex_consistent(&s->r);
		s->n3++;
		pthread_mutex_unlock(&s->r);
		if (i % 30 == 0) {
			pthread_mutex_lock(&s->m);
			while (s->turn != me)
				pthread_cond_wait(&s->c, &s->m);
			s->turn = !me;
			pthread_cond_broadcast(&s->c);
			pthread_mutex_unlock(&s->m);
		}
	}
}

#include <fcntl.h>

static void c_shm(char **v)
{
	const char *path = "swap_native.shared";
	if (v[2] && !strcmp(v[2], "child")) {
		int fd = open(path, O_RDWR);
		struct sh *s = mmap(0, 4096, 3, MAP_SHARED, fd, 0);
		shwork(s, 1);
		_exit(0);
	}
	for (int mode = 0; mode < 2; mode++) {
		int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
		if (ftruncate(fd, 4096))
			exit(1);
		struct sh *s = mmap(0, 4096, 3, MAP_SHARED, fd, 0);
		mk(&s->m, 0, 0, 0, 1);
		mk(&s->r, 0, 1, 0, 1);
		pthread_condattr_t ca;
		pthread_condattr_init(&ca);
		pthread_condattr_setpshared(&ca, 1);
		pthread_cond_init(&s->c, &ca);
		pthread_rwlockattr_t ra;
		pthread_rwlockattr_init(&ra);
		pthread_rwlockattr_setpshared(&ra, 1);
		pthread_rwlock_init(&s->rw, &ra);
		pid_t c = fork();
		if (!c) {
			if (mode)
				unsetenv("LD_PRELOAD");
			execl("/proc/self/exe", "sw", "shm", "child", (char *)0);
			_exit(3);
		}
		shwork(s, 0);
		int st;
		waitpid(c, &st, 0);
		printf("shm mode %d: %ld %ld %ld st %x\n", mode, s->n, s->n2, s->n3, st);
	}
}

static void c_dl(void)
{
	for (int i = 0; i < 500; i++) {
		void *h = dlopen("./swap_native_plugin.so", RTLD_NOW);
		if (!h) {
			puts(dlerror());
			return;
		}
		long (*f)(void) = dlsym(h, "use");
		if (f() != 4000) {
			puts("lost");
		}
		dlclose(h);
	}
	puts("dl ok");
}

int main(int c, char **v)
{
	setvbuf(stdout, 0, _IOFBF, 1 << 16);

	struct {
		const char *n;
		void (*f)(void);
	} T[] = {{"kinds", c_kinds},
		 {"static", c_static},
		 {"fork", c_fork},
		 {"forkheld", c_forkheld},
		 {"cancel", c_cancel},
		 {"async", c_async},
		 {"destroy", c_destroy},
		 {"conddestroy", c_conddestroy},
		 {"condany", c_condany},
		 {"queue", c_queue},
		 {"otherunlock", c_otherunlock},
		 {"turns", c_turns},
		 {"many", c_many},
		 {"fifo", c_fifo},
		 {"sig", c_sig},
		 {"rw", c_rw},
		 {"spin", c_spin},
		 {"dl", c_dl}};

	if (c > 1 && !strcmp(v[1], "shm")) {
		c_shm(v);
		return 0;
	}
	for (unsigned i = 0; i < sizeof T / sizeof *T; i++)
		if (c > 1 && !strcmp(v[1], T[i].n)) {
			T[i].f();
			return 0;
		}
	return 2;
}
