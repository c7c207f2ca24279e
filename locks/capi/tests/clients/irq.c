/* A lock that a signal's handler takes, too: it is taken with signals blocked, and the mask is as it was afterwards.
 * -DNAME=tas says which lock; -DTAKE=_write_lock and its siblings which way, where there are several. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <lockwright.h>

#ifndef TAKE
#define TAKE _lock
#define TRY _trylock
#define GIVE _unlock
#endif

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define OF(what) JOIN(JOIN(lw_, NAME), what)
#define LOCK OF(TAKE)
#define UNLOCK OF(GIVE)
#define LOCK_IRQSAVE JOIN(OF(TAKE), _irqsave)
#define TRYLOCK_IRQSAVE JOIN(OF(TRY), _irqsave)
#define UNLOCK_IRQRESTORE JOIN(OF(GIVE), _irqrestore)

static OF(_t) lock, other;
static volatile sig_atomic_t came, held;

static void on_signal(int signal)
{
	(void)signal;
	came++;
	/* It waits for ever if this thread has it: then the handler only reports that it ran. */
	if (!held) {
		LOCK(&lock);
		UNLOCK(&lock);
	}
}

static uint64_t mask(void)
{
	sigset_t set;
	uint64_t bits = 0;

	pthread_sigmask(SIG_BLOCK, NULL, &set);
	for (int signal = 1; signal <= 64; signal++)
		bits |= (uint64_t)(sigismember(&set, signal) == 1) << (signal - 1);
	return bits;
}

static void expect(const char *what, long found, long wanted)
{
	if (found != wanted)
		printf("%s: %ld in place of %ld\n", what, found, wanted);
}

static void *tries(void *nothing)
{
	uint64_t flags = 42, saved, before = mask();

	(void)nothing;
	expect("a failing attempt", TRYLOCK_IRQSAVE(&lock, &flags), EBUSY);
	expect("its mask", mask() == before, 1);
	expect("its flags", flags, 42);
	lw_local_irq_save(&saved);
	uint64_t all = mask();
	expect("another", TRYLOCK_IRQSAVE(&lock, &flags), EBUSY);
	expect("its mask", mask() == all, 1);
	lw_local_irq_restore(saved);
	expect("the mask in the end", mask() == before, 1);
	return NULL;
}

int main(void)
{
	uint64_t outer, inner, before, all;
	sigset_t some;
	pthread_t thread;

	OF(_init)(&lock);
	OF(_init)(&other);
	signal(SIGUSR1, on_signal);
	sigemptyset(&some);
	sigaddset(&some, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &some, NULL);
	before = mask();

	expect("lock", LOCK_IRQSAVE(&lock, &outer), 0);
	held = 1;
	raise(SIGUSR1);
	expect("handlers while it is held", came, 0);
	all = mask();
	expect("inside", LOCK_IRQSAVE(&other, &inner), 0);
	expect("unlock inside", UNLOCK_IRQRESTORE(&other, inner), 0);
	expect("the mask inside", mask() == all, 1);
	expect("handlers while it is still held", came, 0);
#ifndef SHARED
	pthread_create(&thread, NULL, tries, NULL);
	pthread_join(thread, NULL);
#else
	(void)thread, (void)tries;
#endif
	held = 0;
	expect("unlock", UNLOCK_IRQRESTORE(&lock, outer), 0);
	expect("handlers then", came, 1);
	expect("the mask then", mask() == before, 1);

	expect("trylock", TRYLOCK_IRQSAVE(&lock, &outer), 0);
	held = 1;
	raise(SIGUSR1);
	expect("handlers while it is held so", came, 1);
	held = 0;
	expect("unlock", UNLOCK_IRQRESTORE(&lock, outer), 0);
	expect("handlers in the end", came, 2);
	expect("the mask in the end", mask() == before, 1);
	OF(_destroy)(&lock);
	puts("done");
	return 0;
}
