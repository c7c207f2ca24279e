/* Signals by System V's, BSD's and the obsolete functions, and those that programs wait for. */
#include "case.h"

#include <sys/signalfd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static pthread_mutex_t mutex = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

static void one(int number)
{
	say("one: %s", sigabbrev_np(number));
	RET(pthread_mutex_trylock(&mutex));
	RET(pthread_mutex_unlock(&mutex));
}

static void other(int number)
{
	say("other: %s", sigabbrev_np(number));
}

static const char *who(__sighandler_t handler)
{
	return handler == one	    ? "one"
	       : handler == other   ? "other"
	       : handler == SIG_DFL ? "default"
	       : handler == SIG_IGN ? "ignored"
	       : handler == SIG_ERR ? "an error"
	       : handler == SIG_HOLD ? "held"
				    : "somebody else";
}

static void installed(void)
{
	struct sigaction action;
	MUST(sigaction(SIGUSR1, NULL, &action));
	say("installed: %s, flags %x", who(action.sa_handler), action.sa_flags & ~0x04000000);
}

typedef __sighandler_t install(int, __sighandler_t);

static void script(install *by)
{
	say("%s", who(by(SIGUSR1, one)));
	installed();
	raise(SIGUSR1);
	installed();
	say("%s", who(by(SIGUSR1, other)));
	installed();
	say("%s", who(by(SIGUSR1, one)));
	say("%s", who(signal(SIGUSR1, other)));
	say("%s", who(by(SIGUSR1, SIG_IGN)));
	raise(SIGUSR1);
	say("%s", who(by(SIGUSR1, one)));
	errno = SENTINEL;
	say("%s%s", who(by(SIGKILL, one)), errno_after(errno));
	errno = SENTINEL;
	say("%s%s", who(by(99, one)), errno_after(errno));
	errno = SENTINEL;
	say("%s%s", who(by(SIGUSR1, SIG_ERR)), errno_after(errno));
	installed();
	say("%s", who(by(SIGUSR1, SIG_DFL)));
	installed();
}

extern install bsd_signal, ssignal, sysv_signal, __sysv_signal, sigset;

CASE(by_signal)
{
	script(signal);
}

CASE(by_bsd_signal)
{
	script(bsd_signal);
}

CASE(by_ssignal)
{
	script(ssignal);
}

CASE(by_sysv_signal)
{
	script(sysv_signal);
}

/* What `signal` means to programs that ask for X/Open's. */
CASE(by_the_signal_of_xopen)
{
	script(__sysv_signal);
}

CASE(by_sigset)
{
	script(sigset);
}

/* One after the other, so that each call returns what the one before installed. */
CASE(by_all_in_turn)
{
	install *ways[] = {signal, bsd_signal, ssignal, sysv_signal, __sysv_signal, sigset};
	for (int i = 0; i < 6; i++) {
		say("%s", who(ways[i](SIGUSR1, i & 1 ? one : other)));
		installed();
	}
	raise(SIGUSR1);
}

CASE(held_and_released)
{
	say("%s", who(sigset(SIGUSR1, one)));
	SYS(sighold(SIGUSR1));
	raise(SIGUSR1);
	say("held");
	SYS(sigrelse(SIGUSR1));
	say("%s", who(sigset(SIGUSR1, SIG_HOLD)));
	say("%s", who(sigset(SIGUSR1, SIG_HOLD)));
	raise(SIGUSR1);
	say("held");
	say("%s", who(sigset(SIGUSR1, other)));
	SYS(sigignore(SIGUSR1));
	installed();
	raise(SIGUSR1);
	SYS(sighold(99));
	SYS(sigrelse(0));
	SYS(sigignore(SIGKILL));
}

CASE(interrupted_or_restarted)
{
	signal(SIGUSR1, one);
	SYS(siginterrupt(SIGUSR1, 1));
	installed();
	raise(SIGUSR1);
	SYS(siginterrupt(SIGUSR1, 0));
	installed();
	raise(SIGUSR1);
	say("%s", who(signal(SIGUSR1, other)));
	SYS(siginterrupt(99, 0));
}

#define USR1 (1 << (SIGUSR1 - 1))

CASE(masks_of_bsd)
{
	signal(SIGUSR1, one);
	say("%x", sigblock(USR1));
	raise(SIGUSR1);
	say("%x", siggetmask() & USR1);
	say("%x", sigsetmask(0) & USR1);
	say("%x", siggetmask() & USR1);
}

extern int __xpg_sigpause(int);

CASE(pauses)
{
	sigset_t set;
	signal(SIGUSR1, one);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	MUST(sigprocmask(SIG_BLOCK, &set, NULL));
	raise(SIGUSR1);
	SYS(__xpg_sigpause(SIGUSR1));
	raise(SIGUSR1);
	sigdelset(&set, SIGUSR1);
	SYS(sigsuspend(&set));
	MUST(sigprocmask(SIG_BLOCK, NULL, &set));
	say("blocked: %d", sigismember(&set, SIGUSR1));
	SYS(__xpg_sigpause(99));
}

CASE(sets)
{
	sigset_t a, b, both;
	MUST(sigfillset(&a));
	MUST(sigemptyset(&b));
	SYS(sigaddset(&b, SIGUSR2));
	SYS(sigandset(&both, &a, &b));
	SYS(sigismember(&both, SIGUSR2));
	SYS(sigorset(&both, &a, &b));
	SYS(sigisemptyset(&both));
	SYS(sigdelset(&both, 99));
	SYS(sigaddset(&both, 0));
	SYS(sigismember(&both, -1));
}

static void *signal_the_other(void *argument)
{
	pthread_t thread = *(pthread_t *)argument;
	RET(pthread_kill(thread, 0));
	RET(pthread_kill(thread, 99));
	RET(pthread_sigqueue(thread, 99, (union sigval){0}));
	RET(pthread_sigqueue(thread, SIGUSR2, (union sigval){.sival_int = 42}));
	return NULL;
}

CASE(sent_to_threads)
{
	sigset_t set;
	siginfo_t info;
	pthread_t own = pthread_self();
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	RET(pthread_sigmask(SIG_BLOCK, &set, NULL));
	in_thread(signal_the_other, &own);
	SYS(sigwaitinfo(&set, &info));
	say("value %d, code %d", info.si_value.sival_int, info.si_code == SI_QUEUE);
	SYS(sigtimedwait(&set, &info, &(struct timespec){.tv_nsec = 1000}));
	SYS(sigtimedwait(&set, &info, &(struct timespec){.tv_nsec = -1}));
	SYS(raise(99));
	SYS(kill(getpid(), 99));
	SYS(sigqueue(getpid(), 99, (union sigval){0}));
	SYS(gsignal(99));
}

CASE(by_descriptor)
{
	sigset_t set;
	struct signalfd_siginfo info;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	RET(pthread_sigmask(SIG_BLOCK, &set, NULL));
	int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	say("opened: %d", fd >= 0);
	SYS(read(fd, &info, sizeof info));
	raise(SIGUSR2);
	say("%d", SYS(read(fd, &info, sizeof info)) == sizeof info && info.ssi_signo == SIGUSR2);
	SYS(signalfd(-1, &set, 99));
	SYS(close(fd));
}
